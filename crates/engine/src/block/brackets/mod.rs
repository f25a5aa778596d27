//! Whole counts over bracket words: vectors without keys for curves, whose states are all words of brackets.
//!
//! `keima_model::BracketProblem` says what a problem gives. A state's position is the rank of its word, and stays it from
//! cell to cell. So a vector goes through the board in place: there are no windows, no families and no exchange.
//!
//! ```text
//!   lefts     words cut in two: left words, and what may follow them
//!   above     tables of the cells whose places are left of the cut; below: of the others; tables: of a column
//!   kernel    the sums;  column: a vector goes through a column;  ways: the transposed map
//!   laws      what must hold;  count: sweeps, evidence;  speed: for forecasts
//! ```

pub(super) mod above;
pub(super) mod below;
pub(super) mod column;
pub(super) mod count;
pub(super) mod kernel;
pub(super) mod laws;
pub(super) mod lefts;
pub(super) mod speed;
pub(super) mod tables;
#[cfg(test)]
mod tests;
pub(super) mod ways;
