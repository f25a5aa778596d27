//! What those who watch are told beside the state itself: the newest events, and sums since the process started.
//!
//! Events and sums are not stored: they decide nothing, and a restarted coordinator begins anew. An event is also not a
//! record of a job: what a job's owner must know later stands in its notes. Cost: an addition for each task, and at most
//! [`MOST_EVENTS`] events of at most [`MOST_CHARS`] characters.

use std::collections::VecDeque;
use std::fmt;

use keima_orders::{AttemptId, JobId, WorkerId};
use keima_runs::{TaskManifest, TaskSums};
use serde::{Deserialize, Serialize};

use crate::api::Millis;

/// Events that are remembered.
pub const MOST_EVENTS: usize = 500;
/// Longest text of an event.
const MOST_CHARS: usize = 1000;
/// Upper ends of the classes of [`FleetSums::task_classes`], in milliseconds; longer tasks have a class of their own.
pub const TASK_CLASSES_MILLIS: [Millis; 8] = [10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000];

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A job is there, or is in another state.
    Job,
    /// A worker is here.
    WorkerCame,
    /// A worker said goodbye.
    WorkerLeft,
    /// A worker was silent for too long.
    WorkerLost,
    /// A worker reported that an attempt failed.
    AttemptFailed,
    /// A law of the numbers, or a comparison, failed in an attempt.
    CheckFailed,
    /// An attempt's lease ended without a report.
    LeaseExpired,
}

impl EventKind {
    /// Its name in JSON and on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::WorkerCame => "worker-came",
            Self::WorkerLeft => "worker-left",
            Self::WorkerLost => "worker-lost",
            Self::AttemptFailed => "attempt-failed",
            Self::CheckFailed => "check-failed",
            Self::LeaseExpired => "lease-expired",
        }
    }

    /// Whether somebody should look at it.
    pub const fn is_bad(self) -> bool {
        !matches!(self, Self::Job | Self::WorkerCame | Self::WorkerLeft)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Counts up from 1 in each life of the coordinator.
    pub number: u64,
    /// When, by the coordinator's clock.
    pub at: Millis,
    /// What.
    pub kind: EventKind,
    /// The job, if it concerns one.
    pub job: Option<JobId>,
    /// The attempt, if it concerns one.
    pub attempt: Option<AttemptId>,
    /// The worker, if it concerns one.
    pub worker: Option<WorkerId>,
    /// The reason, for people; may be empty.
    pub text: String,
}

/// Sums over all jobs since the process started. They never fall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetSums {
    /// Finished tasks whose report held every law, those done twice included.
    pub work: TaskSums,
    /// Tasks by the time from grant to report: up to each of [`TASK_CLASSES_MILLIS`], then longer ones.
    pub task_classes: [u64; TASK_CLASSES_MILLIS.len() + 1],
    /// Time from grant to report, all tasks together.
    pub task_millis: Millis,
    /// Attempts that failed, failed checks left out.
    pub attempts_failed: u64,
    /// Attempts in which a check failed.
    pub checks_failed: u64,
    /// Leases that ended without a report.
    pub leases_expired: u64,
    /// Workers that were silent for too long, each time.
    pub workers_lost: u64,
}

impl FleetSums {
    /// A task is finished, so long after its grant. Sums saturate.
    pub(crate) fn add(&mut self, task: &TaskManifest, elapsed: Millis) {
        self.work.add(task);
        self.task_millis = self.task_millis.saturating_add(elapsed);
        let class = TASK_CLASSES_MILLIS.iter().position(|&end| elapsed <= end).unwrap_or(TASK_CLASSES_MILLIS.len());
        if let Some(number) = self.task_classes.get_mut(class) {
            *number += 1;
        }
    }
}

/// Events and sums of this life of the coordinator.
#[derive(Default)]
pub(crate) struct Watched {
    events: VecDeque<Event>,
    told: u64,
    pub(crate) sums: FleetSums,
}

impl Watched {
    /// Remembers an event and counts it.
    pub(crate) fn add(&mut self, at: Millis, kind: EventKind, about: About<'_>, text: &str) {
        match kind {
            EventKind::AttemptFailed => self.sums.attempts_failed += 1,
            EventKind::CheckFailed => self.sums.checks_failed += 1,
            EventKind::LeaseExpired => self.sums.leases_expired += 1,
            EventKind::WorkerLost => self.sums.workers_lost += 1,
            EventKind::Job | EventKind::WorkerCame | EventKind::WorkerLeft => {}
        }
        self.told += 1;
        let (job, attempt) = (about.job.or(about.attempt.map(|attempt| attempt.job)), about.attempt);
        let text = text.chars().take(MOST_CHARS).collect();
        self.events.push_back(Event { number: self.told, at, kind, job, attempt, worker: about.worker.cloned(), text });
        if self.events.len() > MOST_EVENTS {
            self.events.pop_front();
        }
    }

    /// Remembered events with a larger number, the oldest first.
    pub(crate) fn after(&self, number: u64) -> Vec<Event> {
        let first = self.events.partition_point(|event| event.number <= number);
        self.events.iter().skip(first).cloned().collect()
    }
}

/// What an event is about.
#[derive(Clone, Copy, Default)]
pub(crate) struct About<'a> {
    pub(crate) job: Option<JobId>,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) worker: Option<&'a WorkerId>,
}

impl<'a> About<'a> {
    pub(crate) fn job(job: JobId) -> Self {
        Self { job: Some(job), ..Self::default() }
    }
    pub(crate) fn worker(worker: &'a WorkerId) -> Self {
        Self { worker: Some(worker), ..Self::default() }
    }
    pub(crate) fn attempt(attempt: AttemptId, worker: &'a WorkerId) -> Self {
        Self { attempt: Some(attempt), worker: Some(worker), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_events_are_kept_and_every_one_is_counted() {
        let mut watched = Watched::default();
        let worker = WorkerId("w".to_owned());
        for _ in 0..MOST_EVENTS + 3 {
            watched.add(7, EventKind::WorkerLost, About::worker(&worker), &"é".repeat(MOST_CHARS + 1));
        }
        let all = watched.after(0);
        assert_eq!((all.len(), all[0].number, watched.sums.workers_lost), (MOST_EVENTS, 4, MOST_EVENTS as u64 + 3));
        assert_eq!(all[0].text.chars().count(), MOST_CHARS);
        let numbers = |after: u64| watched.after(after).iter().map(|event| event.number).collect::<Vec<_>>();
        let last = MOST_EVENTS as u64 + 3;
        assert_eq!((numbers(last - 2), numbers(last), numbers(u64::MAX)), (vec![last - 1, last], vec![], vec![]));
    }

    #[test]
    fn each_task_has_one_class() {
        let mut sums = FleetSums::default();
        for elapsed in [0, 10, 11, 36_000_000, 36_000_001] {
            sums.add(&TaskManifest::default(), elapsed);
        }
        assert_eq!(sums.task_classes, [2, 1, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((sums.work.tasks, sums.task_millis), (5, 72_000_022));
    }
}
