//! One machine. The *stream* executor works for every problem and any size: a task merges, expands, combines and spills
//! under a memory budget. The *block* executor ([`block`]) is for problems made of dense blocks: tasks, and whole counts
//! in memory.
//!
//! Problems are known only through `keima_model`'s traits, and vectors of tasks only as runs. Tasks are
//! independent of each other; whoever calls [`run_task`] decides how many run at a time.
//!
//! Architecture invariant: the result of a task does not depend on its memory, its block sizes or whether it spilled.

// Not `forbid`, which `block/ahead.rs` could not be excepted from; the reason stands there.
#![deny(unsafe_code)]

mod api;
pub mod block;
mod clock;
mod splits;
mod stream;
mod tally;

pub use api::{FeedOpener, Task, TaskError};
pub use stream::buffers::Buffers;
pub use stream::run_task;

/// The least `keima_orders::TaskOrder::task_memory_bytes` that [`run_task`] accepts.
pub const MIN_TASK_MEMORY_BYTES: u64 = stream::budget::MIN_TASK_BYTES;
