//! The coordinator as a pure state machine: calls in, answers and records to store out.
//!
//! # Policy
//!
//! **What runs.** A job does its sweeps one after the other, a sweep its stages. At any time a job has at most one
//! stage under way: its input is the newest *boundary* (the vector that the stage before wrote; nothing at a vector's
//! start, and where two meet also the one that was kept), its output becomes the next one. Workers pull. A pull goes
//! through the jobs by priority, then by number, and takes the first task that is pending and whose inputs can be read
//! now; the largest tasks of a stage go first, so that the small ones fill the gaps at the end. A lower job thus gets
//! what the higher ones leave: the ends of their stages, and workers that they cannot use. A stage is cut into tasks
//! only when somebody asks for one: then the number of slots is known, and a paused job holds no stale cut.
//!
//! **Who may.** A grant is a lease: attempt number, nonce, deadline. Heartbeats that name attempt and nonce extend it.
//! When it runs out the task is pending again, and the old attempt's report is refused. Names of attempts are never
//! used twice, restarts included: each life of the coordinator has a range of numbers of its own. That makes it
//! harmless to lose the record of a grant, and lets every question about a file be answered from its name and the
//! tables here.
//!
//! **Slow tasks.** When nothing is pending, a task that takes several times the median of its stage is granted once
//! more on another worker. The first report wins; a task run twice gives the same vector.
//!
//! **Failures.** They are told apart by whose fault they are. A failed *input* is held against the copy that was read:
//! other copies are used, else the boundary is lost. A full *disk* sets the worker aside for a while. A failed *check*
//! is tried once more, since a flipped bit may have done it; the second time the job ends with the evidence. A
//! *refusal* keeps the worker from the job. Anything else twice on one worker sets the worker aside. A job that no
//! worker can do any more is paused with the reason, never lost.
//!
//! **Trust.** A manifest is held against the laws (job/stage/laws.rs) before it is committed; a complete stage against
//! what the stage before wrote (job/stage/closing.rs); state counts and functionals against other sweeps and earlier
//! tries. A result that fails any check is withheld.
//!
//! **What is kept.** The newest boundary; the newest durable one; the newest one of which every run has two holders,
//! and the one that is being copied; the vector that another is to meet. All others go as soon as their successor is
//! complete. Deleting is a matter of comparing, not of remembering: whatever a worker holds that stands in no kept
//! manifest and was not written by a living attempt of its own is to be deleted, and it is told so until it no longer
//! lists it.
//!
//! **Whose runs.** A store has a name for life, which its workers keep beside their runs. A worker that comes with runs
//! of another store is refused: here their names mean nothing, and comparing would have them all deleted.
//!
//! **What is lost.** Runs on a worker that is away are awaited for the grace time, counted from when it went away or
//! from when the first worker came back, whichever is later: while nobody is there, there is nobody to recompute
//! either. Then the job falls back to the newest kept boundary that is whole, or to the start of the sweep.
//!
//! **What is stored.** Every change goes into a journal of small records ([`Changes`]), which the caller stores in one
//! transaction before it lets the answer out. Records that must outlive a power failure are those without which a
//! deletion would be wrong, and what users were told; losing any other costs time and no more.
//!
//! The clock never runs here: every call is told the time, and time never runs backwards for the machine.

pub(crate) mod leases;
mod steering;
pub(crate) mod workers;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use keima_model::Registry;
use keima_orders::JobId;

use crate::api::Millis;
use crate::fleet::Common;
use crate::job::Job;

pub use crate::job::failures::{Help, Stuck};

pub use crate::fleet::config::Config;
pub use crate::job::status::{JobStatus, JobWorker, State, WorkerStatus};
pub use crate::store::journal::{Changes, EncodeError};
pub use crate::store::restore::RestoreError;

/// Jobs, workers and everything that is known of them.
///
/// All calls take the time of day from the caller. After a call, [`Coordinator::take_changes`] gives what must be
/// stored before the call's answer may leave.
pub struct Coordinator {
    pub(crate) common: Common,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    pub(crate) next_job: u64,
}

impl Coordinator {
    /// A coordinator without a past. `seed` feeds nonces and the jobs' tags and salts; it should be random.
    pub fn new(config: Config, registry: Arc<dyn Registry>, seed: u64) -> Self {
        let mut coordinator =
            Self { common: Common::new(config, seed, 0, None), registry, jobs: BTreeMap::new(), next_job: 1 };
        coordinator.common.store_meta(coordinator.next_job);
        // Workers will keep the store's name.
        coordinator.common.journal.must_be_durable();
        coordinator
    }

    /// The records to store in one transaction before any answer since the last call is let out. After an error the
    /// coordinator must end: no answer may leave any more.
    pub fn take_changes(&mut self) -> Result<Changes, EncodeError> {
        self.common.journal.take()
    }

    /// A number that grows whenever a pull that found nothing may now find something; for waking waiting workers.
    pub fn work_serial(&self) -> u64 {
        self.common.work_serial
    }

    /// Lets time pass: leases, silent workers, lost inputs. To be called every quarter of a second or so.
    pub fn tick(&mut self, now: Millis) {
        self.advance(now);
        self.common.miss_silent_workers();
        self.expire_leases();
        for job in self.jobs.values_mut() {
            job.look_after(&mut self.common);
        }
        self.forget_workers();
    }

    /// Takes note of the time: the machine's clock never goes back, and running jobs age.
    pub(crate) fn advance(&mut self, now: Millis) {
        let past = self.common.now;
        self.common.now = past.max(now);
        // The first call sets the clock; a jump (a machine that slept) is not time that was worked.
        let elapsed = if past == 0 { 0 } else { (self.common.now - past).min(self.common.config.lease_millis) };
        for job in self.jobs.values_mut() {
            job.age(elapsed, &self.common);
        }
    }
}
