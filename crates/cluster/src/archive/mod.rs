//! The archive: a folder or bucket that outlives machines, for checkpoints and the runs that they need.
//!
//! ```text
//!   URL/go-13x13-9f86d081884c7d65-j1/           a job of a coordinator
//!     runs/DIGEST.run                           a run, as it stood in a worker's scratch folder
//!     checkpoint-0000000042.keima               all else, written when its runs are there, only if absent
//!     damaged-checkpoint-0000000031.keima       one that was set aside
//! ```
//!
//! `place` opens folders and S3-compatible buckets, `runs` brings runs there and back for a worker, `checkpoints` publishes,
//! prunes and reads checkpoints for a coordinator, `leftovers` removes what killed writers left. Nothing here decides: the coordinator's state machine does.

mod checkpoints;
mod leftovers;
mod place;
mod runs;
#[cfg(test)]
mod tests;

pub(crate) use self::place::is_object_name;
pub use self::place::{Archive, ArchiveError};
