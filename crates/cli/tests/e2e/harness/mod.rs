//! Starts processes, clusters and browsers, and ends them.

pub(crate) mod browser;
pub(crate) mod cluster;
pub(crate) mod process;
