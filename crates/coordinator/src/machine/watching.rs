//! What pages and metrics are told. Reads only.

use keima_orders::JobId;

use super::Coordinator;
use crate::api::{CallError, Millis};
use crate::fleet::watched::{Event, Sums};
use crate::job::shown::view::{DurableBoundary, JobView};

impl Coordinator {
    /// One job as a page shows it.
    pub fn view(&mut self, now: Millis, id: JobId) -> Result<JobView, CallError> {
        self.advance(now);
        let job = self.jobs.get(&id).ok_or(CallError::NoSuchJob(id))?;
        Ok(job.view(&self.fleet, self.shown(job, &self.in_order())))
    }

    /// Remembered events with a larger number, the oldest first.
    pub fn events(&self, after: u64) -> Vec<Event> {
        self.fleet.watched.after(after)
    }

    /// Sums since the process started.
    pub const fn sums(&self) -> &Sums {
        &self.fleet.watched.sums
    }

    /// The newest boundary on stable storage of each job that is under way.
    pub fn durable_boundaries(&self) -> Vec<(JobId, DurableBoundary)> {
        let live = self.jobs.values().filter(|job| !job.is_over());
        live.filter_map(|job| Some((job.id, job.durable()?))).collect()
    }

    /// Number of living leases.
    pub fn leases(&self) -> usize {
        self.fleet.leases.len()
    }

    /// Whether it grants tasks: it does until it is told to stop.
    pub const fn grants(&self) -> bool {
        !self.is_settling
    }
}
