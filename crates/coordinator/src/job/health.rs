//! A job's health: the workers that it gives no tasks, and the copies of runs that it does not read.
//!
//! ```text
//!   a full disk            a short wait, since deleting may lag behind; then a long one
//!   no room for a copy     no second copies for a while; tasks go on
//!   three damaged copies   set aside: its disk or memory is bad
//!   a task fails twice     set aside
//!   a refusal              set aside
//!   a wrong count          set aside
//!   runs out of reach      the reader or the holder is set aside, by who else cannot read them
//!   a task does not get on set aside for a while: its disk hangs
//! ```
//!
//! A worker that is set aside gets no tasks of the job until its time is over, until its process is started again, or until a
//! person resumes the job. While nobody else can go on, times are short at first and then longer. Workers with damaged
//! copies or failed tasks are then tried again as well, since the cause may be over. Workers that refuse the job or count
//! wrongly are not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use keima_blocks::sizes::show_bytes;
use keima_orders::{AttemptId, WorkerId};
use keima_runs::RunId;

use self::copies::CopyHealth;
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::store::records::{Notes, RunCopy};

pub(crate) use self::copies::Unread;

mod caps;
pub(crate) mod copies;
#[cfg(test)]
mod tests;

/// A worker with this many damaged copies has a bad disk.
const MOST_DAMAGE: u32 = 3;
/// Grace times until a worker that does not reach another is tried again: each trial delays tasks by one.
const UNREACHED_GRACE_TIMES: u64 = 8;
/// So often a job that stands still doubles the time until it tries again.
const MOST_DOUBLINGS: u32 = 3;

/// What a person can do for a worker that is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Its disk is full.
    Disk,
    /// Others do not reach it.
    Reach,
    /// Its tasks do not get on.
    Hang,
    /// The reason says what is wrong.
    Other,
}

impl Remedy {
    const fn text(self) -> &'static str {
        match self {
            Self::Disk => "free space there or give the worker a larger cap (--disk)",
            Self::Reach => "start workers with a --listen ADDRESS:PORT that the others reach, or open their ports",
            Self::Hang => "look at the disk of its scratch folder and at its network",
            Self::Other => "repair the cause and start the worker again",
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
    /// `None` until its process is started again, or a person resumes the job.
    until: Option<Millis>,
    /// Whether the job waits for it rather than pauses, if nobody else can go on.
    pub(crate) short: bool,
    /// Whether it is tried again after a while if nobody else can go on, though its time has no end.
    last_resort: bool,
    pub(crate) remedy: Remedy,
    /// The worker that it does not reach. When that one is away, nobody waits for its runs any more.
    unreached: Option<WorkerId>,
}

impl Aside {
    /// Until a person resumes the job; or, as a last resort, until nobody else can go on.
    const fn without_end(reason: String, last_resort: bool) -> Self {
        Self { reason, until: None, short: false, last_resort, remedy: Remedy::Other, unreached: None }
    }

    /// Until a time.
    const fn until(at: Millis, reason: String, remedy: Remedy) -> Self {
        Self { reason, until: Some(at), short: false, last_resort: false, remedy, unreached: None }
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
    /// States that it has read in finished tasks, and those of tasks that were drawn for another worker to do again.
    states: u64,
    drawn: u64,
}

/// Workers and copies of runs, as one job sees them.
#[derive(Default)]
pub(crate) struct Health {
    workers: BTreeMap<WorkerId, WorkerHealth>,
    pub(crate) copies: CopyHealth,
    /// How often in a row the job stood still, since a task was finished last.
    standstills: u32,
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
        self.standstills = 0;
        if let Some(health) = self.workers.get_mut(worker) {
            health.disk_failures = 0;
        }
    }

    /// Counts a worker's finished task of so many states, and says whether another worker is to do it again: if it must be, or if
    /// less than one part in `one_in` of the worker's states would be.
    pub(crate) fn draw(&mut self, worker: &WorkerId, states: u64, one_in: u64, certain: bool) -> bool {
        let health = self.of(worker);
        health.states = health.states.saturating_add(states.max(1));
        let drawn = certain || health.drawn.saturating_mul(one_in) < health.states;
        if drawn {
            health.drawn = health.drawn.saturating_add(states.max(1));
        }
        drawn
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

    /// A worker's scratch folder was full in a task. `needed_bytes` is the forecast of all scratch folders together, 0 where
    /// there is none.
    pub(crate) fn full_disk(
        &mut self,
        fleet: &Fleet,
        worker: &WorkerId,
        text: &str,
        needed_bytes: u64,
        notes: &mut Notes,
    ) {
        let health = self.of(worker);
        // Tasks that ran side by side fail at the same moment, for one reason.
        if health.aside.as_ref().is_some_and(|aside| aside.short) {
            return;
        }
        health.disk_failures += 1;
        // The first time, runs that are to be deleted may be about to go.
        let short = health.disk_failures == 1;
        let wait = if short { fleet.config.heartbeat_millis.saturating_mul(2) } else { fleet.config.disk_wait_millis };
        let folder = fleet.workers.get(worker).map_or(String::new(), |w| w.holder.folder.clone());
        let need = match needed_bytes {
            0 => String::new(),
            bytes => format!("; the job needs about {} on all workers together", show_bytes(bytes)),
        };
        let reason = format!("its disk is full: scratch folder {folder:?}: {text}{need}");
        let aside = Aside::until(fleet.now.saturating_add(wait), reason, Remedy::Disk);
        self.set_aside(worker, Aside { short, ..aside }, notes);
    }

    /// A task does not get on, though the worker lives.
    pub(crate) fn hangs(&mut self, fleet: &Fleet, worker: &WorkerId, attempt: AttemptId, notes: &mut Notes) {
        let reason = format!("it lives, but its task {attempt} does not get on: its disk or its network may hang");
        let until = fleet.now.saturating_add(long_wait_millis(fleet));
        self.set_aside(worker, Aside::until(until, reason, Remedy::Hang), notes);
    }

    fn is_hanging(&self, worker: &WorkerId) -> bool {
        self.aside(worker).is_some_and(|aside| aside.remedy == Remedy::Hang)
    }

    /// Nobody can go on. Workers whose time aside would end anyway are tried again sooner, and some whose time has no end are
    /// tried at all: that costs nobody anything.
    pub(crate) fn try_again_later(&mut self, fleet: &Fleet) {
        let least = fleet.config.grace_millis.max(fleet.config.heartbeat_millis.saturating_mul(2));
        let at = fleet.now.saturating_add(least << self.standstills.min(MOST_DOUBLINGS));
        self.standstills = self.standstills.saturating_add(1);
        for aside in self.workers.values_mut().filter_map(|health| health.aside.as_mut()) {
            aside.until = match aside.until {
                Some(until) if aside.remedy == Remedy::Disk => Some(until.max(at)),
                Some(until) => Some(until.min(at)),
                None => aside.last_resort.then_some(at),
            };
        }
    }

    /// Sets a worker aside until a person resumes the job.
    pub(crate) fn set_aside_for_good(&mut self, worker: &WorkerId, reason: String, notes: &mut Notes) {
        self.set_aside(worker, Aside::without_end(reason, false), notes);
    }

    /// Sets a worker aside while others can go on.
    pub(crate) fn set_aside_unless_alone(&mut self, worker: &WorkerId, reason: String, notes: &mut Notes) {
        self.set_aside(worker, Aside::without_end(reason, true), notes);
    }

    /// A copy is damaged: it is never used again.
    pub(crate) fn damaged(&mut self, unread: Unread<'_>, notes: &mut Notes) {
        self.never_use(unread, notes);
        let health = self.of(unread.holder);
        health.damage += 1;
        let damage = health.damage;
        if damage >= MOST_DAMAGE {
            let reason = format!("{damage} runs that it held were damaged; check its disk and memory");
            self.set_aside_unless_alone(unread.holder, reason, notes);
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
        } else if readers.len() == 1 && !self.is_hanging(holder) {
            let reason = format!("it cannot read from worker {holder}: {text}");
            self.set_aside(reader, unreached(fleet, reason, Some(holder)), notes);
        } else {
            let copies: Vec<RunId> = worker.held.keys().filter(|run| needs(run)).cloned().collect();
            for run in copies {
                self.copies.avoid(RunCopy { run, worker: holder.clone() });
            }
            let several = readers.len();
            let others =
                if several == 1 { "another worker cannot".into() } else { format!("{several} workers cannot") };
            let reason = format!("{others} read from it; its runs are not used any more: {text}");
            self.set_aside(holder, unreached(fleet, reason, None), notes);
            self.forgive_readers(&readers);
        }
    }

    /// Ends every set-aside whose time is over, and returns whose.
    pub(crate) fn end_asides(&mut self, fleet: &Fleet) -> Vec<WorkerId> {
        let mut ended = Vec::new();
        let asides = self.workers.iter().filter_map(|(id, health)| Some((id, health.aside.as_ref()?)));
        let hanging: BTreeSet<WorkerId> =
            asides.filter(|(_, aside)| aside.remedy == Remedy::Hang).map(|(id, _)| id.clone()).collect();
        for (id, health) in &mut self.workers {
            let over = |aside: &Aside| {
                let excused = |id: &WorkerId| !fleet.is_here(id) || hanging.contains(id);
                aside.until.is_some_and(|until| until <= fleet.now) || aside.unreached.as_ref().is_some_and(excused)
            };
            if health.aside.take_if(|aside| over(aside)).is_some() {
                ended.push(id.clone());
            }
        }
        ended
    }

    /// Gives a worker another try. Copies stay as they are.
    pub(crate) fn forgive_worker(&mut self, worker: &WorkerId) {
        self.workers.remove(worker);
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

/// The time aside of a worker that others can do without.
const fn long_wait_millis(fleet: &Fleet) -> Millis {
    fleet.config.grace_millis.saturating_mul(UNREACHED_GRACE_TIMES)
}

/// A worker cannot read from another, which is `unreached`; or, with `None`, others cannot read from it.
fn unreached(fleet: &Fleet, reason: String, unreached: Option<&WorkerId>) -> Aside {
    let until = fleet.now.saturating_add(long_wait_millis(fleet));
    Aside { unreached: unreached.cloned(), ..Aside::until(until, reason, Remedy::Reach) }
}
