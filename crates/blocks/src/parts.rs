//! Memory of a worker whose tables are made a part at a time.
//!
//! ```text
//!   worker   | families of all windows | kept | left over | tasks ...
//!   task     | its part | states |
//! ```
//!
//! *Kept* are results that later parts use again. A part is its task's memory, also while it is made: then there are no
//! states yet.

use keima_model::PartsBytes;

/// Memory of a worker with `memory_bytes` beside its tasks.
pub fn beside_tasks_bytes(parted: &PartsBytes, memory_bytes: u64) -> u64 {
    parted.worker_bytes.saturating_add(kept_bytes(memory_bytes) + left_over_bytes(memory_bytes))
}

/// What a worker with `memory_bytes` keeps of parts for later ones: an eighth, and at most 2 GiB. All signatures of 19 cells in
/// windows of five may take 4 GiB, by the growth from 13 to 15 cells; with more than that the largest family there would not fit
/// workers of 64 GiB.
pub fn kept_bytes(memory_bytes: u64) -> u64 {
    const MOST: u64 = 2 << 30;
    (memory_bytes / 8).min(MOST)
}

/// What the allocator of a worker with `memory_bytes` keeps whatever is made: jemalloc, on x86-64. Other allocators may
/// keep more.
pub fn left_over_bytes(memory_bytes: u64) -> u64 {
    const MOST: u64 = 8 << 20;
    MOST.min(memory_bytes / 18)
}
