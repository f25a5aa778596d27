//! What a coordinator stores, and reading it back.
//!
//! Below the jobs: the journal takes records and knows nothing of those who write them.

pub(crate) mod checkpoint;
pub(crate) mod journal;
pub(crate) mod keys;
pub(crate) mod records;
pub(crate) mod restore;
mod run_index;
