//! What a count in the memory of one process takes.
//!
//! ```text
//!   from both ends   3 vectors of the lanes where they meet | buffers of the threads
//!   forward alone    2 vectors of some residues             | buffers of the threads
//!   a buffer         two blocks | a family's mail, or a small family's states twice over
//! ```

use keima_model::{FamilyBounds, MOST_ENTRIES};

/// Vectors of a count from both ends: one each way and one that is made.
const VECTORS_BOTH_ENDS: u64 = 3;
/// Vectors of a count that goes forward alone.
const VECTORS_FORWARD: u64 = 2;
/// The program itself.
const PROGRAM_BYTES: u64 = 64 << 20;
/// The allocator keeps one part in this many.
const LEFT_OVER_ONE_IN: u64 = 20;

/// Most bytes of the two buffers of a family that goes pass by pass, for rows of `lanes`. Two threads that share 32 MiB of
/// cache gain most with these sizes. Eight lanes lose with more.
pub const fn by_pass_bytes(lanes: usize) -> usize {
    if lanes < 8 { 16 << 20 } else { 8 << 20 }
}

/// Rows that the two buffers of a family of `states` take, each with padding for a block, if it may go pass by pass with
/// rows of any number of lanes; else 0.
pub const fn by_pass_rows(states: usize) -> usize {
    if 2 * states * 8 <= by_pass_bytes(1) { 2 * (states + MOST_ENTRIES) } else { 0 }
}

/// Rows that a thread's buffer is made with, of which those that nobody needs take no memory: blocks that were read
/// together, one more, and mail of `mail_rows` or a family pass by pass.
pub fn buffer_rows(mail_rows: usize, by_pass_rows: usize) -> usize {
    3 * MOST_ENTRIES + mail_rows.max(by_pass_rows)
}

/// What is counted in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// States of the largest vector.
    pub states: u64,
    /// States of the largest family.
    pub family: u64,
    /// Bounds of the families' buffers.
    pub bounds: FamilyBounds,
    /// Threads.
    pub threads: u32,
}

impl Count {
    /// Bytes beside the tables, from both ends, with so many lanes where they meet.
    pub fn both_ends_bytes(&self, lanes: u64) -> u64 {
        self.bytes(VECTORS_BOTH_ENDS, lanes)
    }

    /// Bytes beside the tables, forward alone, with so many residues at a time.
    pub fn forward_bytes(&self, lanes: u64) -> u64 {
        self.bytes(VECTORS_FORWARD, lanes)
    }

    fn bytes(&self, vectors: u64, lanes: u64) -> u64 {
        (vectors * self.states + self.buffers_rows(lanes)) * 8 * lanes
    }

    /// Rows that all threads touch of their buffers. One thread at a time has the largest family.
    ///
    /// For blocks each buffer has room for three times the largest that tables allow. One of them is filled by what is read
    /// together, with its positions. Of the others no more is touched than a block of this column has, a quarter of that
    /// and less: two in all.
    fn buffers_rows(&self, lanes: u64) -> u64 {
        let threads = u64::from(self.threads);
        let by_pass = (2 * self.family).min(by_pass_bytes(lanes as usize) as u64 / (8 * lanes));
        let [first, others] = self.bounds.mail_percent.map(|percent| self.family * percent / 100);
        first.max(by_pass) + threads.saturating_sub(1) * others.max(by_pass) + threads * 2 * MOST_ENTRIES as u64
    }
}

/// Memory of the process whose count takes `bytes` beside tables of `table_bytes`.
pub fn process_bytes(bytes: u64, table_bytes: u64) -> u64 {
    bytes + bytes / LEFT_OVER_ONE_IN + table_bytes + PROGRAM_BYTES
}
