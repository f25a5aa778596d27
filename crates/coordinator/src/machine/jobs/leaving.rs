//! Jobs that leave the store: those that are over for long, or are too many.
//!
//! ```text
//!   leaver    the job to leave next, whole; the caller makes its file (see `ended`) durable
//!   left      the file is there: the job's records go
//! ```
//!
//! A crash between the two leaves the job in both places. It leaves once more then, and its file is written anew. What is not in
//! the store any more is in its file; so no result is ever in neither. A job of many thousand stages stays, whatever is kept: see
//! `jobs`. Numbers of jobs are not used again.

use keima_orders::JobId;

use crate::api::Millis;
use crate::ended::EndedJob;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::machine::Coordinator;

impl Job {
    /// All that is known of it.
    fn ended(&self, fleet: &Fleet) -> EndedJob {
        let mut view = self.view(fleet, self.status(fleet));
        view.status.set_values(self.values().cloned().collect());
        EndedJob { view, certificate: self.certificate() }
    }

    /// Deletes its records.
    fn forget(self, fleet: &mut Fleet) {
        let journal = &mut fleet.journal;
        for (value, _) in self.functionals.residues() {
            journal.delete_value(self.id, value.sweep, value.functional);
        }
        for (&stage, _) in self.evidence.records() {
            journal.delete_evidence(self.id, stage);
        }
        journal.delete_job(self.id);
    }
}

impl Coordinator {
    /// The job that is to leave the store next, if one is.
    fn next_leaver(&self) -> Option<JobId> {
        let config = &self.fleet.config;
        let (ended, id) = self.jobs.first_leaver()?;
        let are_too_many = config.keep_jobs.is_some_and(|most| self.jobs.number_over() > most);
        // Of a job that an older version ended the moment is not known.
        let is_old = |keep: Millis| ended > 0 && self.fleet.now.saturating_sub(ended) >= keep;
        (are_too_many || config.keep_millis.is_some_and(is_old)).then_some(id)
    }

    /// Whether a job is to leave the store. Costs nothing.
    pub fn has_leaver(&self) -> bool {
        self.next_leaver().is_some()
    }

    /// The job that is to leave the store next, whole. Once its file is durable, [`Coordinator::left`] is to be called.
    pub fn leaver(&mut self, now: Millis) -> Option<EndedJob> {
        self.advance(now);
        let id = self.next_leaver()?;
        self.jobs.get(&id).map(|job| job.ended(&self.fleet))
    }

    /// The file of a job is durable: its records go, unless somebody has changed its terms meanwhile. Then it is to leave anew.
    pub fn left(&mut self, now: Millis, ended: &EndedJob) {
        self.advance(now);
        let id = ended.id();
        if self.jobs.get(&id).is_none_or(|job| !job.is_over() || job.account.terms != ended.view.status.account.terms) {
            return;
        }
        let Some(job) = self.jobs.remove_over(id) else { return };
        for name in &job.record.adopted {
            if let Some(jobs) = self.adopted.get_mut(name) {
                jobs.retain(|other| *other != id);
            }
        }
        self.adopted.retain(|_, jobs| !jobs.is_empty());
        job.forget(&mut self.fleet);
    }
}
