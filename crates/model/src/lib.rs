//! The one door through which problems come into keima.
//!
//! A problem is a border-state recurrence: a board is filled one cell at a time, down a column of height `m`, then the
//! next column, and a vector of (border state, value) pairs goes through one linear *pass* per cell. This crate fixes
//! the words for that ([`Board`], [`Window`], [`Layout`], [`Key`]) and the traits that a problem implements
//! ([`ProblemInfo`], [`Problem`]). It knows no files, no threads and no sockets, and depends on no other crate of
//! keima.
//!
//! Architecture invariant: nothing outside `problems` and `cli` names a concrete problem.

#![forbid(unsafe_code)]

mod block;
mod board;
mod info;
mod key;
mod problem;

pub use block::{
    BlockColumn, BlockPart, BlockParts, BlockProblem, BlockTables, Direction, Directions, End, Family, FamilyBounds,
    FamilyList, Far, FarTargets, MOST_ENTRIES, PartedBytes, PassTable, RowGroup, SAMPLE_ONE_IN, Signature, Sources,
};
pub use board::{Board, Layout, Window};
pub use info::{About, Decimal, Forecast, Formula, Functional, ProblemInfo, Report, ReportColumn, ReportRow};
pub use key::Key;
pub use problem::{AnyProblem, Problem, ProblemError, ProblemRequest, Registry, Successors};
