//! What users do with jobs: submit, pause, resume, cancel.

use keima_model::mix::split_mix;
use keima_orders::JobId;

use super::Coordinator;
use crate::api::{CallError, JobSpec, Millis, State};
use crate::job::{Job, reopen};
use crate::plan::{PlanLimits, choose_plan};
use crate::store::records::{Notes, Record, Totals};

impl Coordinator {
    /// Plans a job and puts it in the queue.
    pub fn submit(&mut self, now: Millis, spec: JobSpec) -> Result<JobId, CallError> {
        self.advance(now);
        let problem = self.registry.open(&spec.problem).map_err(|error| CallError::Invalid(error.to_string()))?;
        // A single worker has nobody to hold a second copy. While none is there, more than one may come.
        let alone = self.fleet.here().count() == 1;
        let limits = PlanLimits {
            task_memory_bytes: spec.task_memory_bytes,
            disk_bytes: spec.disk_bytes,
            residues_per_sweep: spec.residues_per_sweep,
            window: spec.window,
            slots: spec.slots,
            worker_slots: spec.worker_slots,
            second_copies: self.fleet.config.second_copies && !alone,
            series: spec.series,
        };
        let (info, key_bytes) = (problem.info(), problem.key_bytes());
        let plan = choose_plan(info, key_bytes, &limits, spec.executor)
            .map_err(|error| CallError::Invalid(error.to_string()))?;
        if plan.sweeps.is_empty() || plan.stages() == 0 {
            return Err(CallError::Invalid(format!("{} {}: nothing to count", info.name(), info.size())));
        }
        let id = JobId(self.next_job);
        self.next_job += 1;
        let identity = info.identity();
        let tag = self.tag(id, &identity);
        let record = Record {
            identity,
            size: info.size(),
            pass_states: vec![None; info.board().passes() as usize + 1],
            spec,
            plan,
            tag,
            salt: split_mix(&mut tag.clone()),
            state: State::Queued,
            reason: String::new(),
            sweep: 0,
            generation: 0,
            active_millis: 0,
            totals: Totals::default(),
            notes: Notes::default(),
            disk_peak_bytes: 0,
            outcome: None,
        };
        let job = Job::new(id, record, Some(problem), self.fleet.now);
        self.store_meta();
        job.store(&mut self.fleet);
        self.jobs.insert(id, job);
        self.fleet.work_changed();
        Ok(id)
    }

    /// A number that distinguishes this job's runs from those of all others.
    fn tag(&mut self, id: JobId, identity: &str) -> u64 {
        let mut tag = self.fleet.life.random() ^ id.0;
        for byte in identity.bytes() {
            tag = split_mix(&mut tag) ^ u64::from(byte);
        }
        split_mix(&mut tag)
    }

    /// Stops granting a job's tasks; running tasks finish and are kept.
    pub fn pause(&mut self, now: Millis, id: JobId) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        if job.is_over() {
            return Err(wrong_state(job, "only a queued or running job can be paused"));
        }
        if job.record.state != State::Paused {
            job.pause(&mut self.fleet, "paused by the user".into());
        }
        Ok(())
    }

    /// Goes on with a paused job. Workers that were set aside get another try.
    pub fn resume(&mut self, now: Millis, id: JobId) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        if job.is_over() {
            return Err(wrong_state(job, "only a paused job can be resumed; submit it again"));
        }
        if job.record.state != State::Paused {
            return Ok(());
        }
        if job.problem.is_none() {
            let problem = reopen(&*self.registry, &job.record).map_err(CallError::Invalid)?;
            job.problem = Some(problem);
        }
        job.resume(&mut self.fleet);
        Ok(())
    }

    /// Ends a job for good; its runs are deleted.
    pub fn cancel(&mut self, now: Millis, id: JobId) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        if job.is_over() {
            return Err(wrong_state(job, "it is over already"));
        }
        job.end(&mut self.fleet, State::Cancelled, "cancelled by the user".into());
        Ok(())
    }
}

fn wrong_state(job: &Job, why: &str) -> CallError {
    CallError::WrongState { job: job.id, state: job.record.state.to_string(), why: why.into() }
}
