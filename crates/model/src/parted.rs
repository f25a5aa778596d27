//! Memory of tables that are made a part at a time, as who plans a count and who does it reckon with it.
//!
//! ```text
//!   a worker   | families of all windows | kept | making | tasks ...       kept: of parts, for later ones
//!   a task     | its part | states |                                       making: parts that wait for memory
//! ```

/// Memory for tables that are made a part at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartedBytes {
    /// Of a worker: [`crate::BlockParts::bytes`], what is kept of parts left out.
    pub worker_bytes: u64,
    /// Of a task: its largest part.
    pub task_bytes: u64,
}

impl PartedBytes {
    /// All that a worker with so much memory takes beside so many tasks at a time.
    pub fn beside_tasks(self, memory_bytes: u64, tasks: u32) -> u64 {
        self.worker_bytes.saturating_add(Self::kept(memory_bytes) + self.making(memory_bytes, tasks))
    }

    /// Of a worker with so much memory, what it keeps of parts for later ones.
    pub fn kept(memory_bytes: u64) -> u64 {
        memory_bytes / 8
    }

    /// Of a worker with so much memory, what is left to parts while they are made, and to the allocator: a sixth, and
    /// where memory is so little that this is no part for each task, up to a third; and what the allocator keeps
    /// whatever is made (13x13 in 215 MiB, windows 4,4,5: 220 MiB without it; 14x14 in 580 MiB, windows 5,4,5: 591 MiB
    /// with 8, 586 with this).
    pub fn making(self, memory_bytes: u64, tasks: u32) -> u64 {
        const LITTLE: u64 = 64 << 20;
        const KEPT_BY_ALLOCATOR: u64 = 32 << 20;
        let each = self.task_bytes.saturating_mul(tasks.into());
        let parts = each.min(memory_bytes / 3).min(LITTLE).max(memory_bytes / 6);
        parts + KEPT_BY_ALLOCATOR.min(memory_bytes / 18)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_room_while_they_are_made() {
        // In MiB: a part, a worker's memory, and what is left for so many tasks.
        for (part, memory, tasks, making) in [
            (10, 180, 2, 40),
            (20, 180, 2, 50),
            (40, 180, 2, 70),
            (40, 252, 2, 78),
            (40, 576, 2, 128),
            (400, 6 << 10, 16, 1056),
            (1, 36, 1, 8),
        ] {
            let parted = PartedBytes { worker_bytes: 1, task_bytes: part << 20 };
            assert_eq!(parted.making(memory << 20, tasks), making << 20, "{part} of {memory}");
            assert_eq!(parted.beside_tasks(memory << 20, tasks), (making << 20) + (memory << 17) + 1);
        }
    }
}
