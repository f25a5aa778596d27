//! Starts processes and clusters, and ends them.

pub(crate) mod cluster;
pub(crate) mod process;
