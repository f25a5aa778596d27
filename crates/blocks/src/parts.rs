//! Memory of a worker whose tables are made a part at a time.
//!
//! ```text
//!   worker   | families of all windows | kept | while they are made | left over | tasks ...
//!   task     | its part | states |
//! ```
//!
//! *Kept* are results that later parts use again. A part counts as its task's memory once it is made.

use keima_model::PartsBytes;

/// Memory of a worker beside its tasks. It has `memory_bytes` and runs `tasks` at a time.
pub fn beside_tasks_bytes(parted: PartsBytes, memory_bytes: u64, tasks: u32) -> u64 {
    parted.worker_bytes.saturating_add(kept_bytes(memory_bytes) + unmade_bytes(parted, memory_bytes, tasks))
}

/// The part of [`beside_tasks_bytes`] that is free once tables are made: room to make parts, and the allocator's share.
pub fn unmade_bytes(parted: PartsBytes, memory_bytes: u64, tasks: u32) -> u64 {
    making_bytes(parted, memory_bytes, tasks) + left_over_bytes(memory_bytes)
}

/// What a worker with `memory_bytes` keeps of parts for later ones: an eighth, and at most 4 GiB. All signatures of 19 cells in
/// windows of five may take about that, by the growth from 13 to 15 cells.
pub fn kept_bytes(memory_bytes: u64) -> u64 {
    const MOST: u64 = 4 << 30;
    (memory_bytes / 8).min(MOST)
}

/// What a worker with `memory_bytes` leaves to parts while they are made: a twelfth. It is more, up to a third, where one
/// part needs that, or where one part for each task needs that and these have 64 MiB at most.
pub fn making_bytes(parted: PartsBytes, memory_bytes: u64, tasks: u32) -> u64 {
    const LITTLE: u64 = 64 << 20;
    let each = parted.task_bytes.saturating_mul(tasks.into());
    let some = each.min(LITTLE).max(parted.task_bytes);
    some.min(memory_bytes / 3).max(memory_bytes / 12)
}

/// What the allocator of a worker with `memory_bytes` keeps whatever is made: jemalloc, on x86-64. Other allocators may
/// keep more.
fn left_over_bytes(memory_bytes: u64) -> u64 {
    const MOST: u64 = 8 << 20;
    MOST.min(memory_bytes / 18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_room_while_they_are_made() {
        // In MiB: a part, a worker's memory, what parts of `tasks` tasks get, what the allocator gets.
        for (part, memory, tasks, making, left_over) in [
            (5, 180, 2, 15, 8),
            (20, 180, 2, 40, 8),
            (40, 180, 2, 60, 8),
            (40, 252, 2, 64, 8),
            (40, 576, 2, 64, 8),
            (150, 576, 2, 150, 8),
            (250, 576, 2, 192, 8),
            (400, 6 << 10, 16, 512, 8),
            (1, 36, 1, 3, 2),
        ] {
            let parted = PartsBytes { worker_bytes: 1, task_bytes: part << 20 };
            assert_eq!(making_bytes(parted, memory << 20, tasks), making << 20, "{part} of {memory}");
            let beside = ((making + left_over) << 20) + (memory << 17) + 1;
            assert_eq!(beside_tasks_bytes(parted, memory << 20, tasks), beside, "{part} of {memory}");
        }
    }
}
