//! What of a job is shown to people: its status, a view for pages, its progress. Reads only.

pub(crate) mod progress;
pub(crate) mod status;
pub(crate) mod view;
