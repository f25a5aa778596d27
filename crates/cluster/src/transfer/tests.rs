//! Runs on their way between two workers over loopback: read in part, copied whole, damaged, gone, of another version.

mod folders;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keima_coordinator::{Failure, Holder, InputRun, WorkerId};
use keima_engine::FeedOpener;
use keima_runs::{Batch, KeyOrder, RunCursor, RunError, RunHeader, RunId, RunManifest, RunOptions, RunPart, RunWriter};
use keima_wire::v1;
use keima_wire::v1::run_service_client::RunServiceClient;
use keima_wire::v1::run_service_server::{RunService, RunServiceServer};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::PROTOCOL_VERSION;
use crate::access::calls::Role;
use crate::access::door::{Door, Tokens};
use crate::access::identity::Identity;
use crate::access::secret::Secret;
use crate::scratch::run_store::RunStore;
use crate::transfer::feeds::TaskFeeds;
use crate::transport::grpc::serve_worker_runs;

const RECORDS: u64 = 80_000;

/// A header of a run with two lanes.
pub(crate) fn header() -> RunHeader {
    RunHeader {
        job_tag: 7,
        definition: 9,
        build: "0.1.0".to_owned(),
        subject: "toy 3x3".to_owned(),
        boundary: 3,
        key_order: KeyOrder::Window { first: 3, len: 3 },
        cut: None,
        key_bytes: 8,
        moduli: vec![0xffff_ffff_ffff_ffc5, 0xffff_ffff_ffff_ff4d],
        coefficients: 1,
    }
}

fn key(i: u64) -> u64 {
    i * 977 + 5
}

fn row(i: u64) -> [u64; 2] {
    [i, i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3]
}

/// Writes a run of several MiB into a scratch folder.
fn write_run(store: &RunStore) -> RunManifest {
    let manifest = write("j1/s0/g1/t0/a0/r0", RunOptions::default(), store);
    store.hold_written(std::slice::from_ref(&manifest)).unwrap();
    manifest
}

/// Writes a run that nobody knows of yet.
fn write(id: &str, options: RunOptions, store: &RunStore) -> RunManifest {
    let id = RunId(id.to_owned());
    let mut writer = RunWriter::<u64>::create(store.root(), &id, &header(), options, store.disk()).unwrap();
    for i in 0..RECORDS {
        writer.push(key(i), &row(i)).unwrap();
    }
    writer.finish().unwrap().unwrap().0
}

/// A worker that serves one run, and another that reads.
struct Pair {
    from: Arc<RunStore>,
    to: Arc<RunStore>,
    run: RunManifest,
    address: String,
    dir: TempDir,
}

async fn pair() -> Pair {
    let dir = tempfile::tempdir().unwrap();
    let from = Arc::new(RunStore::open(&dir.path().join("from"), 1 << 30).unwrap());
    let to = Arc::new(RunStore::open(&dir.path().join("to"), 1 << 30).unwrap());
    let run = write_run(&from);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = Arc::clone(&from);
    tokio::spawn(async move { serve_worker_runs(listener, served, &Door::open(), std::future::pending()).await });
    Pair { from, to, run, address, dir }
}

impl Pair {
    /// The input as the coordinator would name it; `folder` is only told where it is to be used.
    fn input(&self, run: &RunManifest, folder: Option<&Path>) -> InputRun {
        let holder = Holder {
            worker: self.from.worker().clone(),
            address: self.address.clone(),
            folder: folder.map_or_else(String::new, |f| f.to_string_lossy().into_owned()),
            fingerprint: String::new(),
        };
        InputRun { holders: vec![holder], ..InputRun::here(run.clone()) }
    }

    /// Reads a part on a blocking thread, as a task would; the failure is what would be reported.
    async fn read(&self, input: InputRun, part: RunPart) -> Result<Batch<u64>, Failure> {
        let feeds = TaskFeeds::new(Arc::clone(&self.to), Arc::default(), std::slice::from_ref(&input));
        let read = move || {
            let run = &input.manifest;
            let all = || -> Result<Batch<u64>, RunError> {
                let feed = feeds.open(run, &header(), part.clone())?;
                let mut cursor = RunCursor::<u64>::new(feed, &header(), &run.id, part);
                let (mut all, mut batch) = (Batch::new(), Batch::new());
                while cursor.next_batch(&mut batch)? {
                    all.keys.append(&mut batch.keys);
                    all.rows.append(&mut batch.rows);
                }
                Ok(all)
            };
            all().map_err(|error| feeds.failure(&run.id, &error))
        };
        tokio::task::spawn_blocking(read).await.unwrap()
    }

    async fn copy(&self, input: &InputRun) -> Result<(), Failure> {
        let feeds = TaskFeeds::new(Arc::clone(&self.to), Arc::default(), std::slice::from_ref(input));
        feeds.copy(input, &Arc::default()).await
    }

    fn flip_a_bit(&self) {
        let (path, _) = self.from.file(&self.run.id).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        std::fs::write(&path, bytes).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_part_is_read() {
    let pair = pair().await;
    assert!(pair.run.bytes > 1 << 20, "the run must need several chunks, it has {} bytes", pair.run.bytes);
    let folders = [None, Some(pair.from.root())];
    let ranges = [
        (0, None),
        (0, Some(key(RECORDS))),
        (key(100), Some(key(101))),
        (key(777) + 1, Some(key(50_000) + 1)),
        (key(RECORDS - 1), None),
        (key(RECORDS), None),
    ];
    for folder in folders {
        for (low, high) in ranges {
            for lanes in [0..2, 0..1, 1..2] {
                let part = RunPart { low: low.into(), high: high.map(u128::from), lanes: lanes.clone() };
                let got = pair.read(pair.input(&pair.run, folder), part.clone()).await.unwrap();
                let wanted = |i: &u64| key(*i) >= low && high.is_none_or(|high| key(*i) < high);
                let mut expected = Batch::<u64>::new();
                for i in (0..RECORDS).filter(wanted) {
                    expected.keys.push(key(i));
                    expected.rows.extend_from_slice(&row(i)[lanes.clone()]);
                }
                let same = got.keys == expected.keys && got.rows == expected.rows;
                assert!(same, "{folder:?} {part:?}: {} keys, not {}", got.keys.len(), expected.keys.len());
            }
        }
    }
    for lanes in [2..3, 0..3, 1..1] {
        for folder in folders {
            let part = RunPart::all(&header()).with_lanes(lanes.clone());
            let failure = pair.read(pair.input(&pair.run, folder), part).await.unwrap_err();
            let fits = matches!(&failure, Failure::Input { text, damaged: false, .. } if text.contains("lanes"));
            assert!(fits, "{failure:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_the_same_file() {
    for shared in [false, true] {
        let pair = pair().await;
        let input = pair.input(&pair.run, shared.then(|| pair.from.root()));
        pair.copy(&input).await.unwrap();
        pair.copy(&input).await.unwrap();
        assert_eq!(pair.to.held(), std::slice::from_ref(&pair.run.id));
        assert_eq!(pair.to.disk().used(), pair.run.bytes);
        let bytes = |store: &RunStore| std::fs::read(store.file(&pair.run.id).unwrap().0).unwrap();
        assert!(bytes(&pair.from) == bytes(&pair.to));
        pair.to.release(&pair.run.id);
        assert_eq!((pair.to.held().len(), pair.to.disk().used()), (0, 0));
        assert!(!pair.dir.path().join("to/j1").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_is_blamed_on_its_holder() {
    let pair = pair().await;
    pair.flip_a_bit();
    let input = pair.input(&pair.run, None);
    let check = |failure: Failure| match failure {
        Failure::Input { run, holder, damaged, text } => {
            assert_eq!((run, holder), (pair.run.id.clone(), pair.from.worker().clone()));
            assert!(damaged, "{text}");
        }
        other => panic!("{other:?}"),
    };
    check(pair.read(input.clone(), RunPart::all(&header())).await.unwrap_err());
    // One of the lanes is as it was.
    let lane = |lane: usize| pair.read(input.clone(), RunPart::all(&header()).with_lanes(lane..lane + 1));
    match (lane(0).await, lane(1).await) {
        (Ok(batch), Err(failure)) | (Err(failure), Ok(batch)) => {
            assert_eq!(batch.keys.len() as u64, RECORDS);
            check(failure);
        }
        other => panic!("{:?}", (other.0.map(|batch| batch.keys.len()), other.1.map(|batch| batch.keys.len()))),
    }
    check(pair.copy(&input).await.unwrap_err());
    assert_eq!((pair.to.held().len(), pair.to.disk().used()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_without_the_run_is_no_damage() {
    let pair = pair().await;
    pair.from.release(&pair.run.id);
    let gone = pair.read(pair.input(&pair.run, None), RunPart::all(&header())).await.unwrap_err();
    assert!(matches!(&gone, Failure::Input { damaged: false, .. }), "{gone:?}");
    // Nobody listens at the discard port.
    let mut input = pair.input(&pair.run, None);
    input.holders[0].address = "http://127.0.0.1:9".to_owned();
    let away = pair.read(input, RunPart::all(&header())).await.unwrap_err();
    assert!(matches!(&away, Failure::Input { damaged: false, .. }), "{away:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_holder_is_tried() {
    let pair = pair().await;
    let mut input = pair.input(&pair.run, None);
    let dead = Holder {
        worker: WorkerId("dead".to_owned()),
        address: "http://127.0.0.1:9".to_owned(),
        folder: String::new(),
        fingerprint: String::new(),
    };
    input.holders.insert(0, dead);
    assert_eq!(pair.read(input, RunPart::all(&header())).await.unwrap().keys.len() as u64, RECORDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_contents_and_other_versions_are_refused() {
    let pair = pair().await;
    let mut other = pair.run.clone();
    other.checksum ^= 1;
    let failure = pair.read(pair.input(&other, None), RunPart::all(&header())).await.unwrap_err();
    assert!(matches!(&failure, Failure::Input { damaged: true, .. }), "{failure:?}");

    let mut client = RunServiceClient::connect(pair.address.clone()).await.unwrap();
    let request = v1::ReadRunRequest { protocol_version: 99, run: pair.run.id.0.clone(), ..Default::default() };
    let status = client.read_run(request.clone()).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::FailedPrecondition);
    assert!(status.message().contains("99") && status.message().contains("install"), "{status}");
    for run in ["", "/etc/passwd", "../x", "j1//r0", "J1/r0"] {
        let request = v1::ReadRunRequest {
            protocol_version: PROTOCOL_VERSION,
            run: run.to_owned(),
            mode: v1::ReadMode::File.into(),
            ..request.clone()
        };
        assert_eq!(client.read_run(request).await.unwrap_err().code(), tonic::Code::InvalidArgument, "{run:?}");
    }
}

/// A copy that is given up on its way leaves neither a file nor a charge.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_given_up_leaves_nothing() {
    let pair = pair().await;
    // Connections are taken there and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut input = pair.input(&pair.run, None);
    input.holders[0].address = format!("http://{}", silent.local_addr().unwrap());
    let given_up = tokio::time::timeout(Duration::from_millis(300), pair.copy(&input)).await;
    assert!(given_up.is_err(), "it ended by itself: {given_up:?}");
    assert_eq!(pair.to.disk().used(), 0);
    assert_eq!(std::fs::read_dir(pair.to.root().join("incoming")).map_or(0, Iterator::count), 0);
    pair.copy(&pair.input(&pair.run, None)).await.unwrap();
    assert_eq!(pair.to.disk().used(), pair.run.bytes);
}

/// Where the holder's folder is seen here, but not what is in it, as after a mount was lost, its worker is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_comes_from_the_worker_where_its_folder_has_it_not() {
    let pair = pair().await;
    let mount = pair.dir.path().join("mount");
    std::fs::create_dir(&mount).unwrap();
    std::fs::copy(pair.from.root().join("worker.id"), mount.join("worker.id")).unwrap();
    pair.copy(&pair.input(&pair.run, Some(&mount))).await.unwrap();
    assert!(pair.to.holds(&pair.run));
}

/// Nobody else can mend it, so that the coordinator must not go on looking for a holder for ever.
#[tokio::test]
async fn a_run_of_the_task_itself_that_cannot_be_read_is_no_lost_input() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(RunStore::open(dir.path(), 1 << 30).unwrap());
    let feeds = TaskFeeds::new(Arc::clone(&store), Arc::default(), &[]);
    let own = RunId("j1/s0/g1/t0/a0/x1".to_owned());
    let failure = feeds.failure(&own, &RunError::Failed { place: "x1".to_owned() });
    assert!(matches!(&failure, Failure::Other { text } if text.contains(&own.0)), "{failure:?}");
}

/// Over TLS a run comes whole to whoever knows the certificate and has the token, and to nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_travels_over_tls() {
    let pair = pair().await;
    let identity = Identity::self_signed().unwrap();
    let (token, other) = (Secret::random().unwrap(), Secret::random().unwrap());
    let door = Door::guarded(&identity, Tokens::default().with(Role::Worker, &token).unwrap()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = Arc::clone(&pair.from);
    tokio::spawn(async move { serve_worker_runs(listener, served, &door, std::future::pending()).await });
    let right = identity.fingerprint().to_string();
    let wrong = Identity::self_signed().unwrap().fingerprint().to_string();
    let tls = format!("https://{address}");
    for (url, fingerprint, token, words) in [
        (&tls, &right, Some(&other), Some("not known here")),
        (&tls, &wrong, Some(&token), Some("not the one that is trusted")),
        (&tls, &String::new(), Some(&token), Some("64 hex digits")),
        (&tls, &right, None, Some("reads runs without TLS")),
        (&pair.address, &right, Some(&token), Some("reads runs only over TLS")),
        (&tls, &right, Some(&token), None),
    ] {
        let mut input = pair.input(&pair.run, None);
        input.holders[0].address.clone_from(url);
        input.holders[0].fingerprint.clone_from(fingerprint);
        let feeds = TaskFeeds::new(Arc::clone(&pair.to), Arc::default(), std::slice::from_ref(&input));
        let copied = feeds.with_token(token).copy(&input, &Arc::default()).await;
        match (copied, words) {
            (Ok(()), None) => assert!(pair.to.holds(&pair.run)),
            (Err(failure), Some(words)) => assert!(format!("{failure:?}").contains(words), "{failure:?}"),
            (got, _) => panic!("{url} {fingerprint}: {got:?}"),
        }
    }
}

/// Sends empty chunks and never ends.
struct Idle;

#[tonic::async_trait]
impl RunService for Idle {
    type ReadRunStream = tokio_stream::Iter<std::iter::Repeat<Result<v1::ReadRunResponse, Status>>>;

    async fn read_run(&self, _: Request<v1::ReadRunRequest>) -> Result<Response<Self::ReadRunStream>, Status> {
        Ok(Response::new(tokio_stream::iter(std::iter::repeat(Ok(v1::ReadRunResponse::default())))))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_sends_nothing_keeps_nobody() {
    let pair = pair().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder().add_service(RunServiceServer::new(Idle));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let mut input = pair.input(&pair.run, None);
    input.holders[0].address = format!("http://{address}");
    let failures = [pair.copy(&input).await.unwrap_err(), pair.read(input, RunPart::all(&header())).await.unwrap_err()];
    for failure in failures {
        let Failure::Input { damaged: false, text, .. } = &failure else { panic!("{failure:?}") };
        assert!(text.contains("an empty chunk"), "{text}");
    }
}
