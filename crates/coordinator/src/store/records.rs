//! The records of a job, in postcard's format: its fields in order, without names. A change of a field changes the
//! layout, and needs another [`VERSION`].

use std::collections::VecDeque;
use std::fmt;

use keima_model::Direction;
use keima_orders::{AttemptId, JobId, Lanes, Origin, WorkerId};
use keima_runs::{RunId, RunManifest, Tally, TaskManifest, TaskTimes};
use serde::{Deserialize, Serialize};

use crate::api::{JobSpec, Millis, State};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::store::run_index::RunIndex;
use crate::terms::Terms;

/// Layout of a store: which records there are, and their layouts. A store of another version is refused.
pub(crate) const VERSION: u32 = 12;
/// Layout of the records that checkpoints hold, and meaning of their figures. It has not changed since version 12.
pub(crate) const CHECKPOINT_RECORDS: u32 = 12;
/// Most notes of a job. The oldest go first.
const MOST_NOTES: usize = 64;

/// The job itself. Boundaries, tasks, grants and functionals have records of their own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) spec: JobSpec,
    /// What is counted: `AnyProblem::identity`.
    pub(crate) identity: String,
    /// Builds of the coordinators that have had the job, the one that began it first.
    pub(crate) builds: Vec<String>,
    pub(crate) size: String,
    pub(crate) plan: Plan,
    pub(crate) tag: u64,
    pub(crate) salt: u64,
    /// Draws the tasks that are counted again; no worker is told it.
    pub(crate) lot: u64,
    pub(crate) state: State,
    pub(crate) reason: String,
    /// Whether it paused by itself, and goes on when a worker may do its tasks again.
    pub(crate) waits: bool,
    pub(crate) sweep: u32,
    /// Generation of the newest stage or round of copies.
    pub(crate) generation: u32,
    /// Time under way in all lives, lost work included.
    pub(crate) active_millis: Millis,
    /// Coordinators that have had the job, one after the other.
    pub(crate) lives: u32,
    pub(crate) totals: Totals,
    /// Number of states before each pass; `None` where it is not known exactly.
    pub(crate) pass_states: Vec<Option<u64>>,
    pub(crate) notes: Notes,
    pub(crate) disk_peak_bytes: u64,
    /// Workers on whose word alone each finished sweep rests.
    pub(crate) trusted: Vec<Vec<WorkerId>>,
    /// Failed checks after which the job went on from an older boundary.
    pub(crate) second_tries: Vec<FailedCheck>,
    /// The stage that was under way when the job ended; the number of stages when it was done.
    pub(crate) last_stage: Option<u32>,
    pub(crate) outcome: Option<Outcome>,
    /// Jobs whose numbers its first runs' names begin with, if it goes on from a checkpoint.
    pub(crate) adopted: Vec<JobId>,
}

impl Record {
    /// What orders say of the job's origin.
    pub(crate) fn origin(&self) -> Origin {
        let build = |build: Option<&String>| build.cloned().unwrap_or_default();
        Origin {
            identity: self.identity.clone(),
            build: build(self.builds.last()),
            begun_by: build(self.builds.first()),
        }
    }
}

/// What people say of a job, and what it has had. Of a job without it, out of a checkpoint, nothing of it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) terms: Terms,
    /// Milliseconds since the Unix epoch; 0 where that is not known.
    pub(crate) submitted_at: Millis,
    /// The same; 0 while it is not over.
    pub(crate) ended_at: Millis,
    /// Time for which it wanted work and had none while a later job worked.
    pub(crate) waited_millis: Millis,
    /// Time of its tasks from grant to end, all workers together.
    pub(crate) task_millis: Millis,
    /// Whether it paused because it is over its cap on bytes.
    pub(crate) over_disk: bool,
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
    /// Tasks that two workers have done, with the same outcome.
    pub(crate) recounts: u64,
    /// Tasks that read a part of the answer, and that one worker alone has done.
    pub(crate) answers_alone: u64,
    /// Attempts at tasks that failed or ended without a report.
    pub(crate) failed_attempts: u64,
    /// How often the job went back to an older boundary, or to a sweep's start.
    pub(crate) fall_backs: u64,
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

    /// Adds a line, unless it is there.
    pub(crate) fn add_once(&mut self, text: &str) {
        if !self.0.iter().any(|line| line == text) {
            self.add(text.to_owned());
        }
    }

    /// Adds a line, unless one begins the same.
    pub(crate) fn add_first(&mut self, beginning: &str, rest: &str) {
        if !self.0.iter().any(|line| line.starts_with(beginning)) {
            self.add(format!("{beginning}{rest}"));
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
    /// Another worker that counted the same.
    pub(crate) second: Option<WorkerId>,
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
    /// The folder of the archive that has all its runs.
    pub(crate) archive: Option<String>,
    /// Sums, fingerprint and states that its tasks wrote.
    pub(crate) totals: Tally,
    /// Whether `totals.states` counts distinct keys. If not, it is an upper bound.
    pub(crate) exact: bool,
    pub(crate) tasks: u32,
    /// Workers on whose word alone it rests: those who did a task of this sweep that no other has done too. Sorted.
    pub(crate) trusted: Vec<WorkerId>,
}

impl Head {
    /// Whether a stage of `plan` wrote the vector. A head out of a store or an archive may be damaged.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), String> {
        let (stages, sweeps, Self { sweep, stage, .. }) = (plan.stages(), plan.sweeps.len(), self);
        if *stage < stages && (*sweep as usize) < sweeps {
            return Ok(());
        }
        Err(format!("expected one of {stages} stages and {sweeps} sweeps, got stage {stage} of sweep {sweep}"))
    }
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
#[derive(Debug)]
pub(crate) struct Boundary {
    pub(crate) head: Head,
    pub(crate) tasks: Vec<Committed>,
    /// Second copies that workers made.
    pub(crate) copies: std::collections::BTreeSet<RunCopy>,
    /// Whether its records are in the store.
    pub(crate) stored: bool,
    /// Its runs by their keys.
    by_key: RunIndex,
}

impl Boundary {
    /// A vector without second copies.
    pub(crate) fn new(head: Head, tasks: Vec<Committed>, stored: bool) -> Self {
        let by_key = RunIndex::new(&tasks);
        Self { head, tasks, copies: std::collections::BTreeSet::new(), stored, by_key }
    }

    /// Runs that may hold keys of a shard, in the order of [`Self::runs`].
    pub(crate) fn runs_of(&self, shard: &Shard) -> impl Iterator<Item = LanedRun<'_>> {
        let places = self.by_key.meeting(shard);
        places.into_iter().filter_map(|place| {
            let written = &self.tasks.get(place.task as usize)?.manifest;
            Some(LanedRun { first_lane: written.first_lane, run: written.runs.get(place.run as usize)? })
        })
    }

    /// Whether any run may hold keys of a shard.
    pub(crate) fn meets(&self, shard: &Shard) -> bool {
        self.by_key.meets(shard)
    }

    /// All runs of the vector.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunManifest> {
        self.tasks.iter().flat_map(|task| &task.manifest.runs)
    }

    /// Bytes of all runs, one copy of each.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs().fold(0, |sum, run| sum.saturating_add(run.bytes))
    }
}

/// A run, and the lane of its vector that is its first.
pub(crate) struct LanedRun<'b> {
    pub(crate) first_lane: u32,
    pub(crate) run: &'b RunManifest,
}

/// A check that failed, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailedCheck {
    pub(crate) check: String,
    pub(crate) sweep: u32,
    pub(crate) stage: u32,
    /// What was expected, and what came.
    pub(crate) evidence: String,
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

/// A range of keys, the part of a vector that one task reads; and the lanes that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// Smallest key.
    pub(crate) low: u128,
    /// Exclusive upper end; `None` for no end.
    pub(crate) high: Option<u128>,
    /// Records, roughly.
    pub(crate) records: u64,
    /// `None` for all lanes.
    pub(crate) lanes: Option<Lanes>,
}

impl Shard {
    /// All lanes of a range of keys.
    pub(crate) const fn of_keys(low: u128, high: Option<u128>, records: u64) -> Self {
        Self { low, high, records, lanes: None }
    }

    /// Whether it has the keys of another one.
    pub(crate) fn has_keys_of(&self, other: &Self) -> bool {
        (self.low, self.high) == (other.low, other.high)
    }

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
    /// Tasks of which workers have made different things.
    pub(crate) doubted: Vec<u32>,
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
        let lanes = Some(Lanes { first: 2, end: 4 });
        let shard = Shard { lanes, ..Shard::of_keys(7, Some(1 << 100), 300) };
        check(&shard, &(shard.low, shard.high, shard.records, Some((2_u32, 4_u32))));
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
        notes.add_once("line 3");
        notes.add_first("line ", "of another kind");
        assert_eq!(notes.to_vec().len(), MOST_NOTES / 2 + 1);
        (0..MOST_NOTES).for_each(|line| notes.add(format!("new line {line}")));
        assert_eq!(notes.to_vec().first().map(String::as_str), Some("new line 0"));
    }
}
