//! The memory model: what a count takes, and the limits that several crates share.
//!
//! The planner, the engine, the worker and the forecast ask this crate. So a plan promises what a worker keeps to, and
//! a forecast tells what a plan does.
//!
//! ```text
//!   process    | the process itself | tables | share of a task | share of a task | ...         [`process`], [`pool`]
//!   share      | the task's part of tables | rows of its group of families x lanes |           [`parts`], [`rows`]
//!   lanes      all of a stage, or a slice after the other where memory is scarce               [`lanes`]
//!   worker     what a cut of the column needs of it: tables, and the largest family's rows     [`out_of_core`]
//!   in memory  vectors and the threads' buffers in one process                                 [`in_memory`]
//!   brackets   a vector of bracket words in one process                                        [`brackets`]
//!   messages   sizes as people read them                                                       [`sizes`]
//! ```
//!
//! Everything here is a pure function of numbers. Nothing allocates, waits or measures. A test of `keima-count`
//! (`tests/memory.rs`) holds it against what real counts take.
//!
//! Architecture invariant: what memory something takes is stated here or by a problem through `keima_model`'s traits, and
//! nowhere else.

#![forbid(unsafe_code)]

pub mod brackets;
pub mod in_memory;
pub mod lanes;
pub mod limits;
pub mod out_of_core;
pub mod parts;
pub mod pool;
pub mod process;
pub mod rows;
pub mod sizes;
