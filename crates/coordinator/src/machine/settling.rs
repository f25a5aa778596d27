//! A clean stop of one process: what its jobs have reached is kept, although a short count stores little on its way.
//!
//! ```text
//!   unsettled   no task is granted from now on; the runs that the next start needs and that may not be durable
//!               (the caller flushes them; tasks under way may finish meanwhile: it asks again)
//!   settled     the newest boundary counts as durable; it and the finished tasks of the stage under way are stored
//! ```
//!
//! A run that could not be flushed leaves its boundary, or its task, as it was: the next start goes on from an older one.

use std::collections::BTreeSet;

use keima_runs::RunId;

use super::Coordinator;
use crate::api::Millis;
use crate::job::lives::settling::Kept;
use crate::job::stage::StageRun;

impl Coordinator {
    /// Grants nothing any more. Returns the runs to flush to stable storage before [`Coordinator::settled`].
    pub fn unsettled(&mut self, now: Millis) -> Vec<RunId> {
        self.advance(now);
        self.is_settling = true;
        let mut runs = Vec::new();
        for job in self.jobs.live().filter(|job| job.is_live()) {
            let boundary = job.boundaries.last().filter(|boundary| !boundary.head.durable);
            runs.extend(boundary.iter().flat_map(|boundary| boundary.runs()).map(|run| run.id.clone()));
            let tasks = job.stage.iter().filter(|stage| !stage.durable).flat_map(StageRun::done);
            runs.extend(tasks.flat_map(|task| &task.manifest.runs).map(|run| run.id.clone()));
        }
        runs
    }

    /// Stores what the jobs have reached, as far as its runs are on stable storage: they were written so, or are among
    /// `flushed`.
    pub fn settled(&mut self, now: Millis, flushed: &BTreeSet<RunId>) -> Vec<Kept> {
        self.advance(now);
        let Self { jobs, fleet, .. } = self;
        jobs.live_mut().filter(|job| job.is_live()).map(|job| job.settle(fleet, flushed)).collect()
    }
}
