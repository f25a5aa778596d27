//! What users do with jobs that are there: pause, resume, cancel, change their terms.

use keima_orders::JobId;

use super::Coordinator;
use crate::api::{CallError, Millis, State};
use crate::job::{Job, reopen};
use crate::terms::TermsChange;

impl Coordinator {
    /// Stops granting a job's tasks; running tasks finish and are kept.
    pub fn pause(&mut self, now: Millis, id: JobId) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        if job.is_over() {
            return Err(wrong_state(job, "only a queued or running job can be paused"));
        }
        if job.record.state != State::Paused || job.record.waits || job.account.over_disk {
            job.account.over_disk = false;
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

    /// Changes a job's terms, while it is not over; of one that is over, its name, note and owner only.
    pub fn change(&mut self, now: Millis, id: JobId, change: &TermsChange) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        let steers = change.priority.is_some() || change.max_workers.is_some() || change.max_disk_bytes.is_some();
        if job.is_over() && steers {
            return Err(wrong_state(job, "only its name, note and owner can be changed"));
        }
        let terms = job.account.terms.after(change);
        terms.check()?;
        job.account.terms = terms;
        job.record.spec.priority = change.priority.unwrap_or(job.record.spec.priority);
        job.store(&mut self.fleet);
        job.look_after_disk_cap(&mut self.fleet);
        self.fleet.work_changed();
        Ok(())
    }

    /// Ends a job for good; its runs are deleted.
    pub fn cancel(&mut self, now: Millis, id: JobId) -> Result<(), CallError> {
        self.advance(now);
        let job = self.jobs.get_mut(&id).ok_or(CallError::NoSuchJob(id))?;
        if job.is_over() {
            return Err(wrong_state(job, "a job that is over cannot be cancelled"));
        }
        job.end(&mut self.fleet, State::Cancelled, "cancelled by the user".into());
        Ok(())
    }
}

fn wrong_state(job: &Job, why: &str) -> CallError {
    CallError::WrongState { job: job.id, state: job.record.state.to_string(), why: why.into() }
}
