//! Jobs that leave the store, and reading jobs wherever they are: in the store, else in the folder of those that have left it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use keima_coordinator::{
    CallError, Coordinator, EndedJob, JobFilter, JobId, JobPage, JobStatus, JobView, Millis, ValuePage,
};

use super::CoordinatorHandle;
use super::handle::Inner;
use crate::store::ended::{EndedError, EndedFolder};
use crate::transport::link::LinkError;
use crate::world;

/// Wait before the next try to write a job's file.
const TRY_AGAIN: Duration = Duration::from_mins(1);

/// A job that is read in several calls. It may leave the store between two of them.
pub(crate) struct Reading {
    handle: CoordinatorHandle,
    job: JobId,
    /// Whole, once it was not in the store.
    ended: Option<Box<EndedJob>>,
}

impl Reading {
    /// Asks the store, else `kept` asks the file, which is read once.
    async fn ask<T>(
        &mut self,
        stored: impl FnOnce(&mut Coordinator, Millis, JobId) -> Result<T, CallError>,
        kept: impl FnOnce(&EndedJob) -> T,
    ) -> Result<T, LinkError> {
        let job = self.job;
        if self.ended.is_none() {
            match self.handle.event(|machine, now| stored(machine, now, job)).await? {
                Err(CallError::NoSuchJob(_)) => {}
                answer => return Ok(answer?),
            }
            let found = self.handle.inner.of_ended(move |folder| folder.read(job)).await?;
            self.ended = Some(Box::new(found.ok_or(CallError::NoSuchJob(job))?));
        }
        self.ended.as_deref().map(kept).ok_or(LinkError::Call(CallError::NoSuchJob(job)))
    }

    /// The job without its values.
    pub(crate) async fn brief(&mut self) -> Result<JobStatus, LinkError> {
        self.ask(Coordinator::brief, |job| brief(&job.view.status)).await
    }

    /// Its values from a number on.
    pub(crate) async fn values(&mut self, from: usize) -> Result<ValuePage, LinkError> {
        let page = |job: &EndedJob| ValuePage::of(job.view.status.values().iter().skip(from), from);
        self.ask(|machine, _, job| machine.values(job, from), page).await
    }

    /// Its certificate.
    pub(crate) async fn certificate(&mut self) -> Result<Option<String>, LinkError> {
        self.ask(|machine, _, job| machine.certificate(job), |job| job.certificate.clone()).await
    }
}

fn brief(status: &JobStatus) -> JobStatus {
    let mut status = status.clone();
    status.set_values(Vec::new());
    status
}

impl CoordinatorHandle {
    /// A job that is read in several calls.
    pub(crate) fn reading(&self, job: JobId) -> Reading {
        Reading { handle: self.clone(), job, ended: None }
    }
    /// One job, with all its values: many megabytes for thousands of shorter boards.
    pub async fn status(&self, job: JobId) -> Result<JobStatus, LinkError> {
        self.reading(job).ask(Coordinator::status, |job| job.view.status.clone()).await
    }
    /// One job, without its values.
    pub async fn brief(&self, job: JobId) -> Result<JobStatus, LinkError> {
        self.reading(job).brief().await
    }
    /// One job, with the values from number `known` on.
    pub async fn news(&self, job: JobId, known: usize) -> Result<JobStatus, LinkError> {
        let mut reading = self.reading(job);
        let mut status = reading.brief().await?;
        let (mut values, mut next) = (Vec::new(), Some(known));
        while let Some(from) = next {
            let mut page = reading.values(from).await?;
            values.append(&mut page.values);
            next = page.next;
        }
        if !values.is_empty() {
            status.set_values(values);
        }
        Ok(status)
    }
    /// A job's values from number `from` on, which counts from 0, in pages of about a megabyte.
    pub async fn values(&self, job: JobId, from: usize) -> Result<ValuePage, LinkError> {
        self.reading(job).values(from).await
    }
    /// The certificate of a finished job in canonical form, if it has one.
    pub async fn certificate(&self, job: JobId) -> Result<Option<String>, LinkError> {
        self.reading(job).certificate().await
    }
    /// One job as a page shows it, without its values.
    pub async fn view(&self, job: JobId) -> Result<JobView, LinkError> {
        let kept = |job: &EndedJob| JobView { status: brief(&job.view.status), ..job.view.clone() };
        self.reading(job).ask(Coordinator::view, kept).await
    }
    /// A part of the list of jobs: of those in the store, or of those that have left it.
    pub async fn list(&self, filter: &JobFilter) -> Result<JobPage, LinkError> {
        if !filter.archived {
            return self.event(|machine, _| machine.list(filter)).await;
        }
        let filter = filter.clone();
        self.inner.of_ended(move |folder| folder.list(&filter)).await
    }

    /// Changes a job. One that has left the store cannot be changed.
    pub(super) async fn steer(
        &self,
        job: JobId,
        change: impl FnOnce(&mut Coordinator, Millis) -> Result<(), CallError>,
    ) -> Result<(), LinkError> {
        let changed = self.event(change).await?;
        if changed == Err(CallError::NoSuchJob(job))
            && let Some(path) = self.inner.of_ended(move |folder| folder.file(job)).await?
        {
            let why = format!("nothing of it can be changed any more; all of it is in {}", path.display());
            return Err(CallError::WrongState { job, state: "over and archived".to_owned(), why }.into());
        }
        Ok(changed?)
    }
}

impl Inner {
    /// Runs `call` on the folder of ended jobs, on a thread that may wait for the disk.
    async fn of_ended<T: Send + 'static>(
        &self,
        call: impl FnOnce(&EndedFolder) -> Result<T, EndedError> + Send + 'static,
    ) -> Result<T, LinkError> {
        let folder = self.ended.clone();
        let done = world::blocking(move || call(&folder)).await;
        let done = done.map_err(|error| LinkError::Refused(format!("reading ended jobs failed: {error}")))?;
        done.map_err(|error| CallError::Invalid(error.to_string()).into())
    }

    /// Lets the jobs leave that are to leave, one after the other. Their files are durable before their records go.
    pub(super) async fn let_jobs_leave(self: Arc<Self>) {
        loop {
            let Ok((leaver, _)) = self.decide(Coordinator::leaver) else { return };
            let Some(leaver) = leaver else { break };
            let id = leaver.id();
            let written = self.of_ended(move |folder| folder.write(&leaver).map(|()| leaver)).await;
            match written {
                Ok(leaver) => {
                    tracing::info!(job = %id, file = leaver.file_name(), "a job that is over leaves the store");
                    if self.decide(|machine, now| machine.left(now, &leaver)).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(job = %id, %error, "a job that is over stays in the store");
                    let weak = Arc::downgrade(&self);
                    drop(self);
                    tokio::time::sleep(TRY_AGAIN).await;
                    if let Some(inner) = weak.upgrade() {
                        inner.leaving.store(false, Ordering::Relaxed);
                    }
                    return;
                }
            }
        }
        self.leaving.store(false, Ordering::Relaxed);
    }
}
