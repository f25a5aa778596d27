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

/// Memory beside its tasks of a worker that has `memory_bytes` and runs `tasks` at a time.
pub fn beside_tasks_bytes(parts: &PartsBytes, memory_bytes: u64, tasks: u32) -> u64 {
    let left_over = left_over_bytes(parts, memory_bytes, tasks);
    parts.worker_bytes.saturating_add(kept_bytes(memory_bytes) + left_over)
}

/// What a worker with `memory_bytes` keeps of parts for later ones: an eighth, and at most 2 GiB. All signatures of 19 cells in
/// windows of five may take 4 GiB, by the growth from 13 to 15 cells; but if 4 GiB were kept, the largest family there would not
/// fit workers of 64 GiB.
pub fn kept_bytes(memory_bytes: u64) -> u64 {
    const MOST: u64 = 2 << 30;
    (memory_bytes / 8).min(MOST)
}

/// What the allocator of such a worker has not given back: jemalloc, on x86-64. Other allocators may keep more. Up to 8 MiB stay
/// whatever is made. Of parts that were made and dropped it has up to one for each task, for a tenth of a second: as long as it
/// takes to fill some 64 MiB with states.
pub fn left_over_bytes(parts: &PartsBytes, memory_bytes: u64, tasks: u32) -> u64 {
    const MOST_STAYING: u64 = 8 << 20;
    const MOST_DROPPED: u64 = 64 << 20;
    let dropped = parts.task_bytes().saturating_mul(tasks.into()).min(MOST_DROPPED).min(memory_bytes / 4);
    dropped + MOST_STAYING.min(memory_bytes / 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_has_room_for_a_while() {
        // In MiB: a part, a worker's memory, its tasks, what the allocator gets.
        for (part, memory, tasks, left_over) in [
            (5, 180, 2, 18),
            (20, 180, 2, 48),
            (40, 180, 2, 53),
            (40, 576, 2, 72),
            (400, 6 << 10, 16, 72),
            (1, 36, 1, 3),
        ] {
            let parts = PartsBytes { worker_bytes: 1, largest_bytes: vec![part << 20, 1] };
            assert_eq!(left_over_bytes(&parts, memory << 20, tasks), left_over << 20, "{part} of {memory}");
            let beside = (left_over << 20) + (memory << 17) + 1;
            assert_eq!(beside_tasks_bytes(&parts, memory << 20, tasks), beside, "{part} of {memory}");
        }
    }
}
