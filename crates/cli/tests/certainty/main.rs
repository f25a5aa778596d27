//! Certainty: what goes wrong is found, or does no harm; and certificates show every change.
//!
//! ```text
//!   cell      a coordinator and two workers in one thread, with the real state machine, engine and run files
//!   strikes   one thing of it goes wrong: in flight, in memory, on disk
//!   plain     a problem without published numbers and formulas: only the laws can find anything
//!   damage    1,000 strikes of each kind, by streams and by blocks
//!   sharing   which worker gets which lanes of a family
//!   leaves    every leaf of a real certificate is changed
//!   program   keima verify, --double-check and the checker in Python, as users run them
//! ```

#![forbid(unsafe_code)]

mod cell;
mod damage;
mod leaves;
mod plain;
mod program;
mod sharing;
mod strikes;
