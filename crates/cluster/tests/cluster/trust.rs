//! Workers that count something else under the same name: refused where they say so, found out where they do not.

use std::sync::Arc;

use crate::common::{coordinator, count, ended, go, quick, registry, worker, worker_of};
use keima_cluster::{BUILD, GrpcLink, JobClient, Worker, WorkerConfig};
use keima_coordinator::{JobSpec, State};
use keima_model::{Alter, Altered, AnyProblem, Problem, ProblemError, ProblemRequest, Registry, Successors, Window};

/// Independent sets of the grid of 12x12 (OEIS A006506).
const H12: &str = "162481813349792588536582997";

/// A registry whose problems lose a successor of each batch of more than `most` states.
struct Lossy {
    most: usize,
}

struct LossyProblem {
    inner: Arc<dyn Problem<u64>>,
    most: usize,
}

impl Registry for Lossy {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        Ok(match registry().open(request)? {
            AnyProblem::Narrow(inner) => AnyProblem::Narrow(Arc::new(Alter(LossyProblem { inner, most: self.most }))),
            wide @ AnyProblem::Wide(_) => wide,
        })
    }
}

impl Altered for LossyProblem {
    type Key = u64;
    fn original(&self) -> &dyn Problem<u64> {
        self.inner.as_ref()
    }
    // It does not look at what it does.
    fn law(&self, _: u32, _: &[u64], _: u64, _: u64) -> Option<Result<(), String>> {
        None
    }
    fn expand(&self, pass: u32, window: Window, keys: &[u64], out: &mut Successors<u64>) {
        self.inner.expand(pass, window, keys, out);
        if keys.len() > self.most
            && let Some(degree) = out.degrees.last_mut().filter(|degree| **degree > 1)
        {
            *degree -= 1;
            out.keys.pop();
        }
    }
}

fn hard_squares() -> JobSpec {
    let problem = ProblemRequest { name: "hard-squares".to_owned(), size: "12x12".to_owned(), options: Vec::new() };
    JobSpec { problem, ..go("1x1") }
}

/// A worker with another recurrence refuses the job, and the coordinator's status names both.
#[tokio::test(flavor = "multi_thread")]
async fn another_recurrence_under_the_same_name_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let other = worker_of(&dir.path().join("a"), &hub.address, Arc::new(Lossy { most: 0 })).await;
    let client = JobClient::new(&hub.address).unwrap();
    let job = client.submit(&hard_squares()).await.unwrap();
    let refusal = loop {
        let status = client.status(job).await.unwrap();
        assert!(status.outcome.is_none(), "{status:?}");
        if let Some(worker) = status.workers.into_iter().find(|worker| worker.note.contains("refuses the job")) {
            break worker.note;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let identities: Vec<&str> = refusal.matches("hard-squares: board 12x12; behaviour ").collect();
    assert_eq!(identities.len(), 2, "{refusal}");
    let honest = worker(&dir.path().join("b"), &hub.address).await;
    if client.status(job).await.unwrap().state == State::Paused {
        // Nobody could go on before it came.
        let _ = client.resume(job).await;
    }
    let status = ended(&client, job).await;
    assert_eq!(count(&status), H12);
    let outcome = status.outcome.unwrap();
    assert_eq!(outcome.identity, registry().open(&hard_squares().problem).unwrap().identity());
    assert_eq!(outcome.builds, [BUILD]);
    for worker in [other, honest] {
        worker.stop().await;
    }
    hub.stop().await;
}

/// A worker that errs only in large batches has the right identity. Another worker counts its tasks again.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_errs_decides_no_number() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let mut workers = vec![worker_of(&dir.path().join("0"), &hub.address, Arc::new(Lossy { most: 96 })).await];
    let client = JobClient::new(&hub.address).unwrap();
    for name in ["1", "2"] {
        workers.push(worker(&dir.path().join(name), &hub.address).await);
    }
    while client.workers().await.unwrap().iter().filter(|worker| worker.here).count() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // Which worker does which task is left to chance: jobs until one was given to it that it did wrongly. Where the sample
    // misses its errors, a check fails, and what is repeated is counted by two workers.
    let mut found = false;
    for _ in 0..40 {
        let job = client.submit(&hard_squares()).await.unwrap();
        let status = ended(&client, job).await;
        assert_eq!(count(&status), H12, "{:?}", status.notes);
        found |= status.notes.iter().any(|note| note.contains("differently"));
        if found {
            break;
        }
    }
    assert!(found, "it never erred");
    for worker in workers {
        worker.stop().await;
    }
    hub.stop().await;
}

/// A worker of another build learns which builds met, and ends.
#[tokio::test(flavor = "multi_thread")]
async fn another_build_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let config = WorkerConfig { scratch: dir.path().join("a"), memory_bytes: 128 << 20, disk_bytes: 1 << 30, slots: 1 };
    let worker = Worker::open(config, registry()).unwrap().of_build("0.0.1+1");
    let error = worker.run(GrpcLink::new(&hub.address).unwrap(), std::future::pending()).await.unwrap_err().to_string();
    for words in ["0.0.1+1", BUILD, "install the same keima"] {
        assert!(error.contains(words), "{words} in {error}");
    }
    hub.stop().await;
}
