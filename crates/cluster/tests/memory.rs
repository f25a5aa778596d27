//! What one message of a peer costs the coordinator in memory, however it is made: some tens of MiB at most.

#[path = "cluster/common.rs"]
mod common;

use bytes::{Buf as _, BufMut as _};
use common::{coordinator, quick};
use keima_cluster::{BUILD, PROTOCOL_VERSION};
use keima_wire::v1;
use peak_alloc::PeakAlloc;
use prost::Message;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Sends bytes as they are: making a message here must not look like taking one there.
#[derive(Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }
    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, dst: &mut EncodeBuf<'_>) -> Result<(), Status> {
        dst.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        src.advance(src.remaining());
        Ok(Some(()))
    }
}

/// Calls a method with some messages. Returns the MiB that it took at most, and what was answered.
async fn cost(channel: &Channel, path: &'static str, pages: Vec<Vec<u8>>) -> (f64, Result<(), Status>) {
    let mut grpc = tonic::client::Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let path = http::uri::PathAndQuery::from_static(path);
    let answer = grpc.client_streaming(Request::new(tokio_stream::iter(pages)), path, Raw).await.map(drop);
    ((HEAP.peak_usage().saturating_sub(before)) as f64 / 1_048_576.0, answer)
}

/// Bytes of a message with as many empty nested messages in a field as fit.
fn empties(field: u8, bytes: usize) -> Vec<u8> {
    [field << 3 | 2, 0].repeat(bytes / 2)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_costs_little() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let page = 500 << 10;
    let part = |bytes: Vec<u8>| {
        let report = Some(v1::report_task_request::Report::Done(bytes.into()));
        v1::ReportTaskRequest {
            worker: "a".to_owned(),
            attempt: Some(v1::AttemptId::default()),
            report,
            ..Default::default()
        }
        .encode_to_vec()
    };
    let first = v1::SayHelloRequest {
        protocol_version: PROTOCOL_VERSION,
        build: BUILD.into(),
        holder: Some(v1::Holder { worker: "a".to_owned(), ..Default::default() }),
        slots: 1,
        ..Default::default()
    };
    let mut hello = vec![first.encode_to_vec()];
    for names in 0..100 {
        let held = (0..4000).map(|run| format!("j1/s0/g12/t{names}/a0/r{run}")).collect();
        hello.push(v1::SayHelloRequest { held, ..Default::default() }.encode_to_vec());
    }
    // As many messages as the bytes of a call allow: one that is empty takes five.
    let many = |first: Vec<u8>, bytes: usize| -> Vec<Vec<u8>> {
        std::iter::once(first).chain(vec![Vec::new(); bytes / 5]).collect()
    };
    let (many_hellos, many_reports) = (many(hello[0].clone(), 8 << 20), many(Vec::new(), (8 << 20) - 5));
    let beat = v1::HeartbeatRequest { worker: "a".to_owned(), ..Default::default() };
    let many_beats = many(beat.encode_to_vec(), 8 << 20);
    for (what, path, pages, most_mib) in [
        ("running", "/keima.v1.CoordinatorService/Heartbeat", vec![empties(3, page); 60], 64.0),
        ("held", "/keima.v1.CoordinatorService/Heartbeat", vec![empties(4, page); 60], 64.0),
        ("runs", "/keima.v1.CoordinatorService/ReportTask", vec![part(empties(1, page / 2)); 30], 64.0),
        ("passes", "/keima.v1.CoordinatorService/ReportTask", vec![part(empties(5, page / 2)); 30], 64.0),
        (
            "options",
            "/keima.v1.JobService/SubmitJob",
            vec![[vec![0x12, 0x80, 0x80, 3], empties(1, 48 << 10)].concat()],
            8.0,
        ),
        ("small reports", "/keima.v1.CoordinatorService/ReportTask", many_reports, 64.0),
        ("small hellos", "/keima.v1.CoordinatorService/SayHello", many_hellos, 64.0),
        ("small heartbeats", "/keima.v1.CoordinatorService/Heartbeat", many_beats, 64.0),
        ("a list of 400,000 runs", "/keima.v1.CoordinatorService/SayHello", hello, 160.0),
    ] {
        // A connection may be closed by what it carried.
        let channel = Endpoint::from_shared(hub.address.clone()).unwrap().connect().await.unwrap();
        let (mib, answer) = cost(&channel, path, pages).await;
        println!("{what} by {path}: {mib:.1} MiB; {answer:?}");
        // An honest list is long and taken; all others make no sense.
        assert_eq!(answer.is_ok(), what.starts_with("a list"), "{what}: {answer:?}");
        assert!(mib < most_mib, "{what} by {path} took {mib:.1} MiB");
    }
    hub.stop().await;
}
