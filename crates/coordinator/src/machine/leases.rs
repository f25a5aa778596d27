//! Grants and reports: who may do which task, and until when.
//!
//! ```text
//!   pending --pull--> leased --report Done--> committed
//!      ^                |  \--report Failed--\
//!      +---- deadline --+---------------------+
//! ```
//!
//! The deadline moves while the attempt gets on, not only while its worker lives. A report counts only if it comes from the
//! attempt's own worker, with the attempt's own nonce, while the lease lives. A repeated report gets the same answer.

use keima_orders::{AttemptId, JobId, WorkerId};

use super::Coordinator;
use crate::api::{CallError, Grant, Housekeeping, Millis, Report, Verdict, Wanted};
use crate::fleet::Fleet;
use crate::fleet::lease::LEASES_PER_SLOT;
use crate::fleet::watched::{About, EventKind};
use crate::job::Job;

impl Coordinator {
    /// A worker asks for a task, or for a second copy to make. `None` means that there is none for it now;
    /// [`Coordinator::work_serial`] says when to ask again.
    ///
    /// A copy mostly waits for network and disk, and it keeps a boundary from going: a worker makes one beside its tasks.
    pub fn pull(&mut self, now: Millis, id: &WorkerId, epoch: u64, wanted: Wanted) -> Result<Option<Grant>, CallError> {
        self.advance(now);
        self.introduced(id, epoch)?;
        if self.is_settling {
            return Ok(None);
        }
        let worker = self.fleet.workers.get(id);
        let (moment, slots) = (self.fleet.moment(), worker.map_or(0, |w| w.slots) as usize);
        // Thousands of slots may wait, and each asks for itself.
        if wanted == Wanted::Task && worker.is_some_and(|w| w.in_vain == Some(moment)) {
            return Ok(None);
        }
        let (most, copy) = match wanted {
            Wanted::Task => (slots.saturating_mul(LEASES_PER_SLOT), false),
            Wanted::Copy => (1, true),
        };
        if self.fleet.attempts_on(id).filter(|(_, is_copy)| *is_copy == copy).count() >= most {
            return Ok(None);
        }
        let order = self.in_order();
        if copy {
            // Another machine's copy is sooner made, and sooner there.
            let copy = self.first_of(&order, |job, fleet| job.grant_copy(fleet, id));
            return Ok(copy.or_else(|| self.first_of(&order, |job, fleet| job.grant_archive_work(fleet, id))));
        }
        if let Some(grant) = self.first_of(&order, |job, fleet| job.grant_task(fleet, id)) {
            return Ok(Some(grant));
        }
        let again = self.first_of(&order, |job, fleet| job.grant_again(fleet, id));
        if let Some(worker) = self.fleet.workers.get_mut(id).filter(|_| again.is_none()) {
            worker.in_vain = Some(moment);
        }
        Ok(again)
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
        let is_done = matches!(report, Report::Done(_));
        let verdict = self.take_report(id, attempt, nonce, report);
        // What a finished task brings about is handled with it; the rest is the next tick's. Failures are handled at once.
        let went_well = is_done && verdict == Verdict::Accepted;
        if let Some(job) = self.jobs.get_mut(&attempt.job).filter(|_| !went_well) {
            job.look_after(&mut self.fleet);
            self.fleet.work_changed();
        }
        Ok((verdict, self.news_for(id)))
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
            (Report::Done(manifest), true) if job.archive.round_of(attempt.generation).is_some() => {
                job.commit_archive_work(fleet, attempt, &manifest)
            }
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
            job.record.totals.failed_attempts += 1;
            job.back_to_pending(attempt, &self.fleet);
        }
        self.fleet.work_changed();
    }

    /// Leases whose deadline has passed end. A worker that is here, and whose attempt did not get on, hangs.
    pub(crate) fn expire_leases(&mut self) {
        let now = self.fleet.now;
        let expired = self.fleet.leases.iter().filter(|(_, lease)| lease.deadline <= now);
        let expired: Vec<(AttemptId, WorkerId)> = expired.map(|(id, lease)| (*id, lease.worker.clone())).collect();
        for (attempt, worker) in expired {
            let hangs = self.fleet.is_here(&worker) && self.fleet.has_stalled(attempt);
            let why = if hangs { "its worker lives, but it does not get on" } else { "its worker is silent" };
            self.fleet.tell(EventKind::LeaseExpired, About::attempt(attempt, &worker), why);
            self.drop_attempt(attempt, true);
            if let Some(job) = self.jobs.get_mut(&attempt.job).filter(|_| hangs) {
                job.stalled(&self.fleet, attempt, &worker);
            }
        }
    }
}
