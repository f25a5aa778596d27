//! Grants and reports: who may do what, until when, and what becomes of it.
//!
//! ```text
//!   pending --pull--> leased --report Done--> committed
//!      ^                |  \--report Failed--\
//!      +---- deadline --+---------------------+
//! ```
//!
//! All leases stand in one table by attempt. A report is taken only from the attempt's own worker with the attempt's
//! own nonce while the lease lives; told twice, it is answered twice the same way.

use keima_orders::{AttemptId, JobId, WorkerId};

use super::Coordinator;
use crate::api::{CallError, Grant, Housekeeping, Millis, Report, Verdict, Wanted, Work};
use crate::fleet::Common;

/// Tasks that a worker may have for each of its slots: one that is at work, and one whose runs are on their way to stable
/// storage.
pub(crate) const LEASES_PER_SLOT: usize = 2;

/// A living grant.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) nonce: u64,
    pub(crate) worker: WorkerId,
    pub(crate) granted: Millis,
    pub(crate) deadline: Millis,
    pub(crate) states_done: u64,
    /// Whether it is a second copy rather than a task of a stage.
    pub(crate) copy: bool,
}

impl Common {
    /// Makes out a grant.
    pub(crate) fn grant(&mut self, attempt: AttemptId, worker: &WorkerId, work: Work) -> Grant {
        let nonce = self.random();
        let lease_millis = self.config.lease_millis;
        let lease = Lease {
            nonce,
            worker: worker.clone(),
            granted: self.now,
            deadline: self.now.saturating_add(lease_millis),
            states_done: 0,
            copy: matches!(work, Work::Copy(_)),
        };
        self.store_grant(attempt, &lease);
        self.leases.insert(attempt, lease);
        Grant { attempt, nonce, lease_millis, work }
    }
}

impl Coordinator {
    /// A worker asks for work, a task when it has a slot for one. `None` means that there is none for it now;
    /// [`Coordinator::work_serial`] says when to ask again.
    ///
    /// A copy is bound by network and disk, and keeps a boundary from going: a worker makes one beside its tasks.
    pub fn pull(&mut self, now: Millis, id: &WorkerId, epoch: u64, wanted: Wanted) -> Result<Option<Grant>, CallError> {
        self.advance(now);
        self.introduced(id, epoch)?;
        let slots = self.common.workers.get(id).map_or(0, |w| w.slots) as usize;
        let (most, copy) = match wanted {
            Wanted::Task => (slots.saturating_mul(LEASES_PER_SLOT), false),
            Wanted::Copy => (1, true),
        };
        if self.common.attempts_on(id).filter(|(_, lease)| lease.copy == copy).count() >= most {
            return Ok(None);
        }
        let order = self.by_priority();
        if copy {
            return Ok(self.first_of(&order, |job, common| job.grant_copy(common, id)));
        }
        if let Some(grant) = self.first_of(&order, |job, common| job.grant_task(common, id)) {
            return Ok(Some(grant));
        }
        Ok(self.first_of(&order, |job, common| job.grant_again(common, id)))
    }

    /// Jobs that want work, the first in line first.
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
        mut grant: impl FnMut(&mut crate::job::Job, &mut Common) -> Option<Grant>,
    ) -> Option<Grant> {
        order.iter().find_map(|id| grant(self.jobs.get_mut(id)?, &mut self.common))
    }

    /// A worker tells how an attempt ended.
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
            job.look_after(&mut self.common);
        }
        Ok((verdict, self.housekeeping(id)))
    }

    fn take_report(&mut self, id: &WorkerId, attempt: AttemptId, nonce: u64, report: Report) -> Verdict {
        let refused = |reason: &str| Verdict::Refused { reason: format!("{attempt}: {reason}") };
        let Some(job) = self.jobs.get_mut(&attempt.job) else { return refused("there is no such job") };
        let common = &mut self.common;
        let lease = common.leases.get(&attempt).filter(|l| l.worker == *id && l.nonce == nonce);
        let Some(copy) = lease.map(|l| l.copy) else {
            let told_again = matches!(report, Report::Done(_)) && job.has_committed(attempt, nonce, id);
            return if told_again { Verdict::Accepted } else { refused("the lease has ended, or was never given") };
        };
        match (report, copy) {
            (Report::Done(manifest), false) => job.commit(common, attempt, *manifest),
            (Report::Done(manifest), true) => job.commit_copy(common, attempt, &manifest),
            (Report::Failed(failure), _) => {
                job.fail(common, attempt, failure);
                Verdict::Accepted
            }
        }
    }

    /// Takes an attempt away from its worker: the task is pending again.
    pub(crate) fn drop_attempt(&mut self, attempt: AttemptId, abandon: bool) {
        self.common.end_lease(attempt, abandon);
        if let Some(job) = self.jobs.get_mut(&attempt.job) {
            job.back_to_pending(attempt, &self.common);
        }
    }

    /// Leases whose deadline has passed end.
    pub(crate) fn expire_leases(&mut self) {
        let now = self.common.now;
        let expired: Vec<AttemptId> =
            self.common.leases.iter().filter(|(_, lease)| lease.deadline <= now).map(|(id, _)| *id).collect();
        for attempt in expired {
            self.drop_attempt(attempt, true);
        }
    }
}
