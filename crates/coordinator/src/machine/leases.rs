//! Grants and reports: who may do which task, and until when.
//!
//! ```text
//!   pending --pull--> leased --report Done--> committed
//!      ^                |  \--report Failed--\
//!      +---- deadline --+---------------------+
//! ```
//!
//! A report counts only if it comes from the attempt's own worker, with the attempt's own nonce, while the lease lives. A
//! repeated report gets the same answer.

use keima_orders::{AttemptId, JobId, WorkerId};

use super::Coordinator;
use crate::api::{CallError, Grant, Housekeeping, Millis, Report, Verdict, Wanted};
use crate::fleet::Fleet;
use crate::fleet::lease::LEASES_PER_SLOT;
use crate::job::Job;

impl Coordinator {
    /// A worker asks for a task, or for a second copy to make. `None` means that there is none for it now;
    /// [`Coordinator::work_serial`] says when to ask again.
    ///
    /// A copy mostly waits for network and disk, and it keeps a boundary from going: a worker makes one beside its tasks.
    pub fn pull(&mut self, now: Millis, id: &WorkerId, epoch: u64, wanted: Wanted) -> Result<Option<Grant>, CallError> {
        self.advance(now);
        self.introduced(id, epoch)?;
        let slots = self.fleet.workers.get(id).map_or(0, |w| w.slots) as usize;
        let (most, copy) = match wanted {
            Wanted::Task => (slots.saturating_mul(LEASES_PER_SLOT), false),
            Wanted::Copy => (1, true),
        };
        if self.fleet.attempts_on(id).filter(|(_, lease)| lease.copy == copy).count() >= most {
            return Ok(None);
        }
        let order = self.by_priority();
        if copy {
            return Ok(self.first_of(&order, |job, fleet| job.grant_copy(fleet, id)));
        }
        if let Some(grant) = self.first_of(&order, |job, fleet| job.grant_task(fleet, id)) {
            return Ok(Some(grant));
        }
        Ok(self.first_of(&order, |job, fleet| job.grant_again(fleet, id)))
    }

    /// Jobs that want work, by priority, then by number.
    fn by_priority(&self) -> Vec<JobId> {
        let mut order: Vec<_> = self
            .jobs
            .values()
            .filter(|job| job.is_live())
            .map(|j| (-i64::from(j.record.spec.priority), j.id))
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    fn first_of(
        &mut self,
        order: &[JobId],
        mut grant: impl FnMut(&mut Job, &mut Fleet) -> Option<Grant>,
    ) -> Option<Grant> {
        order.iter().find_map(|id| grant(self.jobs.get_mut(id)?, &mut self.fleet))
    }

    /// A worker reports the end of an attempt.
    pub fn report(
        &mut self,
        now: Millis,
        id: &WorkerId,
        epoch: u64,
        attempt: AttemptId,
        nonce: u64,
        report: Report,
    ) -> Result<(Verdict, Housekeeping), CallError> {
        self.advance(now);
        self.introduced(id, epoch)?;
        let verdict = self.take_report(id, attempt, nonce, report);
        if let Some(job) = self.jobs.get_mut(&attempt.job) {
            job.look_after(&mut self.fleet);
        }
        Ok((verdict, self.housekeeping(id)))
    }

    fn take_report(&mut self, id: &WorkerId, attempt: AttemptId, nonce: u64, report: Report) -> Verdict {
        let refused = |reason: &str| Verdict::Refused { reason: format!("{attempt}: {reason}") };
        let Some(job) = self.jobs.get_mut(&attempt.job) else { return refused("there is no such job") };
        let fleet = &mut self.fleet;
        let lease = fleet.leases.get(&attempt).filter(|l| l.worker == *id && l.nonce == nonce);
        let Some(copy) = lease.map(|l| l.copy) else {
            let told_again = matches!(report, Report::Done(_)) && job.has_committed(attempt, nonce, id);
            return if told_again { Verdict::Accepted } else { refused("the lease has ended, or was never given") };
        };
        match (report, copy) {
            (Report::Done(manifest), false) => job.commit(fleet, attempt, *manifest),
            (Report::Done(manifest), true) => job.commit_copy(fleet, attempt, &manifest),
            (Report::Failed(failure), _) => {
                job.fail(fleet, attempt, failure);
                Verdict::Accepted
            }
        }
    }

    /// Ends an attempt's lease: the task is pending again. With `abandon`, its worker is told to stop.
    pub(crate) fn drop_attempt(&mut self, attempt: AttemptId, abandon: bool) {
        self.fleet.end_lease(attempt, abandon);
        if let Some(job) = self.jobs.get_mut(&attempt.job) {
            job.back_to_pending(attempt, &self.fleet);
        }
    }

    /// Leases whose deadline has passed end.
    pub(crate) fn expire_leases(&mut self) {
        let now = self.fleet.now;
        let expired: Vec<AttemptId> =
            self.fleet.leases.iter().filter(|(_, lease)| lease.deadline <= now).map(|(id, _)| *id).collect();
        for attempt in expired {
            self.drop_attempt(attempt, true);
        }
    }
}
