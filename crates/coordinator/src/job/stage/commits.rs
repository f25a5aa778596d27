//! Committing finished tasks, one by one.

use keima_orders::{AttemptId, WorkerId};
use keima_runs::{MAX_SPLITS, Split, TaskManifest};

use super::laws::{Asked, AskedBlocks, Fault};
use super::recount::Finding;
use super::{StageRun, Task};
use crate::api::{Millis, Verdict};
use crate::fleet::Fleet;
use crate::fleet::watched::{About, EventKind};
use crate::job::Job;
use crate::store::records::Committed;

/// Split points that are kept of a whole boundary, roughly.
const MOST_SPLITS: usize = 1 << 18;
/// Split points of a task that are kept in any case.
const LEAST_TASK_SPLITS: usize = 8;

impl Job {
    /// The task of a living attempt.
    pub(crate) fn task_mut(&mut self, attempt: AttemptId) -> Option<&mut Task> {
        let stage = self.stage.as_mut().filter(|stage| stage.generation == attempt.generation)?;
        stage.tasks.get_mut(attempt.task as usize)
    }

    /// What a living attempt was asked, to compare its manifest with.
    fn asked(&self, attempt: AttemptId) -> Option<Asked<'_>> {
        let stage = self.stage.as_ref().filter(|stage| stage.generation == attempt.generation)?;
        let shard = stage.tasks.get(attempt.task as usize)?.shard;
        let (plan, sweep) = (&self.record.plan, self.record.sweep);
        let place = plan.stage(stage.number);
        let blocks = plan.block().map(|_| AskedBlocks {
            moduli_in: plan.moduli_read(sweep, stage.number),
            kept: plan.meets(stage.number).then(|| plan.kept_moduli(sweep)),
            lanes: shard.lanes,
        });
        Some(Asked {
            attempt,
            first_pass: place.first_pass,
            passes: place.window.len,
            moduli: plan.stage_moduli(sweep, stage.number),
            coefficients: plan.coefficients,
            blocks,
            functionals: &stage.functionals,
        })
    }

    /// A worker reports a living attempt as done.
    pub(crate) fn commit(&mut self, fleet: &mut Fleet, attempt: AttemptId, manifest: TaskManifest) -> Verdict {
        let checked = match (self.asked(attempt), self.info()) {
            (Some(asked), Some(info)) => asked.check(info, &manifest),
            _ => Err(Fault::Form("its stage is over".into())),
        };
        let refused = |text: &str| Verdict::Refused { reason: format!("{attempt}: {text}") };
        let tidy = fleet.leases.get(&attempt).and_then(|lease| fleet.workers.get(&lease.worker)?.tidy);
        let Some(lease) = fleet.end_lease(attempt, false) else { return refused("the lease has ended") };
        if let Err(fault) = checked {
            self.record.totals.failed_attempts += 1;
            self.back_to_pending(attempt, fleet);
            let (Fault::Form(text) | Fault::Law(text)) = &fault;
            let kind = if matches!(fault, Fault::Law(_)) { EventKind::CheckFailed } else { EventKind::AttemptFailed };
            fleet.tell(kind, About::attempt(attempt, &lease.worker), text);
            match &fault {
                Fault::Form(_) => self.failed_there(attempt, &lease.worker, &format!("malformed manifest: {text}")),
                Fault::Law(_) => self.broke_law(fleet, attempt, &lease.worker, text),
            }
            return refused(text);
        }
        fleet.watched.sums.add(&manifest, fleet.now.saturating_sub(lease.granted));
        let worker = lease.worker;
        let mut second = None;
        match self.hold_against(attempt, &worker, &manifest) {
            Finding::Alone => {}
            Finding::Agrees => {
                self.record.totals.add(&manifest);
                self.health.finished_task(&worker);
                self.agree(fleet, attempt.task, worker);
                self.back_to_pending(attempt, fleet);
                self.end_others(fleet, attempt);
                self.complete_if_done(fleet);
                // Nobody needs its runs: the next answers tell the worker to delete them.
                return Verdict::Accepted;
            }
            Finding::Differs => {
                self.record.totals.add(&manifest);
                self.disagree(fleet, attempt, &worker, &manifest);
                let why = "another worker counts the task differently";
                fleet.tell(EventKind::CheckFailed, About::attempt(attempt, &worker), why);
                return refused("another worker counts the task differently; it is done again");
            }
            Finding::Settles(other) => {
                second = Some(other);
                self.resolve_dispute(fleet, attempt, &worker, &manifest);
                if self.task_mut(attempt).is_none() {
                    return refused("a worker counted wrongly, and the job goes on from before that");
                }
            }
        }
        self.count_in(fleet, &manifest, &worker);
        // All that it wrote is needed now. What it left beside that, its next heartbeat shows.
        if let Some(worker) = fleet.workers.get_mut(&worker) {
            worker.tidy = tidy;
        }
        self.end_others(fleet, attempt);
        let elapsed = fleet.now.saturating_sub(lease.granted);
        self.record.totals.recounts += u64::from(second.is_some());
        self.set_done(fleet, Committed { attempt, nonce: lease.nonce, writer: worker, second, manifest }, elapsed);
        self.draw(fleet, attempt.task);
        self.complete_if_done(fleet);
        Verdict::Accepted
    }

    /// Ends the other attempts at a task: nobody needs them any more.
    fn end_others(&mut self, fleet: &mut Fleet, attempt: AttemptId) {
        let others: Vec<AttemptId> = fleet.attempts(attempt).map(|(other, _)| *other).collect();
        for other in others {
            let Some(beaten) = fleet.end_lease(other, true) else { continue };
            // Another worker did the whole task in the time in which this one did nothing.
            let hangs = beaten.still_millis(fleet.now) >= fleet.config.lease_millis.saturating_mul(2);
            if hangs && fleet.is_here(&beaten.worker) {
                self.stalled(fleet, other, &beaten.worker);
            }
        }
    }

    fn complete_if_done(&mut self, fleet: &mut Fleet) {
        if self.stage.as_ref().is_some_and(StageRun::is_complete) {
            self.complete_stage(fleet);
        } else {
            self.look_after_recounts(fleet);
        }
    }

    fn count_in(&mut self, fleet: &mut Fleet, manifest: &TaskManifest, worker: &WorkerId) {
        for run in &manifest.runs {
            fleet.hold(worker, run);
            self.boundaries.need(run);
        }
        self.record.totals.add(manifest);
        self.rate.add(manifest.passes.iter().fold(0, |sum, pass| sum.saturating_add(pass.states)));
        self.health.finished_task(worker);
    }

    fn set_done(&mut self, fleet: &mut Fleet, mut done: Committed, elapsed: Millis) {
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.is_open(done.attempt.task)) else { return };
        trim(&mut done.manifest, stage.tasks.len());
        fleet.journal.put_task_under_way(&done);
        stage.finish(done);
        stage.add_duration(elapsed);
    }

    /// Whether exactly this attempt is committed.
    pub(crate) fn has_committed(&self, attempt: AttemptId, nonce: u64, worker: &WorkerId) -> bool {
        let is_it = |done: &Committed| done.attempt == attempt && done.nonce == nonce && done.writer == *worker;
        let here = self.stage.iter().flat_map(StageRun::done);
        here.chain(self.boundaries.iter().flat_map(|boundary| &boundary.tasks)).any(is_it)
    }
}

/// Splits that are kept of each of so many tasks.
pub(super) fn most_splits(tasks: usize) -> usize {
    (MOST_SPLITS / tasks.max(1)).clamp(LEAST_TASK_SPLITS, MAX_SPLITS)
}

/// Drops splits of a checked manifest beyond what cutting can use.
fn trim(manifest: &mut TaskManifest, tasks: usize) {
    // Where several tasks share the lanes, the one with the first lane counts the records.
    if manifest.splits.is_empty() && manifest.first_lane == 0 {
        let ends = manifest.runs.iter().map(|run| Split { key: run.last_key.saturating_add(1), records: run.records });
        manifest.splits = ends.collect();
    }
    let step = manifest.splits.len().div_ceil(most_splits(tasks)).max(1);
    if step > 1 {
        let merge = |splits: &[Split]| {
            let records = splits.iter().fold(0_u64, |sum, split| sum.saturating_add(split.records));
            splits.last().map(|last| Split { key: last.key, records })
        };
        manifest.splits = manifest.splits.chunks(step).filter_map(merge).collect();
    }
}
