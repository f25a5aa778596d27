//! The network: which machines hear each other, and what becomes of a call on its way.
//!
//! ```text
//!   caller ── request ──(lost? late? twice?)──> service of the other machine, on a task of that machine
//!   caller <── answer ──(lost? late?)────────── and each further piece of a stream
//! ```
//!
//! A lost message leaves its caller waiting until its own deadline, as a broken link does. A machine that is down refuses
//! calls, and breaks off those that are under way. Messages from a worker's machine that sleeps, and those to it, wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use keima_cluster::world::{Carrier, Waiting};
use tokio::sync::oneshot;
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};

use crate::world::SimWorld;

/// How messages fare.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// (from, to): nothing arrives.
    pub(crate) cuts: BTreeSet<(String, String)>,
    /// Messages of 1,000 that are lost.
    pub(crate) lost_permille: u64,
    /// Requests of 1,000 that arrive twice.
    pub(crate) twice_permille: u64,
    /// Messages of 1,000 that take up to seconds.
    pub(crate) late_permille: u64,
}

type Answer = http::Response<Body>;

/// One message on its way: returns when it arrives, or never.
async fn travel(world: &Arc<SimWorld>, from: &str, to: &str, what: &str) {
    let delay = world.with(|state| {
        let network = &state.network;
        let (lost, late) = (network.lost_permille, network.late_permille);
        if from == "user" || to == "user" {
            return Some(state.chance.millis(1, 3));
        }
        if network.cuts.contains(&(from.to_owned(), to.to_owned())) || state.chance.permille(lost) {
            return None;
        }
        let longest = if state.chance.permille(late) { 20_000 } else { 4 };
        Some(state.chance.millis(0, longest))
    });
    let Some(delay) = delay else {
        world.log(|| format!("{from} -> {to}: {what} is lost"));
        world.count("message lost");
        return std::future::pending().await;
    };
    tokio::time::sleep(delay).await;
}

fn refused(to: &str) -> Status {
    Status::unavailable(format!("{to}: connection refused"))
}

/// Carries calls from one machine to another.
pub(crate) fn carrier(world: &Arc<SimWorld>, from: String, to: String) -> Carrier {
    let world = Arc::downgrade(world);
    Arc::new(move |request: http::Request<Body>| -> Waiting<Result<Answer, Status>> {
        let (from, to) = (from.clone(), to.clone());
        match world.upgrade() {
            Some(world) => Box::pin(carry(world, from, to, request)),
            None => Box::pin(async move { Err(refused(&to)) }),
        }
    })
}

async fn carry(world: Arc<SimWorld>, from: String, to: String, request: http::Request<Body>) -> Result<Answer, Status> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let call = parts.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    world.awake(&from).await;
    // A process that is dead, but not taken down yet, says nothing.
    if !world.is_up(&from) {
        return std::future::pending().await;
    }
    travel(&world, &from, &to, &call).await;
    world.awake(&to).await;
    let copy = || {
        let mut request = http::Request::new(Body::new(Full::new(bytes.clone())));
        *request.uri_mut() = parts.uri.clone();
        *request.method_mut() = parts.method.clone();
        *request.version_mut() = parts.version;
        *request.headers_mut() = parts.headers.clone();
        request
    };
    let twice = world.with(|state| {
        let twice = state.network.twice_permille;
        (from != "user" && state.chance.permille(twice)).then(|| state.chance.millis(0, 15_000))
    });
    if let Some(later) = twice {
        let (world, from, to, call, again) = (Arc::clone(&world), from.clone(), to.clone(), call.clone(), copy());
        tokio::spawn(async move {
            tokio::time::sleep(later).await;
            world.awake(&to).await;
            world.log(|| format!("{from} -> {to}: {call} comes twice"));
            world.count("message twice");
            drop(deliver(&world, &to, again).await);
        });
    }
    let life = world.life(&to);
    let answer = deliver(&world, &to, copy()).await?;
    world.log(|| format!("{from} -> {to}: {call}"));
    world.awake(&to).await;
    travel(&world, &to, &from, &format!("answer to {call}")).await;
    world.awake(&from).await;
    let (parts, body) = answer.into_parts();
    // Each further piece of a stream travels by itself, in order.
    let mut frames = BodyStream::new(body);
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let mut first = true;
        while let Some(frame) = frames.next().await {
            if world.life(&to) != life || !world.is_up(&to) {
                let _ = sender.send(Err(Status::unavailable(format!("{to}: connection reset")))).await;
                return;
            }
            // The first piece came with the head of the answer.
            if !std::mem::take(&mut first) {
                tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    () = carry_piece(&world, &to, &from) => {}
                }
            }
            if sender.send(frame).await.is_err() {
                return;
            }
        }
    });
    let pieces = tokio_stream::wrappers::ReceiverStream::new(receiver);
    Ok(http::Response::from_parts(parts, Body::new(StreamBody::new(pieces))))
}

/// One more piece of a stream, on its way.
async fn carry_piece(world: &Arc<SimWorld>, from: &str, to: &str) {
    world.awake(from).await;
    travel(world, from, to, "piece of a stream").await;
    world.awake(to).await;
}

/// Hands a request to a machine's services, on a task that dies with the machine.
async fn deliver(world: &Arc<SimWorld>, to: &str, request: http::Request<Body>) -> Result<Answer, Status> {
    let Some(mut routes) = world.with(|state| state.machines.get(to).and_then(|machine| machine.routes.clone())) else {
        return Err(refused(to));
    };
    let (tell, told) = oneshot::channel();
    let task = tokio::spawn(async move {
        let answered: Result<Answer, _> = routes.call(request).await;
        let Ok(answer) = answered;
        let _ = tell.send(answer);
    });
    world.with(|state| {
        if let Some(machine) = state.machines.get_mut(to) {
            machine.calls.retain(|call| !call.is_finished());
            machine.calls.push(task.abort_handle());
        }
    });
    told.await.map_err(|_| Status::unavailable(format!("{to}: connection reset")))
}
