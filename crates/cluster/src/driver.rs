//! Runs the coordinator's state machine: gives it a clock, stores its changes, and makes callers wait for the store.
//!
//! ```text
//!   call -> lock -> event at `now` -> take_changes -> journal (in order) -> unlock -> wait until stored -> answer
//! ```
//!
//! An answer waits for the changes of its own event and for all earlier ones, because it may tell of those too. For
//! example, a worker may delete a run because a boundary is complete: the boundary must be on disk first. `keima count`
//! uses this handle directly, the gRPC server uses it for others. Cost: an event holds the lock for microseconds. All
//! callers share one wait for the disk (see `store::journal`).

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keima_coordinator::{
    AttemptId, Config, Coordinator, Grant, Hello, Housekeeping, JobId, JobSpec, JobStatus, Millis, Report,
    RestoreError, Running, Stuck, Verdict, Wanted, Welcome, WorkerId, WorkerStatus,
};
use keima_model::Registry;
use keima_runs::RunId;
use tokio::sync::{Notify, watch};

use crate::store::journal::{Journal, JournalError, Ticket};
use crate::store::{Store, StoreError};
use crate::transport::link::{CoordinatorLink, LinkError, random_bits};

/// How often leases and grace times are checked.
const TICK: Duration = Duration::from_millis(250);
/// How long a pull waits for work.
pub const PULL_WAIT: Duration = Duration::from_secs(10);
/// A waiting pull looks again this often, even without a signal.
const PULL_AGAIN: Duration = Duration::from_millis(500);

/// Why a coordinator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its records cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its records make no sense.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

struct Machine {
    coordinator: Coordinator,
    last: Ticket,
}

/// The time of day at the start plus the monotonic time since then. So leases end on time even if somebody sets the time
/// of day.
struct Clock {
    start: Millis,
    started: Instant,
}

impl Clock {
    fn new() -> Self {
        let start = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as Millis);
        Self { start, started: Instant::now() }
    }

    fn now(&self) -> Millis {
        self.start + self.started.elapsed().as_millis() as Millis
    }
}

struct Inner {
    machine: Mutex<Machine>,
    clock: Clock,
    journal: Journal,
    /// Signalled when there may be work for a waiting pull.
    news: Notify,
    closing: watch::Sender<bool>,
}

/// A running coordinator. All clones are the same coordinator; it stops when the last clone is dropped.
#[derive(Clone)]
pub struct CoordinatorHandle {
    inner: Arc<Inner>,
}

impl CoordinatorHandle {
    /// Starts a coordinator on the records in the folder `data`, and makes the folder if it is missing. Call it within a
    /// tokio runtime.
    pub fn open(data: &Path, config: Config, registry: Arc<dyn Registry>) -> Result<Self, StartError> {
        let store = Store::open(data)?;
        let records = store.load()?;
        let clock = Clock::new();
        let coordinator = if records.is_empty() {
            Coordinator::new(config, registry, random_bits())
        } else {
            tracing::info!(records = records.len(), "resuming from the stored records");
            Coordinator::restore(config, registry, random_bits(), clock.now(), records)?
        };
        let inner = Arc::new(Inner {
            machine: Mutex::new(Machine { coordinator, last: 0 }),
            clock,
            journal: Journal::start(store),
            news: Notify::new(),
            closing: watch::channel(false).0,
        });
        let weak = Arc::downgrade(&inner);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(inner) = weak.upgrade() else { return };
                // Nobody waits for a tick. Its changes are stored before the next answer.
                if inner.decide(Coordinator::tick).is_err() {
                    return;
                }
            }
        });
        Ok(Self { inner })
    }

    /// Ends long polls and watches soon. Other calls still get answers.
    pub fn close(&self) {
        self.inner.closing.send_replace(true);
        self.inner.news.notify_waiters();
    }

    /// Returns once [`CoordinatorHandle::close`] was called.
    pub async fn closed(&self) {
        let mut closing = self.inner.closing.subscribe();
        // The sender lives as long as this handle.
        let _ = closing.wait_for(|&closing| closing).await;
    }

    /// Returns the reason when the records cannot be stored any more. The process must end then. Does not return
    /// otherwise.
    pub async fn failure(&self) -> Arc<JournalError> {
        self.inner.journal.failure().await
    }

    /// Submits a job.
    pub async fn submit(&self, spec: JobSpec) -> Result<JobId, LinkError> {
        Ok(self.event(|machine, now| machine.submit(now, spec)).await??)
    }
    /// Stops granting tasks of a job.
    pub async fn pause(&self, job: JobId) -> Result<(), LinkError> {
        Ok(self.event(|machine, now| machine.pause(now, job)).await??)
    }
    /// Resumes a paused job.
    pub async fn resume(&self, job: JobId) -> Result<(), LinkError> {
        Ok(self.event(|machine, now| machine.resume(now, job)).await??)
    }
    /// Cancels a job. Its runs are deleted.
    pub async fn cancel(&self, job: JobId) -> Result<(), LinkError> {
        Ok(self.event(|machine, now| machine.cancel(now, job)).await??)
    }
    /// All jobs.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, LinkError> {
        self.event(|machine, _| machine.jobs()).await
    }
    /// One job.
    pub async fn status(&self, job: JobId) -> Result<JobStatus, LinkError> {
        Ok(self.event(|machine, now| machine.status(now, job)).await??)
    }
    /// Why no worker can go on with a job, if so.
    pub async fn stuck(&self, job: JobId) -> Result<Option<Stuck>, LinkError> {
        self.event(|machine, _| machine.stuck(job)).await
    }
    /// All known workers.
    pub async fn workers(&self) -> Result<Vec<WorkerStatus>, LinkError> {
        self.event(Coordinator::workers).await
    }

    async fn event<T>(&self, event: impl FnOnce(&mut Coordinator, Millis) -> T) -> Result<T, LinkError> {
        let (answer, ticket) = self.inner.decide(event)?;
        self.inner.stored(ticket).await?;
        Ok(answer)
    }
}

impl Inner {
    /// Runs one event under the lock and queues its changes. The answer may leave once the ticket is stored.
    fn decide<T>(&self, event: impl FnOnce(&mut Coordinator, Millis) -> T) -> Result<(T, Ticket), LinkError> {
        let broken = |_| LinkError::Broken("an earlier call failed inside it; start the coordinator again".to_owned());
        let mut machine = self.machine.lock().map_err(broken)?;
        let Machine { coordinator, last } = &mut *machine;
        let work = coordinator.work_serial();
        let answer = event(coordinator, self.clock.now());
        if coordinator.work_serial() != work {
            self.news.notify_waiters();
        }
        self.journal.post(coordinator.take_changes(), last);
        Ok((answer, *last))
    }
}

impl Inner {
    /// Returns when everything up to `ticket` is stored.
    async fn stored(&self, ticket: Ticket) -> Result<(), LinkError> {
        self.journal.stored(ticket).await.map_err(|error| LinkError::Broken(error.to_string()))
    }
}

impl CoordinatorLink for CoordinatorHandle {
    async fn hello(&self, hello: Hello) -> Result<Welcome, LinkError> {
        Ok(self.event(|machine, now| machine.hello(now, hello)).await??)
    }

    async fn heartbeat(
        &self,
        worker: &WorkerId,
        epoch: u64,
        running: Vec<Running>,
        held: Vec<RunId>,
        disk_used_bytes: u64,
    ) -> Result<Housekeeping, LinkError> {
        let beat =
            |machine: &mut Coordinator, now| machine.heartbeat(now, worker, epoch, &running, &held, disk_used_bytes);
        Ok(self.event(beat).await??)
    }

    async fn pull(&self, worker: &WorkerId, epoch: u64, wanted: Wanted) -> Result<Option<Grant>, LinkError> {
        let deadline = tokio::time::Instant::now() + PULL_WAIT;
        loop {
            // Listen before looking, so that no signal in between is missed.
            let news = self.inner.news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            let (grant, ticket) = self.inner.decide(|machine, now| machine.pull(now, worker, epoch, wanted))?;
            if let Some(grant) = grant? {
                self.inner.stored(ticket).await?;
                return Ok(Some(grant));
            }
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            if left.is_zero() || *self.inner.closing.borrow() {
                return Ok(None);
            }
            let _ = tokio::time::timeout(left.min(PULL_AGAIN), news).await;
        }
    }

    async fn report(
        &self,
        worker: &WorkerId,
        epoch: u64,
        attempt: AttemptId,
        nonce: u64,
        report: Report,
    ) -> Result<(Verdict, Housekeeping), LinkError> {
        Ok(self.event(|machine, now| machine.report(now, worker, epoch, attempt, nonce, report)).await??)
    }

    fn goodbye(&self, worker: &WorkerId) -> impl Future<Output = Result<(), LinkError>> + Send {
        let worker = worker.clone();
        async move { self.event(|machine, now| machine.goodbye(now, &worker)).await }
    }
}
