//! One attempt at one task, from its grant to the coordinator's verdict.
//!
//! ```text
//!   slot     granted | engine ........... |                 next grant | engine ...........
//!   beside                                 | fsync of its runs, their publication | report
//! ```
//!
//! Runs that must be on stable storage get there while the slot is at work on its next task: the disk does not keep it
//! waiting, unless it is slower than all the rest.
//!
//! The engine runs on a thread that may block, so that heartbeats go on whatever it does; a panic there fails the
//! attempt, not the worker. A finished attempt's runs are held before anybody is told of them, and the report is
//! repeated until it is answered: over lost connections, and over restarts of the coordinator (which knows its grants).
//! Heartbeats wait for a report that is on its way, so none is waited for as long as a lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keima_coordinator::{Failure, Grant, Report, Verdict, Work};
use keima_engine::{Task, TaskError};
use keima_model::Registry;
use keima_orders::{AttemptId, InputRun, TaskOrder};
use keima_runs::TaskManifest;

use super::table::Active;
use super::tables::NoTables;
use super::{LONGEST_WAIT, Shared, is_refusal};
use crate::failpoint;
use crate::transfer::feeds::TaskFeeds;
use crate::transport::link::{Backoff, CoordinatorLink, LinkError};

/// Bytes that come in of a copy in a second at least, beside an hour for all else.
const SLOWEST_COPY_BYTES: u64 = 1 << 20;

/// A report is waited for this long at least, whatever the lease.
const SHORTEST_REPORT: Duration = Duration::from_millis(100);

/// What came of a grant, of which nobody was told.
pub(super) struct Performed {
    attempt: AttemptId,
    nonce: u64,
    /// How long the coordinator waits for a heartbeat.
    lease: Duration,
    stop: Arc<AtomicBool>,
    /// Whether its runs must be on stable storage first.
    pub(super) durable: bool,
    result: Result<TaskManifest, Failure>,
}

impl<L: CoordinatorLink> Shared<L> {
    /// Does what was granted.
    pub(super) async fn perform(self: &Arc<Self>, grant: Grant) -> Performed {
        let attempt = grant.attempt;
        let active = Active {
            nonce: grant.nonce,
            stop: Arc::new(AtomicBool::new(self.is_stopping())),
            states_done: Arc::new(AtomicU64::new(0)),
            copy: match &grant.work {
                Work::Copy(input) => Some(input.manifest.id.clone()),
                Work::Stage(_) => None,
            },
        };
        self.table.insert(attempt, active.clone());
        // Whoever stops all attempts may have done so just before this one was in the table.
        if self.is_stopping() {
            active.stop.store(true, Ordering::Relaxed);
        }
        tracing::debug!(%attempt, "granted");
        failpoint::hit("worker.after_pull");
        let (stop, nonce) = (Arc::clone(&active.stop), grant.nonce);
        let lease = Duration::from_millis(grant.lease_millis);
        let durable = matches!(&grant.work, Work::Stage(order) if order.durable);
        let result = match grant.work {
            Work::Stage(order) => {
                // A grant is new: whatever lies in its folder is from a life that nobody remembers.
                self.delete_attempt(attempt).await;
                self.run_stage(*order, active).await
            }
            Work::Copy(input) => self.fetch_copy(&input).await,
        };
        if let Ok(manifest) = &result {
            tracing::debug!(%attempt, times = ?manifest.times, states = manifest.output.states, "done");
        }
        Performed { attempt, nonce, lease, stop, durable, result }
    }

    /// Sees to what must be on stable storage, reports, and clears away what is not to be kept. `Err` is final for the
    /// worker.
    pub(super) async fn conclude(self: &Arc<Self>, performed: Performed) -> Result<(), LinkError> {
        let Performed { attempt, nonce, lease, stop, durable, result } = performed;
        let result = match result {
            Ok(manifest) if durable => self.publish_durably(&attempt, manifest).await,
            result => result,
        };
        // An abandoned attempt that did not get to its end has nothing to tell; one that did leaves the verdict to the
        // coordinator, whose word to abandon may have crossed with an earlier report.
        let abandoned = stop.load(Ordering::Relaxed) && !self.is_stopping();
        let keep = match result {
            Err(_) if abandoned => false,
            Err(failure) => {
                tracing::warn!(%attempt, ?failure, "the task failed");
                // Whatever the coordinator says, there is nothing to keep.
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
        tracing::debug!(%attempt, keep, "reported");
        Ok(())
    }

    /// Puts what an attempt has written on stable storage, and publishes it.
    async fn publish_durably(&self, attempt: &AttemptId, manifest: TaskManifest) -> Result<TaskManifest, Failure> {
        let (store, started) = (Arc::clone(&self.store), Instant::now());
        let work = move || store.publish_durably(&manifest.runs).map(|()| manifest);
        let other = |text| Failure::Other { text };
        let made =
            tokio::task::spawn_blocking(work).await.map_err(|error| other(format!("a thread failed: {error}")))?;
        let made = made.map_err(|error| {
            let text = format!("a run that was just written cannot be published: {error}");
            // Some file systems tell only now that they are full.
            if error.is_disk_full() { Failure::Disk { text } } else { other(text) }
        })?;
        tracing::debug!(%attempt, millis = started.elapsed().as_millis() as u64, "durable");
        Ok(made)
    }

    /// Reports until there is a verdict; whether what the attempt has written is to be kept.
    async fn report(
        self: &Arc<Self>,
        attempt: &AttemptId,
        nonce: u64,
        lease: Duration,
        report: Report,
    ) -> Result<bool, LinkError> {
        let longest = (lease / 3).max(SHORTEST_REPORT);
        let mut backoff = Backoff::new(LONGEST_WAIT);
        // A worker that stops tries once more; the runs stay on disk and are announced when it starts again.
        let mut last_try = self.is_stopping();
        loop {
            let epoch = self.epoch.load(Ordering::Acquire);
            let answer = {
                let _in_order = self.in_order.read().await;
                let call = self.link.report(self.store.worker(), epoch, *attempt, nonce, report.clone());
                tokio::time::timeout(longest, call).await.unwrap_or(Err(LinkError::Late(longest)))
            };
            failpoint::hit("worker.after_report");
            match answer {
                Ok((verdict, housekeeping)) => {
                    self.tidy(housekeeping);
                    return Ok(match verdict {
                        Verdict::Accepted => true,
                        Verdict::Refused { reason } => {
                            tracing::info!(%attempt, reason, "the report was refused");
                            false
                        }
                    });
                }
                Err(error) if is_refusal(&error) => {
                    tracing::error!(%attempt, %error, "the report was not understood");
                    return Ok(false);
                }
                Err(_) if last_try => return Ok(true),
                Err(error) => self.overcome(error, epoch, &mut backoff).await?,
            }
            last_try = self.is_stopping();
        }
    }

    /// Runs the engine on a thread for tasks.
    async fn run_stage(self: &Arc<Self>, order: TaskOrder, active: Active) -> Result<TaskManifest, Failure> {
        let problem = self.problems.open(&order.problem).map_err(|e| Failure::Refused { text: e.to_string() })?;
        // Both executors count on all of the memory.
        let tables = if let Some(block) = &order.block {
            self.buffers.let_go();
            Some(self.tables.of(&order.problem, block))
        } else {
            self.tables.let_go();
            None
        };
        let feeds = TaskFeeds::new(Arc::clone(&self.store), Arc::clone(&self.folders), order.all_inputs());
        let store = Arc::clone(&self.store);
        let buffers = Arc::clone(&self.buffers);
        let work = move || {
            let task = Task {
                order: &order,
                feeds: &feeds,
                scratch: store.root(),
                disk: store.disk(),
                stop: &active.stop,
                states_done: &active.states_done,
                buffers: &buffers,
            };
            let manifest = match tables {
                None => keima_engine::run_task(&problem, &task),
                Some(tables) => {
                    let prepared = tables.get(problem.info(), &active.stop).map_err(|none| match none {
                        NoTables::Refused(text) => Failure::Refused { text },
                        NoTables::Stopped => Failure::Stopped,
                    })?;
                    keima_engine::block::run_block_task(&prepared, problem.info(), &task)
                }
            };
            let manifest = manifest.map_err(|error| failure(&feeds, &error))?;
            if !order.durable {
                store
                    .hold_written(&manifest.runs)
                    .map_err(|e| Failure::Other { text: format!("a run that was just written cannot be read: {e}") })?;
            }
            Ok(manifest)
        };
        // The runtime waits for its own thread when it ends, and that one for the task's, whose panic it passes on.
        let threads = Arc::clone(&self.threads);
        let ran = tokio::task::spawn_blocking(move || threads.run(work));
        let other = |text| Err(Failure::Other { text });
        match ran.await {
            Ok(Ok(manifest)) => manifest,
            Ok(Err(error)) => other(format!("no thread for the task: {error}")),
            Err(error) => other(format!("the task's thread failed: {error}")),
        }
    }

    async fn fetch_copy(&self, input: &InputRun) -> Result<TaskManifest, Failure> {
        failpoint::hit("worker.before_copy");
        let feeds = TaskFeeds::new(Arc::clone(&self.store), Arc::clone(&self.folders), [input]);
        // Chunks have deadlines, a run has many; a copy that takes this long is given up and granted anew.
        let longest = Duration::from_secs(3600 + input.manifest.bytes / SLOWEST_COPY_BYTES);
        let copied = tokio::select! {
            copied = feeds.copy(input) => copied,
            () = self.stopped() => Err(Failure::Stopped),
            () = tokio::time::sleep(longest) => {
                Err(Failure::Other { text: format!("the copy took more than {} s", longest.as_secs()) })
            }
        };
        copied.map(|()| TaskManifest { runs: vec![input.manifest.clone()], ..TaskManifest::default() })
    }
}

/// What the coordinator is told of an error of the engine.
fn failure(feeds: &TaskFeeds, error: &TaskError) -> Failure {
    let text = error.to_string();
    match error {
        // Reading spilled runs fails as an input too; those are nobody's but this worker's.
        TaskError::Input { run, source } => feeds.failure(run, source),
        TaskError::Output(source) if source.is_disk_full() => Failure::Disk { text },
        TaskError::Output(_) => Failure::Other { text },
        TaskError::Check { .. } => Failure::Check { text },
        TaskError::Refused(_) => Failure::Refused { text },
        TaskError::Stopped => Failure::Stopped,
    }
}
