//! A job as a page shows it: its status, and beside that its passes, its running tasks, its checks so far. Reads only.

use keima_orders::{AttemptId, WorkerId};
use serde::{Deserialize, Serialize};

use super::status::JobStatus;
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::fleet::lease::Lease;
use crate::job::Job;
use crate::job::stage::StageRun;
use crate::outcome::Check;

/// A living attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningTask {
    /// Which.
    pub attempt: AttemptId,
    /// Who works on it.
    pub worker: WorkerId,
    /// Time since its grant.
    pub millis: Millis,
    /// Time since it was last seen to get on.
    pub still_millis: Millis,
    /// States that it has read.
    pub states_done: u64,
    /// States that it has to read, as far as the cut knows; 0 for copies.
    pub states: u64,
    /// Whether it is a second copy or archive work rather than a task of the stage.
    pub copy: bool,
    /// Whether it takes much longer than the stage's finished tasks did, or does not get on.
    pub slow: bool,
}

/// The newest boundary on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurableBoundary {
    /// Passes of the sweep that it has behind it.
    pub passes: u32,
    /// When it was complete, by the coordinator's clock; after a restart, when the coordinator started.
    pub at: Millis,
}

/// A job as a page shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// What `keima status` tells.
    pub status: JobStatus,
    /// States before each pass and after the last, as far as they are known. The plan has the forecast of the same.
    pub pass_states: Vec<Option<u64>>,
    /// Living attempts.
    pub running: Vec<RunningTask>,
    /// Median time of the stage's finished tasks.
    pub median_millis: Option<Millis>,
    /// Laws that held in all that is done. Empty where there is an outcome, which has them all.
    pub checks: Vec<Check>,
    /// The newest boundary on stable storage, while the job is under way.
    pub durable: Option<DurableBoundary>,
    /// Tasks finished so far, in all stages.
    pub tasks_finished: u64,
    /// Attempts that failed or ended without a report.
    pub failed_attempts: u64,
    /// How often the job went back to an older boundary.
    pub fall_backs: u64,
}

impl Job {
    /// The job as a page shows it, with its status.
    pub(crate) fn view(&self, fleet: &Fleet, status: JobStatus) -> JobView {
        let median_millis = self.stage.as_ref().and_then(StageRun::median_duration);
        let totals = &self.record.totals;
        let checks = self.info().filter(|_| totals.tasks > 0 && self.record.outcome.is_none());
        let attempts = fleet.attempts_of_job(self.id);
        JobView {
            status,
            pass_states: self.record.pass_states.clone(),
            running: attempts.map(|(&attempt, lease)| self.running(fleet, attempt, lease, median_millis)).collect(),
            median_millis,
            checks: checks.map(|info| self.checks_on_the_way(info)).unwrap_or_default(),
            durable: self.durable(),
            tasks_finished: totals.tasks,
            failed_attempts: totals.failed_attempts,
            fall_backs: totals.fall_backs,
        }
    }

    /// The newest boundary on stable storage.
    pub(crate) fn durable(&self) -> Option<DurableBoundary> {
        let newest = self.boundaries.iter().rfind(|boundary| boundary.head.durable)?;
        let passes = self.record.plan.passes_before(newest.head.stage + 1);
        Some(DurableBoundary { passes, at: self.boundaries.last_durable_at })
    }

    fn running(&self, fleet: &Fleet, attempt: AttemptId, lease: &Lease, median: Option<Millis>) -> RunningTask {
        let stage = self.stage.as_ref().filter(|stage| stage.generation == attempt.generation);
        let shard = stage.and_then(|stage| stage.tasks.get(attempt.task as usize)).map(|task| task.shard);
        let (millis, still_millis) = (fleet.now.saturating_sub(lease.granted), lease.still_millis(fleet.now));
        let config = &fleet.config;
        // The same limits as for a second attempt (stage/grants.rs).
        let long = |median: Millis| median.saturating_mul(config.speculate_factor).max(config.speculate_min_millis);
        RunningTask {
            attempt,
            worker: lease.worker.clone(),
            millis,
            still_millis,
            states_done: lease.states_done,
            states: shard.map_or(0, |shard| shard.records),
            copy: lease.copy,
            slow: still_millis >= config.lease_millis || median.is_some_and(|median| millis > long(median)),
        }
    }
}
