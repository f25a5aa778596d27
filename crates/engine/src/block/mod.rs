//! The block executor: vectors of counts without keys, for problems whose families are made of dense blocks.
//!
//! `keima_model::BlockTables` explains the structure. [`rows`] has the arithmetic that both ways of counting share.
//! [`in_memory`] does whole counts on arrays; [`out_of_core`] does tasks on runs.
//!
//! Architecture invariant: nothing here knows what a state is. A pass is `count[to] += count[from]`. Only samples and
//! lists of keys need keys, and the problem provides them.

// Code for vector instructions must be inlined into the function that is dispatched to.
#![allow(clippy::inline_always)]

mod brackets;
mod error;
mod in_memory;
mod out_of_core;
mod rows;

pub use brackets::count::{BracketOrder, count_brackets};
pub use brackets::speed::bracket_nanos;
pub use brackets::tables::BracketTables;
pub use error::BlockError;
pub use in_memory::count::both_ends::count;
pub use in_memory::count::one_way::count_forward;
pub use in_memory::count::order::{CountOrder, Counted, SweepEvidence, TwoCuts, WindowEvidence};
pub use in_memory::count::residues::ResidueStore;
pub use in_memory::family::sums::Masses;
pub use in_memory::plan::passages::{PlannedPassage, passages};
pub use in_memory::plan::scheme::most_lanes;
pub use in_memory::speed::{SweepNanos, sweep_nanos};
pub use in_memory::sweep::Sweep;
pub use out_of_core::groups::GroupId;
pub use out_of_core::prepared::Prepared;
pub use out_of_core::task::run::run_block_task;
pub use rows::lanes::{Moduli, Row};
pub use rows::tables::largest;
pub use rows::vector::Rows;
