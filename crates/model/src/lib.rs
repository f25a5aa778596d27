//! The one door through which problems come into keima.
//!
//! A problem is a border-state recurrence. A board is filled one cell at a time, down a column of height `m`, then the next
//! column. A vector of (border state, value) pairs goes through one linear *pass* per cell. This crate fixes the words for
//! that ([`Board`], [`Window`], [`Layout`], [`Key`]) and the traits that a problem implements: [`ProblemInfo`] and
//! [`Problem`], and for dense blocks [`BlockProblem`]. It knows no files, no threads and no sockets, and depends on no other
//! crate of keima.
//!
//! Architecture invariant: nothing outside `problems` and `cli` names a concrete problem.

#![forbid(unsafe_code)]

mod altered;
mod blocks;
mod board;
mod brackets;
mod identity;
mod info;
mod key;
pub mod mix;
mod problem;
mod similar;
mod tree;

pub use altered::{Alter, Altered};
pub use blocks::column::{BlockColumn, MOST_WEIGHT, SAMPLE_ONE_IN};
pub use blocks::direction::{Direction, Directions, End};
pub use blocks::families::{FamilyBounds, FamilyKind, FamilyList};
pub use blocks::parts::{BlockPart, BlockParts, BlockSources, PartsBytes};
pub use blocks::problem::BlockProblem;
pub use blocks::tables::{BlockTables, Family, Far, FarTargets, MOST_ENTRIES, PassTable, RowGroup, Signature};
pub use board::{Board, Layout, Window};
pub use brackets::counts::WordCounts;
pub use brackets::problem::{BracketProblem, BracketWord, FirstColumn, Reading};
pub use identity::identity_hash;
pub use info::{About, Decimal, Forecast, Formula, Functional, ProblemInfo, Report, ReportColumn, ReportRow};
pub use key::Key;
pub use problem::{AnyProblem, Problem, ProblemError, ProblemRequest, Registry, Successors};
pub use similar::{did_you_mean, similar};
pub use tree::Tree;
