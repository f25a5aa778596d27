//! How the memory of a process is divided among its tasks.
//!
//! ```text
//!   process   | the process itself, 32 MiB | task | task | task |
//!   task      | its part of the tables | tables made for it | states |
//! ```

/// Memory that a process needs besides its tasks: program, runtime, connections, buffers of streams to other workers. An
/// allowance, to be held against measurements of the whole process.
pub const PROCESS_OVERHEAD_BYTES: u64 = 32 << 20;

/// The allocator gets one part in this many of the tables' size. It keeps some of what was freed while tables were
/// built, and of tasks' buffers: 13 MB beside 94 MB of tables (Go 13x13, windows 7,6, two tasks, glibc's allocator).
const LEFT_OVER_ONE_IN: u64 = 6;

/// Memory of one task where a whole process may use `memory_bytes` and runs `slots` tasks at a time: the process's own
/// part is taken off, and the rest is shared evenly. 0 where nothing is left.
pub const fn task_memory_bytes(memory_bytes: u64, slots: u32) -> u64 {
    let slots = if slots == 0 { 1 } else { slots };
    memory_bytes.saturating_sub(PROCESS_OVERHEAD_BYTES) / slots as u64
}

/// The least memory of a process that runs `slots` tasks at a time, each with `task_memory_bytes`.
pub const fn process_memory_bytes(task_memory_bytes: u64, slots: u32) -> u64 {
    let slots = if slots == 0 { 1 } else { slots };
    task_memory_bytes.saturating_mul(slots as u64).saturating_add(PROCESS_OVERHEAD_BYTES)
}

/// What the allocator keeps beside tables of `table_bytes` that are made for all families at once.
pub const fn left_over_bytes(table_bytes: u64) -> u64 {
    table_bytes / LEFT_OVER_ONE_IN
}

/// What tables leave of a task's memory for its states. `table_bytes` is its part of the worker's tables; `part_bytes` is
/// the largest part where tables are made a part at a time. Most parts are much smaller than the largest one, for which
/// others wait if need be: so it counts as a quarter of the task's memory at most.
pub fn share_bytes(task_memory_bytes: u64, table_bytes: u64, part_bytes: u64) -> u64 {
    let left = task_memory_bytes.saturating_sub(table_bytes);
    left - part_bytes.min(left / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_share_what_the_process_leaves() {
        let check = |memory: u64, slots, expected: u64| {
            assert_eq!(task_memory_bytes(memory << 20, slots), expected << 20, "{memory} MiB, {slots} slots");
            let least = process_memory_bytes(expected << 20, slots);
            assert_eq!(task_memory_bytes(least, slots), expected << 20, "{least}, {slots} slots");
        };
        check(192, 2, 80);
        check(192, 1, 160);
        check(192, 0, 160);
        check(32, 2, 0);
        check(1, 2, 0);
    }
}
