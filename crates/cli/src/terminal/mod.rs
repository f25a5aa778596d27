//! What is printed on a terminal, and how.
//!
//! ```text
//!   output    stdout for results, stderr for everything else
//!   progress  a bar or lines while a count runs
//!   units     byte sizes, durations and big numbers as text
//!   wrap      paragraphs as lines
//! ```

pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod units;
pub(crate) mod wrap;
