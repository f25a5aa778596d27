//! What a task is given and what can go wrong with it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use keima_orders::TaskOrder;
use keima_runs::{BlockFeed, DiskBudget, RunError, RunHeader, RunId, RunManifest, RunPart};

use crate::Buffers;

/// Opens a part of a run wherever it is: a local file, a shared folder, another worker.
pub trait FeedOpener: Sync {
    /// Raw blocks of `run` that may hold keys of the part, in order, with its lanes.
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError>;
}

/// An order with everything around it that the task needs.
pub struct Task<'a> {
    /// The work.
    pub order: &'a TaskOrder,
    /// Where inputs come from.
    pub feeds: &'a dyn FeedOpener,
    /// The scratch folder: run `id` is written to `scratch/id.run`.
    pub scratch: &'a Path,
    /// What the scratch folder may hold.
    pub disk: &'a Arc<DiskBudget>,
    /// Set by others to stop the task soon.
    pub stop: &'a AtomicBool,
    /// Counts states read, for progress.
    pub states_done: &'a AtomicU64,
    /// Large buffers, kept from task to task.
    pub buffers: &'a Buffers,
}

/// Why a task could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// An input could not be read, or its checks failed.
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
    /// A law of the numbers does not hold.
    #[error("check {check} failed at pass {pass}, modulus {modulus}: {detail}")]
    Check {
        /// Which law.
        check: &'static str,
        /// After which pass.
        pass: u32,
        /// Modulo which prime.
        modulus: u64,
        /// Expected and got.
        detail: String,
    },
    /// The order cannot be carried out as it stands.
    #[error("{0}")]
    Refused(String),
    /// `stop` was set.
    #[error("the task was told to stop")]
    Stopped,
}
