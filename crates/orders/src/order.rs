//! The work of one stage on one shard.

use std::ops::Range;

use keima_model::{Direction, Layout, ProblemRequest, Window, identity_hash};
use keima_runs::{MAX_BUILD_BYTES, MAX_SUBJECT_BYTES};
use serde::{Deserialize, Serialize};

use crate::{AttemptId, InputRun, Origin};

/// The work of one stage on one shard, as one attempt is to do it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOrder {
    /// The attempt; its name is the prefix of the runs that it writes.
    pub attempt: AttemptId,
    /// The problem.
    pub problem: ProblemRequest,
    /// What the problem must be, and which programs are at work.
    pub origin: Origin,
    /// Goes into run headers: see `keima_runs::RunHeader::job_tag`.
    pub job_tag: u64,
    /// Salt of the fingerprint's hash, one per job.
    pub salt: u64,
    /// Moduli of the runs that are written.
    pub moduli: Vec<u64>,
    /// First pass of the stage. Transposed passes are done from the last to the first.
    pub first_pass: u32,
    /// Window of the stage; it has `window.len` passes.
    pub window: Window,
    /// Layout of the inputs; not used for the start vector.
    pub layout_in: Layout,
    /// Layout of the output.
    pub layout_out: Layout,
    /// Whether the input is the problem's start vector and not runs. A transposed vector starts with its accepting states.
    pub from_start: bool,
    /// Smallest key of the shard.
    pub low: u128,
    /// Exclusive upper end of the shard; `None` for no end.
    pub high: Option<u128>,
    /// Runs that may hold keys of the shard.
    pub inputs: Vec<InputRun>,
    /// Memory that the task may use.
    pub task_memory_bytes: u64,
    /// Whether runs must be on stable storage (fsync) before the task is reported.
    pub durable: bool,
    /// Most splits that are of use: a report with more takes the coordinator longer, and it joins them.
    pub most_splits: u32,
    /// For the block executor; `None` for the stream executor.
    pub block: Option<BlockOrder>,
}

impl TaskOrder {
    /// The order of a stage's only task, by streams from the start vector. It has no moduli and no memory: put in what differs.
    pub fn of(attempt: AttemptId, problem: ProblemRequest, window: Window) -> Self {
        Self {
            attempt,
            problem,
            origin: Origin::default(),
            job_tag: 0,
            salt: 0,
            moduli: Vec::new(),
            first_pass: window.first,
            window,
            layout_in: Layout::Stage(window),
            layout_out: Layout::Canonical,
            from_start: true,
            low: 0,
            high: None,
            inputs: Vec::new(),
            task_memory_bytes: 0,
            durable: false,
            most_splits: u32::MAX,
            block: None,
        }
    }

    /// What run headers say is counted: the words of the request, cut to what a header holds.
    pub fn subject(&self) -> String {
        printable(&self.problem.words(), MAX_SUBJECT_BYTES)
    }

    /// What run headers say of the problem's identity: a hash of it.
    pub fn definition(&self) -> u64 {
        identity_hash(&self.origin.identity)
    }

    /// What run headers say of the program that began the job, cut to what a header holds.
    pub fn begun_by(&self) -> String {
        printable(&self.origin.begun_by, MAX_BUILD_BYTES)
    }

    /// The lanes that the task takes.
    pub fn lanes(&self) -> Range<usize> {
        let some = self.block.as_ref().and_then(|block| block.lanes);
        some.map_or(0..self.moduli.len(), Lanes::range)
    }

    /// Moduli of the runs that are read.
    pub fn moduli_in(&self) -> &[u64] {
        self.block.as_ref().map_or(&self.moduli, |block| &block.moduli_in)
    }

    /// The kept vector that the stage's vector meets, where it meets one.
    pub fn kept(&self) -> Option<&KeptOrder> {
        self.block.as_ref().and_then(|block| block.kept.as_ref())
    }

    /// All runs that the task reads.
    pub fn all_inputs(&self) -> impl Iterator<Item = &InputRun> {
        self.inputs.iter().chain(self.kept().into_iter().flat_map(|kept| &kept.inputs))
    }
}

/// What a stage of the block executor needs beside the rest of its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockOrder {
    /// All windows of a column, which the tables are built for.
    pub windows: Vec<Window>,
    /// Most records of the families that are done together.
    pub group_records: u64,
    /// Moduli of the runs that are read: all of the stage's, or the first ones and the last.
    pub moduli_in: Vec<u64>,
    /// Whether tables are made for each group of families.
    pub parted: bool,
    /// Tasks that all workers do at a time. A group that is more of the stage than one of them is done by several threads.
    pub slots: u32,
    /// Whether the job has transposed passes too, so that its tables are made for both.
    pub both_ways: bool,
    /// Which way the vector goes.
    pub direction: Direction,
    /// The lanes that the task takes, where several tasks share those of a family; `None` for all.
    pub lanes: Option<Lanes>,
    /// The forward vector that a transposed one meets here. Then nothing is written, and the inner product of the two is
    /// the board's last functional.
    pub kept: Option<KeptOrder>,
}

/// The lanes `first .. end` of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lanes {
    /// The first.
    pub first: u32,
    /// One past the last.
    pub end: u32,
}

impl Lanes {
    /// As places in a row.
    pub const fn range(self) -> Range<usize> {
        self.first as usize..self.end as usize
    }
}

/// A forward vector that a transposed one meets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOrder {
    /// Runs that may hold keys of the shard.
    pub inputs: Vec<InputRun>,
    /// Their moduli: all of the stage's, or the first ones and the last.
    pub moduli: Vec<u64>,
}

/// The first characters of a text, in printable ASCII.
fn printable(text: &str, most: usize) -> String {
    let printable = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    text.chars().take(most).map(printable).collect()
}
