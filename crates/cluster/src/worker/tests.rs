//! A worker before a coordinator that is played: what it does when answers do not come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use keima_coordinator::{
    AttemptId, Failure, Grant, Hello, Housekeeping, InputRun, JobId, Report, Running, StoreId, Used, Verdict, Wanted,
    Welcome, Work, WorkerId,
};
use keima_problems::Problems;
use keima_runs::{RunId, RunManifest};
use tokio::sync::{Notify, oneshot};

use super::{Worker, WorkerConfig};
use crate::transport::link::{CoordinatorLink, LinkError};

const HEARTBEAT_MILLIS: u64 = 50;
/// A report is waited for a third of it.
const LEASE_MILLIS: u64 = 900;

const ATTEMPT: AttemptId = AttemptId { job: JobId(1), sweep: 0, generation: 1, task: 0, attempt: 0 };

/// Grants one copy, which cannot succeed, and never answers the first report.
#[derive(Default)]
struct Deaf {
    granted: AtomicU32,
    reports: AtomicU32,
    heartbeats: AtomicU32,
    /// Heartbeats before the second report.
    between: AtomicU32,
    reported_again: Notify,
}

impl CoordinatorLink for Arc<Deaf> {
    async fn hello(&self, _: Hello) -> Result<Welcome, LinkError> {
        let housekeeping = Housekeeping::default();
        Ok(Welcome { epoch: 1, housekeeping, heartbeat_millis: HEARTBEAT_MILLIS, store: StoreId(7) })
    }

    async fn heartbeat(
        &self,
        _: &WorkerId,
        _: u64,
        _: Vec<Running>,
        _: Vec<RunId>,
        used: Used,
    ) -> Result<Housekeeping, LinkError> {
        assert!(used.memory_bytes.is_some_and(|bytes| bytes > 1 << 20), "memory in use: {used:?}");
        self.heartbeats.fetch_add(1, Ordering::Relaxed);
        Ok(Housekeeping::default())
    }

    async fn pull(&self, _: &WorkerId, _: u64, wanted: Wanted) -> Result<Option<Grant>, LinkError> {
        if wanted == Wanted::Copy && self.granted.fetch_add(1, Ordering::Relaxed) == 0 {
            let manifest = RunManifest {
                id: RunId("j1/s0/g1/t0/a0/r0".to_owned()),
                bytes: 4096,
                records: 1,
                first_key: 1,
                last_key: 1,
                sums: vec![1],
                checksum: 0,
            };
            let work = Work::Copy(Box::new(InputRun::here(manifest)));
            return Ok(Some(Grant { attempt: ATTEMPT, nonce: 5, lease_millis: LEASE_MILLIS, work }));
        }
        std::future::pending().await
    }

    async fn report(
        &self,
        _: &WorkerId,
        _: u64,
        attempt: AttemptId,
        nonce: u64,
        report: Report,
    ) -> Result<(Verdict, Housekeeping), LinkError> {
        assert_eq!((attempt, nonce), (ATTEMPT, 5));
        assert!(matches!(report, Report::Failed(Failure::Input { .. } | Failure::Other { .. })), "{report:?}");
        if self.reports.fetch_add(1, Ordering::Relaxed) == 0 {
            self.heartbeats.store(0, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        self.between.store(self.heartbeats.load(Ordering::Relaxed), Ordering::Relaxed);
        self.reported_again.notify_one();
        Ok((Verdict::Accepted, Housekeeping::default()))
    }

    async fn goodbye(&self, _: &WorkerId, _: u64) -> Result<(), LinkError> {
        Ok(())
    }
}

/// Heartbeats wait for a report on its way: one that nobody answers must not cost the leases of all other tasks.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_is_not_answered_is_sent_again_and_heartbeats_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let config =
        WorkerConfig { scratch: dir.path().join("scratch"), memory_bytes: 1 << 30, disk_bytes: 1 << 30, slots: 1 };
    let worker = Worker::open(config, Arc::new(Problems)).unwrap();
    let (link, (stop, stopped)) = (Arc::new(Deaf::default()), oneshot::channel::<()>());
    let running = tokio::spawn(worker.run(Arc::clone(&link), async move {
        let _ = stopped.await;
    }));
    // As long as nobody would wait for: the test fails, and does not hang.
    tokio::time::timeout(Duration::from_mins(1), link.reported_again.notified()).await.expect("a second report");
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert_eq!(link.reports.load(Ordering::Relaxed), 2);
    assert!(link.between.load(Ordering::Relaxed) >= 1, "no heartbeat between the two reports");
}
