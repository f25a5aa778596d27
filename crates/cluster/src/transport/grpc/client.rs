//! The worker's client of its coordinator over gRPC, and what it shares with the user's ([`super::job_client`]).
//!
//! Each keeps one connection. The first call connects, and so does the first call after the connection broke. The caller
//! decides how often to try (`Backoff`). Every call has a deadline.

use std::path::Path;
use std::time::Duration;

use keima_coordinator::{
    AttemptId, Grant, Hello, Housekeeping, Report, Running, Used, Verdict, Wanted, Welcome, WorkerId,
};
use keima_runs::RunId;
use keima_wire::v1;
use keima_wire::v1::coordinator_service_client::CoordinatorServiceClient;
use tonic::transport::Endpoint;
use tonic::{Response, Status};

use super::{About, from_status};
use crate::access::calls::{LIST_BYTES, MESSAGE_BYTES};
use crate::access::pass::{GuardedChannel, Pass};
use crate::driver::PULL_WAIT;
use crate::transport::convert::pages::{heartbeat_pages, hello_pages, report_pages};
use crate::transport::convert::{Wire, list_to};
use crate::transport::link::{CoordinatorLink, LinkError};

/// Deadline of a call that is answered at once.
const DEADLINE: Duration = Duration::from_secs(15);
/// Deadline of a call that may wait for a slow disk, such as a report or a submission.
pub(super) const LONG_DEADLINE: Duration = Duration::from_mins(1);

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
pub(super) fn channel(address: &str, pass: &Pass) -> Result<GuardedChannel, LinkError> {
    pass.channel(&endpoint(address)?, Path::new(""), address).ok_or_else(|| {
        LinkError::Refused(format!(
            "{address}: https:// needs a fingerprint or a CA (--fingerprint, --tls-ca) and a token (--token-file), and \
             http:// takes none of them"
        ))
    })
}

/// Waits for an answer until the deadline.
pub(super) async fn within<T>(
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
            // The longest answer is an order that reads tens of thousands of runs.
            .max_decoding_message_size(LIST_BYTES)
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
        used: Used,
    ) -> Result<Housekeeping, LinkError> {
        let request = v1::HeartbeatRequest {
            worker: worker.0.clone(),
            epoch,
            running: list_to(&running),
            held: held.into_iter().map(|run| run.0).collect(),
            disk_used_bytes: used.disk_bytes,
            memory_used_bytes: used.memory_bytes,
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
