//! Boundaries: which ones a job keeps, and which of their runs can be read.
//!
//! ```text
//!   boundary   b3 (copied)   b5 (durable)   b6     stage 7
//!   kept       until a       until a        it is  -----> b7
//!              later one is  later one is   the
//!              copied        durable        input
//! ```
//!
//! The list holds the boundaries of the present sweep, the oldest first. The last one is the input of the stage under way,
//! unless that stage begins a vector. Where two vectors meet, the forward one is kept until they do: without it the
//! boundaries of the transposed one are worth nothing.

use std::collections::{BTreeSet, HashMap};

use keima_model::Direction;
use keima_orders::{InputRun, WorkerId};
use keima_runs::{RunId, RunManifest};
use serde::{Deserialize, Serialize};

use super::health::copies::CopyHealth;
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::plan::Plan;
use crate::store::records::{Boundary, Head, LanedRun, Shard};

/// The kept boundaries of a job, and all runs that it needs.
pub(crate) struct Boundaries {
    list: Vec<Boundary>,
    /// Runs of the boundaries and of finished tasks of the stage under way, with their lengths.
    runs: HashMap<RunId, u64>,
    missing: Missing,
    /// When the newest durable boundary was complete.
    pub(crate) last_durable_at: Millis,
}

/// Runs that cannot be read, as of the state of holdings with these numbers.
#[derive(Default)]
struct Missing {
    lost_as_of: Option<u64>,
    gained_as_of: u64,
    /// Of what the stage under way reads.
    input: Vec<RunManifest>,
    /// Of the vector that a later stage will meet.
    kept: Vec<RunManifest>,
}

/// A run that is lost, and why.
pub(crate) struct LostRun {
    pub(crate) run: RunId,
    pub(crate) why: String,
}

/// What the loss of one worker would cost now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtRisk {
    /// The worker.
    pub worker: WorkerId,
    /// Passes of the sweep that would be left; the others are done again.
    pub passes_left: u32,
}

impl Boundaries {
    pub(crate) fn new(now: Millis) -> Self {
        Self { list: Vec::new(), runs: HashMap::new(), missing: Missing::default(), last_durable_at: now }
    }

    /// All kept boundaries, the oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Boundary> {
        self.list.iter()
    }

    /// The newest boundary.
    pub(crate) fn last(&self) -> Option<&Boundary> {
        self.list.last()
    }

    /// The newest boundary, to change it.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Boundary> {
        self.list.last_mut()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The boundary that a stage of this generation wrote.
    pub(crate) fn of_generation(&self, generation: u32) -> Option<&Boundary> {
        self.list.iter().find(|boundary| boundary.head.generation == generation)
    }

    /// Runs that cannot be read now and that the stage under way, or a later one, reads.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &RunManifest> {
        self.missing.input.iter().chain(&self.missing.kept)
    }

    pub(crate) fn of_generation_mut(&mut self, generation: u32) -> Option<&mut Boundary> {
        self.list.iter_mut().find(|boundary| boundary.head.generation == generation)
    }

    /// Adds the boundary that the last stage wrote.
    pub(crate) fn push(&mut self, boundary: Boundary) {
        self.list.push(boundary);
        self.forget_missing();
    }

    /// Takes out the boundaries from place `from` on.
    pub(crate) fn split_off(&mut self, from: usize) -> Vec<Boundary> {
        self.forget_missing();
        self.list.split_off(from)
    }

    /// Whether a run belongs to a kept boundary or to a finished task of the stage under way.
    pub(crate) fn needs(&self, run: &RunId) -> bool {
        self.runs.contains_key(run)
    }

    /// Length of a needed run.
    pub(crate) fn size_of(&self, run: &RunId) -> Option<u64> {
        self.runs.get(run).copied()
    }

    /// Lengths of those of some runs that the job needs.
    pub(crate) fn sizes_of<'a>(&'a self, runs: &'a [RunId]) -> impl Iterator<Item = (RunId, u64)> + 'a {
        runs.iter().filter_map(|run| Some((run.clone(), self.size_of(run)?)))
    }

    /// The job needs a run.
    pub(crate) fn need(&mut self, run: &RunManifest) {
        self.runs.insert(run.id.clone(), run.bytes);
    }

    /// All runs that the job needs.
    #[cfg(test)]
    pub(crate) fn needed_runs(&self) -> std::collections::BTreeSet<&RunId> {
        self.runs.keys().collect()
    }

    /// The job does not need a run any more.
    pub(crate) fn forget_run(&mut self, run: &RunId) {
        self.runs.remove(run);
    }

    /// The job needs no runs any more.
    pub(crate) fn forget_all_runs(&mut self) {
        self.runs.clear();
    }

    /// The number of the stage that comes next in this sweep.
    pub(crate) fn next_stage(&self) -> u32 {
        self.last().map_or(0, |boundary| boundary.head.stage + 1)
    }

    /// The boundary that a stage reads; none at the start of a vector.
    pub(crate) fn input_of(&self, plan: &Plan, stage: u32) -> Option<&Boundary> {
        self.last().filter(|_| !plan.starts(stage))
    }

    /// Sets the exact number of states of the boundary that a stage has read.
    pub(crate) fn count_input(&mut self, plan: &Plan, stage: u32, states: u64) {
        if let Some(input) = self.list.last_mut().filter(|_| !plan.starts(stage)) {
            input.head.totals.states = states;
            input.head.exact = true;
        }
    }

    /// The end of the forward vector that another one is to meet, once it is complete.
    pub(crate) fn kept(&self, plan: &Plan) -> Option<&Boundary> {
        self.list.get(self.place_of_kept(plan)?)
    }

    fn place_of_kept(&self, plan: &Plan) -> Option<usize> {
        let stage = plan.kept_stage()?;
        self.list.iter().position(|boundary| boundary.head.stage == stage)
    }

    /// The missing runs must be looked for again.
    pub(crate) fn forget_missing(&mut self) {
        self.missing.lost_as_of = None;
    }

    /// Brings the list of missing runs up to date, for a stage.
    pub(crate) fn refresh_missing(&mut self, plan: &Plan, stage: u32, copies: &CopyHealth, fleet: &Fleet) {
        if self.missing.lost_as_of == Some(fleet.serials.lost) {
            // No other run is missing. Of those that are, some may be back, or be tried again by now.
            if self.missing.gained_as_of != fleet.serials.gained || copies.has_strikes() {
                self.missing.gained_as_of = fleet.serials.gained;
                self.missing.input.retain(|run| !copies.is_readable(&run.id, fleet));
                self.missing.kept.retain(|run| !copies.is_readable(&run.id, fleet));
            }
            return;
        }
        let missing = |boundary: Option<&Boundary>| -> Vec<RunManifest> {
            let runs = boundary.into_iter().flat_map(Boundary::runs);
            runs.filter(|run| !copies.is_readable(&run.id, fleet)).cloned().collect()
        };
        let (mut input, mut kept) = (missing(self.input_of(plan, stage)), missing(self.kept(plan)));
        if plan.meets(stage) {
            input.append(&mut kept);
        }
        let (lost_as_of, gained_as_of) = (Some(fleet.serials.lost), fleet.serials.gained);
        self.missing = Missing { lost_as_of, gained_as_of, input, kept };
    }

    /// Whether all runs that a shard of the stage under way reads can be read.
    pub(crate) fn can_read(&self, shard: &Shard) -> bool {
        !self.missing.input.iter().any(|run| shard.meets(run))
    }

    /// The first of the missing runs that is lost.
    pub(crate) fn first_lost(&self, copies: &CopyHealth, fleet: &Fleet) -> Option<LostRun> {
        let missing = self.missing.input.iter().chain(&self.missing.kept);
        let lost = |run: &RunManifest| Some(LostRun { run: run.id.clone(), why: copies.lost(&run.id, fleet)? });
        missing.into_iter().find_map(lost)
    }

    /// How many of the oldest boundaries stay when a job falls back: up to the newest one without a lost run. What came
    /// after the kept vector is of use only with it.
    pub(crate) fn usable(&self, plan: &Plan, copies: &CopyHealth, fleet: &Fleet) -> usize {
        let whole = |boundary: &Boundary| copies.is_whole(boundary, fleet);
        let kept_is_lost = self.place_of_kept(plan).filter(|&at| !whole(&self.list[at]));
        let candidates = &self.list[..kept_is_lost.unwrap_or(self.list.len())];
        candidates.iter().rposition(whole).map_or(0, |newest| newest + 1)
    }

    /// Takes out every boundary that nothing keeps. What keeps one: it is the newest; the newest durable one; the newest
    /// copied one; the newest archived one; it is being copied or stored in the archive; another vector is to meet it.
    pub(crate) fn take_superseded(
        &mut self,
        plan: &Plan,
        being_copied: Option<u32>,
        being_stored: &[u32],
    ) -> Vec<Boundary> {
        let newest =
            |which: fn(&Head) -> bool| self.list.iter().rev().find(|b| which(&b.head)).map(|b| b.head.generation);
        let kept = [
            newest(|_| true),
            newest(|head| head.durable),
            newest(|head| head.copied),
            newest(|head| head.archive.is_some()),
            being_copied,
            self.kept(plan).map(|kept| kept.head.generation),
        ];
        let stays = |generation: u32| kept.contains(&Some(generation)) || being_stored.contains(&generation);
        let (keep, go) = std::mem::take(&mut self.list).into_iter().partition(|b| stays(b.head.generation));
        self.list = keep;
        go
    }

    /// Passes that led to the newest boundary of which every run has two holders now; `None` where there is none.
    pub(crate) fn copied_passes(&self, plan: &Plan, copies: &CopyHealth, fleet: &Fleet) -> Option<u32> {
        // A transposed vector is worth nothing without the one that it is to meet.
        let kept_is_safe = self.kept(plan).is_none_or(|kept| copies.is_on_two(kept, fleet));
        let useful = |b: &&Boundary| kept_is_safe || b.head.direction == Direction::Forward;
        let copied = |b: &&Boundary| b.head.copied && copies.is_on_two(b, fleet);
        let newest = self.list.iter().rev().filter(useful).find(copied)?;
        Some(plan.passes_before(newest.head.stage + 1))
    }

    /// The worker whose loss now costs the most passes, and the passes that would be left.
    pub(crate) fn at_risk(&self, plan: &Plan, copies: &CopyHealth, fleet: &Fleet) -> Option<AtRisk> {
        let needed: Vec<_> = self.list.iter().map(|boundary| copies.needed_for(boundary, fleet)).collect();
        let needed_for_kept = self.kept(plan).map(|kept| copies.needed_for(kept, fleet));
        let left_without = |gone: &WorkerId| {
            // Others fetch what is in the archive.
            let is_fetched = fleet.config.archive_interval_millis.is_some()
                && fleet.here().any(|(id, worker)| id != gone && worker.archive);
            let outlives = |boundary: &Boundary, needed: &Option<BTreeSet<&WorkerId>>| {
                is_fetched && boundary.head.archive.is_some() || needed.as_ref().is_some_and(|all| !all.contains(gone))
            };
            // A transposed vector is worth nothing without the one that it is to meet.
            let kept_is_safe = self.kept(plan).zip(needed_for_kept.as_ref()).is_none_or(|(kept, n)| outlives(kept, n));
            let useful = |b: &Boundary| kept_is_safe || b.head.direction == Direction::Forward;
            let mut newest_first = self.list.iter().zip(&needed).rev();
            let newest = newest_first.find(|(boundary, needed)| useful(boundary) && outlives(boundary, needed));
            newest.map_or(0, |(boundary, _)| plan.passes_before(boundary.head.stage + 1))
        };
        let done = plan.passes_before(self.next_stage());
        let workers = fleet.here().filter(|(_, worker)| worker.held.keys().any(|run| self.needs(run)));
        let costs = workers.map(|(id, _)| AtRisk { worker: id.clone(), passes_left: left_without(id) });
        costs.min_by_key(|at_risk| at_risk.passes_left).filter(|at_risk| at_risk.passes_left < done)
    }

    /// Bytes of the needed runs on all workers, second copies included. Runs that are to be deleted do not count: their
    /// holders hear of it with the answer to their next call.
    pub(crate) fn disk_bytes(&self, fleet: &Fleet) -> u64 {
        let held = fleet.workers.values().flat_map(|worker| &worker.held);
        held.filter(|(run, _)| self.needs(run)).fold(0, |sum, (_, &bytes)| sum.saturating_add(bytes))
    }
}

/// The runs of a boundary that may hold keys of a shard, with their holders: the reader itself first, then those that can
/// be read now.
pub(crate) fn inputs(
    boundary: Option<&Boundary>,
    shard: &Shard,
    reader: &WorkerId,
    copies: &CopyHealth,
    fleet: &Fleet,
) -> Vec<InputRun> {
    let runs = boundary.into_iter().flat_map(|boundary| boundary.runs_of(shard));
    let input = |LanedRun { first_lane, run }: LanedRun<'_>| {
        let holders = copies.holders(&run.id, reader, fleet);
        InputRun { manifest: run.clone(), first_lane, holders }
    };
    runs.map(input).collect()
}
