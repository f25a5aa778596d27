//! How a task divides its memory.
//!
//! ```text
//!   task memory  | 45 % two tables (taken, made) | 35 % output buffer | 12 % readers | 8 % the rest |
//! ```
//!
//! The shares limit the memory that is touched; reserved memory costs nothing until then. The planner cuts shards so
//! that the output buffer suffices. A task with more states than planned spills, and stays within its memory. Tables
//! and output buffer always have room for 4,096 records, even where long records make this more than their shares.

use keima_blocks::limits::{
    LEAST_TASK_BYTES, MOST_OPEN_RUNS, OUTPUT_PERCENT, READER_PERCENT, TABLE_PERCENT, output_record_bytes,
};
use keima_model::Key;

use crate::stream::table::Table;

/// States expanded at a time.
pub(crate) const BATCH: usize = 1024;
/// Bytes of one of the two tables, such that both stay in the second-level cache.
const CACHE_BYTES: usize = 320 << 10;

/// What a task may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Records in one of the two tables.
    pub(crate) table_records: usize,
    /// Records at which a group of families is closed and expanded.
    pub(crate) group_records: usize,
    /// Records in the output buffer.
    pub(crate) output_records: usize,
    /// Runs open for reading at a time.
    pub(crate) fan_in: usize,
    /// Decoded size of a block in the runs that the task writes.
    pub(crate) block_bytes: usize,
}

impl Budget {
    pub(crate) fn new<K: Key>(memory_bytes: u64, lanes: usize) -> Self {
        let bytes = memory_bytes.max(LEAST_TASK_BYTES) as usize;
        let [tables, output, readers] = [TABLE_PERCENT, OUTPUT_PERCENT, READER_PERCENT].map(|percent| percent as usize);
        let table_record = Table::<K>::record_bytes(lanes);
        // Two tables, and the sort order of the one that is spilled.
        let per_record = 2 * table_record + size_of::<(K, u32)>();
        let table_records = (bytes / 100 * tables / per_record).clamp(4 * BATCH, u32::MAX as usize / 4);
        let output_record = output_record_bytes(size_of::<K>() as u64, lanes as u64) as usize;
        // A reader holds one raw and one decoded block, and blocks on the way from another worker.
        let block_bytes = (bytes / 2048).clamp(8 << 10, 64 << 10);
        Self {
            table_records,
            group_records: (CACHE_BYTES / table_record).clamp(BATCH, table_records / 4),
            output_records: (bytes / 100 * output / output_record).clamp(4 * BATCH, u32::MAX as usize),
            fan_in: (bytes / 100 * readers / (4 * block_bytes)).clamp(4, MOST_OPEN_RUNS),
            block_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The planner counts on as many bytes of a buffered record as it takes.
    fn check<K: Key>() {
        for lanes in [1, 7, 4096] {
            let taken = size_of::<(K, u32)>() + lanes * size_of::<u64>();
            assert_eq!(output_record_bytes(size_of::<K>() as u64, lanes as u64), taken as u64, "{lanes} lanes");
        }
    }

    #[test]
    fn a_buffered_record_takes_what_the_planner_counts_on() {
        check::<u64>();
        check::<u128>();
    }
}
