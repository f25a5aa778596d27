//! What a job keeps at a clean stop of its process: its newest boundary, and the finished tasks of the stage under way.

use std::collections::BTreeSet;

use keima_orders::JobId;
use keima_runs::RunId;

use crate::fleet::Fleet;
use crate::job::Job;
use crate::store::records::Committed;

/// How much of a job outlives a clean stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The job.
    pub job: JobId,
    /// The sweep under way, from 0.
    pub sweep: u32,
    /// Number of sweeps.
    pub sweeps: u32,
    /// Passes of the sweep before the kept boundary; 0 for its start.
    pub pass: u32,
    /// Passes of a sweep.
    pub passes: u32,
    /// Finished tasks of the stage after the kept boundary.
    pub tasks_done: u32,
    /// Tasks of that stage; 0 if it is not cut.
    pub tasks: u32,
}

impl Job {
    /// Stores what it has reached, as far as its runs are durable or `flushed`.
    pub(crate) fn settle(&mut self, fleet: &mut Fleet, flushed: &BTreeSet<RunId>) -> Kept {
        let is_safe = |task: &Committed| task.manifest.runs.iter().all(|run| flushed.contains(&run.id));
        if let Some(newest) = self.boundaries.last_mut()
            && !newest.head.durable
            && newest.tasks.iter().all(is_safe)
        {
            newest.head.durable = true;
            newest.stored = true;
            newest.tasks.iter().for_each(|task| fleet.journal.put_task(task));
            fleet.journal.put_head(self.id, &newest.head);
            self.boundaries.last_durable_at = fleet.now;
        }
        let plan = &self.record.plan;
        let durable = self.boundaries.iter().rev().find(|boundary| boundary.head.durable);
        let next_stage = durable.map_or(0, |boundary| boundary.head.stage + 1);
        let mut kept = Kept {
            job: self.id,
            sweep: self.record.sweep,
            sweeps: plan.sweeps.len() as u32,
            pass: plan.passes_before(next_stage),
            passes: plan.board.passes(),
            tasks_done: 0,
            tasks: 0,
        };
        // The tasks are worth nothing without the vector that they read.
        if let Some(stage) = self.stage.as_ref().filter(|stage| stage.number == next_stage) {
            let done: Vec<&Committed> = stage.done().filter(|task| stage.durable || is_safe(task)).collect();
            fleet.journal.keep_stage(self.id, &stage.record(self.record.sweep));
            for task in &done {
                fleet.journal.put_task(task);
            }
            (kept.tasks_done, kept.tasks) = (done.len() as u32, stage.tasks.len() as u32);
        }
        self.store(fleet);
        kept
    }
}
