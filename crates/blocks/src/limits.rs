//! Limits that several crates must agree on. Those of the run file are `keima_runs`' own.
//!
//! ```text
//!   key of a run of blocks   | number of the group that reads the row | place of the row in its boundary |
//!                              64 - PLACE_BITS                          PLACE_BITS
//!   memory of a stream task  | 45 % two tables | 35 % output | 12 % readers | 8 % the rest |
//! ```

/// Bits of a row's place among those of its boundary, in the keys of runs. Vectors have fewer rows than that.
pub const PLACE_BITS: u32 = 43;

/// Most groups of a window: their numbers have the bits of a key above a place.
pub const MOST_GROUPS: u64 = 1 << (u64::BITS - PLACE_BITS);

/// Every modulus is a prime from here up to 2^64.
pub const LEAST_MODULUS: u64 = 1 << 59;

/// The block executor's residues are below this. So sums of several residues fit a word.
pub const MODULUS_LIMIT: u64 = 1 << 60;

/// Longest window of the block executor. Its lists have fewer than 2^16 codes, and its largest family is a sixth of the
/// vector (Go).
pub const LONGEST_WINDOW: u32 = 7;

/// The same at an end of the column. Lists have up to 59,608 codes there; elsewhere one has 72,411 (Go).
pub const LONGEST_WINDOW_AT_END: u32 = 8;

/// The least memory of a task. With less, its buffers leave no room for states.
pub const LEAST_TASK_BYTES: u64 = 8 << 20;

/// Share of a stream task's memory, in percent, for its two tables.
pub const TABLE_PERCENT: u64 = 45;

/// Most bytes of a record in such a table: its key, its lanes, and four slots of 32 bits.
pub const fn table_record_bytes(key_bytes: u64, lanes: u64) -> u64 {
    key_bytes.saturating_add(lanes.saturating_mul(8)).saturating_add(16)
}

/// Share of a stream task's memory, in percent, in which its output is collected and sorted.
pub const OUTPUT_PERCENT: u64 = 35;

/// Bytes of a record while the output is sorted: its lanes, and its key beside a place of 32 bits, which takes as much room as
/// a second key.
pub const fn output_record_bytes(key_bytes: u64, lanes: u64) -> u64 {
    key_bytes.saturating_mul(2).saturating_add(lanes.saturating_mul(8))
}

/// Share of a stream task's memory, in percent, for the runs that it reads.
pub const READER_PERCENT: u64 = 12;

/// Most runs that a task merges at once, given memory enough.
pub const MOST_OPEN_RUNS: usize = 256;
