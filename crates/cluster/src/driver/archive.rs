//! The coordinator's dealings with the archive: what its machine wants there, and jobs that come from there.

use std::sync::Arc;

use keima_coordinator::{CallError, JobId, Publication, Replan, Terms};
use tracing::Instrument as _;

use super::CoordinatorHandle;
use super::handle::{Inner, MOST_SUBMISSIONS, Waiting};
use crate::spans;
use crate::transport::link::LinkError;

impl CoordinatorHandle {
    /// Goes on with the newest sound checkpoint that `from` names: the archive's URL if it has one job, or a job's folder in it.
    /// With `replan` its rest is planned anew.
    pub async fn resume_from(&self, from: &str, terms: Terms, replan: Option<Replan>) -> Result<JobId, LinkError> {
        terms.check()?;
        let archive = self.inner.archive.as_ref().ok_or_else(|| {
            let text = "this coordinator has no archive; start it with --archive URL, and its workers too";
            LinkError::Call(CallError::Invalid(text.to_owned()))
        })?;
        // Whoever waits counts as a submission.
        let waiting = Waiting::count(&self.inner);
        if waiting.number() > MOST_SUBMISSIONS {
            return Err(LinkError::NotNow(format!("{MOST_SUBMISSIONS} other submissions come first")));
        }
        let _one_at_a_time = self.inner.readings.lock().await;
        let limits = match replan {
            Some(wanted) => Some(self.inner.lock()?.coordinator.consider_rest(wanted)?),
            None => None,
        };
        let mut found =
            archive.find(from).await.map_err(|error| LinkError::Call(CallError::Invalid(error.to_string())))?;
        if let Some(limits) = limits {
            let registry = Arc::clone(&self.inner.registry);
            found = self.inner.plan(move || found.plan_anew(&limits, &*registry).map(|()| found)).await??;
        }
        Ok(self.event(|machine, now| machine.admit_checkpoint(now, found, terms)).await??)
    }
}

impl Inner {
    /// Puts a checkpoint into the archive, and tells the machine.
    pub(super) async fn publish(&self, publication: Publication) {
        let about = spans::about_job(publication.job);
        self.publish_inside(publication).instrument(about).await;
    }

    async fn publish_inside(&self, mut publication: Publication) {
        let bytes = std::mem::take(&mut publication.bytes);
        let published = match &self.archive {
            Some(archive) => archive.publish(&publication.name, bytes).await.map_err(|error| error.to_string()),
            None => Err("this coordinator has no archive".to_owned()),
        };
        match &published {
            Ok(()) => tracing::info!(name = publication.name, "checkpoint in the archive"),
            Err(error) => tracing::warn!(name = publication.name, error, "a checkpoint was not published"),
        }
        // Nobody waits for it.
        let _ = self.decide(|machine, now| machine.published(now, &publication, published));
    }

    /// Removes the folder of a job that is over from the archive. What is left after a failure is a person's to delete.
    pub(super) async fn remove_archived(&self, job: JobId, folder: &str) {
        let Some(archive) = &self.archive else { return };
        if let Err(error) = archive.remove(folder).await {
            tracing::warn!(%job, folder, %error, "cannot remove the folder of a job that is over from the archive");
        }
    }
}
