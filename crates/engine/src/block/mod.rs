//! The block executor: vectors of counts without keys, for problems whose families are made of dense blocks.
//!
//! See `keima_model::BlockTables` for the structure. [`rows`] is the arithmetic that both ways of counting share;
//! [`in_memory`] is whole counts whose vectors are arrays; [`out_of_core`] is tasks whose vectors are runs.
//!
//! Architecture invariant: nothing here knows what a state is; a pass is `count[to] += count[from]`. Keys are asked of the
//! problem for samples and lists only.

// What is to be compiled for the machine's vector instructions must end up inside the function that is dispatched to.
#![allow(clippy::inline_always)]

mod error;
mod in_memory;
mod out_of_core;
mod rows;

pub use error::BlockError;
pub use in_memory::count::both_ends::count;
pub use in_memory::count::one_way::{Kept, count_forward};
pub use in_memory::count::order::{CountOrder, Counted};
pub use in_memory::family::sums::Masses;
pub use in_memory::plan::passages::{Step, steps};
pub use in_memory::plan::scheme::most_lanes;
pub use in_memory::sweep::Sweep;
pub use out_of_core::prepared::Prepared;
pub use out_of_core::task::run::run_block_task;
pub use rows::lanes::{Moduli, Row};
pub use rows::tables::largest;
pub use rows::vector::Rows;
