//! A job's vectors in the archive: a folder or bucket that outlives the machines.
//!
//! ```text
//!   column end, some time or some stages after the last one; or any boundary, some stages after the last one, or some time
//!   after the last one in a column that takes as long
//!     store   each run, by a worker that holds it          --> FOLDER/runs/DIGEST.run
//!     publish when all are there, by the coordinator       --> FOLDER/checkpoint-G.keima, written last, only if absent
//!   a run is lost, and its boundary is archived; or another coordinator goes on with a checkpoint
//!     fetch   each run that nobody holds, by any worker    <-- FOLDER/runs/DIGEST.run
//! ```
//!
//! One round at a time: the runs of one boundary go there or come from there. Fetching goes before storing, and a column's end
//! before a boundary within the column: where storing takes longer than a stage, column ends would be missed. An object's name
//! is a digest of the run's manifest, so that storing a run twice is harmless, and no name depends on the worker. A boundary
//! is archived once its checkpoint is published; from then on none of its runs counts as lost while its object can be
//! fetched. Cost: the bytes of one vector each time, beside the tasks: a worker makes one copy at a time, and archive work
//! counts as a copy.

mod round;
mod rounds;
mod work;

use std::collections::HashSet;

use keima_runs::{RunId, RunManifest};

pub(crate) use self::round::{Place, Round};
pub(crate) use self::rounds::Archive;
use self::rounds::Begun;
use super::Job;
use crate::api::{State, Toward};
use crate::fleet::Fleet;
use crate::store::records::Boundary;

impl Job {
    /// The folder of this job's checkpoints within the archive: no other job, of any coordinator, has it.
    pub(crate) fn archive_folder(&self, fleet: &Fleet) -> String {
        let words = format!("{}-{}", self.record.spec.problem.name, self.record.size).to_ascii_lowercase();
        let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
        let words: String = words.chars().map(plain).take(60).collect();
        format!("{words}-{:016x}-{}", fleet.life.store.0, self.id)
    }

    /// The job is over: its folder of the archive goes. After a failed check it stays: it may show what was wrong.
    pub(crate) fn leave_archive(&self, fleet: &mut Fleet) {
        if fleet.config.archive_interval_millis.is_some() && self.record.state != State::CheckFailed {
            fleet.removals.push((self.id, self.archive_folder(fleet)));
        }
    }

    /// Whether the newest boundary is to be stored: at a column's end, enough time or stages after the last one; within a column,
    /// the same after the last boundary. There the time counts from the column's beginning at the earliest: the ends of shorter
    /// columns suffice. An interval of 0 is for each column's end.
    fn is_archiving_due(&self, fleet: &Fleet, ends_column: bool) -> bool {
        let Some(interval) = fleet.config.archive_interval_millis else { return false };
        let last = if ends_column { self.archive.last_end } else { self.archive.last };
        let since = if ends_column { last.at } else { last.at.max(self.archive.column_since) };
        let is_old = fleet.now.saturating_sub(since) >= interval && (ends_column || interval > 0);
        let stages = self.record.totals.stages.saturating_sub(last.stages);
        let is_far = fleet.config.archive_interval_stages.is_some_and(|most| stages >= most);
        is_old || is_far
    }

    /// Whether a round ends where a column's end is to be stored: it stores a boundary within the column, and not all is there.
    pub(crate) fn gives_way(&self, round: &Round) -> bool {
        let plan = &self.record.plan;
        let newest = round.boundaries.last().and_then(|&generation| self.boundaries.of_generation(generation));
        !round.publishing && newest.is_some_and(|newest| !plan.stage(newest.head.stage).ends_column(plan.board))
    }

    /// At a stage's end: begins to store the newest boundary, if the last one that was stored is old enough.
    pub(crate) fn start_archiving(&mut self, fleet: &mut Fleet, ends_column: bool) {
        let is_due = self.is_archiving_due(fleet, ends_column);
        if ends_column {
            self.archive.column_since = fleet.now;
        }
        let is_busy = self.archive.round.as_ref().is_some_and(|round| !(ends_column && self.gives_way(round)));
        if !is_due || is_busy || !fleet.here().any(|(_, worker)| worker.archive) {
            return;
        }
        let plan = &self.record.plan;
        let Some(newest) = self.boundaries.last() else { return };
        // A transposed vector is worth nothing without the one that it is to meet.
        let kept = self.boundaries.kept(plan).filter(|kept| kept.head.generation != newest.head.generation);
        let all: Vec<&Boundary> = kept.into_iter().chain([newest]).collect();
        let boundaries = all.iter().map(|boundary| boundary.head.generation).collect();
        let folder = self.archive_folder(fleet);
        // What is there already need not be stored again.
        let is_new = |boundary: &&&Boundary| boundary.head.archive.as_ref() != Some(&folder);
        let placed = |boundary: &&Boundary| {
            let place = Place { folder: folder.clone(), boundary: boundary.head.generation };
            boundary.runs().map(|run| (run.clone(), place.clone())).collect::<Vec<_>>()
        };
        let runs: Vec<(RunManifest, Place)> = all.iter().filter(is_new).flat_map(placed).collect();
        self.end_archiving(fleet);
        let generation = self.new_generation(fleet);
        self.archive.round = Some(Round::new(Toward::Archive, boundaries, generation, runs, fleet.now));
        self.archive.last = Begun { at: fleet.now, stages: self.record.totals.stages };
        if ends_column {
            self.archive.last_end = self.archive.last;
        }
        fleet.work_changed();
        self.settle_archiving(fleet);
    }

    /// Ends a round before it is done.
    pub(crate) fn end_archiving(&mut self, fleet: &mut Fleet) {
        if let Some(round) = self.archive.round.take() {
            self.end_leases(fleet, |attempt| attempt.generation == round.generation);
        }
    }

    /// Ends a round whose boundary is gone.
    pub(crate) fn forget_vain_archiving(&mut self, fleet: &mut Fleet) {
        let gone = |generation: &u32| self.boundaries.of_generation(*generation).is_none();
        if self.archive.boundaries().iter().any(gone) {
            self.end_archiving(fleet);
        }
    }

    /// Gives up what cannot end, and begins to fetch what nobody holds any more.
    pub(crate) fn look_after_archive(&mut self, fleet: &mut Fleet) {
        if self.is_over() {
            return;
        }
        if fleet.config.archive_interval_millis.is_none() {
            return self.pause_without_archive(fleet);
        }
        let vain = self
            .archive
            .round
            .as_mut()
            .and_then(|round| (!round.publishing && round.is_vain(&self.health, fleet)).then_some(round.toward));
        if let Some(toward) = vain {
            let without: Vec<&str> =
                fleet.here().filter(|(_, worker)| !worker.archive).map(|(id, _)| id.0.as_str()).collect();
            let text = match toward {
                Toward::Archive if without.is_empty() => {
                    "gave up storing a boundary in the archive: workers cannot, or runs are lost".to_owned()
                }
                Toward::Archive => format!(
                    "gave up storing a boundary in the archive, which these workers do not reach: {}; start them again with \
                     --archive URL",
                    without.join(", ")
                ),
                Toward::Workers => {
                    "runs cannot be fetched from the archive now; it is tried again by itself".to_owned()
                }
            };
            if toward == Toward::Workers {
                self.archive.fetch_after = fleet.now.saturating_add(fleet.config.grace_millis);
            }
            self.note(text);
            self.end_archiving(fleet);
        }
        self.start_fetching(fleet);
    }

    fn start_fetching(&mut self, fleet: &mut Fleet) {
        let is_fetching = self.archive.round.as_ref().is_some_and(|round| round.toward == Toward::Workers);
        if !self.is_live() || is_fetching || fleet.now < self.archive.fetch_after {
            return;
        }
        let to_fetch = |run: &&RunManifest| self.health.copies.is_to_fetch(&run.id, fleet);
        let wanted: HashSet<&RunId> = self.boundaries.missing().filter(to_fetch).map(|run| &run.id).collect();
        if wanted.is_empty() {
            return;
        }
        if !fleet.here().any(|(_, worker)| worker.archive) {
            let text = "runs are only in the archive, and no worker here reaches it: start workers with --archive URL";
            return self.record.notes.add_once(text);
        }
        let placed = |boundary: &Boundary| {
            let place = Place { folder: boundary.head.archive.clone()?, boundary: boundary.head.generation };
            let runs = boundary.runs().filter(|run| wanted.contains(&run.id));
            Some(runs.map(|run| (run.clone(), place.clone())).collect::<Vec<_>>())
        };
        let runs: Vec<(RunManifest, Place)> = self.boundaries.iter().filter_map(placed).flatten().collect();
        self.end_archiving(fleet);
        let generation = self.new_generation(fleet);
        self.note(format!("fetches {} runs that no worker holds from the archive", runs.len()));
        self.archive.round = Some(Round::new(Toward::Workers, Vec::new(), generation, runs, fleet.now));
        fleet.work_changed();
    }

    /// Without an archive the runs in it would be computed again from the sweep's start. A person decides that.
    fn pause_without_archive(&mut self, fleet: &mut Fleet) {
        let lost = self.boundaries.missing().find(|run| self.health.copies.is_to_fetch(&run.id, fleet));
        if let Some(run) = lost.filter(|_| self.record.state == State::Running).map(|run| run.id.clone()) {
            self.pause(
                fleet,
                format!(
                    "run {run} is only in the archive, and this coordinator was started without: start it again with \
                     --archive URL, then `keima resume {}`",
                    self.id
                ),
            );
        }
    }
}
