//! Memory of tables that are made a part at a time, as who plans a count and who does it reckon with it.
//!
//! ```text
//!   a worker   | families of all windows | kept | making | left over | tasks ...     kept: of parts, for later ones
//!   a task     | its part | states |                                                 making: parts that wait for memory
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
        let some = Self::kept(memory_bytes) + self.making(memory_bytes, tasks) + Self::left_over(memory_bytes);
        self.worker_bytes.saturating_add(some)
    }

    /// Of a worker with so much memory, what it keeps of parts for later ones.
    pub fn kept(memory_bytes: u64) -> u64 {
        memory_bytes / 8
    }

    /// Of a worker with so much memory, what is left to parts while they are made: a sixth, or, up to a third, what one
    /// part takes, or what takes one for each task up to 64 MiB.
    pub fn making(self, memory_bytes: u64, tasks: u32) -> u64 {
        const LITTLE: u64 = 64 << 20;
        let each = self.task_bytes.saturating_mul(tasks.into());
        let some = each.min(LITTLE).max(self.task_bytes);
        some.min(memory_bytes / 3).max(memory_bytes / 6)
    }

    /// Of a worker with so much memory, what the allocator keeps whatever is made: jemalloc, on x86-64. Other allocators
    /// may keep more.
    pub fn left_over(memory_bytes: u64) -> u64 {
        const MOST: u64 = 8 << 20;
        MOST.min(memory_bytes / 18)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_room_while_they_are_made() {
        // In MiB: a part, a worker's memory, what is left to parts of so many tasks, and to the allocator.
        for (part, memory, tasks, making, left_over) in [
            (10, 180, 2, 30, 8),
            (20, 180, 2, 40, 8),
            (40, 180, 2, 60, 8),
            (40, 252, 2, 64, 8),
            (40, 576, 2, 96, 8),
            (150, 576, 2, 150, 8),
            (250, 576, 2, 192, 8),
            (400, 6 << 10, 16, 1024, 8),
            (1, 36, 1, 6, 2),
        ] {
            let parted = PartedBytes { worker_bytes: 1, task_bytes: part << 20 };
            assert_eq!(parted.making(memory << 20, tasks), making << 20, "{part} of {memory}");
            let beside = ((making + left_over) << 20) + (memory << 17) + 1;
            assert_eq!(parted.beside_tasks(memory << 20, tasks), beside, "{part} of {memory}");
        }
    }
}
