//! What a user may ask of a job: to be planned and queued, to pause, to go on, to end.

use std::collections::VecDeque;

use keima_orders::JobId;

use super::Coordinator;
use crate::api::{CallError, JobSpec, Millis};
use crate::fleet::split_mix;
use crate::job::status::State;
use crate::job::{Job, Record, Totals};
use crate::plan::{PlanLimits, choose_plan};

impl Coordinator {
    /// Plans a job and puts it in the queue.
    pub fn submit(&mut self, now: Millis, spec: JobSpec) -> Result<JobId, CallError> {
        self.advance(now);
        let problem = self.registry.open(&spec.problem).map_err(|error| CallError::Invalid(error.to_string()))?;
        // One worker has nobody to keep a copy for it; with none yet there, more than one may come.
        let alone = self.common.workers.values().filter(|worker| worker.here).count() == 1;
        let limits = PlanLimits {
            task_memory_bytes: spec.task_memory_bytes,
            disk_bytes: spec.disk_bytes,
            residues_per_sweep: spec.residues_per_sweep,
            window: spec.window,
            slots: spec.slots,
            worker_slots: spec.worker_slots,
            second_copies: self.common.config.second_copies && !alone,
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
            notes: VecDeque::new(),
            disk_peak_bytes: 0,
            outcome: None,
        };
        let job = Job::new(id, record, Some(problem), self.common.now);
        self.common.store_meta(self.next_job);
        self.common.store_job(&job, true);
        self.jobs.insert(id, job);
        self.common.work_changed();
        Ok(id)
    }

    /// A number that tells this job's runs from all others'.
    fn tag(&mut self, id: JobId, identity: &str) -> u64 {
        let mut tag = self.common.random() ^ id.0;
        for byte in identity.bytes() {
            tag = split_mix(&mut tag) ^ u64::from(byte);
        }
        split_mix(&mut tag)
    }

    /// Stops granting a job's tasks; what is under way is finished and kept.
    pub fn pause(&mut self, now: Millis, id: JobId) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        if job.is_over() {
            return Err(wrong_state(job, "only a queued or running job can be paused"));
        }
        if job.record.state != State::Paused {
            job.pause(&mut self.common, "paused by the user".into());
        }
        Ok(())
    }

    /// Goes on with a paused job; workers that were set aside are given another try.
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
            let problem = crate::store::restore::reopen(&*self.registry, &job.record).map_err(CallError::Invalid)?;
            job.problem = Some(problem);
        }
        job.forgive();
        job.record.state = if job.record.generation == 0 { State::Queued } else { State::Running };
        job.record.reason.clear();
        self.common.store_job(job, true);
        self.common.work_changed();
        Ok(())
    }

    /// Ends a job for good; its runs are deleted.
    pub fn cancel(&mut self, now: Millis, id: JobId) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        if job.is_over() {
            return Err(wrong_state(job, "it is over already"));
        }
        job.end(&mut self.common, State::Cancelled, "cancelled by the user".into());
        Ok(())
    }
}

fn wrong_state(job: &Job, why: &str) -> CallError {
    CallError::WrongState { job: job.id, state: job.record.state.to_string(), why: why.into() }
}
