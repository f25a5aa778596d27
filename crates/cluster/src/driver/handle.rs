//! What all clones of a coordinator's handle share: the state machine with its clock, and the ways to it.
//!
//! An event runs under the lock, and its changes are queued for the journal in the order of the events. Plans are made
//! outside the lock, one at a time. Cost: microseconds for an event.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use keima_coordinator::{Coordinator, Event, JobId, Millis};
use keima_model::Registry;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

use crate::archive::Archive;
use crate::spans::{self, StageSpans};
use crate::store::ended::EndedFolder;
use crate::store::journal::{Journal, Ticket};
use crate::transport::link::LinkError;
use crate::world;

/// Waiting pulls that are woken for a single task.
pub(super) const WOKEN_FOR_A_TASK: u64 = 4;
/// Most submissions at a time, the one that is being planned included.
pub(super) const MOST_SUBMISSIONS: usize = 16;

pub(super) struct Machine {
    pub(super) coordinator: Coordinator,
    pub(super) last: Ticket,
    pub(super) stages: StageSpans,
}

/// The time of day at the start plus the monotonic time since then. So leases end on time even if somebody sets the time
/// of day.
pub(super) struct Clock {
    start: Millis,
    started: Instant,
    /// The coordinator's folder.
    data: PathBuf,
}

impl Clock {
    pub(super) fn new(data: &Path) -> Self {
        let start = world::time_of_day(data).as_millis() as Millis;
        Self { start, started: Instant::now(), data: data.to_owned() }
    }

    pub(super) fn now(&self) -> Millis {
        self.start + world::elapsed(&self.data, self.started).as_millis() as Millis
    }
}

pub(super) struct Inner {
    pub(super) machine: Mutex<Machine>,
    pub(super) registry: Arc<dyn Registry>,
    pub(super) clock: Clock,
    /// Plans are made one at a time, on a thread of its own: a plan may take seconds.
    pub(super) planner: Arc<Semaphore>,
    /// Submissions that have no answer yet.
    pub(super) submissions: AtomicUsize,
    pub(super) journal: Journal,
    pub(super) archive: Option<Archive>,
    pub(super) ended: EndedFolder,
    /// Whether jobs leave the store at the moment.
    pub(super) leaving: AtomicBool,
    /// Held while checkpoints are read from the archive: one may take a gigabyte.
    pub(super) readings: tokio::sync::Mutex<()>,
    /// Signalled when there may be work for a waiting pull.
    pub(super) news: Notify,
    pub(super) closing: watch::Sender<bool>,
}

/// Writes an event into the log.
pub(super) fn log(event: &Event) {
    let Event { kind, job, attempt, worker, text, .. } = event;
    let (job, attempt) = (job.map(tracing::field::display), attempt.map(tracing::field::display));
    let worker = worker.as_ref().map(tracing::field::display);
    let colon = if text.is_empty() { "" } else { ": " };
    if kind.is_bad() {
        tracing::warn!(job, attempt, worker, "{kind}{colon}{text}");
    } else {
        tracing::info!(job, attempt, worker, "{kind}{colon}{text}");
    }
}

/// A submission that has no answer yet.
pub(super) struct Waiting<'a>(&'a Inner);

impl<'a> Waiting<'a> {
    pub(super) fn count(inner: &'a Inner) -> Self {
        inner.submissions.fetch_add(1, Ordering::Relaxed);
        Self(inner)
    }

    /// Submissions that have no answer yet, this one included.
    pub(super) fn number(&self) -> usize {
        self.0.submissions.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.submissions.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, Machine>, LinkError> {
        let broken = |_| LinkError::Broken("an earlier call failed inside it; start the coordinator again".to_owned());
        self.machine.lock().map_err(broken)
    }

    /// Makes a plan on a thread that may block. The thread goes on if the caller does not wait for it, and others wait for it.
    pub(super) async fn plan<T: Send + 'static>(
        &self,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, LinkError> {
        let failed = |error: &dyn std::fmt::Display| LinkError::Refused(format!("the planner failed: {error}"));
        let one_at_a_time = Arc::clone(&self.planner).acquire_owned().await.map_err(|error| failed(&error))?;
        let made = world::blocking(move || {
            let made = make();
            drop(one_at_a_time);
            made
        });
        made.await.map_err(|error| failed(&error))
    }

    /// Runs one event under the lock and queues its changes. The answer may leave once the ticket is stored.
    pub(super) fn decide<T>(
        &self,
        event: impl FnOnce(&mut Coordinator, Millis) -> T,
    ) -> Result<(T, Ticket), LinkError> {
        let mut machine = self.lock()?;
        let Machine { coordinator, last, .. } = &mut *machine;
        let (work, few) = (coordinator.work_serial(), coordinator.few_serial());
        let answer = event(coordinator, self.clock.now());
        if coordinator.work_serial() == work {
            // Not every worker may do a single task: some are woken for it, and the others ask again soon.
            (0..WOKEN_FOR_A_TASK * (coordinator.few_serial() - few)).for_each(|_| self.news.notify_one());
        } else {
            self.news.notify_waiters();
        }
        self.journal.post(coordinator.take_changes(), last);
        Ok((answer, *last))
    }

    /// Something happened to a job: its stage may have begun or ended.
    pub(super) fn look_at_stage(&self, job: JobId) {
        self.trace(|stages, coordinator| stages.look(coordinator, job));
    }

    /// Stages may have ended by a word of a user.
    pub(super) fn tidy_stages(&self) {
        self.trace(StageSpans::tidy);
    }

    /// Updates the spans, if anybody collects them.
    fn trace(&self, update: impl FnOnce(&mut StageSpans, &Coordinator)) {
        if spans::is_on()
            && let Ok(mut machine) = self.machine.lock()
        {
            let Machine { coordinator, stages, .. } = &mut *machine;
            update(stages, coordinator);
        }
    }

    /// Returns when everything up to `ticket` is stored.
    pub(super) async fn stored(&self, ticket: Ticket) -> Result<(), LinkError> {
        self.journal.stored(ticket).await.map_err(|error| {
            let text = error.to_string();
            if error.is_full() { LinkError::Full(text) } else { LinkError::Broken(text) }
        })
    }
}
