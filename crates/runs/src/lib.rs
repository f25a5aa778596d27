//! Runs: immutable files of strictly ascending keys with their values. FORMAT.md draws the bytes.
//!
//! ```text
//!   RunWriter, or      --file--> LocalRun --BlockFeed--> RunCursor --\
//!   SlicedWriter                             (or any other)  RunCursor ----> Merger --> batches of distinct ascending keys
//! ```
//!
//! This crate sees integers and lanes, never boards.

#![forbid(unsafe_code)]

mod block;
mod cursor;
mod disk;
mod error;
mod footer;
mod header;
mod intake;
mod lanes;
mod local;
mod manifest;
mod merge;
mod part;
mod publish;
mod sliced;
mod varint;
mod verify;
mod word;
mod writer;

pub use cursor::{CursorBuffers, RunCursor};
pub use disk::DiskBudget;
pub use error::{MergeError, RunError};
pub use footer::MAX_SPLITS;
pub use header::{FORMAT_VERSION, MAX_LANES, MAX_SUBJECT_BYTES};
pub use intake::Intake;
pub use local::{BlockFeed, LocalFeed, LocalRun};
pub use manifest::{
    BlockCut, FunctionalSum, KeyOrder, PassTally, RunHeader, RunId, RunManifest, Split, Tally, TaskManifest, TaskTimes,
};
pub use merge::Merger;
pub use part::RunPart;
pub use publish::{publish_durably, run_path, temporary_path};
pub use sliced::{Section, SlicedWriter};
pub use verify::{open_verified, read_manifest, verify_run};
pub use word::{Batch, Word};
pub use writer::{RunOptions, RunWriter};
