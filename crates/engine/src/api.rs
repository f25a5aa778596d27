//! What a task needs beside its order, and why it can fail.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keima_orders::TaskOrder;
use keima_runs::{BlockFeed, DiskBudget, RunError, RunHeader, RunId, RunManifest, RunPart};

use crate::{Buffers, MemoryRefused};

/// Opens a part of a run wherever it is: in a local file, in a shared folder, on another worker.
pub trait FeedOpener: Sync {
    /// Opens the raw blocks of `run` that may hold keys of the part, in order, with the part's lanes.
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError>;
}

/// A task: its order and everything that it uses.
pub struct Task<'a> {
    /// The work.
    pub order: &'a TaskOrder,
    /// Opens the input runs.
    pub feeds: &'a dyn FeedOpener,
    /// The scratch folder: run `id` is written to `scratch/id.run`.
    pub scratch: &'a Path,
    /// Limit of the scratch folder's size.
    pub disk: &'a Arc<DiskBudget>,
    /// Set by the caller to stop the task soon.
    pub stop: &'a AtomicBool,
    /// Number of states read so far, for progress.
    pub states_done: &'a AtomicU64,
    /// Counts up as long as the task gets on, whatever it does; not while it waits. Whoever looks sees a task that hangs.
    pub pulse: &'a AtomicU64,
    /// Large buffers, kept from task to task.
    pub buffers: &'a Buffers,
}

impl TaskError {
    /// What a task reads breaks a law as a whole, in all lanes.
    pub(crate) fn check(order: &TaskOrder, check: &'static str, detail: String) -> Self {
        let modulus = order.moduli.first().copied().unwrap_or(0);
        Self::Check { check, pass: order.first_pass, modulus, detail }
    }
}

impl Task<'_> {
    /// Whether the caller stopped the task. Asked between two steps of the work, so it counts as one.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.pulse.fetch_add(1, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}

/// Why a task could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// An input could not be read, or failed its checks.
    #[error("input run {run}: {source}")]
    Input {
        /// The run.
        run: RunId,
        /// What happened.
        #[source]
        source: RunError,
    },
    /// Writing an output or a spill failed; see [`RunError::is_disk_full`].
    #[error("output: {0}")]
    Output(#[source] RunError),
    /// The numbers break a law.
    #[error("check {check} failed at pass {pass}, modulus {modulus}: {detail}")]
    Check {
        /// Which law.
        check: &'static str,
        /// After which pass.
        pass: u32,
        /// Modulo which prime.
        modulus: u64,
        /// Expected and found values.
        detail: String,
    },
    /// The order cannot be carried out.
    #[error("{0}")]
    Refused(String),
    /// The system has too little memory for what the order allows.
    #[error(transparent)]
    Memory(#[from] MemoryRefused),
    /// `stop` was set.
    #[error("the task was told to stop")]
    Stopped,
}
