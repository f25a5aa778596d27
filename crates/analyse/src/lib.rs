//! Series become mathematics: from counts L(n), n = 1, 2, ... to the linear recurrence behind them and to their growth.
//!
//! ```text
//!   graph       the states and transitions of one column, which repeat from some column on: cheap terms, modulo primes or exact
//!   recurrence  the shortest recurrence: Berlekamp-Massey modulo primes, lifted to integers, verified on other terms
//!   term        one far term from the recurrence, exact or modulo any number
//!   constants   A, B and L in A B^(m+n) L^(mn), from counts of squares, boards one longer and boards of fixed heights
//!   growth      a and lambda in L(n) ~ a lambda^n, with proved error bounds
//!   input       series from b-files and JSON results
//!   plot        line charts as SVG
//! ```
//!
//! Architecture invariant: this crate sees `keima-model` and `keima-residue` alone, and no concrete problem by name. It uses
//! no executor: what it finds is a second way to the counts of the engine.

#![forbid(unsafe_code)]

pub mod constants;
pub mod graph;
pub mod growth;
pub mod input;
pub mod plot;
mod polynomial;
pub mod recurrence;
pub mod term;

pub use graph::{Graph, GraphError};
pub use growth::{Decimal, Growth, GrowthError};
pub use input::{InputError, Series};
pub use keima_residue::Integer;
pub use recurrence::{Found, Lifted, TooShort};
