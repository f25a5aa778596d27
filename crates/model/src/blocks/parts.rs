//! Parts: tables of a few families at a time, for a column whose tables of all families are too large.
//!
//! A task takes some families of a window through its passes. It needs the tables of these. Of the window before it needs
//! no tables: the blocks that have states for the part go by one after the other. Cost: the problem's own; see
//! [`BlockParts::part`] and [`BlockSources`].

use std::ops::Range;

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
    /// Builds tables for some consecutive families of a window, with `threads` threads.
    fn part(&self, window: usize, families: Range<u32>, threads: usize) -> Result<Box<dyn BlockPart + '_>, String>;
    /// See [`BlockColumn::one_column`].
    fn one_column(&self) -> u64;
}

/// Tables for some families of a window, as if it had no others.
pub trait BlockPart: Send + Sync {
    /// The window has the part's families only, numbered from 0. Other windows have no tables. Families of the window after
    /// keep their numbers.
    fn column(&self) -> &dyn BlockColumn;
    /// Families of the window before that have states for the part, ascending.
    fn source_families(&self) -> &[u32];
    /// A reader of their blocks. Each thread takes its own.
    fn sources(&self) -> Box<dyn BlockSources + '_>;
}

/// The blocks of the window before at its last step, one after the other, as far as they have states for a part.
///
/// The order of blocks, and of the states in each, is that of the tables of all families. Cost: a few steps for each block,
/// and the look-ups of an exchange for each state.
pub trait BlockSources: Send {
    /// Goes to the beginning of a family.
    fn open(&mut self, family: u32) -> Result<(), String>;
    /// Goes to the family's next block that has states for the part. `false` after the last.
    fn advance(&mut self) -> bool;
    /// Overwrites `positions` with those of the block's states in the part. Of several entries of one key one is told, see
    /// [`BlockColumn::twins`].
    fn positions(&self, positions: &mut Vec<u64>);
    /// Overwrites `keys` with the canonical keys of the same states.
    fn keys(&self, keys: &mut Vec<u128>);
}

/// An estimate of the memory that parts take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsBytes {
    /// Memory of a worker: [`BlockParts::bytes`] without its cache.
    pub worker_bytes: u64,
    /// For each window the part of its largest family.
    pub largest_bytes: Vec<u64>,
}

impl PartsBytes {
    /// The largest part of any window.
    pub fn task_bytes(&self) -> u64 {
        self.largest_bytes.iter().copied().max().unwrap_or(0)
    }
}
