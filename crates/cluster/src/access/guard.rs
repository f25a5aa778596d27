//! The layer before all services: who calls, may he, and how much may he send?
//!
//! ```text
//!   head of a call -> in the table? -> token known? -> role admitted? -> [long: wait for a place] -> service
//!         |                 |               |               |                 its body is counted and has a deadline
//!         |                 |               |               '- wrong-role, at once
//!         |                 '---------------'- no-credentials, after REFUSAL_WAIT; the connection closes after some
//! ```
//!
//! It decides by the call's head alone: of a refused call not a byte of the message is decoded or kept. Only the connection
//! with wrong credentials is slowed down, so nobody can lock others out. Memory: at most [`LONG_CALLS`] long messages are
//! read at a time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, header};
use http_body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tonic::body::Body;
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

use super::caller::Caller;
use super::calls::{Call, Role, SMALL_BYTES, find};
use super::door::{Door, Tokens};
use super::refusal;

/// Wait before the answer to a call without credentials.
const REFUSAL_WAIT: Duration = Duration::from_millis(500);
/// Long messages that are read at a time.
const LONG_CALLS: usize = 4;
/// Longest time for the message of a long call, once it has its place.
const BODY_WAIT: Duration = Duration::from_secs(10);

/// Puts a guard before a service.
#[derive(Clone)]
pub(crate) struct Guard {
    tokens: Option<Arc<Tokens>>,
    places: Arc<Semaphore>,
}

impl Guard {
    pub(crate) fn new(door: &Door) -> Self {
        Self { tokens: door.tokens.clone(), places: Arc::new(Semaphore::new(LONG_CALLS)) }
    }

    /// The line of the call that this head may make, or why not.
    #[allow(clippy::result_large_err)]
    fn judge(&self, path: &str, head: &HeaderMap) -> Result<&'static Call, Refusal> {
        let Some(tokens) = &self.tokens else {
            // Nobody has credentials here; the service itself refuses what it does not have.
            return find(path).ok_or_else(|| Refusal::unknown(path));
        };
        let presented = head.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
        let role = presented.and_then(|value| value.strip_prefix(b"Bearer ")).and_then(|token| tokens.role_of(token));
        match find(path) {
            Some(call) if call.admits(role) => Ok(call),
            _ if role.is_none() => Err(Refusal::stranger(presented.is_some())),
            Some(call) => Err(Refusal::wrong_role(role, call)),
            None => Err(Refusal::unknown(path)),
        }
    }
}

/// Why a call is refused.
struct Refusal {
    status: Status,
    /// Whether the caller has shown no credentials that are known here.
    is_stranger: bool,
}

impl Refusal {
    fn stranger(has_token: bool) -> Self {
        let what = if has_token { "the token of this call is not known here" } else { "this call carries no token" };
        let text = format!("{what}; name the file with the right token with --token-file FILE or KEIMA_TOKEN_FILE");
        Self { status: refusal(Code::Unauthenticated, "no-credentials", text), is_stranger: true }
    }

    fn wrong_role(role: Option<Role>, call: &Call) -> Self {
        let names = |roles: &[Role]| roles.iter().map(|role| role.name()).collect::<Vec<_>>().join(" or a ");
        let (has, needs) = (role.map_or("nobody", Role::name), names(call.roles.unwrap_or_default()));
        let method = call.path.rsplit('/').next().unwrap_or_default();
        let text = format!(
            "{method} is a call for a {needs}, and this token makes its bearer a {has}; use the file {}.token",
            call.roles.and_then(|roles| roles.last()).map_or("client", |role| role.name()),
        );
        Self { status: refusal(Code::PermissionDenied, "wrong-role", text), is_stranger: false }
    }

    fn unknown(path: &str) -> Self {
        let path: String = path.chars().take(200).collect();
        Self { status: Status::unimplemented(format!("there is no call {path:?} here")), is_stranger: false }
    }
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { guard: self.clone(), inner }
    }
}

/// A service behind a guard.
#[derive(Clone)]
pub(crate) struct Guarded<S> {
    guard: Guard,
    inner: S,
}

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let caller = request.extensions().get::<Caller>().cloned();
        let call = match self.guard.judge(request.uri().path(), request.headers()) {
            Ok(call) => call,
            Err(refused) => {
                // Its message is not wanted: what has come of it is thrown away now.
                drop(request);
                return Box::pin(async move {
                    if refused.is_stranger {
                        if let Some(caller) = caller {
                            caller.refused();
                        }
                        tokio::time::sleep(REFUSAL_WAIT).await;
                    }
                    Ok(refused.status.into_http())
                });
            }
        };
        if let Some(caller) = caller
            && (self.guard.tokens.is_none() || call.roles.is_some())
        {
            caller.admit();
        }
        let places = (call.most_bytes > SMALL_BYTES).then(|| Arc::clone(&self.guard.places));
        let fresh = self.inner.clone();
        // The service that was asked whether it is ready is the one to call.
        let mut inner = std::mem::replace(&mut self.inner, fresh);
        Box::pin(async move {
            let place = match places {
                // The semaphore is never closed.
                Some(places) => places.acquire_owned().await.ok(),
                None => None,
            };
            let deadline = place.as_ref().map(|_| Box::pin(tokio::time::sleep(BODY_WAIT)));
            let bounded =
                |body| Body::new(Bounded { body, left: call.most_bytes, most: call.most_bytes, deadline, place });
            inner.call(request.map(bounded)).await
        })
    }
}

/// A message that is counted while it comes. It gives its place back once it was read, or is not wanted any more.
struct Bounded {
    body: Body,
    left: usize,
    most: usize,
    deadline: Option<Pin<Box<Sleep>>>,
    place: Option<OwnedSemaphorePermit>,
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let Some(deadline) = &mut this.deadline
            && deadline.as_mut().poll(cx).is_ready()
        {
            this.deadline = None;
            this.place = None;
            let text = format!("the message did not come within {} s", BODY_WAIT.as_secs());
            return Poll::Ready(Some(Err(Status::deadline_exceeded(text))));
        }
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else { return Poll::Pending };
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            let Some(left) = this.left.checked_sub(data.len()) else {
                let most = this.most;
                let text = format!("the call's message is too long: at most {most} bytes are taken");
                return Poll::Ready(Some(Err(refusal(Code::InvalidArgument, "invalid", text))));
            };
            this.left = left;
        }
        if frame.is_none() {
            this.deadline = None;
            this.place = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
