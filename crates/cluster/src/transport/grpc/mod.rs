//! The services over gRPC: what server and client agree on besides the messages.
//!
//! A refused call carries the usual gRPC status code, and the kind of the refusal in the metadata entry `keima-error`:
//!
//! ```text
//!   kind               code                 meaning
//!   version            FAILED_PRECONDITION  the peers speak different protocol versions, or the worker is of another build
//!   who-are-you        UNAUTHENTICATED      the worker must say hello (again)
//!   other-coordinator  FAILED_PRECONDITION  the worker holds runs of another coordinator's store
//!   no-such-job        NOT_FOUND
//!   wrong-state        FAILED_PRECONDITION  the job's state does not allow it
//!   invalid            INVALID_ARGUMENT     the request makes no sense, or the job cannot be planned
//!   not-now            RESOURCE_EXHAUSTED   too many submissions, jobs, workers or calls, or the worker's name is contested
//!   name-taken         ALREADY_EXISTS       another living process has the worker's name
//!   no-credentials     UNAUTHENTICATED      the call shows no token that is known here
//!   wrong-role         PERMISSION_DENIED    the token's role may not call this
//!   broken             INTERNAL             the coordinator cannot store its decisions any more
//! ```

mod accept;
mod client;
mod job_client;
mod pieces;
mod server;

use keima_coordinator::{CallError, JobId, WorkerId};
use tonic::{Code, Status};

pub(crate) use accept::open_files;
pub use client::{GrpcLink, service_url};
pub use job_client::{JobClient, JobWatch};
pub(crate) use pieces::{Joined, Pieces, Watched};
pub use server::{ServeError, coordinator_routes, serve_coordinator, serve_worker_runs, worker_routes};

use crate::PROTOCOL_VERSION;
use crate::access::connect::ConnectError;
use crate::access::{KIND, refusal};
use crate::transport::convert::{ConvertError, plain};
use crate::transport::link::LinkError;

/// Largest answer of a coordinator: all its workers. [`MOST_WORKERS`](keima_coordinator::MOST_WORKERS) of them take 1 MB if they
/// are as usual, and 44 MB if all have the longest names, and reasons why they get no tasks; so it has no pages.
pub(crate) const ANSWER_BYTES: usize = 64 << 20;
/// Largest piece of a job, or page of a list, that a user accepts. They have about 1 and 4 MiB, and what one job has beside its
/// values: of 21x65536 that is 8 MB.
const PIECE_BYTES: usize = 16 << 20;
/// Words with which a port that speaks TLS closes a plain connection of HTTP/2.
const NEEDS_TLS: &str = "TLS only";

/// Refuses a peer of another protocol version.
#[allow(clippy::result_large_err)]
pub(crate) fn check_version(got: u32) -> Result<(), Status> {
    if got == PROTOCOL_VERSION {
        return Ok(());
    }
    let text = format!(
        "protocol versions differ: this side speaks version {PROTOCOL_VERSION} (keima {}), the caller version {got}; \
         install the same version of keima on both machines",
        env!("CARGO_PKG_VERSION")
    );
    Err(refusal(Code::FailedPrecondition, "version", text))
}

/// The status of a request that makes no sense.
pub(crate) fn invalid(error: &ConvertError) -> Status {
    refusal(Code::InvalidArgument, "invalid", error.to_string())
}

/// The status for an error of the coordinator.
fn to_status(error: &LinkError) -> Status {
    let text = error.to_string();
    match error {
        LinkError::Call(CallError::WhoAreYou(_)) => refusal(Code::Unauthenticated, "who-are-you", text),
        LinkError::Call(CallError::OtherCoordinator { .. }) => {
            refusal(Code::FailedPrecondition, "other-coordinator", text)
        }
        LinkError::Call(CallError::NameTaken { .. }) => refusal(Code::AlreadyExists, "name-taken", text),
        LinkError::Call(
            CallError::NameContested { .. } | CallError::TooManyWorkers { .. } | CallError::TooManyJobs { .. },
        ) => refusal(Code::ResourceExhausted, "not-now", text),
        LinkError::Call(CallError::NoSuchJob(_)) => refusal(Code::NotFound, "no-such-job", text),
        LinkError::Call(CallError::WrongState { .. }) => refusal(Code::FailedPrecondition, "wrong-state", text),
        LinkError::Call(CallError::Invalid(_)) => refusal(Code::InvalidArgument, "invalid", text),
        LinkError::Message(e) => invalid(e),
        LinkError::Version(_) | LinkError::Call(CallError::OtherBuild { .. }) => {
            refusal(Code::FailedPrecondition, "version", text)
        }
        LinkError::NotNow(why) => refusal(Code::ResourceExhausted, "not-now", why),
        LinkError::Broken(why) | LinkError::Full(why) => refusal(Code::Internal, "broken", why),
        LinkError::TooMuch { .. }
        | LinkError::Refused(_)
        | LinkError::Untrusted(_)
        | LinkError::Late(_)
        | LinkError::Unreachable { .. } => Status::unavailable(text),
    }
}

/// The subject of a call, for errors that name it.
#[derive(Clone, Copy)]
enum About<'a> {
    Worker(&'a WorkerId),
    Job(JobId),
    Nothing,
}

/// The error for a status from `address`.
fn from_status(address: &str, about: About<'_>, status: &Status) -> LinkError {
    if let Some(error) = connect_error(status) {
        return match error {
            ConnectError::Untrusted(_) => LinkError::Untrusted(format!("{address}: {error}")),
            ConnectError::NotTls | ConnectError::Host(_) => LinkError::Refused(format!("{address}: {error}")),
            ConnectError::Io(_) => LinkError::Unreachable { address: address.to_owned(), text: deepest(status) },
        };
    }
    let text = plain(status.message().to_owned());
    let kind = status.metadata().get(KIND).and_then(|kind| kind.to_str().ok());
    match (kind, about) {
        (Some("version"), _) => {
            LinkError::Version(format!("the coordinator at {address} refuses this program: {text}"))
        }
        (Some("who-are-you"), About::Worker(worker)) => LinkError::Call(CallError::WhoAreYou(worker.clone())),
        (Some("no-such-job"), About::Job(job)) => LinkError::Call(CallError::NoSuchJob(job)),
        (Some("invalid"), _) => LinkError::Call(CallError::Invalid(text)),
        (Some("not-now"), _) => LinkError::NotNow(text),
        (Some("broken"), _) => LinkError::Broken(text),
        (Some(_), _) => LinkError::Refused(text),
        (None, _) => match status.code() {
            // Not a refusal of keima: it comes from the transport, or another program listens there.
            _ if deepest(status).contains(NEEDS_TLS) => LinkError::Refused(format!(
                "the server at {address} speaks TLS; write https:// instead of http://, and give --fingerprint (or --tls-ca) \
                 and --token-file"
            )),
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown | Code::Internal => {
                LinkError::Unreachable { address: address.to_owned(), text: deepest(status) }
            }
            Code::Unimplemented => LinkError::Version(format!(
                "the program at {address} is not a coordinator of this version of keima ({text}); check the address, \
                 and install the same version on both machines"
            )),
            code => LinkError::Refused(format!("{address}: {text} ({code:?})")),
        },
    }
}

/// The error of keima's own TLS connection, if it was that.
fn connect_error(status: &Status) -> Option<&ConnectError> {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref::<ConnectError>() {
            return Some(found);
        }
        source = error.source();
    }
    None
}

/// The innermost reason: "connection refused" instead of "transport error".
fn deepest(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        text = error.to_string();
        source = error.source();
    }
    plain(text)
}
