//! The records of a job, in postcard's format: its fields in order, without names. A change of a field changes the
//! layout, and needs another [`VERSION`].

use std::collections::VecDeque;
use std::fmt;

use keima_model::Direction;
use keima_orders::{AttemptId, WorkerId};
use keima_runs::{RunId, RunManifest, Tally, TaskManifest, TaskTimes};
use serde::{Deserialize, Serialize};

use crate::api::{JobSpec, Millis, State};
use crate::outcome::Outcome;
use crate::plan::Plan;

/// Layout of the records and meaning of their figures. A store of another version is refused.
pub(crate) const VERSION: u32 = 6;
/// Most notes of a job. The oldest go first.
const MOST_NOTES: usize = 64;

/// The job itself. Boundaries, tasks, grants and functionals have records of their own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) spec: JobSpec,
    pub(crate) identity: String,
    pub(crate) size: String,
    pub(crate) plan: Plan,
    pub(crate) tag: u64,
    pub(crate) salt: u64,
    pub(crate) state: State,
    pub(crate) reason: String,
    pub(crate) sweep: u32,
    /// Generation of the newest stage or round of copies.
    pub(crate) generation: u32,
    pub(crate) active_millis: Millis,
    pub(crate) totals: Totals,
    /// Number of states before each pass; `None` where it is not known exactly.
    pub(crate) pass_states: Vec<Option<u64>>,
    pub(crate) notes: Notes,
    pub(crate) disk_peak_bytes: u64,
    pub(crate) outcome: Option<Outcome>,
}

/// Sums over all tasks of a job, repeated ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) bytes_spilled: u64,
    pub(crate) times: TaskTimes,
    pub(crate) tasks: u64,
    pub(crate) stages: u64,
}

impl Totals {
    /// Adds a finished task. Sums saturate.
    pub(crate) fn add(&mut self, task: &TaskManifest) {
        self.bytes_read = self.bytes_read.saturating_add(task.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(task.bytes_written);
        self.bytes_spilled = self.bytes_spilled.saturating_add(task.bytes_spilled);
        self.times.add(task.times);
        self.tasks = self.tasks.saturating_add(1);
    }
}

/// Lines for people about what happened to a job, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notes(VecDeque<String>);

impl Notes {
    /// Adds a line, unless it repeats the newest one.
    pub(crate) fn add(&mut self, text: String) {
        if self.0.back() != Some(&text) {
            self.0.push_back(text);
        }
        while self.0.len() > MOST_NOTES {
            self.0.pop_front();
        }
    }

    /// All lines.
    pub(crate) fn to_vec(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

/// A finished task of a boundary, or of the stage under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Committed {
    pub(crate) attempt: AttemptId,
    pub(crate) nonce: u64,
    pub(crate) writer: WorkerId,
    pub(crate) manifest: TaskManifest,
}

/// A boundary as a whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) sweep: u32,
    /// Number of the stage that wrote it.
    pub(crate) stage: u32,
    /// Generation of that stage.
    pub(crate) generation: u32,
    /// Forward: the vector after this many passes. Backward: the vector before this pass.
    pub(crate) pass: u32,
    pub(crate) direction: Direction,
    /// Whether its runs are on stable storage.
    pub(crate) durable: bool,
    /// Whether every run once had two holders.
    pub(crate) copied: bool,
    /// Sums, fingerprint and states that its tasks wrote.
    pub(crate) totals: Tally,
    /// Whether `totals.states` counts distinct keys. If not, it is an upper bound.
    pub(crate) exact: bool,
    pub(crate) tasks: u32,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction {
            Direction::Forward => write!(f, "the boundary after {} passes", self.pass),
            Direction::Transposed => write!(f, "the boundary at pass {} on the way back", self.pass),
        }
    }
}

/// The vector between two stages.
#[derive(Clone, Debug)]
pub(crate) struct Boundary {
    pub(crate) head: Head,
    pub(crate) tasks: Vec<Committed>,
    /// Second copies that workers made.
    pub(crate) copies: std::collections::BTreeSet<RunCopy>,
    /// Whether its records are in the store.
    pub(crate) stored: bool,
}

impl Boundary {
    /// All runs of the vector.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunManifest> {
        self.tasks.iter().flat_map(|task| &task.manifest.runs)
    }

    /// Bytes of all runs, one copy of each.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs().fold(0, |sum, run| sum.saturating_add(run.bytes))
    }
}

/// One copy of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RunCopy {
    pub(crate) run: RunId,
    pub(crate) worker: WorkerId,
}

impl RunCopy {
    pub(crate) fn new(run: &RunId, worker: &WorkerId) -> Self {
        Self { run: run.clone(), worker: worker.clone() }
    }
}

/// A range of keys, the part of a vector that one task reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// Smallest key.
    pub(crate) low: u128,
    /// Exclusive upper end; `None` for no end.
    pub(crate) high: Option<u128>,
    /// Records, roughly.
    pub(crate) records: u64,
}

impl Shard {
    /// Whether a run may hold keys of the shard.
    pub(crate) fn meets(&self, run: &RunManifest) -> bool {
        run.last_key >= self.low && self.high.is_none_or(|high| run.first_key < high)
    }
}

/// The stage under way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StageRecord {
    pub(crate) sweep: u32,
    pub(crate) number: u32,
    pub(crate) generation: u32,
    pub(crate) durable: bool,
    pub(crate) closed: bool,
    /// The shard of each task.
    pub(crate) shards: Vec<Shard>,
}

/// A living grant.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GrantRecord {
    pub(crate) attempt: AttemptId,
    pub(crate) nonce: u64,
    pub(crate) worker: WorkerId,
    pub(crate) copy: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Named records have the bytes of the tuples that older stores hold.
    #[test]
    fn records_have_the_bytes_of_plain_tuples() {
        fn check<A: Serialize, B: Serialize>(named: &A, plain: &B) {
            assert_eq!(postcard::to_stdvec(named).unwrap(), postcard::to_stdvec(plain).unwrap());
        }
        let (run, worker) = (RunId("j1/s0/g2/t3/a4/out".to_owned()), WorkerId("w1".to_owned()));
        check(&RunCopy::new(&run, &worker), &(&run, &worker));
        let shard = Shard { low: 7, high: Some(1 << 100), records: 300 };
        check(&shard, &(shard.low, shard.high, shard.records));
        let mut notes = Notes::default();
        notes.add("one".to_owned());
        notes.add("two".to_owned());
        check(&notes, &VecDeque::from(["one", "two"]));
    }

    #[test]
    fn notes_skip_repeats_and_drop_the_oldest() {
        let mut notes = Notes::default();
        (0..MOST_NOTES + 2).for_each(|line| notes.add(format!("line {}", line / 2)));
        assert_eq!(notes.to_vec().len(), MOST_NOTES / 2 + 1);
        (0..MOST_NOTES).for_each(|line| notes.add(format!("new line {line}")));
        assert_eq!(notes.to_vec().first().map(String::as_str), Some("new line 0"));
    }
}
