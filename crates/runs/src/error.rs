//! Errors of runs, typed by what the caller does next: free disk space, drop the copy, or read again.

use std::io;
use std::path::PathBuf;

use crate::RunId;

/// Why a run could not be written or read. `place` is a file's path, or a run's id where blocks come through a feed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}; check the folder, its permissions and the disk", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The scratch folder would grow over its cap.
    #[error(
        "the scratch folder is at its limit: {} of {} are in use, and {} more are needed; raise --disk, or free space",
        show_size(*used), show_size(*cap), show_size(*wanted)
    )]
    DiskCap {
        /// Cap in bytes.
        cap: u64,
        /// Bytes in use.
        used: u64,
        /// Bytes asked for.
        wanted: u64,
    },
    /// A writer was given keys that do not ascend strictly. It took nothing of the refused call.
    #[error("keys must ascend strictly: {:#x} came after {:#x}; this is a fault of the program, please report it", **got, **previous)]
    OutOfOrder {
        /// Key before. Boxed, so that errors and results stay small.
        previous: Box<u128>,
        /// Key that came.
        got: Box<u128>,
    },
    /// A writer was given rows of another shape, or a reader was asked for lanes that do not exist.
    #[error(
        "{expected} lanes were expected for these keys, {got} came; this is a fault of the program, please report \
         it"
    )]
    RowLength {
        /// Keys x lanes.
        expected: usize,
        /// Numbers that came.
        got: usize,
    },
    /// A writer was given a value that is not below its modulus.
    #[error(
        "lane {lane} holds {value}, which is not below its modulus {modulus}; this is a fault of the program, please \
         report it"
    )]
    NotReduced {
        /// Lane.
        lane: usize,
        /// What came.
        value: u64,
        /// Its modulus.
        modulus: u64,
    },
    /// A header with a field out of bounds.
    #[error(
        "a run's header cannot have {what} {got}: expected {expected}; this is a fault of the program, please report it"
    )]
    BadHeader {
        /// Field.
        what: &'static str,
        /// What is accepted.
        expected: String,
        /// What came.
        got: String,
    },
    /// The run's file exists already. A run is written once.
    #[error("{} exists already, and a run is never written twice; remove the old file", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// An id that is not a relative path of `[a-z0-9]` components.
    #[error(
        "{got:?} is not a run id: expected components of a-z and 0-9 joined by single slashes, at most {max} bytes"
    )]
    BadId {
        /// What came, cut to `max` characters.
        got: String,
        /// Longest accepted id in bytes.
        max: usize,
    },
    /// Not a run file.
    #[error(
        "{place} is not a run file: it begins with {got:02x?}, not with \"KEIMARUN\"; remove it, and \
         keima will make the run again"
    )]
    BadMagic {
        /// Where.
        place: String,
        /// First bytes.
        got: [u8; 8],
    },
    /// A run file of another format version.
    #[error(
        "{place} has format version {got}, this program reads version {expected}; use the version of keima that wrote it"
    )]
    OtherVersion {
        /// Where.
        place: String,
        /// What this program reads.
        expected: u32,
        /// What the file says.
        got: u32,
    },
    /// A sound run, but not the expected one: another job, boundary, key order, width, moduli or contents.
    #[error(
        "{place} is not the expected run: its {what} is {got}, not {expected}; remove it, or give the right folder"
    )]
    OtherRun {
        /// Where.
        place: String,
        /// Field that differs.
        what: &'static str,
        /// What the caller expects.
        expected: String,
        /// What the file says.
        got: String,
    },
    /// The file ends too early.
    #[error(
        "{place} is cut short: {what} needs {expected} bytes, the file has {got}; remove it, and keima \
         will make the run again"
    )]
    Truncated {
        /// Where.
        place: String,
        /// What is missing.
        what: &'static str,
        /// Least length of the file in bytes.
        expected: u64,
        /// Length of the file in bytes.
        got: u64,
    },
    /// The bytes have changed since they were written.
    #[error(
        "{place}: the checksum of {what} {at} is {got:08x}, not {expected:08x}: the bytes have changed since they were \
         written; remove this copy, and keima will make the run again"
    )]
    Checksum {
        /// Where.
        place: String,
        /// Header, block or index and footer.
        what: &'static str,
        /// Number of the block within the read; 0 for other parts.
        at: u64,
        /// Checksum that was stored.
        expected: u32,
        /// Checksum of the bytes.
        got: u32,
    },
    /// Fields that contradict each other or are out of bounds.
    #[error("{place}: {what} (block or byte {at}); remove this copy, and keima will make the run again")]
    Malformed {
        /// Where.
        place: String,
        /// What is wrong.
        what: &'static str,
        /// Number of the block within the read, or the byte offset for other parts.
        at: u64,
    },
    /// A feed left out blocks of the requested range.
    #[error("{place}: the blocks from key {:#x} on did not arrive; read the run again, or from another holder", **next)]
    Incomplete {
        /// Where.
        place: String,
        /// First key that no block answered for.
        next: Box<u128>,
    },
    /// The reader or writer was used after an error.
    #[error("{place}: an earlier call failed; open the run again")]
    Failed {
        /// Where.
        place: String,
    },
    /// A feed over the network failed.
    #[error("{text}")]
    Remote {
        /// What happened, where, and what to do.
        text: String,
    },
}

impl RunError {
    /// Whether the disk, the quota or the cap on the scratch folder is exhausted.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::DiskCap { .. } => true,
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Whether the bytes read are wrong, so that this copy must not be used again.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::BadMagic { .. }
                | Self::OtherVersion { .. }
                | Self::OtherRun { .. }
                | Self::Truncated { .. }
                | Self::Checksum { .. }
                | Self::Malformed { .. }
        )
    }

    pub(crate) fn out_of_order(previous: u128, got: u128) -> Self {
        Self::OutOfOrder { previous: Box::new(previous), got: Box::new(got) }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, action, source }
    }
}

/// A merge stopped because one of its runs could not be read.
#[derive(Debug, thiserror::Error)]
#[error("run {run}: {source}")]
pub struct MergeError {
    /// The run.
    pub run: RunId,
    /// What happened.
    #[source]
    pub source: RunError,
}

// Results carry errors by value through hot paths: keep them small.
const _: () = assert!(size_of::<MergeError>() < 128);

/// `"12.5 MiB"`; `"12.5 KiB"` below one of these, so that nothing is called 0.0.
fn show_size(bytes: u64) -> String {
    let (unit, name) = if bytes < 1 << 20 { (1 << 10, "KiB") } else { (1 << 20, "MiB") };
    format!("{:.1} {name}", bytes as f64 / f64::from(unit))
}
