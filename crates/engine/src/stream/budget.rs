//! How a task divides the memory that it was given.
//!
//! ```text
//!   task memory  | 45 % two tables (taken, made) | 35 % output buffer | 12 % readers | 8 % the rest |
//! ```
//!
//! The shares are upper limits of what is touched: reserved room costs nothing until it is used. The planner cuts
//! shards so that the output buffer suffices; a task that meets more than it was cut for spills and stays within. Tables
//! and output have room for 4,096 records at least, however long these are: with two hundred lanes and more in the least
//! memory that is beyond their shares.

use keima_blocks::limits::{MOST_OPEN_RUNS, OUTPUT_PERCENT, READER_PERCENT, TABLE_PERCENT};
use keima_model::Key;

use crate::stream::table::Table;

/// The least memory that a task can work in.
pub(crate) const MIN_TASK_BYTES: u64 = 4 << 20;
/// States that are expanded at a time.
pub(crate) const BATCH: usize = 1024;
/// Bytes of one table that stay in the second-level cache of any machine of the last ten years, beside the other's.
const CACHE_BYTES: usize = 320 << 10;

/// What a task may hold, in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Records in one of the two tables.
    pub(crate) table_records: usize,
    /// Records at which a group of families is closed.
    pub(crate) group_records: usize,
    /// Records in the output buffer.
    pub(crate) output_records: usize,
    /// Runs that are open for reading at once.
    pub(crate) fan_in: usize,
    /// Decoded size of a block in the runs to be written.
    pub(crate) block_bytes: usize,
}

impl Budget {
    pub(crate) fn new<K: Key>(memory_bytes: u64, lanes: usize) -> Self {
        let bytes = memory_bytes.max(MIN_TASK_BYTES) as usize;
        let [tables, output, readers] = [TABLE_PERCENT, OUTPUT_PERCENT, READER_PERCENT].map(|percent| percent as usize);
        let table_record = Table::<K>::record_bytes(lanes);
        // Two tables, and the order in which one of them is spilled.
        let per_record = 2 * table_record + size_of::<(K, u32)>();
        let table_records = (bytes / 100 * tables / per_record).clamp(4 * BATCH, u32::MAX as usize / 4);
        let output_record = 8 * lanes + size_of::<(K, u32)>();
        // A reader holds one raw and one decoded block, and what is on the way from another worker.
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
