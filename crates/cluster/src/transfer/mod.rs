//! Runs on their way between workers: the inputs of a task, second copies, and the service that sends runs to others.

mod copy;
pub(crate) mod feeds;
mod remote_feed;
pub(crate) mod run_server;
#[cfg(test)]
mod tests;
