//! What a task is given and what can go wrong with it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use keima_model::{Direction, Layout, Window};
use keima_runs::{BlockFeed, DiskBudget, RunError, RunHeader, RunId, RunManifest, RunPart};

use crate::Buffers;

/// Opens a part of a run wherever it is: a local file, a shared folder, another worker.
pub trait FeedOpener: Sync {
    /// Raw blocks of `run` that may hold keys of the part, in order, with its lanes.
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError>;
}

/// The work of one stage on one shard.
#[derive(Clone, Debug)]
pub struct TaskOrder {
    /// Prefix of the ids of the runs to be written, the attempt's folder: `"j3/s0/g12/t5/a0"`.
    pub attempt: String,
    /// See `RunHeader::job_tag`.
    pub job_tag: u64,
    /// See `RunHeader::subject`.
    pub subject: String,
    /// Salt of the fingerprint's hash, one per job.
    pub salt: u64,
    /// Moduli of this sweep.
    pub moduli: Vec<u64>,
    /// First pass; the stage has `window.len` passes. Transposed ones are done from the last to the first.
    pub first_pass: u32,
    /// Window of the stage.
    pub window: Window,
    /// Layout of the input runs.
    pub layout_in: Layout,
    /// Layout in which to write.
    pub layout_out: Layout,
    /// Input is the problem's start vector.
    pub from_start: bool,
    /// Smallest key of the shard.
    pub low: u128,
    /// Exclusive upper end.
    pub high: Option<u128>,
    /// Runs that may hold keys of the shard.
    pub inputs: Vec<RunManifest>,
    /// Memory that the task may use.
    pub memory_bytes: u64,
    /// Whether runs of the output are left to `keima_runs::publish_durably`.
    pub durable: bool,
    /// What a stage of the block executor needs beside.
    pub block: Option<BlockStage>,
}

impl TaskOrder {
    /// Moduli of the runs that are read.
    pub fn moduli_in(&self) -> &[u64] {
        self.block.as_ref().map_or(&self.moduli, |block| &block.moduli_in)
    }
}

/// What a stage of the block executor needs beside the rest of its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockStage {
    /// All windows of a column.
    pub windows: Vec<Window>,
    /// Families are done together up to so many records.
    pub group_records: u64,
    /// Tasks that all workers do at a time: a group that is a larger part of the stage is done by several threads.
    pub slots: u32,
    /// Moduli of the runs that are read: all of the stage's, or the first ones and the last.
    pub moduli_in: Vec<u64>,
    /// Which way the vector goes. [`TaskOrder::from_start`] is the start of this way.
    pub direction: Direction,
    /// Where a transposed vector comes to the boundary at which a forward one was kept: that one. Then nothing is written;
    /// the inner product of the two is told as the board's last functional.
    pub kept: Option<KeptRuns>,
}

/// Runs of a forward vector at the first step of a stage's window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRuns {
    /// Those that may hold keys of the shard.
    pub inputs: Vec<RunManifest>,
    /// Their moduli: all of the stage's, or the first ones and the last.
    pub moduli: Vec<u64>,
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
