//! Failures: whose fault they are, who is set aside, and when a job must wait for a person.
//!
//! ```text
//!   Input    damaged: the copy's; another one is used, or the boundary is lost; out of reach: the reader's or the
//!            holder's, by who else cannot read it (boundaries.rs); of a second copy: the task's on this worker
//!   Disk     the worker's folder: a short wait, since deleting may lag behind; then a long one; of a second copy: no more
//!            copies for a while
//!   Check    nobody knows: once more; the second time the job ends with the evidence
//!   Refused  the worker cannot do this job
//!   Stopped  nobody's
//!   Other    the task's on this worker: twice, and the worker is set aside
//! ```

use std::collections::BTreeSet;
use std::fmt;

use keima_orders::{AttemptId, WorkerId};

use crate::api::{Failure, Millis};
use crate::fleet::Common;
use crate::job::Job;
use crate::job::boundaries::Unread;
use crate::job::status::State;

/// A worker with so many damaged copies has a bad disk.
const MOST_DAMAGE: u32 = 3;
/// A task that fails so often on one worker goes elsewhere.
const MOST_FAILURES: u32 = 2;
/// So many failed checks of one task end the job.
const MOST_CHECKS: usize = 2;

/// A worker that does not reach another is tried again after so many grace times: trying holds tasks up for one.
const UNREACHED_GRACE_TIMES: u64 = 8;

/// What a person can do for a worker that is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Help {
    /// Its disk is full.
    Disk,
    /// Others do not reach it.
    Reach,
    /// The reason says what is wrong.
    Other,
}

/// Why no worker can go on with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Every worker that could do the job's tasks, and why it is set aside.
    pub workers: Vec<(WorkerId, String)>,
    /// What a person can do about it; sorted, each once.
    pub helps: Vec<Help>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.workers.iter().map(|(id, why)| format!("worker {id}: {why}")).collect();
        let helps: Vec<&str> = self.helps.iter().map(|help| help.text()).collect();
        write!(f, "no worker can go on ({}); {}", reasons.join("; "), helps.join("; "))
    }
}

impl Help {
    const fn text(self) -> &'static str {
        match self {
            Self::Disk => "free space there or give the worker a larger cap (--disk)",
            Self::Reach => "start workers with a --listen ADDRESS:PORT that the others reach, or open their ports",
            Self::Other => "put it right",
        }
    }
}

/// Why, and until when, a worker gets no tasks of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) reason: String,
    /// `None` until a person resumes the job.
    pub(crate) until: Option<Millis>,
    /// Whether the job should wait for it rather than pause, if nobody else can go on.
    pub(crate) short: bool,
    help: Help,
    /// Whom it does not reach: when that one is away, its runs are no longer waited for.
    unreached: Option<WorkerId>,
}

impl Job {
    /// An attempt has failed.
    pub(crate) fn fail(&mut self, common: &mut Common, attempt: AttemptId, failure: Failure) {
        let Some(lease) = common.end_lease(attempt, false) else { return };
        let worker = &lease.worker;
        self.back_to_pending(attempt, common);
        match failure {
            Failure::Stopped => {}
            Failure::Input { run, holder, damaged, text } => {
                let unread = Unread { run: &run, holder: &holder, reader: worker, text: &text };
                if damaged {
                    self.blame_copy(common, unread);
                } else if lease.copy {
                    self.fail_copy(attempt, worker);
                } else {
                    self.count_unread(common, unread);
                }
            }
            // A worker without room for a copy may have it for tasks.
            Failure::Disk { text } if lease.copy => {
                let until = common.now.saturating_add(common.config.disk_wait_millis);
                if self.no_room.insert(worker.clone(), until).is_none() {
                    self.note(format!("worker {worker} has no room for second copies: {text}"));
                }
            }
            Failure::Disk { text } => self.fail_by_disk(common, worker, &text),
            Failure::Refused { text } => self.set_aside(worker, format!("refuses the job: {text}")),
            Failure::Check { text } if !lease.copy => self.fail_check(common, attempt, worker, &text),
            Failure::Check { text } | Failure::Other { text } if lease.copy => {
                self.note(format!("{attempt} on worker {worker}: {text}"));
                self.fail_copy(attempt, worker);
            }
            Failure::Check { text } | Failure::Other { text } => self.fail_task(attempt, worker, &text),
        }
    }

    /// A task failed on a worker for no known reason.
    pub(crate) fn fail_task(&mut self, attempt: AttemptId, worker: &WorkerId, text: &str) {
        let Some(task) = self.task_mut(attempt) else { return };
        let failures = task.failed.entry(worker.clone()).or_default();
        *failures += 1;
        if *failures >= MOST_FAILURES {
            let times = *failures;
            self.set_aside(worker, format!("task {attempt} failed {times} times there, last: {text}"));
        } else {
            self.note(format!("{attempt} failed on worker {worker}: {text}"));
        }
    }

    /// A law of the numbers failed in a task.
    pub(crate) fn fail_check(&mut self, common: &mut Common, attempt: AttemptId, worker: &WorkerId, text: &str) {
        let text = format!("{attempt} on worker {worker}: {text}");
        let Some(task) = self.task_mut(attempt) else { return };
        task.checks.push(text.clone());
        if task.checks.len() >= MOST_CHECKS {
            let evidence = task.checks.join("; ");
            self.end_by_check(common, "task", &evidence);
        } else {
            self.note(format!("a check failed, the task is done once more: {text}"));
        }
    }

    fn fail_by_disk(&mut self, common: &mut Common, worker: &WorkerId, text: &str) {
        let failures = self.disk_failures.entry(worker.clone()).or_default();
        *failures += 1;
        // The first time, what was to be deleted may be about to go.
        let short = *failures == 1;
        let wait =
            if short { common.config.heartbeat_millis.saturating_mul(2) } else { common.config.disk_wait_millis };
        let folder = common.workers.get(worker).map_or(String::new(), |w| w.holder.folder.clone());
        let reason = format!("its disk is full: scratch folder {folder:?}: {text}");
        let until = Some(common.now.saturating_add(wait));
        self.set_aside_for(worker, Aside { reason, until, short, help: Help::Disk, unreached: None });
    }

    /// A worker cannot read from another, which is `unreached`, or others not from it.
    pub(crate) fn set_aside_unreached(
        &mut self,
        common: &Common,
        worker: &WorkerId,
        reason: String,
        unreached: Option<&WorkerId>,
    ) {
        let until = Some(common.now.saturating_add(common.config.grace_millis.saturating_mul(UNREACHED_GRACE_TIMES)));
        self.set_aside_for(
            worker,
            Aside { reason, until, short: false, help: Help::Reach, unreached: unreached.cloned() },
        );
    }

    /// It was not their fault that they could not read from another.
    pub(crate) fn forgive_unreached(&mut self, readers: &BTreeSet<WorkerId>) {
        self.aside.retain(|id, aside| aside.help != Help::Reach || !readers.contains(id));
    }

    /// A copy on a worker is damaged.
    pub(crate) fn count_damage(&mut self, worker: &WorkerId) {
        let damage = self.damage.entry(worker.clone()).or_default();
        *damage += 1;
        if *damage >= MOST_DAMAGE {
            let reason = format!("{damage} runs that it held were damaged; check its disk and memory");
            self.set_aside(worker, reason);
        }
    }

    /// Until a person resumes the job.
    fn set_aside(&mut self, worker: &WorkerId, reason: String) {
        self.set_aside_for(worker, Aside { reason, until: None, short: false, help: Help::Other, unreached: None });
    }

    fn set_aside_for(&mut self, worker: &WorkerId, aside: Aside) {
        if !aside.short {
            self.note(format!("worker {worker} is set aside: {}", aside.reason));
        }
        self.aside.insert(worker.clone(), aside);
    }

    /// Gives everybody another try.
    pub(crate) fn forgive(&mut self) {
        self.aside.clear();
        self.disk_failures.clear();
        self.no_room.clear();
        self.damage.clear();
        for task in self.stage.iter_mut().flat_map(|stage| &mut stage.tasks) {
            task.failed.clear();
        }
    }

    /// Whether a worker has what a task of this job needs.
    pub(crate) fn fits(&self, common: &Common, worker: &WorkerId) -> bool {
        common.workers.get(worker).is_some_and(|w| w.task_memory_bytes >= self.record.plan.task_memory_bytes)
    }

    /// Whether a worker may be given tasks of this job.
    pub(crate) fn may_use(&self, common: &Common, worker: &WorkerId) -> bool {
        !self.aside.contains_key(worker) && self.fits(common, worker)
    }

    /// What time and reports have brought about: inputs that are lost, workers that may try again, nobody who can go
    /// on.
    pub(crate) fn look_after(&mut self, common: &mut Common) {
        let now = common.now;
        let before = self.aside.len();
        let here = |id: &WorkerId| common.workers.get(id).is_some_and(|w| w.here);
        self.aside.retain(|_, aside| {
            aside.until.is_none_or(|until| until > now) && aside.unreached.as_ref().is_none_or(here)
        });
        if self.aside.len() != before {
            common.work_changed();
        }
        if self.record.state == State::Running {
            self.fall_back_if_lost(common);
            self.pause_if_stuck(common);
        }
        let used = self.disk_bytes(common);
        self.record.disk_peak_bytes = self.record.disk_peak_bytes.max(used);
    }

    /// Pauses the job if no worker can go on with it.
    fn pause_if_stuck(&mut self, common: &mut Common) {
        if let Some(stuck) = self.stuck(common) {
            self.pause(common, format!("{stuck}, then `keima resume {}`", self.id));
        }
    }

    /// Why no worker can go on; `None` if some worker is at the job, or one that is here and large enough is not set
    /// aside for long.
    pub(super) fn stuck(&self, common: &Common) -> Option<Stuck> {
        if common.attempts_of_job(self.id).any(|(_, lease)| !lease.copy) {
            return None;
        }
        // Workers that went away a short while ago may come back and go on.
        let awaited = common.workers.iter().filter(|(id, w)| {
            w.here || (!self.aside.contains_key(id) && common.awaited_until(w).is_some_and(|until| until > common.now))
        });
        let candidates = awaited.filter(|(id, w)| w.epoch == 0 || self.fits(common, id)).map(|(id, _)| id);
        let asides: Option<Vec<_>> =
            candidates.map(|id| Some((id, self.aside.get(id).filter(|aside| !aside.short)?))).collect();
        let asides = asides.filter(|asides| !asides.is_empty())?;
        let helps: BTreeSet<Help> = asides.iter().map(|(_, aside)| aside.help).collect();
        let workers = asides.into_iter().map(|(id, aside)| (id.clone(), aside.reason.clone())).collect();
        Some(Stuck { workers, helps: helps.into_iter().collect() })
    }

    /// Bytes of this job's runs on all workers, second copies included. Runs that are to be deleted do not count: the
    /// word is out with the answer to their holder's next call.
    pub(crate) fn disk_bytes(&self, common: &Common) -> u64 {
        let held = common.workers.values().flat_map(|w| &w.held);
        held.filter(|(run, _)| self.needs(run)).fold(0, |sum, (_, &bytes)| sum.saturating_add(bytes))
    }
}
