//! The calls of a worker to its coordinator, in one process or over gRPC. The worker cannot tell which.

use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use keima_coordinator::{
    AttemptId, CallError, Grant, Hello, Housekeeping, Report, Running, Used, Verdict, Wanted, Welcome, WorkerId,
};
use keima_runs::RunId;

use crate::transport::convert::ConvertError;
use crate::world;

/// Why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    /// The coordinator refuses the call.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The coordinator refuses the call, and only the text of the reason came over gRPC.
    #[error("{0}")]
    Refused(String),
    /// The server is not the one that is trusted.
    #[error("{0}")]
    Untrusted(String),
    /// The two sides speak different versions. Trying again does not help.
    #[error("{0}")]
    Version(String),
    /// Nobody answers in time. Trying again may help.
    #[error("the coordinator at {address} does not answer: {text}")]
    Unreachable {
        /// Its URL.
        address: String,
        /// What happened.
        text: String,
    },
    /// Not now. Trying again helps, or gets a clear answer.
    #[error("not now: {0}; try again")]
    NotNow(String),
    /// No answer within the time that the caller can wait. Trying again may help.
    #[error("the coordinator has not answered a report within {} s", .0.as_secs_f64())]
    Late(Duration),
    /// The coordinator cannot store its decisions any more. Somebody must start it again.
    #[error("the coordinator cannot go on: {0}")]
    Broken(String),
    /// The same: its disk is full.
    #[error("the coordinator cannot go on: {0}")]
    Full(String),
    /// An answer is longer than the call justifies; the rest of it was not read.
    #[error(
        "{what}: expected at most {most} {unit}, got {got} or more; is that a coordinator of this version of keima? look at its \
         log, or ask for fewer values"
    )]
    TooMuch {
        /// What was read.
        what: &'static str,
        /// What is counted.
        unit: &'static str,
        /// As many as the call justifies.
        most: usize,
        /// As many as had come.
        got: usize,
    },
    /// The answer makes no sense.
    #[error(transparent)]
    Message(#[from] ConvertError),
}

impl LinkError {
    /// Whether the same call may succeed later by itself.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NotNow(_) | Self::Late(_) | Self::Broken(_) | Self::Full(_))
    }
    /// Whether the worker must say hello again.
    pub fn is_who_are_you(&self) -> bool {
        matches!(self, Self::Call(CallError::WhoAreYou(_)))
    }
}

/// The calls of a worker. Every call has a deadline.
pub trait CoordinatorLink: Clone + Send + Sync + 'static {
    /// Introduces the worker.
    fn hello(&self, hello: Hello) -> impl Future<Output = Result<Welcome, LinkError>> + Send;
    /// Keeps leases alive.
    fn heartbeat(
        &self,
        worker: &WorkerId,
        epoch: u64,
        running: Vec<Running>,
        held: Vec<RunId>,
        used: Used,
    ) -> impl Future<Output = Result<Housekeeping, LinkError>> + Send;
    /// Waits some seconds for work.
    fn pull(
        &self,
        worker: &WorkerId,
        epoch: u64,
        wanted: Wanted,
    ) -> impl Future<Output = Result<Option<Grant>, LinkError>> + Send;
    /// Reports the end of an attempt.
    fn report(
        &self,
        worker: &WorkerId,
        epoch: u64,
        attempt: AttemptId,
        nonce: u64,
        report: Report,
    ) -> impl Future<Output = Result<(Verdict, Housekeeping), LinkError>> + Send;
    /// Says that the worker stops.
    fn goodbye(&self, worker: &WorkerId, epoch: u64) -> impl Future<Output = Result<(), LinkError>> + Send;
}

/// 64 random bits from the seed of the standard hash maps. For names and jitter, not for secrets.
pub fn random_bits() -> u64 {
    world::simulated().map_or_else(|| RandomState::new().build_hasher().finish(), |world| world.random_bits())
}

/// Exponential backoff with jitter: 100 ms, doubled up to a cap. Each wait is drawn from the upper half of its range, so
/// that many workers do not come back in step.
#[derive(Clone, Debug)]
pub struct Backoff {
    next_millis: u64,
    cap_millis: u64,
}

impl Backoff {
    /// From 100 ms to `cap`.
    pub fn new(cap: Duration) -> Self {
        Self { next_millis: 100, cap_millis: (cap.as_millis() as u64).max(100) }
    }
    /// The next wait.
    pub fn step(&mut self) -> Duration {
        let range = self.next_millis.min(self.cap_millis);
        self.next_millis = (self.next_millis * 2).min(self.cap_millis);
        Duration::from_millis(range / 2 + random_bits() % (range / 2 + 1))
    }
    /// Starts again at 100 ms, after a success.
    pub fn reset(&mut self) {
        self.next_millis = 100;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_cap() {
        let mut backoff = Backoff::new(Duration::from_secs(2));
        let waits: Vec<u64> = (0..12).map(|_| backoff.step().as_millis() as u64).collect();
        assert!((50..=100).contains(&waits[0]), "{waits:?}");
        assert!(waits.iter().all(|&w| w <= 2000), "{waits:?}");
        assert!(waits[11] >= 1000, "{waits:?}");
        backoff.reset();
        assert!(backoff.step() <= Duration::from_millis(100));
    }
}
