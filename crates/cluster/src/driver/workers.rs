//! What workers ask of a coordinator, answered by its handle.
//!
//! A pull waits for work: it listens before it looks, so that no signal in between is missed.

use std::time::Duration;

use keima_coordinator::{
    AttemptId, Coordinator, Grant, Hello, Housekeeping, Report, Running, Used, Verdict, Wanted, Welcome, WorkerId,
};
use keima_runs::RunId;
use tokio::time::Instant;

use crate::driver::CoordinatorHandle;
use crate::transport::link::{CoordinatorLink, LinkError};

/// How long a pull waits for work.
pub const PULL_WAIT: Duration = Duration::from_secs(10);
/// A waiting pull looks again this often, even without a signal.
const PULL_AGAIN: Duration = Duration::from_millis(500);

impl CoordinatorLink for CoordinatorHandle {
    async fn hello(&self, hello: Hello) -> Result<Welcome, LinkError> {
        Ok(self.event(|machine, now| machine.hello(now, hello)).await??)
    }

    async fn heartbeat(
        &self,
        worker: &WorkerId,
        epoch: u64,
        running: Vec<Running>,
        held: Vec<RunId>,
        used: Used,
    ) -> Result<Housekeeping, LinkError> {
        let beat = |machine: &mut Coordinator, now| machine.heartbeat(now, worker, epoch, &running, &held, used);
        Ok(self.event(beat).await??)
    }

    async fn pull(&self, worker: &WorkerId, epoch: u64, wanted: Wanted) -> Result<Option<Grant>, LinkError> {
        let deadline = Instant::now() + PULL_WAIT;
        loop {
            // Listen before looking, so that no signal in between is missed.
            let news = self.inner.news.notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            let (grant, ticket) = self.inner.decide(|machine, now| machine.pull(now, worker, epoch, wanted))?;
            if let Some(grant) = grant? {
                self.inner.look_at_stage(grant.attempt.job);
                self.inner.stored(ticket).await?;
                return Ok(Some(grant));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || *self.inner.closing.borrow() {
                return Ok(None);
            }
            let _ = tokio::time::timeout(left.min(PULL_AGAIN), news).await;
        }
    }

    async fn report(
        &self,
        worker: &WorkerId,
        epoch: u64,
        attempt: AttemptId,
        nonce: u64,
        report: Report,
    ) -> Result<(Verdict, Housekeeping), LinkError> {
        let answer = self.event(|machine, now| machine.report(now, worker, epoch, attempt, nonce, report)).await?;
        self.inner.look_at_stage(attempt.job);
        Ok(answer?)
    }

    async fn goodbye(&self, worker: &WorkerId, epoch: u64) -> Result<(), LinkError> {
        Ok(self.event(|machine, now| machine.goodbye(now, worker, epoch)).await??)
    }
}
