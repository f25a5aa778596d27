//! Every word survives the wire, and nonsense does not get in.

mod refusals;

use std::fmt::Debug;

use keima_coordinator::{
    Check, Failure, Grant, Hello, Housekeeping, JobAccount, JobDurability, JobPosition, JobProblem, JobProgress,
    JobSpec, JobStatus, JobTraffic, JobUsage, JobValues, JobWorker, Outcome, Plan, Report, Residue, Running,
    SeriesEntry, State, StoreId, Verdict, Welcome, Work, WorkerStatus,
};
use keima_model::{Board, Direction, Layout, ProblemRequest, Window};
use keima_orders::{AttemptId, BlockOrder, Holder, InputRun, JobId, KeptOrder, Lanes, Origin, TaskOrder, WorkerId};
use keima_runs::{
    Balance, FunctionalSum, KeyGap, PassTally, RunId, RunManifest, Split, Tally, TaskManifest, TaskTimes,
};
use keima_wire::v1;

use super::order::order_to;
use super::{ConvertError, NAME_BYTES, Wire, cut, plain};

fn check<T: Wire + PartialEq + Debug>(word: &T) {
    assert_eq!(T::from_wire(word.to_wire()).as_ref(), Ok(word));
}

fn attempt() -> AttemptId {
    AttemptId { job: JobId(3), sweep: 1, generation: 12, task: 5, attempt: 2 }
}

fn manifest() -> RunManifest {
    RunManifest {
        id: RunId("j3/s1/g12/t5/a2/r0".to_owned()),
        bytes: 4096,
        records: 77,
        first_key: 1,
        last_key: u128::MAX - 9,
        sums: vec![u64::MAX, 0, 5],
        checksum: 0xdead_beef,
    }
}

fn task_manifest() -> TaskManifest {
    let tally = Tally { states: 9, sums: vec![1, 2], fingerprint: vec![3, u64::MAX] };
    TaskManifest {
        runs: vec![manifest()],
        first_lane: 5,
        splits: vec![Split { key: 1 << 100, records: 70 }, Split { key: u128::MAX, records: 7 }],
        gaps: vec![KeyGap { after: 3, before: 1 << 90 }],
        input: tally.clone(),
        output: tally.clone(),
        kept: Some(tally),
        passes: vec![PassTally {
            states: 3,
            successors: 8,
            by_degree: vec![vec![], vec![1, 2]],
            by_shift: vec![vec![6, 7], vec![8, 9]],
            new_sums: vec![4, 5],
        }],
        functionals: vec![FunctionalSum { functional: 4, lanes: vec![6, 7] }],
        balance: Some(Balance { expected: vec![1, 9], got: vec![9, 1] }),
        bytes_read: 1,
        bytes_written: 2,
        bytes_spilled: 3,
        times: TaskTimes { read_nanos: 4, map_nanos: 5, write_nanos: 6 },
    }
}

fn holder() -> Holder {
    let worker = WorkerId("00ff".to_owned());
    Holder {
        worker,
        address: "http://10.0.0.7:7702".to_owned(),
        folder: "/scratch".to_owned(),
        fingerprint: String::new(),
    }
}

fn input() -> InputRun {
    InputRun { manifest: manifest(), first_lane: 3, holders: vec![holder()] }
}

fn request() -> ProblemRequest {
    let options = vec![("walls".to_owned(), "3".to_owned())];
    ProblemRequest { name: "go".to_owned(), size: "9x5".to_owned(), options }
}

fn order() -> TaskOrder {
    TaskOrder {
        attempt: attempt(),
        block: Some(BlockOrder {
            windows: vec![Window { first: 0, len: 4 }, Window { first: 4, len: 3 }],
            group_records: 5000,
            moduli_in: vec![(1 << 60) - 93, (1 << 60) - 107],
            parted: true,
            slots: 12,
            both_ways: true,
            direction: Direction::Transposed,
            lanes: Some(Lanes { first: 1, end: 2 }),
            kept: Some(KeptOrder { inputs: vec![input()], moduli: vec![(1 << 60) - 93] }),
        }),
        problem: request(),
        origin: Origin { identity: "go 3x3; behaviour 1f".into(), build: "0.1.0+2".into(), begun_by: "0.1.0+1".into() },
        job_tag: 1,
        salt: 2,
        moduli: vec![(1 << 59) + 55, u64::MAX - 58],
        first_pass: 9,
        window: Window { first: 3, len: 2 },
        layout_in: Layout::Stage(Window { first: 3, len: 2 }),
        layout_out: Layout::Canonical,
        from_start: false,
        low: 5,
        high: Some(1 << 64),
        inputs: vec![input()],
        task_memory_bytes: 1 << 30,
        durable: true,
        most_splits: 8,
    }
}

#[test]
fn words_survive() {
    for key in [0, 1, u128::from(u64::MAX), 1 << 64, u128::MAX] {
        check(&key);
    }
    check(&task_manifest());
    check(&TaskManifest::default());
    check(&Grant { attempt: attempt(), nonce: 8, lease_millis: 30, work: Work::Stage(Box::new(order())) });
    let open = TaskOrder { block: None, high: None, from_start: true, inputs: Vec::new(), ..order() };
    check(&Grant { attempt: attempt(), nonce: 8, lease_millis: 30, work: Work::Stage(Box::new(open)) });
    check(&Grant { attempt: attempt(), nonce: 8, lease_millis: 30, work: Work::Copy(Box::new(input())) });
    let housekeeping = Housekeeping { abandon: vec![attempt()], release: vec![manifest().id] };
    check(&Welcome { epoch: 4, housekeeping: housekeeping.clone(), heartbeat_millis: 5, store: StoreId(6) });
    check(&Hello {
        archive: false,
        incarnation: 5,
        place: "6:7".to_owned(),
        holder: holder(),
        slots: 2,
        task_memory_bytes: 3,
        disk_bytes: 4,
        held: vec![manifest().id],
        running: vec![Running { attempt: attempt(), nonce: 9, states_done: 10, pulse: 11 }],
        store: Some(StoreId(u64::MAX)),
        build: "0.1.0+2".to_owned(),
    });
    let text = || "what happened".to_owned();
    for failure in [
        Failure::Input { run: manifest().id, holder: WorkerId("a-1".to_owned()), damaged: true, text: text() },
        Failure::Disk { text: text() },
        Failure::Check { text: text() },
        Failure::Refused { text: text() },
        Failure::Stopped,
        Failure::Other { text: text() },
    ] {
        check(&Report::Failed(failure));
    }
    check(&Report::Done(Box::new(task_manifest())));
    check(&(Verdict::Accepted, Housekeeping::default()));
    check(&(Verdict::Refused { reason: text() }, housekeeping));
    check(&JobSpec {
        worker_slots: 3,
        executor: keima_coordinator::Executor::Block,
        series: true,
        other_primes: true,
        problem: request(),
        priority: -3,
        task_memory_bytes: 1,
        disk_bytes: None,
        residues_per_sweep: Some(4),
        window: Some(0),
        slots: 2,
        follows: keima_coordinator::Follows { task_memory: true, disk: false, slots: true },
    });
    for state in [State::Queued, State::Running, State::Paused, State::Done, State::CheckFailed, State::Cancelled] {
        check(&state);
    }
    let checks = vec![Check::new("spare_prime", true, "1 = 1"), Check::new("formula", false, "off")];
    check(&Outcome {
        problem: "go".to_owned(),
        size: "9x5".to_owned(),
        count: "123".to_owned(),
        counts: vec!["100".to_owned(), "23".to_owned()],
        residues: vec![Residue { modulus: u64::MAX, residue: 4 }],
        series: vec![SeriesEntry {
            index: 1,
            name: "L(9,1)".to_owned(),
            count: String::new(),
            counts: Vec::new(),
            checks: checks.clone(),
            ok: false,
        }],
        checks,
        ok: false,
        identity: text(),
        builds: vec!["0.1.0+1".to_owned(), String::new()],
    });
    check(&WorkerStatus {
        id: WorkerId("w.1".to_owned()),
        address: text(),
        folder: text(),
        here: true,
        silent_millis: 1,
        slots: 2,
        running: 1,
        task_memory_bytes: 3,
        disk_bytes: 4,
        disk_used_bytes: 5,
        memory_used_bytes: Some(7),
        runs: 6,
        set_aside: vec![(JobId(2), text())],
    });
}

#[test]
fn a_job_survives() {
    let plan = Plan {
        execution: keima_coordinator::Execution::Blocks(keima_coordinator::BlockPlan {
            group_records: 7,
            lanes: vec![2, 4, 4, 8],
            room_states: 77,
            parted: true,
            middle: Some(3),
        }),
        why: "asked for".into(),
        board: Board { height: 9, length: 5 },
        windows: vec![Window { first: 0, len: 5 }, Window { first: 5, len: 4 }],
        key_bytes: 8,
        coefficients: 1,
        // More than one sweep may have.
        moduli: (0..300).map(|n| u64::MAX - n).collect(),
        sweeps: (0..300).map(|n| (n, n + 1)).collect(),
        task_memory_bytes: 1,
        task_records: 2,
        min_task_records: 3,
        slots: 4,
        states: vec![1, 3, u64::MAX],
        peak_states: u64::MAX,
        disk_bytes: 6,
        record_bytes: 41.5,
    };
    let options = vec![("max-fences".into(), "20".into()), ("all".into(), String::new())];
    let status = JobStatus {
        id: JobId(7),
        problem: JobProblem { name: "go".to_owned(), size: "9x5".to_owned(), options },
        state: State::Paused,
        reason: "no worker has the memory".to_owned(),
        account: JobAccount {
            priority: -1,
            level: 3,
            terms: keima_coordinator::Terms {
                name: "nightly".to_owned(),
                note: "for the table".to_owned(),
                owner: "ada".to_owned(),
                max_workers: Some(2),
                max_disk_bytes: Some(1 << 40),
            },
            submitted_at: 30,
            ended_at: 31,
            task_seconds: 32.5,
        },
        waits_for: "a worker".to_owned(),
        plan: Some(plan),
        position: JobPosition { sweep: 1, stage: 2, pass: 3, passes: 45, column: 4 },
        progress: JobProgress {
            states: 5,
            states_done: 6,
            states_stage: 7,
            states_per_second: 8.5,
            peak_states: 9,
            tasks: 10,
            tasks_done: 11,
            tasks_running: 12,
        },
        usage: JobUsage { disk_bytes: 13, disk_peak_bytes: 14, seconds: 15.25, eta_seconds: Some(16.75) },
        values: JobValues { known: 43, series: Vec::new() },
        durability: JobDurability {
            copied_passes: Some(17),
            at_risk: Some(keima_coordinator::AtRisk { worker: WorkerId("w9".to_owned()), passes_left: 7 }),
            resumed_from: Some("boundary 10".to_owned()),
        },
        outcome: None,
        notes: vec!["one".to_owned(), "two".to_owned()],
        traffic: JobTraffic {
            bytes_read: 17,
            bytes_written: 18,
            bytes_spilled: 19,
            times: TaskTimes { read_nanos: 20, map_nanos: 21, write_nanos: 22 },
        },
        workers: vec![JobWorker { worker: WorkerId("w".to_owned()), running: 1, note: "slow".to_owned() }],
    };
    check(&status);
    check(&JobStatus {
        plan: None,
        usage: JobUsage { eta_seconds: None, ..status.usage },
        durability: JobDurability { copied_passes: None, at_risk: None, resumed_from: None },
        workers: Vec::new(),
        ..status
    });
}

#[test]
fn long_texts_are_cut_between_characters() {
    let long = "ä".repeat(super::TEXT_BYTES);
    let short = cut(long.clone());
    assert!(short.len() <= super::TEXT_BYTES && long.starts_with(&short));
    assert_eq!(cut("short".to_owned()), "short");
}

/// What came, and what a person sees of it. Plain texts stay as they are, and an escaped one is plain.
#[test]
fn texts_from_the_wire_are_plain() {
    for (came, seen) in [
        ("no space left on device", "no space left on device"),
        ("Größe 19×19, ≤ 3^81 ok", "Größe 19×19, ≤ 3^81 ok"),
        ("full\nj9  go 19x19  done", "full\\nj9  go 19x19  done"),
        ("\x1b[2J\x1b[31mred\x07", "\\u{1b}[2J\\u{1b}[31mred\\u{7}"),
        ("a\rb\tc\u{9b}d\u{7f}", "a\\rb\\tc\\u{9b}d\\u{7f}"),
        ("abc\u{202e}fed\u{200b}", "abc\\u{202e}fed\\u{200b}"),
    ] {
        assert_eq!(plain(came.to_owned()), seen);
        assert_eq!(plain(seen.to_owned()), seen);
        let failures = [
            Failure::Disk { text: came.to_owned() },
            Failure::Check { text: came.to_owned() },
            Failure::Refused { text: came.to_owned() },
            Failure::Other { text: came.to_owned() },
        ];
        for failure in failures {
            let text = v1::TextFailure { text: came.to_owned() };
            let raw = match &failure {
                Failure::Disk { .. } => v1::failure::Kind::Disk(text),
                Failure::Check { .. } => v1::failure::Kind::Check(text),
                Failure::Refused { .. } => v1::failure::Kind::Refused(text),
                _ => v1::failure::Kind::Other(text),
            };
            let got = format!("{:?}", Failure::from_wire(v1::Failure { kind: Some(raw) }).unwrap());
            assert!(got.contains(&format!("{seen:?}")), "{got}");
        }
    }
}
