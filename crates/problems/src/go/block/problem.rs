//! Go as a problem with dense blocks: which tables there are for a board, and estimates of what they take.
//!
//! Cost: the estimates are formulas of [`super::memory`] and build no table.

use keima_model::{BlockColumn, BlockParts, BlockProblem, Directions, PartedBytes, ProblemInfo, Window};

use super::column::GoColumn;
use super::parts::GoParts;
use super::{MAX_BLOCK_HEIGHT, memory};
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

    fn parted_bytes(&self, windows: &[Window]) -> PartedBytes {
        memory::parted_bytes(self.board().height, windows)
    }

    fn parted_seconds(&self, windows: &[Window], window: usize, states: u64, group_records: u64) -> f64 {
        memory::parted_seconds(self.board().height, windows, window, states, group_records)
    }

    /// Heights 8 to 15, windows of 3 to 7 cells: 0.28 to 0.39. Families with empty cells outside are smaller still.
    fn pair_ratio(&self) -> f64 {
        0.31
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
