//! Messages, and requests one after the other.

use keima_cluster::probe::framed;
use keima_wire::{Message, v1};

use crate::Seed;
use crate::calls::step;
use crate::runs::id;

pub(super) fn all() -> Vec<Seed> {
    let key = |low| Some(v1::Key { high: 0, low });
    let run = v1::RunManifest {
        id: id().0,
        bytes: 4096,
        records: 9,
        first_key: key(1),
        last_key: key(99),
        sums: vec![5, 6],
        checksum: 7,
    };
    let tally = || Some(v1::Tally { states: 9, sums: vec![1, 2], fingerprint: vec![3, 4] });
    let sums = || vec![v1::DegreeSums { lanes: vec![] }, v1::DegreeSums { lanes: vec![1, 2] }];
    let task = v1::TaskManifest {
        runs: vec![run.clone()],
        splits: vec![v1::Split { key: key(50), records: 4 }, v1::Split { key: key(100), records: 5 }],
        gaps: vec![v1::KeyGap { after: key(5), before: key(40) }],
        input: tally(),
        output: tally(),
        kept: tally(),
        passes: vec![v1::PassTally {
            states: 3,
            successors: 8,
            by_degree: sums(),
            by_shift: sums(),
            new_sums: vec![4, 5],
        }],
        functionals: vec![v1::FunctionalSum { functional: 1, lanes: vec![3, 4] }],
        times: Some(v1::TaskTimes { read_nanos: 1, map_nanos: 2, write_nanos: 3 }),
        first_lane: 2,
        ..Default::default()
    };
    let holder =
        v1::Holder { worker: "w1".into(), address: "http://h:1".into(), folder: "/s".into(), ..Default::default() };
    let running = v1::Running {
        attempt: Some(v1::AttemptId { job: 1, sweep: 0, generation: 2, task: 3, attempt: 4 }),
        nonce: 5,
        states_done: 6,
        pulse: 7,
    };
    let hello = v1::SayHelloRequest {
        holder: Some(holder.clone()),
        slots: 2,
        task_memory_bytes: 1 << 20,
        disk_bytes: 1 << 30,
        held: vec![id().0],
        running: vec![running],
        store: Some(8),
        build: "0.1.0+7".into(),
        ..Default::default()
    };
    let options = vec![v1::ProblemOption { name: "walls".into(), value: "3".into() }];
    let problem = v1::Problem { name: "go".into(), size: "9x5".into(), options };
    let spec = v1::JobSpec { problem: Some(problem), task_memory_bytes: 1 << 24, slots: 2, ..Default::default() };
    let input = v1::InputRun { manifest: Some(run.clone()), holders: vec![holder], first_lane: 3 };
    let calls = requests(&hello, &task, &spec);
    let parts = v1::ReadRunRequest {
        mode: v1::ReadMode::Blocks.into(),
        low: key(7),
        high: key(500),
        first_lane: 1,
        lanes: 2,
        ..Default::default()
    };
    let message = |kind: u8, bytes: Vec<u8>| ("messages", [vec![kind], bytes].concat());
    vec![
        message(0, hello.encode_to_vec()),
        message(3, task.encode_to_vec()),
        message(5, spec.encode_to_vec()),
        message(12, input.encode_to_vec()),
        message(13, run.encode_to_vec()),
        message(15, b"w1\nj1/s0/g1/t0/a0/r0".to_vec()),
        ("calls", calls),
        ("calls", users_requests()),
        ("calls", paged_requests(&hello, &task)),
        ("transfers", [vec![0], parts.encode_to_vec()].concat()),
    ]
}

/// The other requests of users, for the jobs that are there.
fn users_requests() -> Vec<u8> {
    let protocol_version = keima_cluster::PROTOCOL_VERSION;
    let replan = Some(v1::Replan { task_memory_bytes: Some(1 << 24), disk_bytes: Some(1 << 30) });
    let resume_from = v1::SubmitJobRequest { resume_from: "j1".to_owned(), replan, ..Default::default() };
    let watch = v1::WatchJobRequest { job: 1, interval_millis: 500, values_known: 1, ..Default::default() };
    let all: [(u8, Vec<u8>); 6] = [
        (12, v1::PauseJobRequest { protocol_version, job: 1 }.encode_to_vec()),
        (32 + 13, v1::ResumeJobRequest { protocol_version, job: 1 }.encode_to_vec()),
        (15, watch.encode_to_vec()),
        (16, v1::ListWorkersRequest { protocol_version }.encode_to_vec()),
        (5, resume_from.encode_to_vec()),
        (14, v1::CancelJobRequest { protocol_version, job: 2 }.encode_to_vec()),
    ];
    all.iter().flat_map(|(kind, message)| step(*kind, message)).collect()
}

/// A worker's calls that come in several messages.
fn paged_requests(hello: &v1::SayHelloRequest, task: &v1::TaskManifest) -> Vec<u8> {
    let worker = || "w1".to_owned();
    let names = || vec![id().0, "j1/s0/g1/t0/a0/r1".to_owned()];
    let hello = v1::SayHelloRequest {
        build: keima_cluster::BUILD.to_owned(),
        held: Vec::new(),
        running: Vec::new(),
        store: None,
        ..hello.clone()
    };
    let hello = [hello, v1::SayHelloRequest::default()].map(|page| page.encode_to_vec());
    let beat = v1::HeartbeatRequest { worker: worker(), held: names(), ..Default::default() };
    let beat = [beat, v1::HeartbeatRequest { held: names(), ..Default::default() }].map(|page| page.encode_to_vec());
    let manifest = task.encode_to_vec();
    let (one, other) = manifest.split_at(manifest.len() / 2);
    let part = |part: &[u8]| Some(v1::report_task_request::Report::Done(part.to_vec().into()));
    let attempt = Some(v1::AttemptId::default());
    let report = v1::ReportTaskRequest { worker: worker(), attempt, report: part(one), ..Default::default() };
    let rest = v1::ReportTaskRequest { report: part(other), ..Default::default() };
    let report = [report, rest].map(|page| page.encode_to_vec());
    let pull = v1::PullTaskRequest { worker: worker(), ..Default::default() };
    let all: [(u8, Vec<u8>); 4] = [
        (9, framed(hello)),
        (128 + 1, pull.encode_to_vec()),
        (128 + 32 + 10, framed(beat)),
        (128 + 32 + 11, framed(report)),
    ];
    all.iter().flat_map(|(kind, message)| step(*kind, message)).collect()
}

/// What a worker and a user ask one after the other, in the form of the probe.
fn requests(hello: &v1::SayHelloRequest, task: &v1::TaskManifest, spec: &v1::JobSpec) -> Vec<u8> {
    let worker = || "w1".to_owned();
    let hello = v1::SayHelloRequest {
        protocol_version: keima_cluster::PROTOCOL_VERSION,
        build: keima_cluster::BUILD.to_owned(),
        held: Vec::new(),
        running: Vec::new(),
        store: None,
        ..hello.clone()
    };
    let pull = v1::PullTaskRequest { worker: worker(), ..Default::default() };
    let attempt = Some(v1::AttemptId::default());
    let running = vec![v1::Running { attempt, states_done: 6, pulse: 7, ..Default::default() }];
    let heartbeat = v1::HeartbeatRequest { worker: worker(), running, ..Default::default() };
    let report =
        |report| v1::ReportTaskRequest { worker: worker(), attempt, report: Some(report), ..Default::default() };
    let done = report(v1::report_task_request::Report::Done(task.encode_to_vec().into()));
    let text = v1::TextFailure { text: "full".to_owned() };
    let failed = v1::Failure { kind: Some(v1::failure::Kind::Other(text)) };
    let failed = report(v1::report_task_request::Report::Failed(failed));
    let small = v1::Problem { name: "go".into(), size: "2x3".into(), ..Default::default() };
    let terms = v1::Terms { name: "one".into(), owner: "me".into(), max_workers: 2, ..Default::default() };
    let submit = v1::SubmitJobRequest {
        spec: Some(v1::JobSpec { problem: Some(small), ..spec.clone() }),
        terms: Some(terms),
        ..Default::default()
    };
    let list = v1::ListJobsRequest { owner: Some("me".into()), limit: 1, ..Default::default() };
    let change = v1::ChangeJobRequest { job: 1, priority: Some(3), note: Some("now".into()), ..Default::default() };
    let job = v1::GetJobRequest { job: 2, ..Default::default() };
    let goodbye = v1::SayGoodbyeRequest { worker: worker(), epoch: 0 };
    let all: [(u8, Vec<u8>); 12] = [
        (0, hello.encode_to_vec()),
        (128 + 1, pull.encode_to_vec()),
        (128 + 32 + 2, heartbeat.encode_to_vec()),
        (128 + 32 + 3, done.encode_to_vec()),
        (128 + 1, pull.encode_to_vec()),
        (128 + 3, failed.encode_to_vec()),
        (5, submit.encode_to_vec()),
        (6, list.encode_to_vec()),
        (7, change.encode_to_vec()),
        (8, job.encode_to_vec()),
        (64 + 8, job.encode_to_vec()),
        (128 + 64 + 4, goodbye.encode_to_vec()),
    ];
    all.iter().flat_map(|(kind, message)| step(*kind, message)).collect()
}
