//! Reading runs: open a file, decode its blocks in key order, merge several runs, verify a whole one.

mod cursor;
mod feed;
pub(crate) mod local;
mod merge;
mod verify;

pub use cursor::{CursorBuffers, RunCursor};
pub use feed::LocalFeed;
pub use local::{BlockFeed, LocalRun};
pub use merge::Merger;
pub use verify::{open_verified, read_manifest, verify_run};
