//! What is printed on a terminal, and how.
//!
//! ```text
//!   colour    what a terminal shows in colours
//!   events    standard error as JSON: progress, notes, the end
//!   input     texts out of files or standard input
//!   log       lines of the log as JSON
//!   output    stdout for results, stderr for everything else
//!   progress  a bar or lines while a count runs
//!   traces    spans to a collector of OpenTelemetry
//!   units     byte sizes, durations and big numbers as text
//!   wrap      paragraphs as lines
//! ```

pub(crate) mod colour;
pub(crate) mod events;
pub(crate) mod input;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod traces;
pub(crate) mod units;
pub(crate) mod wrap;
