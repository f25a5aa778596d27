//! Runs: immutable files of strictly ascending keys with their values. docs/reference/run-file.md draws the bytes.
//!
//! ```text
//!   RunWriter, or      --file--> LocalRun --BlockFeed--> RunCursor --\
//!   SlicedWriter                             (or any other)  RunCursor ----> Merger --> batches of distinct ascending keys
//! ```
//!
//! This crate sees integers and lanes, never boards.

#![forbid(unsafe_code)]

mod error;
mod format;
mod gaps;
mod manifest;
mod part;
mod read;
mod record;
pub mod watch;
mod write;

pub use error::{MergeError, RunError};
pub use format::footer::MAX_SPLITS;
pub use format::header::{FORMAT_VERSION, MAX_BUILD_BYTES, MAX_LANES, MAX_MODULI, MAX_SUBJECT_BYTES};
pub use gaps::{GapFinder, KeyGap, MAX_GAPS, common_gaps, parts_between};
pub use manifest::{
    Balance, BlockCut, FunctionalSum, KeyOrder, PassTally, RunHeader, RunId, RunManifest, Split, Tally, TaskManifest,
    TaskSums, TaskTimes,
};
pub use part::RunPart;
pub use read::{
    BlockFeed, CursorBuffers, LocalFeed, LocalRun, Merger, RunCursor, open_verified, read_manifest, verify_run,
};
pub use record::{Batch, RunKey};
pub use write::{
    DiskBudget, Intake, Passing, RunOptions, RunWriter, Section, SlicedWriter, flush_runs, publish_durably, run_path,
    temporary_path,
};
