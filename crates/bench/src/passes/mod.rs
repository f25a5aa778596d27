//! Passes of the executors by themselves, in this process.

pub(crate) mod in_memory;
pub(crate) mod on_disk;
pub(crate) mod stream;
