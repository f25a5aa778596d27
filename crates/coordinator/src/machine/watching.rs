//! What pages and metrics are told. Reads only.

use keima_orders::JobId;

use super::Coordinator;
use crate::api::{CallError, Millis};
use crate::fleet::watched::{Event, FleetSums};
use crate::job::shown::page::{DurableBoundary, JobView};

/// A stage that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageUnderWay {
    /// The job.
    pub job: JobId,
    /// Its tag, which every order of it has.
    pub tag: u64,
    /// Sweep, from 0.
    pub sweep: u32,
    /// How many stages of the job were started before.
    pub generation: u32,
    /// Passes before it.
    pub first_pass: u32,
    /// Its passes.
    pub passes: u32,
    /// Its tasks.
    pub tasks: u32,
}

impl Coordinator {
    /// The stage of a job that is under way; `None` between two stages.
    pub fn stage_under_way(&self, id: JobId) -> Option<StageUnderWay> {
        let job = self.jobs.get(&id)?;
        let stage = job.stage.as_ref()?;
        let planned = job.record.plan.stage(stage.number);
        Some(StageUnderWay {
            job: id,
            tag: job.record.tag,
            sweep: job.record.sweep,
            generation: stage.generation,
            first_pass: planned.first_pass,
            passes: planned.end_pass().saturating_sub(planned.first_pass),
            tasks: u32::try_from(stage.tasks.len()).unwrap_or(u32::MAX),
        })
    }

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
    pub const fn sums(&self) -> &FleetSums {
        &self.fleet.watched.sums
    }

    /// The newest boundary on stable storage of each job that is under way.
    pub fn durable_boundaries(&self) -> Vec<(JobId, DurableBoundary)> {
        let live = self.jobs.live().filter(|job| !job.is_over());
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
