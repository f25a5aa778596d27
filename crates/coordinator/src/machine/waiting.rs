//! What a job waits for, for people: the first thing on this list that stands in its way.
//!
//! ```text
//!   a person (it was paused), its cap on bytes, the cause of a pause by itself
//!   its plan
//!   any worker; one with enough memory; one that is not set aside; room on a disk
//!   runs that only a worker has that is away
//!   a job that is asked before it and has the workers
//! ```
//!
//! A job that has a task at work waits for nothing. Reads only. Cost: O(workers).

use keima_blocks::sizes::show_bytes;
use keima_orders::{JobId, WorkerId};

use super::Coordinator;
use crate::api::State;
use crate::fleet::worker::Worker;
use crate::job::Job;
use crate::job::health::Remedy;

/// Workers that are named; others are counted.
const NAMED: usize = 3;

/// `w1, w2 and 5 more`.
fn names(workers: &[&WorkerId]) -> String {
    let named: Vec<&str> = workers.iter().take(NAMED).map(|id| id.0.as_str()).collect();
    match workers.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

impl Coordinator {
    /// What a job waits for; empty if it does not. `order` has the jobs that want work, in the order in which they are asked.
    pub(super) fn waits_for(&self, job: &Job, order: &[JobId]) -> String {
        let (fleet, id) = (&self.fleet, job.id);
        if job.is_over() || fleet.tasks_at_work(id) > 0 {
            return String::new();
        }
        if job.record.state == State::Paused && job.account.over_disk {
            return format!("a larger --max-disk: keima change {id}");
        }
        if job.record.state == State::Paused && !job.record.waits {
            return format!("a person: keima resume {id}");
        }
        if job.problem.is_none() {
            return "another program: see its reason".to_owned();
        }
        let here: Vec<(&WorkerId, &Worker)> = fleet.here().collect();
        if here.is_empty() {
            return "a worker".to_owned();
        }
        if job.replanning.is_under_way || job.wants_plan(fleet) && fleet.plans_wanted.contains(&id) {
            return "its plan".to_owned();
        }
        let fit: Vec<&WorkerId> = here.iter().map(|(id, _)| *id).filter(|worker| job.fits(fleet, worker)).collect();
        if fit.is_empty() {
            return format!("a worker with {} for a task", show_bytes(job.record.plan.task_memory_bytes));
        }
        let is_full = |worker: &&WorkerId| job.health.aside(worker).is_some_and(|aside| aside.remedy == Remedy::Disk);
        if fit.iter().all(|worker| job.health.is_aside(worker)) {
            let full: Vec<&WorkerId> = fit.iter().copied().filter(is_full).collect();
            return if full.is_empty() {
                format!("{}, set aside: see its workers", names(&fit))
            } else {
                format!("disk on {}", names(&full))
            };
        }
        if let Some(away) = self.needs_runs_of(job) {
            return format!("runs of {away}, which is away");
        }
        if let Some(away) = job.awaited_to_repeat(fleet) {
            return format!("{away}, which is away, to count a task again");
        }
        let before = order.iter().take_while(|other| **other != id).filter_map(|other| self.jobs.get(other));
        let ahead = before.chain(self.jobs.live()).find(|other| other.id != id && fleet.tasks_at_work(other.id) > 0);
        ahead.map_or_else(String::new, |other| format!("job {} (priority {})", other.id, other.record.spec.priority))
    }

    /// A worker that is away and has a run that the job cannot do without.
    fn needs_runs_of(&self, job: &Job) -> Option<&WorkerId> {
        let missing = job.boundaries.missing().next()?;
        self.fleet.holders_of(&missing.id).into_iter().find(|(_, worker)| !worker.here).map(|(id, _)| id)
    }
}
