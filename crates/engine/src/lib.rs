//! The work of one machine.
//!
//! The *stream* executor works for every problem and any size: a task merges, expands, combines and spills within a
//! memory budget. The *block* executor ([`block`]) is for problems made of dense blocks. It does tasks, and whole
//! counts in memory.
//!
//! The engine knows problems only through `keima_model`'s traits, and the vectors of tasks only as runs. Tasks are
//! independent of each other. The caller of [`run_task`] decides how many run at a time.
//!
//! Architecture invariant: a task's result does not depend on its memory, on its block sizes or on spills.

// Not `forbid`: `block/rows/prefetch.rs` needs an exception, and says why.
#![deny(unsafe_code)]

mod api;
pub mod block;
mod clock;
mod memory;
mod splits;
mod stream;
mod tally;

pub use api::{FeedOpener, Task, TaskError};
pub use memory::MemoryRefused;
pub use stream::buffers::Buffers;
pub use stream::run_task;
