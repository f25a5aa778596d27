//! The calls, over one connection that is made with the first of them.

use keima_cluster::{JobClient, service_url};
use keima_coordinator::{JobFilter, JobId, JobPage, JobStatus, Replan, State, Terms, TermsChange, WorkerStatus};

use crate::access::Access;
use crate::counted::Counted;
use crate::error::Error;
use crate::job::Job;
use crate::watch::Watch;

/// Where a coordinator listens unless it is told otherwise.
const COORDINATOR: &str = "http://127.0.0.1:7700";

/// A coordinator, as its users see it. Clones share the connection. Every call has a deadline of a minute at most.
#[derive(Clone)]
pub struct Client {
    calls: JobClient,
    url: String,
}

impl Client {
    /// A client in plain text, of a coordinator at `http://HOST:PORT` or `HOST:PORT`. Does not connect yet. Call it within a
    /// tokio runtime.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::with(url, &Access::default())
    }

    /// The same with what a coordinator at `https://HOST:PORT` asks for.
    pub fn with(url: &str, access: &Access) -> Result<Self, Error> {
        let url = service_url(url)?;
        Ok(Self { calls: JobClient::with(&url, &access.pass(&url)?)?, url })
    }

    /// The coordinator of `KEIMA_COORDINATOR`, else of port 7700 of this machine, with the credentials of [`Access::from_env`].
    /// The program's configuration file is not read.
    pub fn from_env() -> Result<Self, Error> {
        let url = std::env::var("KEIMA_COORDINATOR").ok().filter(|url| !url.trim().is_empty());
        Self::with(url.as_deref().unwrap_or(COORDINATOR), &Access::from_env())
    }

    /// The coordinator's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Submits a job. Never repeats that by itself: each submission is a job of its own.
    pub async fn submit(&self, job: &Job) -> Result<JobId, Error> {
        let workers = self.workers().await?;
        Ok(self.calls.submit_as(&job.spec(&workers), &job.terms).await?)
    }

    /// Goes on with a checkpoint of the coordinator's archive: its URL, or a job's folder in it. With `replan` the rest is
    /// planned anew, for the workers that are there or the limits in it.
    pub async fn resume_from(&self, checkpoint: &str, terms: &Terms, replan: Option<Replan>) -> Result<JobId, Error> {
        Ok(self.calls.resume_from(checkpoint, terms, replan).await?)
    }

    /// All jobs that are in the coordinator's store, without their values.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, Error> {
        Ok(self.calls.jobs().await?)
    }

    /// The jobs that a filter lets through, the newest first. Those that have left the store are listed with [`JobFilter::archived`];
    /// every other call that reads a job knows them as well. The coordinator cuts pages where they would get long;
    /// [`JobPage::next`] then says where the next one begins.
    pub async fn list(&self, filter: &JobFilter) -> Result<JobPage, Error> {
        Ok(self.calls.list(filter).await?)
    }

    /// Changes a job's priority or terms, at any time.
    pub async fn change(&self, job: JobId, change: &TermsChange) -> Result<(), Error> {
        Ok(self.calls.change(job, change).await?)
    }

    /// All workers that the coordinator knows.
    pub async fn workers(&self) -> Result<Vec<WorkerStatus>, Error> {
        Ok(self.calls.workers().await?)
    }

    /// A job as it is now, with its newest values, at most so many: what [`JobStatus::values_known`] counts may take many megabytes.
    pub async fn newest(&self, job: JobId, values: u32) -> Result<JobStatus, Error> {
        Ok(self.calls.newest(job, values).await?)
    }

    /// A job as it is now, with all its values.
    pub async fn status(&self, job: JobId) -> Result<JobStatus, Error> {
        Ok(self.calls.status(job).await?)
    }

    /// A job as it is now, and the evidence of a finished one: JSON in canonical form, for `keima verify` and others.
    pub async fn with_certificate(&self, job: JobId) -> Result<(JobStatus, Option<String>), Error> {
        Ok(self.calls.with_certificate(job).await?)
    }

    /// Stops granting tasks of a job. Running tasks finish and are kept.
    pub async fn pause(&self, job: JobId) -> Result<(), Error> {
        Ok(self.calls.pause(job).await?)
    }

    /// Goes on with a paused job.
    pub async fn resume(&self, job: JobId) -> Result<(), Error> {
        Ok(self.calls.resume(job).await?)
    }

    /// Ends a job and deletes its files.
    pub async fn cancel(&self, job: JobId) -> Result<(), Error> {
        Ok(self.calls.cancel(job).await?)
    }

    /// The result of a job that is done; [`Error::NotFinished`], [`Error::CheckFailed`] or [`Error::Cancelled`] otherwise.
    pub async fn result(&self, job: JobId) -> Result<Counted, Error> {
        Counted::of(self.status(job).await?)
    }

    /// A job's status now and after each change, until it is over. Each has the values that are new.
    pub fn watch(&self, job: JobId) -> Watch {
        Watch::new(self.calls.clone(), job)
    }

    /// Waits until a job is over and returns its result. `tokio::time::timeout` limits the wait; the job then keeps running.
    pub async fn wait(&self, job: JobId) -> Result<Counted, Error> {
        let mut watch = self.watch(job);
        let mut last = None;
        while let Some(status) = watch.next().await? {
            last = Some(status);
        }
        match last {
            // It has the newest values only.
            Some(status) if status.state != State::Done => Counted::of(status),
            _ => self.result(job).await,
        }
    }
}
