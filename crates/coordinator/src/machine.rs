//! The coordinator as a pure state machine: calls in, answers and records to store out.
//!
//! # Policy
//!
//! **What runs.** A job does its sweeps one after the other, a sweep its stages. At any time a job has at most one stage
//! under way. The stage reads the newest *boundary*: the vector that the stage before wrote. At a vector's start it reads
//! nothing; where two vectors meet it also reads the kept one. It writes the next boundary. Workers pull. A pull goes
//! through the jobs in the order of machine/sharing.rs, and takes the first pending task whose inputs can be read now. The
//! largest tasks of a stage go first, so that the small ones fill the gaps at its end. A lower job gets what the higher
//! ones leave: the ends of their stages, and workers that they cannot use. A stage is cut into tasks only when somebody
//! asks for one: then the number of slots is known, and a paused job holds no stale cut.
//!
//! **Who may.** A grant is a lease: attempt number, nonce, deadline. Heartbeats that name attempt and nonce extend it.
//! When it ends the task is pending again, and the old attempt's report is refused. Names of attempts are never used
//! twice, restarts included: each life of the coordinator has a range of numbers of its own. So it is harmless to lose
//! the record of a grant, and a file's name and the tables here answer every question about the file.
//!
//! **Slow tasks.** When nothing is pending, a task that takes several times the median of its stage is granted once
//! more on another worker. The first report wins; a task run twice gives the same vector.
//!
//! **Failures** (job/failures.rs). They are told apart by whose fault they are. A failed *input* counts against the copy
//! that was read: other copies are used, else the boundary is lost. A full *disk* sets the worker aside for a while. A
//! failed *check* is tried once more, since a flipped bit may have done it; the second time the job ends with the
//! evidence. A *refusal* keeps the worker from the job. Any other failure, twice on one worker, sets the worker aside. A
//! job that no worker can do any more pauses with the reason; it is never lost.
//!
//! **Trust.** A manifest is checked against the laws (job/stage/laws.rs) before it is committed; a complete stage against
//! what the stage before wrote (job/stage/closing.rs); state counts and functionals against other sweeps and earlier
//! tries. A result that fails any check is withheld.
//!
//! **What is kept** (job/boundaries.rs). The newest boundary; the newest durable one; the newest one of which every run
//! has two holders; the newest one in the archive; the one that is being copied or stored there; the vector that another is to
//! meet. All others go as soon as their successor is complete. Deleting compares and does not remember: a worker deletes
//! every run that belongs to no kept manifest and that no living attempt of its own wrote. It is told so until it no longer
//! lists the run.
//!
//! **Whose runs.** A store has a name for life, which its workers keep beside their runs. A worker that comes with runs
//! of another store is refused: here their names mean nothing, and comparing would have them all deleted.
//!
//! **What is lost.** The coordinator waits for runs on a worker that is away for the grace time. The time counts from when
//! the worker went away, or from when the first worker came back, whichever is later: while no worker is there, none can
//! count anew either. Then the job falls back to the newest kept boundary that is whole, or to the start of the sweep.
//!
//! **What is stored.** Every change goes into a journal of small records ([`Changes`]), which the caller stores in one
//! transaction before it lets the answer out. A record must survive a power failure if a deletion would be wrong without
//! it, or if users were told of it. Losing any other costs time and no more.
//!
//! The clock never runs here: every call is told the time, and time never runs backwards for the machine.

mod archive;
mod jobs;
mod leases;
mod planning;
mod settling;
mod sharing;
mod status;
mod steering;
#[cfg(test)]
mod tests;
mod waiting;
mod watching;
mod workers;

use std::collections::BTreeMap;
use std::sync::Arc;

use keima_model::Registry;
use keima_orders::JobId;

use self::jobs::Jobs;
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::fleet::config::Config;
use crate::fleet::life::Life;
use crate::fleet::watched::{About, EventKind};
use crate::job::Job;
use crate::store::journal::{Changes, EncodeError};
use crate::store::restore::{RestoreError, Stored};

pub use self::archive::{RestLimits, Resumption};
pub use self::jobs::listing::{JobFilter, JobPage, MOST_PAGE_JOBS, ValuePage};
pub use self::planning::{NewPlan, PlanRequest, Planned, Submission};
use self::sharing::Use;
pub use self::status::{MOST_SET_ASIDE, Standing, WorkerStatus};
pub use self::watching::StageUnderWay;
pub use self::workers::MOST_WORKERS;

/// Jobs, workers and everything that is known of them.
///
/// All calls take the time of day from the caller. After a call, [`Coordinator::take_changes`] gives what must be
/// stored before the call's answer may leave.
pub struct Coordinator {
    fleet: Fleet,
    registry: Arc<dyn Registry>,
    jobs: Jobs,
    next_job: u64,
    /// Past use of the workers by owner.
    past: Use,
    /// By the number that names of runs begin with: the jobs that go on with such runs of a checkpoint.
    adopted: BTreeMap<JobId, Vec<JobId>>,
    /// The process stops: nothing is granted any more.
    is_settling: bool,
}

impl Coordinator {
    /// A coordinator without a past. `seed` feeds nonces and the jobs' tags and salts; it should be random.
    pub fn new(config: Config, registry: Arc<dyn Registry>, seed: u64) -> Self {
        let fleet = Fleet::new(config, Life::new(seed, 0, None));
        let mut coordinator = Self {
            fleet,
            registry,
            jobs: Jobs::default(),
            next_job: 1,
            past: Use::default(),
            adopted: BTreeMap::new(),
            is_settling: false,
        };
        coordinator.store_meta();
        // Workers will keep the store's name.
        coordinator.fleet.journal.must_be_durable();
        coordinator
    }

    /// A coordinator that goes on where the one that stored `records` stopped. An empty store gives a new one.
    ///
    /// Every restart begins a new life: numbers of attempts, generations and epochs come from a range of its own.
    pub fn restore(
        config: Config,
        registry: Arc<dyn Registry>,
        seed: u64,
        now: Millis,
        records: Vec<(String, Vec<u8>)>,
    ) -> Result<Self, RestoreError> {
        if records.is_empty() {
            return Ok(Self::new(config, registry, seed));
        }
        let stored = Stored::read(records)?;
        let mut fleet = Fleet::new(config, Life::new(seed, stored.boot.saturating_add(1), Some(stored.store)));
        fleet.now = now;
        let mut jobs = Jobs::default();
        let mut adopted: BTreeMap<JobId, Vec<JobId>> = BTreeMap::new();
        let mut next_job = stored.next_job.max(1);
        for (id, mut records) in stored.jobs {
            if let Some(record) = records.record.take() {
                next_job = next_job.max(id.0.saturating_add(1));
                let job = Job::restore(&mut fleet, &*registry, id, record, &mut records)?;
                job.record.adopted.iter().for_each(|name| adopted.entry(*name).or_default().push(id));
                jobs.insert(id, job);
            }
            records.delete_rest(&mut fleet.journal);
        }
        let mut coordinator =
            Self { fleet, registry, jobs, next_job, past: Use::default(), adopted, is_settling: false };
        coordinator.store_meta();
        coordinator.fleet.journal.must_be_durable();
        Ok(coordinator)
    }

    /// The records to store in one transaction before any answer since the last call is let out. After an error the
    /// coordinator must not be used any more.
    pub fn take_changes(&mut self) -> Result<Changes, EncodeError> {
        self.fleet.journal.take()
    }

    /// A number that grows whenever a pull that found nothing may now find something; for waking waiting workers.
    pub const fn work_serial(&self) -> u64 {
        self.fleet.serials.work
    }

    /// A number that grows with each single task that came up, for which a few waiting workers suffice.
    pub const fn few_serial(&self) -> u64 {
        self.fleet.serials.few
    }

    /// Lets time pass: leases, silent workers, lost inputs. To be called every quarter of a second or so.
    pub fn tick(&mut self, now: Millis) {
        self.advance(now);
        for worker in self.fleet.miss_silent_workers() {
            self.fleet.tell(EventKind::WorkerLost, About::worker(&worker), "silent for the time of a lease");
            for job in self.jobs.live_mut().filter(|job| !job.is_over()) {
                job.note_missed(&self.fleet, &worker);
            }
        }
        self.expire_leases();
        for job in self.jobs.live_mut() {
            job.look_after(&mut self.fleet);
        }
        self.forget_workers();
    }

    /// Takes note of the time: the machine's clock never goes back, and running jobs age.
    fn advance(&mut self, now: Millis) {
        self.jobs.sort_out();
        let past = self.fleet.now;
        self.fleet.now = past.max(now);
        // The first call sets the clock; a jump (a machine that slept) is not time that was worked.
        let elapsed = if past == 0 { 0 } else { (self.fleet.now - past).min(self.fleet.config.lease_millis) };
        for job in self.jobs.live_mut() {
            job.age(elapsed, &mut self.fleet);
        }
        self.book_tasks();
    }

    fn store_meta(&mut self) {
        let life = &self.fleet.life;
        self.fleet.journal.put_meta(life.store, life.boot, self.next_job);
    }
}
