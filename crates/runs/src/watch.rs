//! A door that every change of a file passes which must survive a crash, or must not outlive one.
//!
//! A simulator stands there: it takes notes of what is on stable storage, and lets changes fail, wait, or end the process
//! that makes them. Without one, a change costs one load and one branch.
//!
//! ```text
//!   before(change)?      asked first: an error means that the change is not made
//!   the change itself    made by the caller, on the real file
//! ```
//!
//! A watcher belongs to the threads that took it on: each simulated cluster has one thread at a time.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A change that is about to be made.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A folder is made, with those above it that are missing.
    Folder(&'a Path),
    /// A file is made, unless it is there.
    Create(&'a Path),
    /// Bytes are written to a file.
    Write {
        /// The file.
        path: &'a Path,
        /// Where in the file.
        offset: u64,
        /// What.
        bytes: &'a [u8],
    },
    /// A file gets another length.
    Length {
        /// The file.
        path: &'a Path,
        /// Its length from now on.
        bytes: u64,
    },
    /// A file's contents go to stable storage.
    Sync(&'a Path),
    /// A folder's entries go to stable storage.
    SyncFolder(&'a Path),
    /// A file gets another name, and replaces what has it.
    Rename {
        /// The file.
        from: &'a Path,
        /// Its new name.
        to: &'a Path,
    },
    /// A file goes.
    Remove(&'a Path),
}

/// Who stands at the door.
pub trait Watch: Send + Sync {
    /// May make the change fail, or wait before it.
    fn before(&self, change: Change<'_>) -> io::Result<()>;
}

/// Whether any thread of this process ever had a watcher.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WATCH: RefCell<Option<Arc<dyn Watch>>> = const { RefCell::new(None) };
}

/// From now on `watch` is asked about the changes that this thread makes; `None`: nobody is.
pub fn set(watch: Option<Arc<dyn Watch>>) {
    if watch.is_some() {
        ANY.store(true, Ordering::Relaxed);
    }
    WATCH.set(watch);
}

/// Asks whether the change may be made. Call it before each.
#[inline]
pub fn before(change: Change<'_>) -> io::Result<()> {
    if ANY.load(Ordering::Relaxed) { ask(change) } else { Ok(()) }
}

#[cold]
fn ask(change: Change<'_>) -> io::Result<()> {
    // Not borrowed while the watcher waits.
    let watch = WATCH.with_borrow(Option::clone);
    watch.map_or(Ok(()), |watch| watch.before(change))
}
