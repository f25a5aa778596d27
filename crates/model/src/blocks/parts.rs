//! Parts: tables of a few families at a time, for a column whose tables of all families are too large.
//!
//! A task takes some families of a window through its passes. It needs the tables of these, and of the window before those
//! of the blocks that have states for them. Cost: the problem's own; see [`BlockParts::part`].

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use crate::{BlockColumn, FamilyBounds, FamilyList, Window};

/// A column that makes tables for some families when a task needs them.
pub trait BlockParts: Send + Sync {
    /// The windows, from the top of the column to its end; two or more.
    fn windows(&self) -> &[Window];
    /// The families of window number `window`, in the order of their blocks.
    fn families(&self, window: usize) -> &FamilyList;
    /// Memory that all parts share.
    fn bytes(&self) -> u64;
    /// See [`BlockProblem::family_bounds`](crate::BlockProblem::family_bounds).
    fn family_bounds(&self) -> FamilyBounds;
    /// An estimate of the memory that [`BlockParts::part`] of these families takes, on the high side. Builds nothing.
    fn part_bytes(&self, window: usize, families: Range<u32>) -> u64;
    /// Builds tables for some consecutive families of a window, and for the families of the window before that have states
    /// for them. Takes the latter from `last` where they are the same, and drops `last` first where they are not.
    fn part(&self, window: usize, families: Range<u32>, last: Option<Sources>) -> Result<BlockPart, String>;
    /// See [`BlockColumn::one_column`].
    fn one_column(&self) -> u64;
}

/// The families of the window before that have states for a part, with their tables.
#[derive(Clone)]
pub struct Sources {
    /// Their numbers in that window, ascending.
    pub families: Vec<u32>,
    /// The tables, in the form of the [`BlockParts`] that built them.
    pub tables: Arc<dyn Any + Send + Sync>,
}

/// Tables for some families of a window, as if it had no others.
pub struct BlockPart {
    /// The window has these families only, numbered from 0. The window before has those of `sources`, without passes, and with
    /// the exchange at the last step only. There [`BlockColumn::families`] tells `u32::MAX` for entries that go elsewhere, and
    /// [`BlockColumn::positions_of`] is for the others. Other windows have no tables. Families of the window after keep their
    /// numbers.
    pub column: Box<dyn BlockColumn>,
    /// Families of the window before.
    pub sources: Sources,
}

/// An estimate of the memory that parts take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartsBytes {
    /// Memory of a worker: [`BlockParts::bytes`] without its cache.
    pub worker_bytes: u64,
    /// Memory of a task: its largest part.
    pub task_bytes: u64,
}
