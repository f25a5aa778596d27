//! Runs the coordinator's state machine: gives it a clock, stores its changes, and makes callers wait for the store.
//!
//! ```text
//!   call -> lock -> event at `now` -> take_changes -> journal (in order) -> unlock -> wait until stored -> answer
//! ```
//!
//! An answer waits for the changes of its own event and for all earlier ones, because it may tell of those too. For
//! example, a worker may delete a run because a boundary is complete: the boundary must be on disk first. `keima count`
//! uses this handle directly, the gRPC server uses it for others. Cost: an event holds the lock for microseconds. All
//! callers share one wait for the disk (see `store::journal`). Plans are made outside the lock, one at a time.

mod archive;
mod ended;
mod handle;
mod workers;

pub(crate) use self::ended::Reading;
pub use self::workers::PULL_WAIT;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keima_coordinator::{
    AttemptId, Config, Coordinator, DurableBoundary, Event, FleetSums, JobId, JobSpec, JobStatus, Kept, Millis,
    RestoreError, Standing, State, Stuck, Terms, TermsChange, VERSION_KEY, WorkerStatus, check_stored_version,
};
use keima_model::Registry;
use keima_runs::RunId;
use tokio::sync::{Notify, Semaphore, watch};

use self::handle::{Clock, Inner, MOST_SUBMISSIONS, Machine, Waiting, log};
use crate::BUILD;
use crate::archive::Archive;
use crate::spans::StageSpans;
use crate::store::ended::EndedFolder;
use crate::store::journal::{Journal, JournalError};
use crate::store::{Store, StoreError};
use crate::transport::link::{LinkError, random_bits};

/// How often leases and grace times are checked.
const TICK: Duration = Duration::from_millis(250);

/// Jobs that are over in an [`Overview`].
const NEWEST_ENDED: usize = 50;

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

/// A coordinator as a whole, at one moment.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The moment, by the coordinator's clock.
    pub now: Millis,
    /// Jobs that are not over, and the newest that are, the newest first, without their values.
    pub jobs: Vec<JobStatus>,
    /// How many jobs are in each state.
    pub states: Vec<(State, usize)>,
    /// All known workers.
    pub workers: Vec<WorkerStatus>,
    /// Remembered events, the oldest first.
    pub events: Vec<Event>,
    /// Sums since the process started.
    pub sums: FleetSums,
    /// The newest boundary on stable storage of each job that is under way.
    pub durable: Vec<(JobId, DurableBoundary)>,
    /// Number of living leases.
    pub leases: usize,
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
        Self::open_with(data, config, registry, None)
    }

    /// The same with an archive. [`Config::archive_interval_millis`] says how often vectors go there.
    pub fn open_with(
        data: &Path,
        config: Config,
        registry: Arc<dyn Registry>,
        archive: Option<Archive>,
    ) -> Result<Self, StartError> {
        // Before anything is written, and not while another process writes.
        Store::check_free(data)?;
        if let Some(version) = Store::look(data, VERSION_KEY)? {
            check_stored_version(&version)?;
        }
        let store = Store::open(data)?;
        let records = store.load()?;
        let config = Config { build: if config.build.is_empty() { BUILD.to_owned() } else { config.build }, ..config };
        let clock = Clock::new(data);
        let for_machine = Arc::clone(&registry);
        let coordinator = if records.is_empty() {
            Coordinator::new(config, for_machine, random_bits())
        } else {
            tracing::info!(records = records.len(), "resuming from the stored records");
            Coordinator::restore(config, for_machine, random_bits(), clock.now(), records)?
        };
        let inner = Arc::new(Inner {
            machine: Mutex::new(Machine { coordinator, last: 0, stages: StageSpans::default() }),
            registry,
            clock,
            planner: Arc::new(Semaphore::new(1)),
            submissions: AtomicUsize::new(0),
            journal: Journal::start(store),
            archive,
            ended: EndedFolder::of(data),
            leaving: AtomicBool::new(false),
            readings: tokio::sync::Mutex::default(),
            news: Notify::new(),
            closing: watch::channel(false).0,
        });
        let weak = Arc::downgrade(&inner);
        tokio::spawn(async move {
            let mut logged = 0;
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(inner) = weak.upgrade() else { return };
                // Nobody waits for a tick. Its changes are stored before the next answer.
                let Ok(((wanted, events, publications, removals, has_leaver), _)) = inner.decide(|machine, now| {
                    machine.tick(now);
                    let (events, has_leaver) = (machine.events(logged), machine.has_leaver());
                    let (publications, removals) = (machine.take_publications(), machine.take_removals());
                    (machine.take_plan_request(), events, publications, removals, has_leaver)
                }) else {
                    return;
                };
                if has_leaver && !inner.leaving.swap(true, Ordering::Relaxed) {
                    let inner = Arc::clone(&inner);
                    tokio::spawn(async move { inner.let_jobs_leave().await });
                }
                inner.tidy_stages();
                logged = events.last().map_or(logged, |event| event.number);
                events.iter().for_each(log);
                for (job, folder) in removals {
                    let inner = Arc::clone(&inner);
                    tokio::spawn(async move { inner.remove_archived(job, &folder).await });
                }
                for publication in publications {
                    let inner = Arc::clone(&inner);
                    tokio::spawn(async move { inner.publish(publication).await });
                }
                if let Some(request) = wanted {
                    tokio::spawn(async move {
                        if let Ok(plan) = inner.plan(move || request.make()).await {
                            let _ = inner.decide(|machine, now| machine.take_plan(now, plan));
                        }
                    });
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
        self.submit_as(spec, Terms::default()).await
    }
    /// Submits a job under terms.
    pub async fn submit_as(&self, spec: JobSpec, terms: Terms) -> Result<JobId, LinkError> {
        terms.check()?;
        let spec = terms.limit(spec);
        let waiting = Waiting::count(&self.inner);
        if waiting.number() > MOST_SUBMISSIONS {
            return Err(LinkError::NotNow(format!("{MOST_SUBMISSIONS} other submissions are to be planned first")));
        }
        let planned = {
            let inner = Arc::clone(&self.inner);
            let submission = move || Ok::<_, LinkError>(inner.lock()?.coordinator.consider(&spec));
            let registry = Arc::clone(&self.inner.registry);
            self.inner.plan(move || Ok::<_, LinkError>(submission()?.plan(&*registry)?)).await??
        };
        Ok(self.event(|machine, now| machine.admit_as(now, planned, terms)).await??)
    }
    /// Stops granting tasks of a job.
    pub async fn pause(&self, job: JobId) -> Result<(), LinkError> {
        self.steer(job, |machine, now| machine.pause(now, job)).await
    }
    /// Resumes a paused job.
    pub async fn resume(&self, job: JobId) -> Result<(), LinkError> {
        self.steer(job, |machine, now| machine.resume(now, job)).await
    }
    /// Cancels a job. Its runs are deleted.
    pub async fn cancel(&self, job: JobId) -> Result<(), LinkError> {
        self.steer(job, |machine, now| machine.cancel(now, job)).await
    }
    /// Changes a job's terms.
    pub async fn change(&self, job: JobId, change: &TermsChange) -> Result<(), LinkError> {
        self.steer(job, |machine, now| machine.change(now, job, change)).await
    }
    /// All jobs.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, LinkError> {
        self.event(|machine, _| machine.jobs()).await
    }
    /// The finished tasks whose runs jobs need, for those who hold manifests against what is there.
    /// Beside them the attempts whose leases live, and the number of the newest decision that this tells of. It may not be
    /// stored yet: see [`CoordinatorHandle::newest_stored`].
    pub fn standing(&self) -> Result<(Vec<Standing>, Vec<AttemptId>, u64), LinkError> {
        let machine = self.inner.lock()?;
        Ok((machine.coordinator.standing(), machine.coordinator.leased(), machine.last))
    }
    /// The number of the newest decision that outlives the process. They are counted from 1 in each process.
    pub fn newest_stored(&self) -> u64 {
        self.inner.journal.newest_stored()
    }
    /// Why no worker can go on with a job, if so.
    pub async fn stuck(&self, job: JobId) -> Result<Option<Stuck>, LinkError> {
        self.event(|machine, _| machine.stuck(job)).await
    }
    /// Grants nothing any more. Returns the runs to flush before [`CoordinatorHandle::settled`].
    pub async fn unsettled(&self) -> Result<Vec<RunId>, LinkError> {
        self.event(Coordinator::unsettled).await
    }
    /// Stores what the jobs have reached, as far as its runs were written durably or are `flushed` now.
    pub async fn settled(&self, flushed: &BTreeSet<RunId>) -> Result<Vec<Kept>, LinkError> {
        self.event(|machine, now| machine.settled(now, flushed)).await
    }
    /// Remembered events with a larger number than `after`, the oldest first.
    pub async fn events(&self, after: u64) -> Result<Vec<Event>, LinkError> {
        self.event(|machine, _| machine.events(after)).await
    }
    /// The coordinator as a whole, at one moment.
    pub async fn overview(&self) -> Result<Overview, LinkError> {
        let look = |machine: &mut Coordinator, now| Overview {
            now,
            jobs: machine.newest(NEWEST_ENDED),
            states: machine.by_state(),
            workers: machine.workers(now),
            events: machine.events(0),
            sums: machine.sums().clone(),
            durable: machine.durable_boundaries(),
            leases: machine.leases(),
        };
        self.event(look).await
    }
    /// Why it cannot do its work; `None` if it can: its records can be stored, and it is not being stopped.
    pub fn why_not_ready(&self) -> Option<String> {
        if *self.inner.closing.borrow() {
            return Some("it is being stopped".to_owned());
        }
        match self.inner.lock() {
            Err(error) => Some(error.to_string()),
            Ok(machine) if !machine.coordinator.grants() => Some("it grants no tasks any more".to_owned()),
            Ok(_) => self.inner.journal.why_failed().map(|why| format!("its records cannot be stored: {why}")),
        }
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
