//! Much of everything: submissions that take long to plan, ten thousand jobs that are over, ten thousand values of one job.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use keima_cluster::{JobClient, PROTOCOL_VERSION};
use keima_coordinator::{Coordinator, EndedJob, JobFilter, JobId, MOST_PAGE_JOBS, SeriesEntry, State};
use keima_model::{AnyProblem, ProblemError, ProblemRequest, Registry};
use keima_problems::Problems;
use keima_wire::v1;
use prost::Message as _;
use tokio::task::JoinSet;

use crate::common::{coordinator, coordinator_of, go, quick, registry};

const MANY: u64 = 10_000;
/// No answer has a longer message: pages end at four megabytes, pieces of a job at one.
const MOST_MESSAGE_BYTES: usize = 5 << 20;
const MOST_PIECE_BYTES: usize = 2 << 20;

/// Opens no problem before it is told to.
#[derive(Default)]
struct Slow {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Registry for Slow {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        let _open = self.opened.wait_while(self.is_open.lock().unwrap(), |open| !*open).unwrap();
        Problems.open(request)
    }
}

/// Whoever plans holds nobody up: others get answers first, and so do those for whom there is no room any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_takes_long_holds_nobody_up() {
    let dir = tempfile::tempdir().unwrap();
    let slow = Arc::new(Slow::default());
    let hub = coordinator_of(&dir.path().join("data"), "127.0.0.1:0", quick(), Arc::clone(&slow) as _).await;
    let client = JobClient::new(&hub.address).unwrap();
    let mut submissions = JoinSet::new();
    for _ in 0..17 {
        let client = client.clone();
        submissions.spawn(async move { client.submit(&go("5x5")).await });
    }
    // Sixteen wait for the plan. The one that came last is refused before the plan is there.
    let soon = Duration::from_mins(1);
    let refused = tokio::time::timeout(soon, submissions.join_next()).await.expect("a refusal waits for the plan");
    let refused = refused.unwrap().unwrap().unwrap_err().to_string();
    assert!(refused.contains("16 other submissions are to be planned first"), "{refused}");
    let listed = tokio::time::timeout(soon, client.jobs()).await.expect("a list waits for the plan");
    assert!(listed.unwrap().is_empty() && submissions.try_join_next().is_none());
    *slow.is_open.lock().unwrap() = true;
    slow.opened.notify_all();
    while let Some(submission) = submissions.join_next().await {
        submission.unwrap().unwrap();
    }
    assert_eq!(client.jobs().await.unwrap().len(), 16);
    hub.stop().await;
}

/// A job that was cancelled and has left the store.
fn left() -> EndedJob {
    let mut machine = Coordinator::new(keima_coordinator::Config { keep_jobs: Some(0), ..quick() }, registry(), 1);
    let planned = machine.consider(&go("9x9")).plan(&*registry()).unwrap();
    let job = machine.admit(1_000, planned).unwrap();
    machine.cancel(1_000, job).unwrap();
    machine.leaver(2_000).unwrap()
}

/// The same job with another number, in a coordinator's folder of jobs that are over.
fn keep(data: &Path, job: &mut EndedJob, id: u64) {
    job.view.status.id = JobId(id);
    std::fs::write(data.join("ended").join(job.file_name()), job.encode().unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_jobs_that_are_over_come_in_pages() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir_all(data.join("ended")).unwrap();
    let mut job = left();
    (1..=MANY).for_each(|id| keep(&data, &mut job, id));
    let hub = coordinator(&data, "127.0.0.1:0", quick()).await;
    let mut users = v1::job_service_client::JobServiceClient::connect(hub.address.clone()).await.unwrap();
    let (mut after, mut listed, mut pages) = (None, Vec::new(), 0);
    loop {
        pages += 1;
        let request =
            v1::ListJobsRequest { protocol_version: PROTOCOL_VERSION, archived: true, after, ..Default::default() };
        let page = users.list_jobs(request).await.unwrap().into_inner();
        assert!(page.jobs.len() <= MOST_PAGE_JOBS && page.encoded_len() < MOST_MESSAGE_BYTES, "{}", page.encoded_len());
        listed.extend(page.jobs.iter().map(|job| job.job));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed, (1..=MANY).rev().collect::<Vec<_>>());
    assert!(pages >= 10, "{pages} pages");
    // Who wants few gets few, and one job is found among them.
    let client = JobClient::new(&hub.address).unwrap();
    let few = client.list(&JobFilter { archived: true, limit: 3, ..JobFilter::default() }).await.unwrap();
    assert_eq!((few.jobs.len(), few.next), (3, Some(JobId(MANY - 2))));
    assert_eq!(client.status(JobId(MANY / 2)).await.unwrap().state, State::Cancelled);
    assert!(client.jobs().await.unwrap().is_empty());
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_values_come_in_pieces() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir_all(data.join("ended")).unwrap();
    let mut job = left();
    let value = |index: u32| SeriesEntry {
        index,
        name: format!("L(9,{index})"),
        // As for a board of some thousand cells.
        count: format!("{index}").repeat(500),
        counts: Vec::new(),
        checks: Vec::new(),
        ok: true,
    };
    let values: Vec<SeriesEntry> = (1..=MANY as u32).map(value).collect();
    job.view.status.set_values(values.clone());
    job.view.status.values.known = MANY as u32;
    keep(&data, &mut job, 7);
    let hub = coordinator(&data, "127.0.0.1:0", quick()).await;
    let mut users = v1::job_service_client::JobServiceClient::connect(hub.address.clone()).await.unwrap();
    let request =
        v1::GetJobRequest { protocol_version: PROTOCOL_VERSION, job: 7, newest_values: u32::MAX, ..Default::default() };
    let (mut pieces, mut stream) = (Vec::new(), users.get_job(request).await.unwrap().into_inner());
    while let Some(piece) = stream.message().await.unwrap() {
        pieces.push((piece.encoded_len(), piece.values.len()));
    }
    assert!(pieces.iter().all(|(bytes, _)| *bytes < MOST_PIECE_BYTES) && pieces.len() > 10, "{pieces:?}");
    assert_eq!(pieces.iter().map(|(_, values)| values).sum::<usize>(), values.len());
    let client = JobClient::new(&hub.address).unwrap();
    assert_eq!(client.status(JobId(7)).await.unwrap().values(), values);
    assert_eq!(client.newest(JobId(7), 3).await.unwrap().values(), &values[values.len() - 3..]);
    let mut watch = client.watch(JobId(7), Duration::from_millis(100), 10).await.unwrap();
    assert_eq!(watch.next().await.unwrap().unwrap().values(), &values[10..]);
    assert!(watch.next().await.unwrap().is_none());
    hub.stop().await;
}
