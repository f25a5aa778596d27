//! The coordinator's clients over gRPC: [`GrpcLink`] for a worker, [`JobClient`] for a user.
//!
//! Both keep one connection. The first call connects, and so does the first call after the connection broke. The caller
//! decides how often to try (`Backoff`). Every call has a deadline.

use std::path::Path;
use std::time::Duration;

use keima_coordinator::{
    AttemptId, Grant, Hello, Housekeeping, JobFilter, JobId, JobPage, JobSpec, JobStatus, Report, Running, Terms,
    TermsChange, Verdict, Wanted, Welcome, WorkerId, WorkerStatus,
};
use keima_runs::RunId;
use keima_wire::v1;
use keima_wire::v1::coordinator_service_client::CoordinatorServiceClient;
use keima_wire::v1::job_service_client::JobServiceClient;
use tonic::transport::Endpoint;
use tonic::{Response, Status, Streaming};

use super::{ANSWER_BYTES, About, from_status};
use crate::PROTOCOL_VERSION;
use crate::access::calls::{MESSAGE_BYTES, REQUEST_BYTES};
use crate::access::pass::{GuardedChannel, Pass};
use crate::driver::PULL_WAIT;
use crate::transport::convert::pages::{heartbeat_pages, hello_pages, report_pages};
use crate::transport::convert::{Wire, list_from, list_to, required};
use crate::transport::link::{CoordinatorLink, LinkError};

/// Deadline of a call that is answered at once.
const DEADLINE: Duration = Duration::from_secs(15);
/// Deadline of a call that may wait for a slow disk, such as a report or a submission.
const LONG_DEADLINE: Duration = Duration::from_mins(1);

/// The URL of a service that is named by `https://HOST:PORT`, `http://HOST:PORT`, or `HOST:PORT` for `http://`. Refuses
/// every other scheme.
pub fn service_url(address: &str) -> Result<String, LinkError> {
    let address = address.trim();
    let (scheme, rest) = match address.split_once("://") {
        None => ("http", address),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => ("http", rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => ("https", rest),
        Some((scheme, rest)) => {
            return Err(LinkError::Refused(format!(
                "{address:?}: there is no {scheme}://; write https://{rest} for TLS, or http://{rest} for plain text"
            )));
        }
    };
    if rest.trim_matches('/').is_empty() {
        return Err(LinkError::Refused(format!(
            "{address:?} names no host; expected HOST:PORT, http://HOST:PORT or https://HOST:PORT, for example \
             https://10.0.0.7:7700"
        )));
    }
    Ok(format!("{scheme}://{rest}"))
}

fn endpoint(address: &str) -> Result<Endpoint, LinkError> {
    let with_scheme = service_url(address)?;
    let endpoint = Endpoint::from_shared(with_scheme).map_err(|e| {
        LinkError::Refused(format!(
            "{address:?} is not the address of a coordinator ({e}); expected for example http://10.0.0.7:7700"
        ))
    })?;
    Ok(endpoint
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true)
        .tcp_nodelay(true))
}

/// A channel to the service at `address`.
fn channel(address: &str, pass: &Pass) -> Result<GuardedChannel, LinkError> {
    pass.channel(&endpoint(address)?, Path::new(""), address).ok_or_else(|| {
        LinkError::Refused(format!(
            "{address}: https:// needs a fingerprint or a CA (--fingerprint, --tls-ca) and a token (--token-file), and \
             http:// takes none of them"
        ))
    })
}

/// Waits for an answer until the deadline.
async fn within<T>(
    address: &str,
    about: About<'_>,
    deadline: Duration,
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, LinkError> {
    match tokio::time::timeout(deadline, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(from_status(address, about, &status)),
        Err(_) => {
            let text = format!("no answer within {} s", deadline.as_secs());
            Err(LinkError::Unreachable { address: address.to_owned(), text })
        }
    }
}

/// A worker's connection to its coordinator.
#[derive(Clone)]
pub struct GrpcLink {
    address: String,
    client: CoordinatorServiceClient<GuardedChannel>,
}

impl GrpcLink {
    /// A link in plain text to the coordinator at `address` (`http://10.0.0.7:7701`, or without `http://`). Does not connect
    /// yet. Call it within a tokio runtime.
    pub fn new(address: &str) -> Result<Self, LinkError> {
        Self::with(address, &Pass::none())
    }

    /// The same with what the coordinator asks for.
    pub fn with(address: &str, pass: &Pass) -> Result<Self, LinkError> {
        let client = CoordinatorServiceClient::new(channel(address, pass)?)
            .max_decoding_message_size(ANSWER_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES);
        Ok(Self { address: address.to_owned(), client })
    }
}

impl CoordinatorLink for GrpcLink {
    async fn hello(&self, hello: Hello) -> Result<Welcome, LinkError> {
        let mut client = self.client.clone();
        let about = About::Worker(&hello.holder.worker);
        let call = client.say_hello(tokio_stream::iter(hello_pages(hello.to_wire())));
        let answer = within(&self.address, about, LONG_DEADLINE, call).await?;
        Ok(Welcome::from_wire(answer)?)
    }

    async fn heartbeat(
        &self,
        worker: &WorkerId,
        epoch: u64,
        running: Vec<Running>,
        held: Vec<RunId>,
        disk_used_bytes: u64,
    ) -> Result<Housekeeping, LinkError> {
        let request = v1::HeartbeatRequest {
            worker: worker.0.clone(),
            epoch,
            running: list_to(&running),
            held: held.into_iter().map(|run| run.0).collect(),
            disk_used_bytes,
        };
        let mut client = self.client.clone();
        let call = client.heartbeat(tokio_stream::iter(heartbeat_pages(request)));
        let answer = within(&self.address, About::Worker(worker), DEADLINE, call).await?;
        Ok(answer.housekeeping.map_or_else(|| Ok(Housekeeping::default()), Housekeeping::from_wire)?)
    }

    async fn pull(&self, worker: &WorkerId, epoch: u64, wanted: Wanted) -> Result<Option<Grant>, LinkError> {
        let request = v1::PullTaskRequest { worker: worker.0.clone(), epoch, copy: wanted == Wanted::Copy };
        let mut client = self.client.clone();
        let deadline = PULL_WAIT + DEADLINE;
        let answer = within(&self.address, About::Worker(worker), deadline, client.pull_task(request)).await?;
        Ok(answer.grant.map(Grant::from_wire).transpose()?)
    }

    async fn report(
        &self,
        worker: &WorkerId,
        epoch: u64,
        attempt: AttemptId,
        nonce: u64,
        report: Report,
    ) -> Result<(Verdict, Housekeeping), LinkError> {
        let request = v1::ReportTaskRequest {
            worker: worker.0.clone(),
            epoch,
            attempt: Some(attempt.to_wire()),
            nonce,
            report: Some(report.to_wire()),
        };
        let mut client = self.client.clone();
        let call = client.report_task(tokio_stream::iter(report_pages(request)));
        let answer = within(&self.address, About::Worker(worker), LONG_DEADLINE, call).await?;
        Ok(Wire::from_wire(answer)?)
    }

    async fn goodbye(&self, worker: &WorkerId, epoch: u64) -> Result<(), LinkError> {
        let request = v1::SayGoodbyeRequest { worker: worker.0.clone(), epoch };
        let mut client = self.client.clone();
        within(&self.address, About::Worker(worker), DEADLINE, client.say_goodbye(request)).await?;
        Ok(())
    }
}

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
                "{text}; is the coordinator running? start it with `keima coordinator --listen HOST:PORT --data DIR`, \
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
            .max_decoding_message_size(ANSWER_BYTES)
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
            resume_from: String::new(),
            terms: Some(terms.to_wire()),
        };
        let mut client = self.client.clone();
        Ok(JobId(self.call(About::Nothing, client.submit_job(request)).await?.job))
    }

    /// Goes on with a checkpoint of the coordinator's archive: its URL, or a job's folder in it.
    pub async fn resume_from(&self, from: &str, terms: &Terms) -> Result<JobId, LinkError> {
        let resume_from = from.to_owned();
        let terms = Some(terms.to_wire());
        let request = v1::SubmitJobRequest { protocol_version: PROTOCOL_VERSION, spec: None, resume_from, terms };
        let mut client = self.client.clone();
        Ok(JobId(self.call(About::Nothing, client.submit_job(request)).await?.job))
    }

    /// All jobs, the newest first.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, LinkError> {
        let (mut filter, mut jobs) = (JobFilter::default(), Vec::new());
        loop {
            let page = self.list(&filter).await?;
            jobs.extend(page.jobs);
            let Some(next) = page.next.filter(|next| filter.after.is_none_or(|after| *next < after)) else {
                return Ok(jobs);
            };
            filter.after = Some(next);
        }
    }

    /// A part of the list of jobs, the newest first.
    pub async fn list(&self, filter: &JobFilter) -> Result<JobPage, LinkError> {
        let JobFilter { states, owner, name, since, after, limit } = filter;
        let request = v1::ListJobsRequest {
            protocol_version: PROTOCOL_VERSION,
            states: list_to(states),
            owner: owner.clone(),
            name: name.clone(),
            since_millis: *since,
            after: after.map(|job| job.0),
            limit: u32::try_from(*limit).unwrap_or(0),
        };
        let mut client = self.client.clone();
        let answer = self.call(About::Nothing, client.list_jobs(request)).await?;
        Ok(JobPage { jobs: list_from(answer.jobs)?, next: answer.next.map(JobId) })
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

    /// One job.
    pub async fn status(&self, job: JobId) -> Result<JobStatus, LinkError> {
        Ok(self.get(job, false).await?.0)
    }

    /// One job with its certificate, if it has one: JSON in canonical form.
    pub async fn with_certificate(&self, job: JobId) -> Result<(JobStatus, Option<String>), LinkError> {
        self.get(job, true).await
    }

    async fn get(&self, job: JobId, certificate: bool) -> Result<(JobStatus, Option<String>), LinkError> {
        let request = v1::GetJobRequest { protocol_version: PROTOCOL_VERSION, job: job.0, certificate };
        let mut client = self.client.clone();
        let answer = self.call(About::Job(job), client.get_job(request)).await?;
        let status = JobStatus::from_wire(required("GetJobResponse.status", answer.status)?)?;
        Ok((status, answer.certificate))
    }

    /// All workers that the coordinator knows.
    pub async fn workers(&self) -> Result<Vec<WorkerStatus>, LinkError> {
        let request = v1::ListWorkersRequest { protocol_version: PROTOCOL_VERSION };
        let mut client = self.client.clone();
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

    /// Watches a job: yields its status now, and about every `interval` if it has changed.
    pub async fn watch(&self, job: JobId, interval: Duration) -> Result<JobWatch, LinkError> {
        let interval_millis = u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
        let request = v1::WatchJobRequest { protocol_version: PROTOCOL_VERSION, job: job.0, interval_millis };
        let mut client = self.client.clone();
        let stream = self.call(About::Job(job), client.watch_job(request)).await?;
        Ok(JobWatch { address: self.address.clone(), job, stream })
    }
}

/// The statuses of a watched job.
pub struct JobWatch {
    address: String,
    job: JobId,
    stream: Streaming<v1::WatchJobResponse>,
}

impl JobWatch {
    /// The next status; `None` after the status of an ended job, or when the coordinator stops.
    pub async fn next(&mut self) -> Result<Option<JobStatus>, LinkError> {
        match self.stream.message().await {
            Ok(None) => Ok(None),
            Ok(Some(message)) => Ok(Some(JobStatus::from_wire(required("WatchJobResponse.status", message.status)?)?)),
            Err(status) => Err(advise(from_status(&self.address, About::Job(self.job), &status))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_urls_of_http_or_refused() {
        let check = |address: &str, expected: Result<&str, &str>| match (service_url(address), expected) {
            (Ok(url), Ok(expected)) => assert_eq!(url, expected, "{address:?}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{address:?}: {error}"),
            (got, _) => panic!("{address:?}: {got:?}"),
        };
        check("http://head:7700", Ok("http://head:7700"));
        check("HTTP://head:7700", Ok("http://head:7700"));
        check(" head:7700 ", Ok("http://head:7700"));
        check("[::1]:7700", Ok("http://[::1]:7700"));
        check("https://head:7700", Ok("https://head:7700"));
        check("HttpS://head:7700", Ok("https://head:7700"));
        check("grpcs://head:7700", Err("write https://head:7700"));
        check("grpc://head:7700", Err("or http://head:7700"));
        check("tcp://head:7700", Err("there is no tcp://"));
        check("unix:///run/keima", Err("there is no unix://"));
        check("", Err("names no host"));
        check("http://", Err("names no host"));
        check("http:///", Err("names no host"));
    }
}
