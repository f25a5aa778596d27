//! One attempt at one task, from its grant to the coordinator's verdict.
//!
//! ```text
//!   slot      grant | engine .......... | next grant | engine ..................
//!   beside it                           | fsync and publication of its runs | report
//! ```
//!
//! Durable runs are synced while the slot works on its next task, so the slot does not wait for the disk.
//!
//! The engine runs on a thread that may block, so heartbeats always go on. A panic there fails the attempt, not the
//! worker. A finished attempt's runs are held before the worker reports them. The worker repeats the report until it is
//! answered: over lost connections, and over restarts of the coordinator, which stores its grants. A heartbeat waits for
//! a report under way; so a report gives up before a lease would end.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keima_coordinator::{ArchiveWork, Failure, Grant, Report, Toward, Verdict, Work};
use keima_engine::{Task, TaskError};
use keima_orders::{AttemptId, InputRun, TaskOrder};
use keima_runs::{RunManifest, TaskManifest, TaskTimes};
use tracing::Instrument as _;

use super::running::{LONGEST_WAIT, Shared, is_refusal};
use super::table::Active;
use super::tables::NoTables;
use crate::failpoint;
use crate::spans;
use crate::transfer::feeds::TaskFeeds;
use crate::transport::link::{Backoff, CoordinatorLink, LinkError};
use crate::world;

/// A copy may take an hour plus its bytes at this rate per second.
const SLOWEST_COPY_BYTES: u64 = 1 << 20;

/// Shortest wait for the answer to a report, whatever the lease.
const SHORTEST_REPORT: Duration = Duration::from_millis(100);

/// The result of a grant before its report.
pub(super) struct Performed {
    attempt: AttemptId,
    nonce: u64,
    /// The coordinator ends the lease after so long without a heartbeat.
    lease: Duration,
    stop: Arc<AtomicBool>,
    pulse: Arc<AtomicU64>,
    /// Whether its runs must be on stable storage before the report.
    pub(super) durable: bool,
    result: Result<TaskManifest, Failure>,
    /// Ends with the verdict.
    span: tracing::Span,
}

impl<L: CoordinatorLink> Shared<L> {
    /// Does the granted work.
    pub(super) async fn perform(self: &Arc<Self>, grant: Grant) -> Performed {
        let about = spans::about_attempt(&grant.attempt);
        self.perform_inside(grant).instrument(about).await
    }

    async fn perform_inside(self: &Arc<Self>, grant: Grant) -> Performed {
        let attempt = grant.attempt;
        let active = Active {
            nonce: grant.nonce,
            stop: Arc::new(AtomicBool::new(self.is_stopping())),
            states_done: Arc::default(),
            pulse: Arc::default(),
            makes_tables: Arc::default(),
            copy: match &grant.work {
                Work::Copy(input) => Some(input.manifest.id.clone()),
                Work::Archive(work) => Some(work.run.id.clone()),
                Work::Stage(_) => None,
            },
        };
        self.table.insert(attempt, active.clone());
        // The worker may have stopped all attempts just before this one was in the table.
        if self.is_stopping() {
            active.stop.store(true, Ordering::Relaxed);
        }
        let at_work = self.seen.begin();
        tracing::debug!("granted");
        failpoint::hit("worker.after_pull");
        let (stop, pulse, nonce) = (Arc::clone(&active.stop), Arc::clone(&active.pulse), grant.nonce);
        let lease = Duration::from_millis(grant.lease_millis);
        let durable = matches!(&grant.work, Work::Stage(order) if order.durable);
        let span = match &grant.work {
            Work::Stage(order) => spans::of_task(order, self.store.worker()),
            Work::Copy(_) | Work::Archive(_) => tracing::Span::none(),
        };
        let result = match grant.work {
            Work::Stage(order) => {
                // The grant is new: files in its folder are left over from a forgotten process.
                self.delete_attempt(attempt).await;
                self.run_stage(*order, active).await
            }
            Work::Copy(input) => self.fetch_copy(&input, &pulse).await,
            Work::Archive(work) => self.carry(&work, &pulse).await,
        };
        match &result {
            Ok(manifest) => at_work.done(manifest),
            Err(Failure::Stopped) => {}
            Err(_) => at_work.failed(),
        }
        if let Ok(manifest) = &result {
            tracing::debug!(times = ?manifest.times, states = manifest.output.states, "done");
        }
        Performed { attempt, nonce, lease, stop, pulse, durable, result, span }
    }

    /// Makes durable runs durable, reports the attempt, and deletes its files unless the coordinator keeps them. An error is
    /// final for the worker.
    pub(super) async fn conclude(self: &Arc<Self>, performed: Performed) -> Result<(), LinkError> {
        let about = spans::about_attempt(&performed.attempt);
        self.conclude_inside(performed).instrument(about).await
    }

    async fn conclude_inside(self: &Arc<Self>, performed: Performed) -> Result<(), LinkError> {
        let Performed { attempt, nonce, lease, stop, pulse, durable, result, span } = performed;
        let result = match result {
            Ok(manifest) if durable => self.publish_durably(manifest, &pulse).await,
            result => result,
        };
        if let Err(failure) = &result {
            span.record("error", tracing::field::debug(failure));
        }
        // An abandoned attempt that did not finish has nothing to report. One that did finish reports all the same: the
        // order to abandon may have crossed an earlier report.
        let abandoned = stop.load(Ordering::Relaxed) && !self.is_stopping();
        let keep = match result {
            Err(_) if abandoned => false,
            Err(failure) => {
                if self.is_stopping() && matches!(failure, Failure::Stopped) {
                    tracing::debug!("stopped with the worker");
                } else {
                    tracing::warn!(%failure, "the task failed");
                }
                // There is nothing to keep, whatever the coordinator answers.
                self.report(&attempt, nonce, lease, Report::Failed(failure)).await?;
                false
            }
            Ok(manifest) => {
                failpoint::hit("worker.before_report");
                self.report(&attempt, nonce, lease, Report::Done(Box::new(manifest))).await?
            }
        };
        if !keep {
            self.delete_attempt(attempt).await;
        }
        self.table.remove(attempt);
        tracing::debug!(keep, "reported");
        Ok(())
    }

    /// Puts an attempt's runs on stable storage and publishes them.
    async fn publish_durably(&self, manifest: TaskManifest, pulse: &Arc<AtomicU64>) -> Result<TaskManifest, Failure> {
        let (store, pulse, started) = (Arc::clone(&self.store), Arc::clone(pulse), Instant::now());
        let work = move || store.publish_durably(&manifest.runs, &pulse).map(|()| manifest);
        let other = |text| Failure::Other { text };
        let made = world::blocking(work).await.map_err(|error| other(format!("a thread failed: {error}")))?;
        let made = made.map_err(|error| {
            let text = format!("a run that was just written cannot be published: {error}");
            // Some file systems report a full disk only here.
            if error.is_disk_full() { Failure::Disk { text } } else { other(text) }
        })?;
        tracing::debug!(millis = started.elapsed().as_millis() as u64, "durable");
        Ok(made)
    }

    /// Reports until there is a verdict. Returns whether to keep the attempt's files.
    async fn report(
        self: &Arc<Self>,
        attempt: &AttemptId,
        nonce: u64,
        lease: Duration,
        report: Report,
    ) -> Result<bool, LinkError> {
        let longest = (lease / 3).max(SHORTEST_REPORT);
        let mut backoff = Backoff::new(LONGEST_WAIT);
        // A stopping worker tries once more. The runs stay on disk, and the next hello tells of them.
        let mut last_try = self.is_stopping();
        loop {
            let epoch = self.session.epoch.load(Ordering::Acquire);
            let answer = {
                let _in_order = self.session.in_order.read().await;
                let call = self.session.link.report(self.store.worker(), epoch, *attempt, nonce, report.clone());
                world::within(self.store.root(), longest, call).await.unwrap_or(Err(LinkError::Late(longest)))
            };
            failpoint::hit("worker.after_report");
            match answer {
                Ok((verdict, housekeeping)) => {
                    self.tidy(housekeeping);
                    return Ok(match verdict {
                        Verdict::Accepted => true,
                        Verdict::Refused { reason } => {
                            tracing::info!(reason, "the report was refused");
                            false
                        }
                    });
                }
                Err(error) if is_refusal(&error) => {
                    tracing::error!(%error, "the coordinator did not understand the report");
                    return Ok(false);
                }
                Err(_) if last_try => return Ok(true),
                Err(error) => self.overcome(error, epoch, &mut backoff).await?,
            }
            last_try = self.is_stopping();
        }
    }

    /// Runs a stage task on a thread for tasks.
    async fn run_stage(self: &Arc<Self>, order: TaskOrder, active: Active) -> Result<TaskManifest, Failure> {
        let refused = |text| Failure::Refused { text };
        let (problem, identity) = self.problems.identified(&order.problem).map_err(|e| refused(e.to_string()))?;
        order.origin.refusal(&identity, &self.build).map_or(Ok(()), |text| Err(refused(text)))?;
        // Each executor uses all of the memory: make room for the one that runs now.
        let tables = if let Some(block) = &order.block {
            self.reused.buffers.let_go();
            Some(self.reused.tables.of(&order.problem, block))
        } else {
            self.reused.tables.let_go();
            None
        };
        let feeds = TaskFeeds::new(Arc::clone(&self.store), Arc::clone(&self.exchange.folders), order.all_inputs());
        let feeds = feeds.with_token(self.exchange.guard.as_ref().map(|guard| &guard.token));
        let store = Arc::clone(&self.store);
        let buffers = Arc::clone(&self.reused.buffers);
        let work = move || {
            let task = Task {
                order: &order,
                feeds: &feeds,
                scratch: store.root(),
                disk: store.disk(),
                stop: &active.stop,
                states_done: &active.states_done,
                pulse: &active.pulse,
                buffers: &buffers,
            };
            let manifest = match tables {
                None => keima_engine::run_task(&problem, &task),
                Some(tables) => {
                    active.makes_tables.store(true, Ordering::Relaxed);
                    let prepared = tables.get(problem.info(), &active.stop);
                    active.makes_tables.store(false, Ordering::Relaxed);
                    let prepared = prepared.map_err(|none| match none {
                        NoTables::Refused(text) => Failure::Refused { text },
                        NoTables::Stopped => Failure::Stopped,
                    })?;
                    keima_engine::block::run_block_task(&prepared, problem.info(), &task)
                }
            };
            let mut manifest = manifest.map_err(|error| failure(&feeds, &error))?;
            if world::simulated().is_some() {
                // They are times of the real world.
                manifest.times = TaskTimes::default();
            }
            if !order.durable {
                store
                    .hold_written(&manifest.runs)
                    .map_err(|e| Failure::Other { text: format!("a run that was just written cannot be read: {e}") })?;
            }
            Ok(manifest)
        };
        // The runtime waits for its blocking thread at the end; that thread waits for the task and passes its panic on.
        let threads = Arc::clone(&self.reused.threads);
        let ran = world::blocking(move || threads.run(work));
        let other = |text| Err(Failure::Other { text });
        match ran.await {
            Ok(Ok(manifest)) => manifest,
            Ok(Err(error)) => other(format!(
                "cannot start a thread for the task: {error}; allow more threads (ulimit -u), or use fewer --threads"
            )),
            Err(error) => other(format!("the task's thread failed: {error}")),
        }
    }

    async fn fetch_copy(&self, input: &InputRun, pulse: &Arc<AtomicU64>) -> Result<TaskManifest, Failure> {
        failpoint::hit("worker.before_copy");
        let feeds = TaskFeeds::new(Arc::clone(&self.store), Arc::clone(&self.exchange.folders), [input]);
        let feeds = feeds.with_token(self.exchange.guard.as_ref().map(|guard| &guard.token));
        self.in_time(&input.manifest, feeds.copy(input, pulse)).await
    }

    /// Brings a run to the archive, or from there.
    async fn carry(&self, work: &ArchiveWork, pulse: &Arc<AtomicU64>) -> Result<TaskManifest, Failure> {
        let Some(archive) = &self.exchange.archive else {
            let text = "this worker was started without --archive".to_owned();
            return Err(Failure::Other { text });
        };
        match work.toward {
            Toward::Archive => self.in_time(&work.run, archive.store_run(&self.store, work, pulse)).await,
            Toward::Workers => self.in_time(&work.run, archive.fetch_run(&self.store, work, pulse)).await,
        }
    }

    /// Waits for a copy of a run. Each chunk has a deadline, but a run has many. A copy that takes longer is given up; it will be
    /// granted again.
    async fn in_time(
        &self,
        run: &RunManifest,
        copied: impl Future<Output = Result<(), Failure>>,
    ) -> Result<TaskManifest, Failure> {
        let longest = Duration::from_secs(3600 + run.bytes / SLOWEST_COPY_BYTES);
        let copied = tokio::select! {
            biased;
            copied = copied => copied,
            () = self.stopped() => Err(Failure::Stopped),
            () = tokio::time::sleep(longest) => {
                Err(Failure::Other { text: format!("the copy took more than {} s", longest.as_secs()) })
            }
        };
        copied.map(|()| TaskManifest { runs: vec![run.clone()], ..TaskManifest::default() })
    }
}

/// The failure to report for an error of the engine.
fn failure(feeds: &TaskFeeds, error: &TaskError) -> Failure {
    let text = error.to_string();
    match error {
        // The engine reports unreadable spilled runs as inputs too; `TaskFeeds` tells them apart.
        TaskError::Input { run, source } => feeds.failure(run, source),
        TaskError::Output(source) if source.is_disk_full() => Failure::Disk { text },
        TaskError::Output(_) => Failure::Other { text },
        TaskError::Check { .. } => Failure::Check { text },
        TaskError::Refused(_) | TaskError::Memory(_) => Failure::Refused { text },
        TaskError::Stopped => Failure::Stopped,
    }
}
