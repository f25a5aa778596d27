//! Go as a problem with dense blocks: the tables for a board, and estimates of their memory and time.
//!
//! Cost: the estimates are formulas of [`super::memory`] and build no table.

use keima_model::{
    BlockColumn, BlockParts, BlockProblem, Directions, FamilyBounds, FamilyKind, PartsBytes, ProblemInfo, Window,
};

use super::column::GoColumn;
use super::parts::GoParts;
use super::{MAX_BLOCK_HEIGHT, family_sizes, memory};
use crate::go::Go;
use crate::go::state::Word;

impl<K: Word> BlockProblem for Go<K> {
    fn choices(&self) -> u32 {
        3
    }

    fn table_bytes(&self, windows: &[Window], directions: Directions) -> u64 {
        let height = self.board().height;
        if height > MAX_BLOCK_HEIGHT { u64::MAX } else { memory::table_bytes(height, windows, directions) }
    }

    fn parts_bytes(&self, windows: &[Window]) -> PartsBytes {
        memory::parts_bytes(self.board().height, windows)
    }

    fn parts_seconds(&self, windows: &[Window], window: usize, states: u64, group_records: u64) -> f64 {
        memory::parts_seconds(self.board().height, windows, window, states, group_records)
    }

    fn family_bounds(&self) -> FamilyBounds {
        family_sizes::FAMILY_BOUNDS
    }

    fn family_kinds(&self, window: Window) -> Vec<FamilyKind> {
        family_sizes::family_kinds(self.board().height, window)
    }

    fn column(&self, windows: &[Window], directions: Directions) -> Result<Box<dyn BlockColumn>, String> {
        Ok(Box::new(GoColumn::<u64>::new(self.board().height, windows, directions)?))
    }

    fn parts(&self, windows: &[Window], kept_bytes: u64) -> Result<Box<dyn BlockParts>, String> {
        let height = self.board().height;
        if height <= MAX_BLOCK_HEIGHT {
            Ok(Box::new(GoParts::<u64>::new(height, windows, kept_bytes)?))
        } else {
            Ok(Box::new(GoParts::<u128>::new(height, windows, kept_bytes)?))
        }
    }
}
