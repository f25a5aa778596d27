//! Estimates of counts that nobody can make: heuristic sampling of trees, with standard errors.
//!
//! ```text
//!   huge      numbers beyond the range of floats
//!   chen      one run over any tree
//!   runs      many runs in parallel, mean and standard error
//!   fillings  the tree of any problem
//!   states    how many states a count meets
//!   forecast  these for problems that do not know them
//! ```
//!
//! This crate names no concrete problem. A tree of one's own implements [`keima_model::Tree`].

#![forbid(unsafe_code)]

mod chen;
mod fillings;
mod forecast;
mod huge;
mod runs;
mod states;

pub use chen::one_run;
pub use fillings::{Filling, Fillings, answer, bound};
pub use forecast::{EXACT_STATES, Sampling};
pub use huge::Huge;
pub use runs::{Estimate, Plan, estimate};
pub use states::{States, states, states_of};
