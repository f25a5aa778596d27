//! The layer before all services: who calls, may he, how often, and how much may he send?
//!
//! ```text
//!   head of a call -> in the table? -> token known? -> role admitted? -> not too often? -> [long: wait for a place] -> service
//!                           |               |               |                  |            its body is counted, with a deadline
//!                           |               |               |                  '- not-now, after a wait where that suffices
//!                           |               |               '- wrong-role, at once
//!                           '---------------'- no-credentials, after REFUSAL_WAIT; the connection closes after some
//! ```
//!
//! It decides by the call's head alone: of a refused call not a byte of the message is decoded or kept. Only the connection
//! with wrong credentials is slowed down, so nobody can lock others out. Memory: at most [`LONG_CALLS`] long messages are
//! read at a time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

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

mod rate;

use rate::{PER_SECOND, Rates, Who};

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
    /// `None`: as often as they like.
    rates: Option<Arc<Rates>>,
}

impl Guard {
    pub(crate) fn new(door: &Door) -> Self {
        Self { tokens: door.tokens.clone(), places: Arc::new(Semaphore::new(LONG_CALLS)), rates: None }
    }

    /// The same, with a limit on the calls of each caller.
    pub(crate) fn limited(self) -> Self {
        Self { rates: Some(Arc::new(Rates::usual())), ..self }
    }

    /// The line of the call that this head may make and the role that it proves, or why not.
    #[allow(clippy::result_large_err)]
    fn judge(&self, path: &str, head: &HeaderMap) -> Result<(&'static Call, Option<Role>), Refusal> {
        let Some(tokens) = &self.tokens else {
            // Nobody has credentials here; the service itself refuses what it does not have.
            return find(path).map(|call| (call, None)).ok_or_else(|| Refusal::unknown(path));
        };
        let presented = head.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
        let role = presented.and_then(|value| value.strip_prefix(b"Bearer ")).and_then(|token| tokens.role_of(token));
        match find(path) {
            Some(call) if call.admits(role) => Ok((call, role)),
            _ if role.is_none() => Err(Refusal::stranger(presented.is_some())),
            Some(call) => Err(Refusal::wrong_role(role, call)),
            None => Err(Refusal::unknown(path)),
        }
    }

    /// How long a call must wait, or why it must not be made.
    #[allow(clippy::result_large_err)]
    fn pace(&self, role: Option<Role>, caller: Option<&Caller>) -> Result<Duration, Status> {
        let Some(rates) = &self.rates else { return Ok(Duration::ZERO) };
        let who = Who::new(role, caller.and_then(Caller::address));
        rates.take(who, Instant::now()).ok_or_else(|| {
            let text = format!(
                "more than {PER_SECOND} calls a second come from this address; wait a second and make fewer calls: a watch \
                 follows a job with one"
            );
            refusal(Code::ResourceExhausted, "not-now", text)
        })
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
        let (call, role) = match self.guard.judge(request.uri().path(), request.headers()) {
            Ok(judged) => judged,
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
        let pace = self.guard.pace(role, caller.as_ref());
        if let Some(caller) = caller
            && (self.guard.tokens.is_none() || call.roles.is_some())
        {
            caller.admit();
        }
        let wait = match pace {
            Ok(wait) => wait,
            Err(status) => return Box::pin(async move { Ok(status.into_http()) }),
        };
        let places = (call.most_bytes > SMALL_BYTES).then(|| Arc::clone(&self.guard.places));
        let fresh = self.inner.clone();
        // The service that was asked whether it is ready is the one to call.
        let mut inner = std::mem::replace(&mut self.inner, fresh);
        Box::pin(async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A service that counts its calls.
    #[derive(Clone, Default)]
    struct Counted(Arc<AtomicUsize>);

    impl Service<Request<Body>> for Counted {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _request: Request<Body>) -> Self::Future {
            self.0.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok(Response::new(Body::empty())))
        }
    }

    /// A flood of one caller is answered before a service sees it, and with what to do. Another caller is served meanwhile.
    #[tokio::test]
    async fn a_flood_of_one_caller_leaves_another_served() {
        let rates = Some(Arc::new(Rates::of(Duration::from_hours(1), 50, 100)));
        let guard = Guard { rates, ..Guard::new(&Door::open()) };
        let (served, callers) = (Counted::default(), ["10.0.0.1", "10.0.0.2"].map(|at| at.parse::<IpAddr>().unwrap()));
        let mut service = guard.layer(served.clone());
        let mut call = |from: IpAddr| {
            let mut request = Request::builder().uri("/keima.v1.JobService/ListJobs").body(Body::empty()).unwrap();
            request.extensions_mut().insert(Caller::new(Some(from)).0);
            service.call(request)
        };
        let (mut fine, mut refused) = (0, 0);
        for _ in 0..2000 {
            let answer = call(callers[0]).await.unwrap();
            match Status::from_header_map(answer.headers()) {
                None => fine += 1,
                Some(status) => {
                    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
                    assert_eq!(status.metadata().get(super::super::KIND).unwrap(), "not-now");
                    assert!(status.message().contains("wait a second and make fewer calls"), "{status:?}");
                    refused += 1;
                }
            }
        }
        assert_eq!((fine, refused, served.0.load(Ordering::Relaxed)), (50, 1950, 50));
        for _ in 0..50 {
            let answer = call(callers[1]).await.unwrap();
            assert!(Status::from_header_map(answer.headers()).is_none(), "{answer:?}");
        }
        assert_eq!(served.0.load(Ordering::Relaxed), 100);
    }
}
