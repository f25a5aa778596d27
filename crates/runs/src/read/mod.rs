//! Reading runs: open a file, decode its blocks in key order, merge several runs, verify a whole one.

mod cursor;
mod feed;
mod index;
mod local;
mod merge;
mod opened;
mod source;
mod verify;

pub use cursor::{BlockFeed, CursorBuffers, RunCursor};
pub use feed::LocalFeed;
pub use local::LocalRun;
pub use merge::Merger;
pub use verify::{open_verified, read_manifest, verify_run};
