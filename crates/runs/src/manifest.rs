//! Manifests: what tasks and their coordinator tell each other about runs.
//!
//! A run's manifest repeats the footer of its file. A task's manifest adds what the task read, wrote and checked. The
//! manifests of a stage's tasks together are a boundary.

use std::fmt;

use keima_residue::add_row;
use serde::{Deserialize, Serialize};

use crate::gaps::KeyGap;

/// Name of a run, unique in a job: the attempt that wrote it and a number, `"j3/s0/g12/t5/a0/r1"`. With `.run` it is
/// also the path below its holder's scratch folder, so it holds only `[a-z0-9/]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The order of a run's keys. The problem gives it its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum KeyOrder {
    /// The problem's canonical form.
    Canonical,
    /// The form of the stage over the window `first .. first + len`.
    Window {
        /// First cell of the window.
        first: u32,
        /// Cells in the window.
        len: u32,
    },
    /// Positions in the block executor's order over the window `first .. first + len`, instead of the problem's keys.
    Blocks {
        /// First cell of the window.
        first: u32,
        /// Cells in the window.
        len: u32,
    },
    /// The same for a transposed vector: the value of a state is its number of completions.
    Transposed {
        /// First cell of the window.
        first: u32,
        /// Cells in the window.
        len: u32,
    },
}

impl KeyOrder {
    /// Whether keys are positions in the block executor's order.
    pub const fn is_of_blocks(self) -> bool {
        matches!(self, Self::Blocks { .. } | Self::Transposed { .. })
    }
}

/// What the block executor's order depends on beside the problem. With it the states of a run can be listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCut {
    /// Cells in each window of a column, from the first cell on.
    pub windows: Vec<u8>,
    /// Most records of a group of families.
    pub group_records: u64,
}

/// What all records of a run have in common: the header of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Hash of the job's name, problem and board. It tells the runs of different jobs apart.
    pub job_tag: u64,
    /// Hash of the problem's identity: what is counted, by which recurrence.
    pub definition: u64,
    /// Build of the program that began the job, for people: printable ASCII, at most [`crate::MAX_BUILD_BYTES`].
    pub build: String,
    /// What is counted, for people who find the file: problem, size and options in printable ASCII.
    pub subject: String,
    /// Number of passes before this vector.
    pub boundary: u32,
    /// Arrangement of the keys.
    pub key_order: KeyOrder,
    /// Present with [`KeyOrder::Blocks`] and [`KeyOrder::Transposed`] only.
    pub cut: Option<BlockCut>,
    /// 8 or 16.
    pub key_bytes: u8,
    /// Moduli of its lanes: those of a stage, or of the lanes that its task took.
    pub moduli: Vec<u64>,
    /// Coefficients of a value. Lane `c * moduli.len() + k` holds coefficient `c` modulo `moduli[k]`.
    pub coefficients: u32,
}

impl RunHeader {
    /// Lanes of a value: moduli x coefficients.
    pub fn lanes(&self) -> usize {
        self.moduli.len() * self.coefficients as usize
    }
}

/// A key at which a run may be cut. `records` records have keys below `key` and not below the split before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Exclusive upper end of the piece.
    pub key: u128,
    /// Records in the piece.
    pub records: u64,
}

/// The manifest of one run: its id and the footer of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunManifest {
    /// The run's name.
    pub id: RunId,
    /// Length of the file.
    pub bytes: u64,
    /// Number of records, at least 1 (empty runs are not written).
    pub records: u64,
    /// Smallest key.
    pub first_key: u128,
    /// Largest key.
    pub last_key: u128,
    /// Sum of each lane modulo its modulus.
    pub sums: Vec<u64>,
    /// CRC-32C over header, block index and the rest of the footer. It identifies the run's contents, since the index
    /// holds the checksum of every block.
    pub checksum: u32,
}

/// Totals over a set of states. They must be the same wherever the set is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// States after merging (distinct keys within the task's key range).
    pub states: u64,
    /// Sum of each lane modulo its modulus.
    pub sums: Vec<u64>,
    /// Sum of h(canonical key) x lane modulo the lane's modulus: the keyed fingerprint.
    pub fingerprint: Vec<u64>,
}

impl Tally {
    /// The totals over no states.
    pub fn zero(lanes: usize) -> Self {
        Self { states: 0, sums: vec![0; lanes], fingerprint: vec![0; lanes] }
    }

    /// Adds the totals over other states. Lane `i` is modulo `moduli[i % moduli.len()]`.
    pub fn add(&mut self, other: &Self, moduli: &[u64]) {
        self.states = self.states.saturating_add(other.states);
        add_row(&mut self.sums, &other.sums, moduli);
        add_row(&mut self.fingerprint, &other.fingerprint, moduli);
    }
}

/// The totals of one pass of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassTally {
    /// States that went into the pass.
    pub states: u64,
    /// Successors that came out, before equal ones were combined.
    pub successors: u64,
    /// `by_degree[d][lane]`: sum of the old values of states with `d` successors.
    pub by_degree: Vec<Vec<u64>>,
    /// `by_shift[s][lane]`: sum of the values of successors that move up by `s` coefficients, before they move. Empty where
    /// nothing moves.
    pub by_shift: Vec<Vec<u64>>,
    /// Sum of each lane after the pass.
    pub new_sums: Vec<u64>,
}

/// Both sides of the mass balance of a window, for tasks that do not tell each pass: sums over all families, per lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Sum of value x ways through the window, over the entries that went in.
    pub expected: Vec<u64>,
    /// Sum of the entries that came out. An entry that stands for another one's key counts too.
    pub got: Vec<u64>,
}

/// Time of a task by kind of work, in nanoseconds of its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTimes {
    /// Reading, decoding and merging inputs, with the wait for them.
    pub read_nanos: u64,
    /// Expanding and combining.
    pub map_nanos: u64,
    /// Sorting, encoding and writing outputs and spills.
    pub write_nanos: u64,
}

impl TaskTimes {
    /// Adds the times of another task.
    pub fn add(&mut self, other: Self) {
        let Self { read_nanos, map_nanos, write_nanos } = other;
        self.read_nanos = self.read_nanos.saturating_add(read_nanos);
        self.map_nanos = self.map_nanos.saturating_add(map_nanos);
        self.write_nanos = self.write_nanos.saturating_add(write_nanos);
    }
}

/// Sum of a functional over a task's output, one entry per lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionalSum {
    /// Index into the problem's list of functionals.
    pub functional: u32,
    /// Value per lane, modulo the lane's modulus.
    pub lanes: Vec<u64>,
}

/// The report of a finished task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskManifest {
    /// Runs written; none if the output is empty.
    pub runs: Vec<RunManifest>,
    /// The stage's lane that is the first of these runs: 0, but for a task that took some lanes only.
    pub first_lane: u32,
    /// At most 1,024 ascending splits over all runs of the task. The last lies above the last key, or is `u128::MAX`.
    pub splits: Vec<Split>,
    /// At most [`crate::MAX_GAPS`] ascending gaps that all runs of the task leave.
    pub gaps: Vec<KeyGap>,
    /// Totals of the vector that the task read.
    pub input: Tally,
    /// Totals of the vector that the task wrote. `states` counts distinct keys.
    pub output: Tally,
    /// Where two vectors met: totals of the forward vector that the task read.
    pub kept: Option<Tally>,
    /// One entry per pass of the stage.
    pub passes: Vec<PassTally>,
    /// Functionals of the stage's passes.
    pub functionals: Vec<FunctionalSum>,
    /// Mass balance of the whole window; by blocks only.
    pub balance: Option<Balance>,
    /// Bytes read from runs.
    pub bytes_read: u64,
    /// Bytes written, spills included.
    pub bytes_written: u64,
    /// Bytes of spilled and intermediate runs, which `bytes_written` includes.
    pub bytes_spilled: u64,
    /// Time by kind of work.
    pub times: TaskTimes,
}

/// What finished tasks did, all together, for those who watch. Sums saturate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSums {
    /// Tasks.
    pub tasks: u64,
    /// States that they read, each counted once for each pass.
    pub states: u64,
    /// Bytes that they read from runs.
    pub bytes_read: u64,
    /// Bytes that they wrote, spills included.
    pub bytes_written: u64,
    /// Bytes of spilled and intermediate runs.
    pub bytes_spilled: u64,
    /// Their thread time.
    pub times: TaskTimes,
}

impl TaskSums {
    /// Adds a finished task.
    pub fn add(&mut self, task: &TaskManifest) {
        let states = task.passes.iter().fold(0, |sum: u64, pass| sum.saturating_add(pass.states));
        self.tasks = self.tasks.saturating_add(1);
        self.states = self.states.saturating_add(states);
        self.bytes_read = self.bytes_read.saturating_add(task.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(task.bytes_written);
        self.bytes_spilled = self.bytes_spilled.saturating_add(task.bytes_spilled);
        self.times.add(task.times);
    }
}

impl TaskManifest {
    /// Drops what only the end of the task's stage has a use for: the sums of its passes and its mass balance. The numbers
    /// of states stay.
    pub fn forget_tallies(&mut self) {
        self.balance = None;
        for pass in &mut self.passes {
            let PassTally { states, successors, .. } = *pass;
            *pass = PassTally { states, successors, ..PassTally::default() };
        }
    }
}
