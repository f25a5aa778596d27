//! What this crate takes from the system besides files: chance, the time of day, threads that may block, connections.
//!
//! A program takes it from the system itself. A simulator puts a [`World`] on the thread of a simulated cluster. Then the
//! cluster has the world's chance and time, one of its threads runs at a time, and its calls go through a simulated network.
//! Everything else is the same code. Without a world, each call here costs one load and one branch.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use tokio::time::Instant;
use tonic::body::Body;
use tonic::codegen::{Service, StdError, http};
use tonic::transport::Endpoint;

/// A future of a simulated world.
pub type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// Work for a thread that may block.
pub type Work = Box<dyn FnOnce() + Send>;
/// Carries one call to the service at the other end.
pub type Carrier =
    Arc<dyn Fn(http::Request<Body>) -> Waiting<Result<http::Response<Body>, tonic::Status>> + Send + Sync>;

/// A simulated system.
pub trait World: Send + Sync {
    /// 64 random bits.
    fn random_bits(&self) -> u64;
    /// The time since the Unix epoch, as the machine with the folder `of` has it. It may jump.
    fn time_of_day(&self, of: &Path) -> Duration;
    /// How far the machine's monotonic clock has gone while `passed` went by in the world. It may jump ahead, and stands
    /// still while the machine sleeps.
    fn monotonic(&self, of: &Path, passed: Duration) -> Duration;
    /// Waits for `time` by the monotonic clock of the machine with the folder `of`.
    fn pause(&self, of: &Path, time: Duration) -> Waiting<()>;
    /// Does `work` on a thread that may block. The future ends with it; if it is dropped before, the work is given up.
    fn run(&self, work: Work) -> Waiting<Result<(), String>>;
    /// Waits on a thread of [`World::run`] until `future` ends.
    fn wait(&self, future: Waiting<()>);
    /// A connection to `address` for the worker with the folder `from`; empty where nobody said it.
    fn connect(&self, from: &Path, address: &str) -> Carrier;
    /// Whether a worker sees other workers' folders on its own machine.
    fn shares_folders(&self) -> bool;
}

/// Whether any thread of this process ever had a world.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WORLD: RefCell<Option<Arc<dyn World>>> = const { RefCell::new(None) };
}

/// From now on this thread's clusters live in `world`; `None`: in the real one.
pub fn set(world: Option<Arc<dyn World>>) {
    if world.is_some() {
        ANY.store(true, Ordering::Relaxed);
    }
    WORLD.set(world);
}

/// The world of this thread, if it is a simulated one.
pub(crate) fn simulated() -> Option<Arc<dyn World>> {
    if ANY.load(Ordering::Relaxed) { WORLD.with_borrow(Option::clone) } else { None }
}

/// Time since the Unix epoch by the system's clock, which may be set back.
pub(crate) fn time_of_day(of: &Path) -> Duration {
    match simulated() {
        Some(world) => world.time_of_day(of),
        None => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
    }
}

/// Time since `started` by the monotonic clock of the machine with the folder `of`.
pub(crate) fn elapsed(of: &Path, started: Instant) -> Duration {
    match simulated() {
        Some(world) => world.monotonic(of, started.elapsed()),
        None => started.elapsed(),
    }
}

/// Waits for `time` by the monotonic clock of the machine with the folder `of`.
pub(crate) async fn pause(of: &Path, time: Duration) {
    match simulated() {
        Some(world) => world.pause(of, time).await,
        None => tokio::time::sleep(time).await,
    }
}

/// Waits for `future`, but not longer than `time` by the clock of the machine with the folder `of`.
pub(crate) async fn within<T>(of: &Path, time: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = pause(of, time) => None,
    }
}

/// Work on another thread failed: it panicked, or the program ends.
#[derive(Debug)]
pub(crate) struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Does `work` on a thread that may block, in the caller's span: lines of the log there tell what they are about.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failed> {
    let span = tracing::Span::current();
    let work = move || span.in_scope(work);
    let Some(world) = simulated() else {
        return tokio::task::spawn_blocking(work).await.map_err(|error| Failed(error.to_string()));
    };
    let result = Arc::new(Mutex::new(None));
    let to = Arc::clone(&result);
    let work = move || {
        let made = work();
        *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
    };
    let ran = world.run(Box::new(work)).await;
    let made = result.lock().unwrap_or_else(PoisonError::into_inner).take();
    ran.and_then(|()| made.ok_or_else(|| "it left no result".to_owned())).map_err(Failed)
}

/// Waits for `future` on a thread of [`blocking`].
pub(crate) fn wait_for<T: Send + 'static>(runtime: &Handle, future: impl Future<Output = T> + Send + 'static) -> T {
    let Some(world) = simulated() else { return runtime.block_on(future) };
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    world.wait(Box::pin(async move { drop(tell.send(future.await)) }));
    // The world has waited for the future: its result is there.
    told.recv().unwrap_or_else(|_| std::panic::resume_unwind(Box::new("the simulated machine is gone")))
}

/// Sleeps on a thread of [`blocking`].
pub(crate) fn sleep(time: Duration) {
    match simulated() {
        // The timer is made where the world's time is.
        Some(world) => world.wait(Box::pin(async move { tokio::time::sleep(time).await })),
        None => std::thread::sleep(time),
    }
}

/// A connection to a service, which connects on its first call.
#[derive(Clone)]
pub(crate) enum Channel {
    Real(tonic::transport::Channel),
    Simulated(Carrier),
}

impl Channel {
    /// A connection to `endpoint` at `address`, for the worker with the folder `from`. Call it within the runtime.
    pub(crate) fn lazy(endpoint: &Endpoint, from: &Path, address: &str) -> Self {
        match simulated() {
            Some(world) => Self::Simulated(world.connect(from, address)),
            None => Self::Real(endpoint.connect_lazy()),
        }
    }
}

impl Service<http::Request<Body>> for Channel {
    type Response = http::Response<Body>;
    type Error = StdError;
    type Future = Waiting<Result<http::Response<Body>, StdError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        match self {
            Self::Real(channel) => channel.poll_ready(context).map_err(Into::into),
            Self::Simulated(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Real(channel) => {
                let answer = channel.call(request);
                Box::pin(async move { Ok(answer.await?) })
            }
            Self::Simulated(carry) => {
                let answer = carry(request);
                Box::pin(async move { Ok(answer.await?) })
            }
        }
    }
}
