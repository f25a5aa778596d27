//! Every call as every role, and connections that must not be.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use keima_coordinator::Config;
use keima_problems::Problems;
use keima_wire::v1;
use keima_wire::v1::coordinator_service_client::CoordinatorServiceClient;
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::KIND;
use super::calls::{CALLS, Call, Role};
use super::connect::Connect;
use super::door::{Door, Tokens};
use super::identity::Identity;
use super::pass::{Bearer, GuardedChannel, Pass};
use super::secret::Secret;
use super::trust::Trust;
use crate::driver::CoordinatorHandle;
use crate::scratch::run_store::RunStore;
use crate::transport::grpc::{JobClient, serve_coordinator, serve_worker_runs};
use crate::world::Channel;

/// A coordinator and a worker's run service with TLS, and all tokens.
struct Cluster {
    coordinator: SocketAddr,
    runs: SocketAddr,
    trust: Trust,
    secrets: [Secret; 3],
    _dir: tempfile::TempDir,
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn cluster() -> Cluster {
    let dir = tempfile::tempdir().unwrap();
    let identity = Identity::self_signed().unwrap();
    let secrets = [(); 3].map(|()| Secret::random().unwrap());
    let tokens =
        Role::ALL.into_iter().zip(&secrets).try_fold(Tokens::default(), |t, (role, s)| t.with(role, s)).unwrap();
    let door = Door::guarded(&identity, tokens).unwrap();
    let handle = CoordinatorHandle::open(&dir.path().join("data"), Config::default(), Arc::new(Problems)).unwrap();
    let (listening, coordinator) = listener().await;
    tokio::spawn(async move { serve_coordinator(listening, handle, &door, std::future::pending()).await });
    let (listening, runs) = listener().await;
    let store = Arc::new(RunStore::open(&dir.path().join("scratch"), 1 << 20).unwrap());
    let door = Door::guarded(&identity, Tokens::default().with(Role::Worker, &secrets[2]).unwrap()).unwrap();
    tokio::spawn(async move { serve_worker_runs(listening, store, &door, std::future::pending()).await });
    let trust = Trust::fingerprint(identity.fingerprint()).unwrap();
    Cluster { coordinator, runs, trust, secrets, _dir: dir }
}

impl Cluster {
    /// A new connection that shows this token, if any.
    fn channel(&self, at: SocketAddr, token: Option<&Secret>) -> GuardedChannel {
        let endpoint = Endpoint::from_shared(format!("https://{at}")).unwrap();
        if let Some(token) = token {
            Pass::new(self.trust.clone(), token.clone()).channel(&endpoint, Path::new(""), "").unwrap()
        } else {
            let connect = Connect::new(self.trust.clone());
            InterceptedService::new(Channel::Real(endpoint.connect_with_connector_lazy(connect)), Bearer(None))
        }
    }
}

/// Calls a method with a message of some bytes. The answer's messages are not waited for.
async fn make(channel: GuardedChannel, path: &'static str, message: Vec<u8>) -> Result<(), Status> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let path = http::uri::PathAndQuery::from_static(path);
    // Messages of one field, bytes, are none of the services': what decodes them, says so.
    let codec = ProstCodec::<Vec<u8>, ()>::default();
    grpc.server_streaming(Request::new(message), path, codec).await.map(drop)
}

fn kind(called: &Result<(), Status>) -> Option<&str> {
    called.as_ref().err().and_then(|status| status.metadata().get(KIND)).and_then(|kind| kind.to_str().ok())
}

/// The table is what happens: each call of each service as each role, as nobody, and with a wrong token.
#[tokio::test(flavor = "multi_thread")]
async fn every_call_as_every_role() {
    let cluster = Arc::new(cluster().await);
    let wrong = Secret::random().unwrap();
    let callers: Vec<(Option<Role>, Option<Secret>)> = Role::ALL
        .into_iter()
        .zip(&cluster.secrets)
        .map(|(role, secret)| (Some(role), Some(secret.clone())))
        .chain([(None, None), (None, Some(wrong))])
        .collect();
    let mut calls = tokio::task::JoinSet::new();
    let few = Arc::new(tokio::sync::Semaphore::new(16));
    for call in CALLS {
        for (role, token) in callers.clone() {
            for (at, is_worker) in [(cluster.coordinator, false), (cluster.runs, true)] {
                let cluster = Arc::clone(&cluster);
                let (token, few) = (token.clone(), Arc::clone(&few));
                calls.spawn(async move {
                    let _place = few.acquire_owned().await;
                    let called = make(cluster.channel(at, token.as_ref()), call.path, Vec::new()).await;
                    (call, role, token.is_some(), is_worker, called)
                });
            }
        }
    }
    let mut made = 0;
    while let Some(done) = calls.join_next().await {
        let (call, role, has_token, is_worker, called): (Call, Option<Role>, bool, bool, _) = done.unwrap();
        // A worker's service knows the worker's token only: readers and clients are strangers there.
        let role = role.filter(|role| !is_worker || *role == Role::Worker);
        let expected = match role {
            _ if call.admits(role) => None,
            None => Some("no-credentials"),
            Some(_) => Some("wrong-role"),
        };
        let got = kind(&called).filter(|kind| ["no-credentials", "wrong-role"].contains(kind));
        assert_eq!(got, expected, "{} as {role:?}, token {has_token}, worker's {is_worker}: {called:?}", call.path);
        if let Some(expected) = expected {
            let status = called.unwrap_err();
            let code = if expected == "wrong-role" { Code::PermissionDenied } else { Code::Unauthenticated };
            assert_eq!(status.code(), code, "{status:?}");
            assert!(status.message().contains("token"), "{status:?}");
        }
        made += 1;
    }
    assert_eq!(made, CALLS.len() * 5 * 2);
}

/// Of a refused call nothing is decoded, of an admitted one not more than its line in the table says.
#[tokio::test(flavor = "multi_thread")]
async fn long_messages_and_unknown_calls_are_refused() {
    let cluster = cluster().await;
    let [reader, client, worker] = &cluster.secrets;
    let submit = "/keima.v1.JobService/SubmitJob";
    for (token, path, bytes, code, words) in [
        // The message's only field is none of a submission.
        (Some(client), submit, 100, Code::Internal, "decode"),
        (Some(client), submit, 65 << 10, Code::OutOfRange, "65536 bytes"),
        (Some(client), submit, 8 << 20, Code::OutOfRange, "65536 bytes"),
        (Some(reader), submit, 8 << 20, Code::PermissionDenied, "a call for a client"),
        (None, submit, 8 << 20, Code::Unauthenticated, "no token"),
        (Some(worker), "/keima.v1.CoordinatorService/ReportTask", 2 << 20, Code::OutOfRange, "524288 bytes"),
        (Some(client), "/keima.v1.JobService/Nothing", 10, Code::Unimplemented, "no call"),
        (
            Some(worker),
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            10,
            Code::Unimplemented,
            "no call",
        ),
        (None, "/keima.v1.JobService/Nothing", 10, Code::Unauthenticated, "no token"),
    ] {
        let called = make(cluster.channel(cluster.coordinator, token), path, vec![0; bytes]).await;
        let status = called.unwrap_err();
        assert!(status.code() == code && status.message().contains(words), "{path} {bytes}: {status:?}");
    }
    // Many messages in one call are counted together.
    let page =
        v1::HeartbeatRequest { worker: "w1".to_owned(), held: vec!["j".repeat(250); 1700], ..Default::default() };
    let mut calls = CoordinatorServiceClient::new(cluster.channel(cluster.coordinator, Some(worker)));
    let called = calls.heartbeat(tokio_stream::iter(std::iter::repeat_n(page, 90))).await;
    let status = called.unwrap_err();
    assert!(status.message().contains("at most 33554432 bytes"), "{status:?}");
}

/// What callers are told whose URL, fingerprint or token does not fit.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_do_not_fit_say_why() {
    let cluster = cluster().await;
    let client = cluster.secrets[1].clone();
    let other = Trust::fingerprint(Identity::self_signed().unwrap().fingerprint()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let handle = CoordinatorHandle::open(dir.path(), Config::default(), Arc::new(Problems)).unwrap();
    let (listening, plain) = listener().await;
    tokio::spawn(async move { serve_coordinator(listening, handle, &Door::open(), std::future::pending()).await });
    let tls = cluster.coordinator;
    let right = Pass::new(cluster.trust.clone(), client.clone());
    let check = async |url: String, pass: &Pass, words: Option<&str>| {
        let jobs = match JobClient::with(&url, pass) {
            Ok(client) => client.jobs().await,
            Err(error) => Err(error),
        };
        match (jobs, words) {
            (Ok(_), None) => {}
            (Err(error), Some(words)) => {
                assert!(error.to_string().contains(words) && !error.may_pass(), "{url}: {error}");
            }
            (got, _) => panic!("{url}: {got:?}"),
        }
    };
    check(format!("https://{tls}"), &right, None).await;
    check(format!("http://{plain}"), &Pass::none(), None).await;
    check(format!("https://localhost:{}", tls.port()), &right, None).await;
    check(format!("http://{tls}"), &Pass::none(), Some("speaks TLS; write https://")).await;
    check(format!("https://{plain}"), &right, Some("does not speak TLS")).await;
    check(format!("https://{tls}"), &Pass::new(other, client.clone()), Some("not the one that is trusted")).await;
    check(format!("https://{tls}"), &Pass::none(), Some("needs a fingerprint")).await;
    check(format!("http://{plain}"), &right, Some("http:// takes none")).await;
    let stranger = Pass::new(cluster.trust.clone(), Secret::random().unwrap());
    check(format!("https://{tls}"), &stranger, Some("--token-file")).await;
    let worker = Pass::new(cluster.trust.clone(), cluster.secrets[2].clone());
    check(format!("https://{tls}"), &worker, Some("ListJobs is a call for a reader or a client")).await;
}

/// Connections that finish their greeting and make no call keep nobody out, nor does one that tries tokens.
#[tokio::test(flavor = "multi_thread")]
async fn one_who_tries_tokens_is_cut_off_alone() {
    let cluster = cluster().await;
    let wrong = Secret::random().unwrap();
    let path = "/keima.v1.JobService/ListJobs";
    let channel = cluster.channel(cluster.coordinator, Some(&wrong));
    let mut tries = tokio::task::JoinSet::new();
    for _ in 0..50 {
        tries.spawn(make(channel.clone(), path, Vec::new()));
    }
    let honest = cluster.channel(cluster.coordinator, Some(&cluster.secrets[0]));
    let called = make(honest, path, Vec::new()).await;
    assert_eq!(kind(&called).filter(|kind| *kind != "version"), None, "{called:?}");
    let mut cut = 0;
    while let Some(tried) = tries.join_next().await {
        let tried = tried.unwrap();
        assert!(tried.is_err());
        cut += u32::from(kind(&tried).is_none());
    }
    assert!(cut > 0, "the connection never closed");
}
