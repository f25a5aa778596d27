//! Copies of runs that cannot be read: which ones a job avoids, and which runs it has lost.
//!
//! A run can be read when a worker that is here holds a sound copy. It is lost when no holder of a sound copy is here or
//! awaited, and the archive has none.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use keima_orders::{Holder, WorkerId};
use keima_runs::RunId;

use crate::api::Millis;
use crate::fleet::Fleet;
use crate::store::records::{Boundary, RunCopy};

/// After this many failures to read a copy, over the grace time, somebody is to blame.
const MOST_STRIKES: u32 = 3;

/// A failure to read an input from a copy.
#[derive(Clone, Copy)]
pub(crate) struct Unread<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) holder: &'a WorkerId,
    pub(crate) reader: &'a WorkerId,
    pub(crate) text: &'a str,
}

/// Failures to read a copy that its holder still lists.
#[derive(Clone, Debug)]
struct Strike {
    first: Millis,
    last: Millis,
    count: u32,
    readers: BTreeSet<WorkerId>,
}

impl Strike {
    const fn new(now: Millis) -> Self {
        Self { first: now, last: now, count: 0, readers: BTreeSet::new() }
    }
}

/// The soundness of the copies of a job's runs.
#[derive(Default)]
pub(crate) struct CopyHealth {
    /// Copies that are never used again.
    bad: BTreeSet<RunCopy>,
    strikes: BTreeMap<RunCopy, Strike>,
    /// Runs that the archive has, as far as nobody found otherwise.
    archived: HashSet<RunId>,
}

impl CopyHealth {
    /// Whether a copy is never used again.
    pub(crate) fn is_bad(&self, run: &RunId, worker: &WorkerId) -> bool {
        !self.bad.is_empty() && self.bad.contains(&RunCopy::new(run, worker))
    }

    /// Whether a copy is bad, or reading it failed lately.
    pub(crate) fn is_suspect(&self, run: &RunId, worker: &WorkerId) -> bool {
        self.is_bad(run, worker) || (self.has_strikes() && self.strikes.contains_key(&RunCopy::new(run, worker)))
    }

    /// Whether reading any copy failed lately.
    pub(crate) fn has_strikes(&self) -> bool {
        !self.strikes.is_empty()
    }

    /// Whether nobody tries a copy for a while.
    fn is_suspended(&self, run: &RunId, worker: &WorkerId, fleet: &Fleet) -> bool {
        self.has_strikes()
            && self.strikes.get(&RunCopy::new(run, worker)).is_some_and(|strike| {
                fleet.now < strike.last.saturating_add(fleet.config.heartbeat_millis.saturating_mul(2))
            })
    }

    /// Whether a worker that is here has a sound copy that may be tried now.
    pub(crate) fn is_readable(&self, run: &RunId, fleet: &Fleet) -> bool {
        let sound = |id| !self.is_bad(run, id) && !self.is_suspended(run, id, fleet);
        fleet.holders_here(run).any(|(id, _)| sound(id))
    }

    /// Why a run is lost; `None` while there is hope, or while no worker is here that could count it again.
    pub(crate) fn lost(&self, run: &RunId, fleet: &Fleet) -> Option<String> {
        if self.archived.contains(run) {
            return None;
        }
        self.unheld(run, fleet)
    }

    /// Whether the archive has a run that nobody holds or will bring back.
    pub(crate) fn is_to_fetch(&self, run: &RunId, fleet: &Fleet) -> bool {
        self.archived.contains(run) && self.unheld(run, fleet).is_some()
    }

    /// The archive has a run.
    pub(crate) fn can_fetch(&mut self, run: &RunId) {
        self.archived.insert(run.clone());
    }

    /// A worker has fetched a run anew: a bad copy of it is replaced.
    pub(crate) fn renewed(&mut self, run: &RunId, worker: &WorkerId) {
        let copy = RunCopy::new(run, worker);
        self.bad.remove(&copy);
        self.strikes.remove(&copy);
    }

    /// The archive has not, or not any more, a sound copy of a run.
    pub(crate) fn cannot_fetch(&mut self, run: &RunId) {
        self.archived.remove(run);
    }

    /// Why no worker has a sound copy of a run, or will bring it back.
    fn unheld(&self, run: &RunId, fleet: &Fleet) -> Option<String> {
        fleet.here_since?;
        let mut why = "no worker holds a sound copy".to_string();
        for (id, worker) in fleet.holders_of(run).into_iter().filter(|(id, _)| !self.is_bad(run, id)) {
            if worker.here || fleet.is_awaited(worker) {
                return None;
            }
            let seconds = fleet.now.saturating_sub(worker.away_since) / 1000;
            why = format!("worker {id}, which holds it, has been away for {seconds} s");
        }
        Some(why)
    }

    /// Whether no run of a boundary is lost.
    pub(crate) fn is_whole(&self, boundary: &Boundary, fleet: &Fleet) -> bool {
        boundary.runs().all(|run| self.lost(&run.id, fleet).is_none())
    }

    /// Whether two workers that are here hold sound copies of a run.
    pub(crate) fn has_two_holders(&self, run: &RunId, fleet: &Fleet) -> bool {
        fleet.holders_here(run).filter(|(id, _)| !self.is_bad(run, id)).count() >= 2
    }

    /// The workers without which a boundary is not whole: those that alone, of all that are here, hold a sound copy of one of its
    /// runs. `None` if nobody here holds one of the runs.
    pub(crate) fn needed_for<'f>(&self, boundary: &Boundary, fleet: &'f Fleet) -> Option<BTreeSet<&'f WorkerId>> {
        let mut needed = BTreeSet::new();
        for run in boundary.runs() {
            let mut holders = fleet.holders_here(&run.id).filter(|(id, _)| !self.is_bad(&run.id, id));
            let (first, _) = holders.next()?;
            if holders.next().is_none() {
                needed.insert(first);
            }
        }
        Some(needed)
    }

    /// Whether every run of a boundary has two holders now.
    pub(crate) fn is_on_two(&self, boundary: &Boundary, fleet: &Fleet) -> bool {
        boundary.runs().all(|run| self.has_two_holders(&run.id, fleet))
    }

    /// Holders of sound copies, best first: here before away, untroubled before suspended, the reader itself before
    /// others.
    pub(crate) fn holders(&self, run: &RunId, reader: &WorkerId, fleet: &Fleet) -> Vec<Holder> {
        let mut holders = fleet.holders_of(run);
        holders.retain(|(id, _)| !self.is_bad(run, id));
        holders.sort_by_key(|(id, w)| (!w.here, self.is_suspended(run, id, fleet), *id != reader));
        holders.into_iter().map(|(_, w)| w.holder.clone()).collect()
    }

    /// Most failures to read one copy.
    #[cfg(test)]
    pub(crate) fn most_strikes(&self) -> u32 {
        self.strikes.values().map(|strike| strike.count).max().unwrap_or(0)
    }

    /// Never uses a copy again.
    pub(super) fn never_use(&mut self, copy: RunCopy) {
        self.strikes.remove(&copy);
        self.bad.insert(copy);
    }

    /// Avoids a copy; failures to read it stay counted.
    pub(super) fn avoid(&mut self, copy: RunCopy) {
        self.bad.insert(copy);
    }

    /// Counts a failure to read a copy from a holder that was heard of at `heard`. Once may be an accident. After
    /// [`MOST_STRIKES`] it returns the workers that could not read the copy, if the holder was heard of a grace time after
    /// the first one.
    pub(super) fn strike(&mut self, unread: Unread<'_>, heard: Millis, fleet: &Fleet) -> Option<BTreeSet<WorkerId>> {
        let (now, grace) = (fleet.now, fleet.config.grace_millis);
        let copy = RunCopy::new(unread.run, unread.holder);
        let strike = self.strikes.entry(copy).or_insert_with(|| Strike::new(now));
        if now.saturating_sub(strike.last) > grace.saturating_add(fleet.config.lease_millis) {
            *strike = Strike::new(now);
        }
        strike.last = now;
        strike.count += 1;
        strike.readers.insert(unread.reader.clone());
        let to_blame = strike.count >= MOST_STRIKES && heard.saturating_sub(strike.first) >= grace;
        to_blame.then(|| strike.readers.clone())
    }

    /// Forgets a run that is not needed any more.
    pub(super) fn forget_run(&mut self, run: &RunId) {
        self.archived.remove(run);
        self.bad.retain(|bad| bad.run != *run);
        self.strikes.retain(|struck, _| struck.run != *run);
    }
}
