//! Transfer of runs between workers: inputs of tasks, second copies, and the service that sends runs to others.

pub(crate) mod copy;
pub(crate) mod feeds;
pub(crate) mod frames;
pub(crate) mod remote_feed;
pub(crate) mod run_server;
#[cfg(test)]
pub(crate) mod tests;
