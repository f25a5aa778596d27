//! The user's client of a coordinator over gRPC.
//!
//! No call is repeated by itself. An error of a coordinator that cannot be reached says how to start one.

use std::time::Duration;

use keima_coordinator::{JobFilter, JobId, JobPage, JobSpec, JobStatus, Replan, Terms, TermsChange, WorkerStatus};
use keima_wire::v1;
use keima_wire::v1::job_service_client::JobServiceClient;
use prost::Message as _;
use tonic::{Response, Status, Streaming};

use super::client::{LONG_DEADLINE, channel, within};
use super::pieces::{self, Joined, Pieces, Watched};
use super::{ANSWER_BYTES, About, PIECE_BYTES, from_status};
use crate::PROTOCOL_VERSION;
use crate::access::calls::REQUEST_BYTES;
use crate::access::pass::{GuardedChannel, Pass};
use crate::transport::convert::{Wire, list_from, list_to};
use crate::transport::link::LinkError;

/// Most bytes of one list of jobs, all its pages together: a job takes 1 to 4 kB.
const MOST_LIST_BYTES: usize = 1 << 30;

/// A user's connection to the coordinator.
#[derive(Clone)]
pub struct JobClient {
    address: String,
    client: JobServiceClient<GuardedChannel>,
}

/// Adds advice for the user.
fn advise(error: LinkError) -> LinkError {
    match error {
        LinkError::Unreachable { address, text } => {
            let text = format!(
                "{text}; is the coordinator running? start it with `keima coordinator --listen IP:PORT --data DIR`, \
                 and name its address with --coordinator URL or KEIMA_COORDINATOR"
            );
            LinkError::Unreachable { address, text }
        }
        other => other,
    }
}

impl JobClient {
    /// A client in plain text of the coordinator at `address`. Does not connect yet. Call it within a tokio runtime.
    pub fn new(address: &str) -> Result<Self, LinkError> {
        Self::with(address, &Pass::none())
    }

    /// The same with what the coordinator asks for.
    pub fn with(address: &str, pass: &Pass) -> Result<Self, LinkError> {
        let client = JobServiceClient::new(channel(address, pass)?)
            .max_decoding_message_size(PIECE_BYTES)
            .max_encoding_message_size(REQUEST_BYTES);
        Ok(Self { address: address.to_owned(), client })
    }

    async fn call<T>(
        &self,
        about: About<'_>,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, LinkError> {
        within(&self.address, about, LONG_DEADLINE, call).await.map_err(advise)
    }

    /// Submits a job.
    pub async fn submit(&self, spec: &JobSpec) -> Result<JobId, LinkError> {
        self.submit_as(spec, &Terms::default()).await
    }

    /// Submits a job under terms.
    pub async fn submit_as(&self, spec: &JobSpec, terms: &Terms) -> Result<JobId, LinkError> {
        let request = v1::SubmitJobRequest {
            protocol_version: PROTOCOL_VERSION,
            spec: Some(spec.to_wire()),
            terms: Some(terms.to_wire()),
            ..Default::default()
        };
        let mut client = self.client.clone();
        Ok(JobId(self.call(About::Nothing, client.submit_job(request)).await?.job))
    }

    /// Goes on with a checkpoint of the coordinator's archive: its URL, or a job's folder in it. With `replan` the rest is
    /// planned anew.
    pub async fn resume_from(&self, from: &str, terms: &Terms, replan: Option<Replan>) -> Result<JobId, LinkError> {
        let to_wire = |Replan { task_memory_bytes, disk_bytes }| v1::Replan { task_memory_bytes, disk_bytes };
        let request = v1::SubmitJobRequest {
            protocol_version: PROTOCOL_VERSION,
            spec: None,
            resume_from: from.to_owned(),
            terms: Some(terms.to_wire()),
            replan: replan.map(to_wire),
        };
        let mut client = self.client.clone();
        Ok(JobId(self.call(About::Nothing, client.submit_job(request)).await?.job))
    }

    /// All jobs, the newest first.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, LinkError> {
        Ok(self.list(&JobFilter::default()).await?.jobs)
    }

    /// The jobs that a filter lets through, the newest first: `limit` of them, or all where it is 0. The coordinator cuts its
    /// answers where they would get long; they are put together here.
    pub async fn list(&self, filter: &JobFilter) -> Result<JobPage, LinkError> {
        let (mut left, mut all, mut bytes) = (filter.clone(), JobPage::default(), 0);
        loop {
            let (page, length) = self.page(&left).await?;
            bytes += length;
            pieces::within("a list of jobs", "bytes", MOST_LIST_BYTES, bytes)?;
            if left.limit > 0 {
                pieces::within("a list of jobs", "jobs", left.limit, page.jobs.len())?;
            }
            all.jobs.extend(page.jobs);
            // A list goes on with older jobs, or ends.
            all.next = page.next.filter(|next| left.after.is_none_or(|after| *next < after));
            left.after = all.next;
            left.limit = filter.limit.saturating_sub(all.jobs.len());
            if all.next.is_none() || filter.limit > 0 && left.limit == 0 {
                return Ok(all);
            }
        }
    }

    /// One answer, and its length.
    async fn page(&self, filter: &JobFilter) -> Result<(JobPage, usize), LinkError> {
        let JobFilter { states, owner, name, since, after, limit, archived } = filter;
        let request = v1::ListJobsRequest {
            protocol_version: PROTOCOL_VERSION,
            states: list_to(states),
            owner: owner.clone(),
            name: name.clone(),
            since_millis: *since,
            after: after.map(|job| job.0),
            limit: u32::try_from(*limit).unwrap_or(0),
            archived: *archived,
        };
        let mut client = self.client.clone();
        let answer = self.call(About::Nothing, client.list_jobs(request)).await?;
        let length = answer.encoded_len();
        Ok((JobPage { jobs: list_from(answer.jobs)?, next: answer.next.map(JobId) }, length))
    }

    /// Changes a job's terms.
    pub async fn change(&self, job: JobId, change: &TermsChange) -> Result<(), LinkError> {
        let TermsChange { priority, name, note, owner, max_workers, max_disk_bytes } = change.clone();
        let request = v1::ChangeJobRequest {
            protocol_version: PROTOCOL_VERSION,
            job: job.0,
            priority,
            name,
            note,
            owner,
            max_workers,
            max_disk_bytes,
        };
        let mut client = self.client.clone();
        self.call(About::Job(job), client.change_job(request)).await.map(drop)
    }

    /// One job with its newest values, at most so many.
    pub async fn newest(&self, job: JobId, values: u32) -> Result<JobStatus, LinkError> {
        Ok(self.get(job, values, false).await?.0)
    }

    /// One job with all its values.
    pub async fn status(&self, job: JobId) -> Result<JobStatus, LinkError> {
        self.newest(job, u32::MAX).await
    }

    /// One job with all its values and its certificate, if it has one: JSON in canonical form.
    pub async fn with_certificate(&self, job: JobId) -> Result<(JobStatus, Option<String>), LinkError> {
        self.get(job, u32::MAX, true).await
    }

    /// Reads a job, in pieces: each of them has a deadline.
    async fn get(
        &self,
        job: JobId,
        newest_values: u32,
        certificate: bool,
    ) -> Result<(JobStatus, Option<String>), LinkError> {
        let request = v1::GetJobRequest { protocol_version: PROTOCOL_VERSION, job: job.0, certificate, newest_values };
        let mut client = self.client.clone();
        let mut pieces = self.call(About::Job(job), client.get_job(request)).await?;
        let mut joined = Joined::of(Pieces { newest_values, certificate });
        while let Some(piece) = self.call(About::Job(job), next(&mut pieces)).await? {
            joined.add(piece)?;
        }
        Ok(joined.job()?)
    }

    /// All workers that the coordinator knows.
    pub async fn workers(&self) -> Result<Vec<WorkerStatus>, LinkError> {
        let request = v1::ListWorkersRequest { protocol_version: PROTOCOL_VERSION };
        let mut client = self.client.clone().max_decoding_message_size(ANSWER_BYTES);
        Ok(list_from(self.call(About::Nothing, client.list_workers(request)).await?.workers)?)
    }

    /// Stops granting tasks of a job.
    pub async fn pause(&self, job: JobId) -> Result<(), LinkError> {
        let request = v1::PauseJobRequest { protocol_version: PROTOCOL_VERSION, job: job.0 };
        let mut client = self.client.clone();
        self.call(About::Job(job), client.pause_job(request)).await.map(drop)
    }

    /// Resumes a paused job.
    pub async fn resume(&self, job: JobId) -> Result<(), LinkError> {
        let request = v1::ResumeJobRequest { protocol_version: PROTOCOL_VERSION, job: job.0 };
        let mut client = self.client.clone();
        self.call(About::Job(job), client.resume_job(request)).await.map(drop)
    }

    /// Cancels a job.
    pub async fn cancel(&self, job: JobId) -> Result<(), LinkError> {
        let request = v1::CancelJobRequest { protocol_version: PROTOCOL_VERSION, job: job.0 };
        let mut client = self.client.clone();
        self.call(About::Job(job), client.cancel_job(request)).await.map(drop)
    }

    /// Watches a job: yields its status now, and about every `interval` if it has changed. Its values are those that are new: the
    /// first `known` ones are left out.
    pub async fn watch(&self, job: JobId, interval: Duration, known: usize) -> Result<JobWatch, LinkError> {
        let interval_millis = u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
        let values_known = u32::try_from(known).unwrap_or(u32::MAX);
        let request =
            v1::WatchJobRequest { protocol_version: PROTOCOL_VERSION, job: job.0, interval_millis, values_known };
        let mut client = self.client.clone();
        let stream = self.call(About::Job(job), client.watch_job(request)).await?;
        Ok(JobWatch { address: self.address.clone(), job, stream, watched: Watched::default() })
    }
}

/// The statuses of a watched job.
pub struct JobWatch {
    address: String,
    job: JobId,
    stream: Streaming<v1::WatchJobResponse>,
    watched: Watched,
}

/// The next message of a stream, in the form of an answer.
async fn next<T>(stream: &mut Streaming<T>) -> Result<Response<Option<T>>, Status> {
    stream.message().await.map(Response::new)
}

impl JobWatch {
    /// The next status, with the values that are new: the newest of them, where they are long; `None` after the status of an
    /// ended job, or when the coordinator stops. May be dropped half-way.
    pub async fn next(&mut self) -> Result<Option<JobStatus>, LinkError> {
        loop {
            match self.stream.message().await {
                Ok(None) => return Ok(None),
                Ok(Some(message)) => {
                    if let Some(status) = self.watched.add(message)? {
                        return Ok(Some(status));
                    }
                }
                Err(status) => return Err(advise(from_status(&self.address, About::Job(self.job), &status))),
            }
        }
    }

    /// How many of the values that were new with the last status were left out, because they were older and long.
    pub const fn left_out(&self) -> usize {
        self.watched.left_out()
    }
}
