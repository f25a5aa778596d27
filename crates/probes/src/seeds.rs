//! Sound inputs of each probe: where fuzzing starts, and what a test sees accepted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keima_cluster::{CoordinatorHandle, Store, Worker, WorkerConfig};
use keima_coordinator::{Config, Executor, Follows, JobSpec};
use keima_model::ProblemRequest;
use keima_problems::Problems;
use keima_runs::{BlockFeed, DiskBudget, LocalRun, RunKey, RunManifest, RunOptions, RunPart, RunWriter, run_path};
use keima_wire::{Message, v1};

use crate::runs::{header, id};

/// (Name of the probe, input).
pub type Seed = (&'static str, Vec<u8>);

/// All of them. Makes files in a temporary folder, and runs a small job for the records of a store.
///
/// # Panics
/// If a folder or a job cannot be made.
pub fn seeds() -> Vec<Seed> {
    [runs(), messages(), stores(), kept(), typed()].concat()
}

fn runs() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for shape in 0..18_u8 {
        let (moduli, coefficients) = (1 + (shape >> 1) % 3, 1 + u32::from(shape >> 3) % 3);
        let options = RunOptions {
            block_bytes: 400 + 300 * usize::from(shape % 4),
            compress_keys: shape % 3 > 0,
            consecutive: shape % 5 == 0,
            durable: false,
        };
        seeds.extend(match shape % 2 {
            0 => run::<u64>(shape, moduli, coefficients, options, |key| key as u64),
            _ => run::<u128>(shape, moduli, coefficients, options, |key| key << 64 | key),
        });
    }
    seeds
}

/// One run as a file, as blocks of another worker, and as a second copy.
fn run<K: RunKey>(shape: u8, moduli: u8, coefficients: u32, options: RunOptions, key: fn(u128) -> K) -> [Seed; 3] {
    let folder = tempfile::tempdir().expect("a folder");
    let header = header(K::BYTES, moduli, coefficients);
    let disk = Arc::new(DiskBudget::new(u64::MAX));
    let mut writer = RunWriter::<K>::create(folder.path(), &id(), &header, options, &disk).expect("a run");
    for number in 0..60 + u128::from(shape) {
        let row: Vec<u64> = (0..header.lanes() as u64).map(|lane| number as u64 * 77 + lane).collect();
        writer.push(key(number + number / 7 * 1000), &row).expect("keys ascend");
    }
    let (manifest, _) = writer.finish().expect("a run").expect("records");
    let path = run_path(folder.path(), &id()).expect("a sound id");
    let file = std::fs::read(&path).expect("a file");
    let mut feed = LocalRun::open(&path, &manifest, &header).expect("a run").feed(RunPart::all(&header));
    let (mut blocks, mut raw) = (vec![shape], Vec::new());
    while feed.next_block(&mut raw).expect("a block") {
        blocks.extend((raw.len() as u16).to_le_bytes());
        blocks.extend_from_slice(&raw);
    }
    let copy = [figures(&manifest).to_vec(), file.clone()].concat();
    [("run_file", file), ("run_blocks", blocks), ("run_intake", copy)]
}

fn figures(manifest: &RunManifest) -> [u8; 16] {
    let mut figures = [0; 16];
    for (at, number) in [manifest.bytes, manifest.records, manifest.last_key as u64, u64::from(manifest.checksum)]
        .into_iter()
        .enumerate()
    {
        figures[4 * at..4 * at + 4].copy_from_slice(&(number as u32).to_be_bytes());
    }
    figures
}

fn messages() -> Vec<Seed> {
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
    let input = v1::InputRun { manifest: Some(run.clone()), holders: vec![holder] };
    let message = |kind: u8, bytes: Vec<u8>| ("messages", [vec![kind], bytes].concat());
    vec![
        message(0, hello.encode_to_vec()),
        message(3, task.encode_to_vec()),
        message(5, spec.encode_to_vec()),
        message(12, input.encode_to_vec()),
        message(13, run.encode_to_vec()),
        message(15, b"w1\nj1/s0/g1/t0/a0/r0".to_vec()),
    ]
}

/// The records of a coordinator in the middle of a job, and its log.
fn stores() -> Vec<Seed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let folder = tempfile::tempdir().expect("a folder");
    let mut seeds = Vec::new();
    for size in ["3x3", "5x5"] {
        let data = folder.path().join(format!("data of {size}"));
        runtime.block_on(job(size, &data, &folder.path().join(size)));
        seeds.push(("store_log", std::fs::read(data.join("coordinator.log")).expect("a log")));
        let records = loop {
            // The coordinator's tasks may hold the store for a moment.
            match Store::open(&data).and_then(|store| store.load()) {
                Ok(records) => break records,
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        seeds.push(("records", crate::store::record_bytes(&records)));
    }
    seeds
}

/// Runs a job until some stages are done.
async fn job(size: &str, data: &Path, scratch: &Path) {
    let config = Config { durable_interval_millis: 0, ..Config::default() };
    let handle = CoordinatorHandle::open(data, config, Arc::new(Problems)).expect("a coordinator");
    let spec = JobSpec {
        problem: ProblemRequest { name: "go".to_owned(), size: size.to_owned(), options: Vec::new() },
        priority: 0,
        task_memory_bytes: 16 << 20,
        disk_bytes: None,
        residues_per_sweep: None,
        window: Some(1),
        slots: 1,
        worker_slots: 1,
        executor: Executor::Stream,
        series: true,
        other_primes: false,
        follows: Follows::default(),
    };
    let job = handle.submit(spec).await.expect("a job");
    let config = WorkerConfig {
        scratch: scratch.to_owned(),
        memory_bytes: 128 << 20,
        disk_bytes: 1 << 30,
        slots: 1,
        advertise: String::new(),
    };
    let worker = Worker::open(config, Arc::new(Problems)).expect("a worker");
    let asked = handle.clone();
    let enough = async move {
        while asked.status(job).await.is_ok_and(|status| !status.state.is_over() && status.stage < 6) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    worker.run(handle, enough).await.expect("a worker ends in order");
}

fn kept() -> Vec<Seed> {
    let line = "101 5 100";
    let sweeps = format!("keima sweeps 1 probe\n{line} {}\n", crc32c::crc32c(line.as_bytes()));
    vec![("kept_numbers", sweeps.into_bytes())]
}

fn typed() -> Vec<Seed> {
    let requests = [
        "go 3x4",
        "go 19x19",
        "knight 6x6 closed",
        "knight 5x5 from=a1 to=e5",
        "grid-paths 7x7",
        "grid-cycles 6x6 hamiltonian",
        "quoridor 3 all",
        "quoridor-fences 4x4 max-fences=3",
        "square-free 5",
        "hard-squares 8x8",
    ];
    let words = ["2GiB", "1.5 MB", "512", "1..8x1..8", "1..9", "j17"];
    let of = |probe: &'static str| move |text: &&str| (probe, text.as_bytes().to_vec());
    requests.iter().map(of("requests")).chain(words.iter().map(of("typed"))).collect()
}
