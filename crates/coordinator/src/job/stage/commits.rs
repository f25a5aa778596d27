//! Committing finished tasks, one by one.

use keima_orders::{AttemptId, WorkerId};
use keima_runs::{Split, TaskManifest};

use super::laws::{Asked, Fault};
use super::{StageRun, Task};
use crate::api::{Millis, Verdict};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::functionals::read_by_stage;
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
    fn asked(&self, attempt: AttemptId) -> Option<Asked> {
        let stage = self.stage.as_ref().filter(|stage| stage.generation == attempt.generation)?;
        let shard = stage.tasks.get(attempt.task as usize)?.shard;
        let plan = &self.record.plan;
        Some(Asked {
            order: self.order(stage, attempt, shard),
            coefficients: plan.coefficients,
            functionals: read_by_stage(self.info(), plan, stage.number),
        })
    }

    /// A worker reports a living attempt as done.
    pub(crate) fn commit(&mut self, fleet: &mut Fleet, attempt: AttemptId, manifest: TaskManifest) -> Verdict {
        let checked = match (self.asked(attempt), self.info()) {
            (Some(asked), Some(info)) => asked.check(info, &manifest),
            _ => Err(Fault::Form("its stage is over".into())),
        };
        let refused = |text: &str| Verdict::Refused { reason: format!("{attempt}: {text}") };
        let Some(lease) = fleet.end_lease(attempt, false) else { return refused("the lease has ended") };
        if let Err(fault) = checked {
            self.back_to_pending(attempt, fleet);
            let (Fault::Form(text) | Fault::Law(text)) = &fault;
            match &fault {
                Fault::Form(_) => self.failed_there(attempt, &lease.worker, &format!("malformed manifest: {text}")),
                Fault::Law(_) => self.broke_law(fleet, attempt, &lease.worker, text),
            }
            return refused(text);
        }
        self.count_in(fleet, &manifest, &lease.worker);
        let others: Vec<AttemptId> = fleet.attempts(attempt).map(|(other, _)| *other).collect();
        for other in others {
            fleet.end_lease(other, true);
        }
        let elapsed = fleet.now.saturating_sub(lease.granted);
        self.set_done(fleet, Committed { attempt, nonce: lease.nonce, writer: lease.worker, manifest }, elapsed);
        if self.stage.as_ref().is_some_and(StageRun::is_complete) {
            self.complete_stage(fleet);
        }
        Verdict::Accepted
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

/// Drops the parts of a checked manifest that nobody reads any more, and splits beyond what cutting can use.
fn trim(manifest: &mut TaskManifest, tasks: usize) {
    for pass in &mut manifest.passes {
        pass.by_degree.clear();
        pass.new_sums.clear();
    }
    if manifest.splits.is_empty() {
        let ends = manifest.runs.iter().map(|run| Split { key: run.last_key.saturating_add(1), records: run.records });
        manifest.splits = ends.collect();
    }
    let most = (MOST_SPLITS / tasks.max(1)).max(LEAST_TASK_SPLITS);
    let step = manifest.splits.len().div_ceil(most).max(1);
    if step > 1 {
        let merge = |splits: &[Split]| {
            let records = splits.iter().fold(0_u64, |sum, split| sum.saturating_add(split.records));
            splits.last().map(|last| Split { key: last.key, records })
        };
        manifest.splits = manifest.splits.chunks(step).filter_map(merge).collect();
    }
}
