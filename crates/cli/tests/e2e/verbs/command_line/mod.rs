//! Command lines: their help, wrong ones, and what makes them easy to type.

mod habits;
mod help;
pub(crate) mod usage;
