//! What of a job is shown to people: its status, what its page shows, its progress. Reads only.

pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod status;
mod summary;
