//! A job's health: the workers that it gives no tasks, and the copies of runs that it does not read.
//!
//! ```text
//!   a full disk            a short wait, since deleting may lag behind; then a long one
//!   no room for a copy     no second copies for a while; tasks go on
//!   three damaged copies   set aside: its disk or memory is bad
//!   a refusal              set aside
//!   a task fails twice     set aside
//!   runs out of reach      the reader or the holder is set aside, by who else cannot read them
//! ```
//!
//! A worker that is set aside gets no tasks of the job until its time is over, or until a person resumes the job.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use keima_orders::WorkerId;
use keima_runs::RunId;

use self::copies::CopyHealth;
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::store::records::{Notes, RunCopy};

pub(crate) use self::copies::Unread;

pub(crate) mod copies;
#[cfg(test)]
mod tests;

/// A worker with this many damaged copies has a bad disk.
const MOST_DAMAGE: u32 = 3;
/// Grace times until a worker that does not reach another is tried again: each trial delays tasks by one.
const UNREACHED_GRACE_TIMES: u64 = 8;

/// What a person can do for a worker that is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Its disk is full.
    Disk,
    /// Others do not reach it.
    Reach,
    /// The reason says what is wrong.
    Other,
}

impl Remedy {
    const fn text(self) -> &'static str {
        match self {
            Self::Disk => "free space there or give the worker a larger cap (--disk)",
            Self::Reach => "start workers with a --listen ADDRESS:PORT that the others reach, or open their ports",
            Self::Other => "repair the cause",
        }
    }
}

/// Why no worker can go on with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Every worker that could do the job's tasks, and why it is set aside.
    pub workers: Vec<(WorkerId, String)>,
    /// What a person can do about it; sorted, each once.
    pub remedies: Vec<Remedy>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.workers.iter().map(|(id, why)| format!("worker {id}: {why}")).collect();
        let remedies: Vec<&str> = self.remedies.iter().map(|remedy| remedy.text()).collect();
        write!(f, "no worker can go on ({}); {}", reasons.join("; "), remedies.join("; "))
    }
}

/// Why, and until when, a worker gets no tasks of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aside {
    pub(crate) reason: String,
    /// `None` until a person resumes the job.
    until: Option<Millis>,
    /// Whether the job waits for it rather than pauses, if nobody else can go on.
    pub(crate) short: bool,
    pub(crate) remedy: Remedy,
    /// The worker that it does not reach. When that one is away, nobody waits for its runs any more.
    unreached: Option<WorkerId>,
}

impl Aside {
    /// Until a person resumes the job.
    const fn for_good(reason: String) -> Self {
        Self { reason, until: None, short: false, remedy: Remedy::Other, unreached: None }
    }
}

/// One worker's record with a job.
#[derive(Default)]
struct WorkerHealth {
    aside: Option<Aside>,
    /// Full disks in a row, since it last finished a task.
    disk_failures: u32,
    /// Until when it is not asked to make second copies.
    no_copies_until: Option<Millis>,
    /// Damaged copies in all.
    damage: u32,
}

/// Workers and copies of runs, as one job sees them.
#[derive(Default)]
pub(crate) struct Health {
    workers: BTreeMap<WorkerId, WorkerHealth>,
    pub(crate) copies: CopyHealth,
}

impl Health {
    /// Why a worker is set aside, if it is.
    pub(crate) fn aside(&self, worker: &WorkerId) -> Option<&Aside> {
        self.workers.get(worker)?.aside.as_ref()
    }

    /// Whether a worker is set aside.
    pub(crate) fn is_aside(&self, worker: &WorkerId) -> bool {
        self.aside(worker).is_some()
    }

    /// Whether a worker may have room for a second copy.
    pub(crate) fn may_have_room(&self, worker: &WorkerId, now: Millis) -> bool {
        let until = self.workers.get(worker).and_then(|health| health.no_copies_until);
        until.is_none_or(|until| until <= now)
    }

    /// A worker finished a task: its disk is not full.
    pub(crate) fn finished_task(&mut self, worker: &WorkerId) {
        if let Some(health) = self.workers.get_mut(worker) {
            health.disk_failures = 0;
        }
    }

    /// A worker made a second copy: it has room.
    pub(crate) fn made_copy(&mut self, worker: &WorkerId) {
        if let Some(health) = self.workers.get_mut(worker) {
            health.no_copies_until = None;
        }
    }

    /// A worker has no room for a second copy. It may have room for tasks.
    pub(crate) fn no_room(&mut self, fleet: &Fleet, worker: &WorkerId, text: &str, notes: &mut Notes) {
        let until = fleet.now.saturating_add(fleet.config.disk_wait_millis);
        if self.of(worker).no_copies_until.replace(until).is_none() {
            notes.add(format!("worker {worker} has no room for second copies: {text}"));
        }
    }

    /// A worker's scratch folder was full in a task.
    pub(crate) fn full_disk(&mut self, fleet: &Fleet, worker: &WorkerId, text: &str, notes: &mut Notes) {
        let health = self.of(worker);
        health.disk_failures += 1;
        // The first time, runs that are to be deleted may be about to go.
        let short = health.disk_failures == 1;
        let wait = if short { fleet.config.heartbeat_millis.saturating_mul(2) } else { fleet.config.disk_wait_millis };
        let folder = fleet.workers.get(worker).map_or(String::new(), |w| w.holder.folder.clone());
        let reason = format!("its disk is full: scratch folder {folder:?}: {text}");
        let until = Some(fleet.now.saturating_add(wait));
        self.set_aside(worker, Aside { reason, until, short, remedy: Remedy::Disk, unreached: None }, notes);
    }

    /// Sets a worker aside until a person resumes the job.
    pub(crate) fn set_aside_for_good(&mut self, worker: &WorkerId, reason: String, notes: &mut Notes) {
        self.set_aside(worker, Aside::for_good(reason), notes);
    }

    /// A copy is damaged: it is never used again.
    pub(crate) fn damaged(&mut self, unread: Unread<'_>, notes: &mut Notes) {
        self.never_use(unread, notes);
        let health = self.of(unread.holder);
        health.damage += 1;
        let damage = health.damage;
        if damage >= MOST_DAMAGE {
            let reason = format!("{damage} runs that it held were damaged; check its disk and memory");
            self.set_aside_for_good(unread.holder, reason, notes);
        }
    }

    /// A reader could not get a copy from a holder that is here. In the end somebody is to blame:
    ///
    /// ```text
    ///   the holder itself cannot read it     the copy is bad
    ///   one other worker cannot              that worker is set aside: the holder can do its tasks
    ///   several others cannot                the holder is set aside, and none of its copies is used any more
    /// ```
    ///
    /// `needs` says which runs the job needs.
    pub(crate) fn unread(
        &mut self,
        fleet: &Fleet,
        unread: Unread<'_>,
        needs: impl Fn(&RunId) -> bool,
        notes: &mut Notes,
    ) {
        let Unread { holder, reader, text, .. } = unread;
        // Nothing is to blame while the holder is away: the job waits for its copies.
        let Some(worker) = fleet.workers.get(holder).filter(|worker| worker.here) else { return };
        let Some(readers) = self.copies.strike(unread, worker.last_heard, fleet) else { return };
        if readers.contains(holder) {
            self.never_use(unread, notes);
        } else if readers.len() == 1 {
            let reason = format!("it cannot read from worker {holder}: {text}");
            self.set_aside(reader, unreached(fleet, reason, Some(holder)), notes);
        } else {
            let copies: Vec<RunId> = worker.held.keys().filter(|run| needs(run)).cloned().collect();
            for run in copies {
                self.copies.avoid(RunCopy { run, worker: holder.clone() });
            }
            let several = readers.len();
            let reason = format!("{several} workers cannot read from it; its runs are not used any more: {text}");
            self.set_aside(holder, unreached(fleet, reason, None), notes);
            self.forgive_readers(&readers);
        }
    }

    /// Ends every set-aside whose time is over; `true` where there was one.
    pub(crate) fn end_asides(&mut self, fleet: &Fleet) -> bool {
        let mut ended = false;
        for health in self.workers.values_mut() {
            let over = |aside: &Aside| {
                aside.until.is_some_and(|until| until <= fleet.now)
                    || aside.unreached.as_ref().is_some_and(|id| !fleet.is_here(id))
            };
            ended |= health.aside.take_if(|aside| over(aside)).is_some();
        }
        ended
    }

    /// Gives every worker another try. Copies stay as they are.
    pub(crate) fn forgive(&mut self) {
        self.workers.clear();
    }

    /// Forgets a run that is not needed any more.
    pub(crate) fn forget_run(&mut self, run: &RunId) {
        self.copies.forget_run(run);
    }

    /// Readers were not at fault: the holder is.
    fn forgive_readers(&mut self, readers: &BTreeSet<WorkerId>) {
        for (_, health) in self.workers.iter_mut().filter(|(id, _)| readers.contains(id)) {
            health.aside.take_if(|aside| aside.remedy == Remedy::Reach);
        }
    }

    fn never_use(&mut self, unread: Unread<'_>, notes: &mut Notes) {
        let Unread { run, holder, text, .. } = unread;
        notes.add(format!("the copy of run {run} on worker {holder} is not used any more: {text}"));
        self.copies.never_use(RunCopy::new(run, holder));
    }

    fn set_aside(&mut self, worker: &WorkerId, aside: Aside, notes: &mut Notes) {
        if !aside.short {
            notes.add(format!("worker {worker} is set aside: {}", aside.reason));
        }
        self.of(worker).aside = Some(aside);
    }

    fn of(&mut self, worker: &WorkerId) -> &mut WorkerHealth {
        self.workers.entry(worker.clone()).or_default()
    }
}

/// A worker cannot read from another, which is `unreached`; or, with `None`, others cannot read from it.
fn unreached(fleet: &Fleet, reason: String, unreached: Option<&WorkerId>) -> Aside {
    let wait = fleet.config.grace_millis.saturating_mul(UNREACHED_GRACE_TIMES);
    let until = Some(fleet.now.saturating_add(wait));
    Aside { reason, until, short: false, remedy: Remedy::Reach, unreached: unreached.cloned() }
}
