//! What is known of a worker.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use keima_orders::{AttemptId, Holder, WorkerId};
use keima_runs::RunId;

use crate::api::{Millis, Used};

/// Former processes of a worker that are remembered.
const MOST_FORMER: usize = 16;

/// The time, and the numbers that grow when there may be work: while all stay, a pull in vain stays in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) now: Millis,
    pub(crate) work_serial: u64,
    pub(crate) few_serial: u64,
}

/// A worker's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) incarnation: u64,
    /// See [`crate::Hello::place`].
    pub(crate) place: String,
}

/// A worker that said hello, or that records name.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) holder: Holder,
    /// The process that has its name, as far as that said hello in this life of the coordinator.
    pub(crate) process: Option<Process>,
    /// Processes that had its name before; none of them comes back.
    pub(crate) former: VecDeque<u64>,
    /// A process that wants its name, and since when.
    pub(crate) contender: Option<(u64, Millis)>,
    /// 0 until it says hello.
    pub(crate) epoch: u64,
    pub(crate) slots: u32,
    pub(crate) task_memory_bytes: u64,
    pub(crate) disk_bytes: u64,
    /// As of its last heartbeat.
    pub(crate) used: Used,
    /// Whether it reaches the archive.
    pub(crate) archive: bool,
    /// Runs in its scratch folder, with their length where it is known (else 0).
    pub(crate) held: BTreeMap<RunId, u64>,
    /// Runs that its last hello or heartbeat named.
    pub(crate) listed: BTreeSet<RunId>,
    /// As of this serial of unneeded runs it was told all that it should delete; `None` where nobody looked since.
    pub(crate) tidy: Option<u64>,
    /// When it asked for a task in vain. A later pull of the same moment need not look again.
    pub(crate) in_vain: Option<Moment>,
    /// Attempts that it is to stop.
    pub(crate) abandon: BTreeSet<AttemptId>,
    pub(crate) last_heard: Millis,
    /// Whether it was heard of within the time of a lease.
    pub(crate) here: bool,
    /// Since when it is away, if it is.
    pub(crate) away_since: Millis,
}

impl Worker {
    /// A worker that only records name, as if it had just gone away.
    pub(crate) fn expected(id: &WorkerId, now: Millis) -> Self {
        Self {
            holder: Holder {
                worker: id.clone(),
                address: String::new(),
                folder: String::new(),
                fingerprint: String::new(),
            },
            process: None,
            former: VecDeque::new(),
            contender: None,
            epoch: 0,
            slots: 0,
            task_memory_bytes: 0,
            disk_bytes: 0,
            used: Used::default(),
            archive: false,
            held: BTreeMap::new(),
            listed: BTreeSet::new(),
            tidy: None,
            in_vain: None,
            abandon: BTreeSet::new(),
            last_heard: now,
            here: false,
            away_since: now,
        }
    }

    /// Whether another process had its name before the present one.
    pub(crate) fn is_former(&self, incarnation: u64) -> bool {
        self.former.contains(&incarnation)
    }

    /// A process takes the name; `true` where it is another one than before.
    pub(crate) fn taken_by(&mut self, process: Process) -> bool {
        self.contender = None;
        let incarnation = process.incarnation;
        let before = self.process.replace(process).filter(|before| before.incarnation != incarnation);
        let Some(before) = before else { return false };
        self.former.push_back(before.incarnation);
        if self.former.len() > MOST_FORMER {
            self.former.pop_front();
        }
        true
    }
}
