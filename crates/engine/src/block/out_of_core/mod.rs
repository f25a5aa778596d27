//! Tasks out of core: a task reads groups of families from runs, takes them through a window, and writes runs.
//!
//! [`task`] does one task; [`prepared`] is what all tasks of a job on one worker share. [`gather`] reads, [`passes`]
//! computes, [`scatter`] writes, and [`memory`] decides how much each task gets.

pub(super) mod gather;
pub(super) mod group_tables;
pub(super) mod groups;
pub(super) mod memory;
pub(super) mod passes;
pub(super) mod prepared;
pub(super) mod scatter;
pub(super) mod task;
mod whole_sources;
