//! Whatever comes from outside, the machine neither panics nor believes it.

use keima_runs::{FunctionalSum, KeyGap, RunId, Split, TaskManifest};
use proptest::prelude::*;

use crate::State;
use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::{AttemptId, Failure, Hello, Holder, JobId, Report, Running, Used, Verdict, Wanted, WorkerId};

/// A change to a right manifest that makes it wrong.
type Spoil = fn(&mut TaskManifest);

#[test]
fn wrong_manifests_are_refused() {
    // (what, whether it is a law rather than the form, the change)
    let table: [(&str, bool, Spoil); 27] = [
        ("runs of another attempt", false, |m| m.runs[0].id = RunId("j1/s0/g1/t0/a9/r0".into())),
        ("a path", false, |m| m.runs[0].id.0.push_str("/../x")),
        ("a run twice", false, |m| m.runs.push(m.runs[0].clone())),
        ("an empty run", false, |m| m.runs[0].records = 0),
        ("a run of a length beyond all disks", false, |m| m.runs[0].bytes = u64::MAX),
        ("a run that is too long for its records", false, |m| m.runs[0].bytes = 1 << 30),
        ("more bytes written than there are", false, |m| m.bytes_written = u64::MAX),
        ("more time than there was", false, |m| m.times.map_nanos = u64::MAX),
        ("splits of too many records", false, |m| m.splits[0].records = u64::MAX),
        ("keys upside down", false, |m| (m.runs[0].first_key, m.runs[0].last_key) = (9, 3)),
        ("few lanes", false, |m| m.output.sums.truncate(1)),
        ("many lanes", false, |m| m.input.fingerprint.push(0)),
        ("large residues", false, |m| m.output.fingerprint[0] = u64::MAX),
        ("no passes", false, |m| m.passes.clear()),
        ("a lane short by degree", false, |m| m.passes[0].by_degree[1].truncate(1)),
        ("many splits", false, |m| m.splits = vec![Split { key: 1, records: 1 }; 2000]),
        ("unordered splits", false, |m| m.splits.reverse()),
        ("many gaps", false, |m| m.gaps = (0..17).map(|at| KeyGap { after: at, before: at + 1 }).collect()),
        ("a gap upside down", false, |m| m.gaps = vec![KeyGap { after: 9, before: 3 }]),
        ("unasked functionals", false, |m| m.functionals.push(FunctionalSum { functional: 77, lanes: vec![] })),
        ("a value lost in a pass", true, |m| m.passes[0].new_sums[0] ^= 1),
        ("shifts of other values", true, |m| m.passes[0].by_shift = vec![m.output.sums.clone()]),
        ("a value moved out of the only coefficient", true, |m| {
            let mut sums = vec![m.passes[0].new_sums.clone(); 2];
            sums[0].fill(0);
            m.passes[0].by_shift = sums;
        }),
        ("a lane short by shift", false, |m| m.passes[0].by_shift = vec![vec![0]]),
        ("a value lost on the way in", true, |m| m.input.sums[0] ^= 1),
        ("a value lost on the way out", true, |m| m.runs[0].sums[0] ^= 1),
        ("a state lost on the way in", true, |m| m.input.states += 1),
    ];
    for (what, law, spoil) in table {
        let mut sim = Sim::new(41, 1, config());
        let id = sim.submit(&spec("4x3", 3));
        // A law that fails twice has the job go back; twice again, it ends.
        for round in 0..if law { 4 } else { 2 } {
            assert!(sim.pull(&worker(0)), "{what}, round {round}");
            let grant = sim.workers[&worker(0)].running[0].clone();
            let Report::Done(mut manifest) = sim.execute(&worker(0), &grant) else { panic!("it works") };
            spoil(&mut manifest);
            let verdict = sim.report(&worker(0), &grant, Report::Done(manifest));
            assert!(matches!(verdict, Some(Verdict::Refused { .. })), "{what}: {verdict:?}");
        }
        let expected = if law { State::CheckFailed } else { State::Paused };
        let status = sim.status(id);
        assert_eq!(status.state, expected, "{what}: again and again");
        let figures = [
            status.usage.disk_bytes,
            status.usage.disk_peak_bytes,
            status.traffic.bytes_read,
            status.traffic.bytes_written,
        ];
        assert_eq!(figures, [0; 4], "{what}");
    }
}

fn small() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..4, any::<u64>()]
}

fn attempt() -> impl Strategy<Value = AttemptId> {
    let number = || prop_oneof![0_u32..4, any::<u32>()];
    (small(), number(), number(), number(), number()).prop_map(|(job, sweep, generation, task, attempt)| AttemptId {
        job: JobId(job),
        sweep,
        generation,
        task,
        attempt,
    })
}

fn run() -> impl Strategy<Value = RunId> {
    prop_oneof![attempt().prop_map(|a| RunId(format!("{a}/r0"))), ".{0,20}".prop_map(RunId)]
}

#[derive(Clone, Debug)]
enum Call {
    Hello(usize, u32, Vec<RunId>, Vec<AttemptId>),
    Heartbeat(usize, u64, Vec<RunId>, Vec<AttemptId>),
    Pull(usize),
    Report(usize, AttemptId, u8, RunId),
    Job(u8, u64),
    Goodbye(usize),
    Tick(u64),
    Restart,
}

fn call() -> impl Strategy<Value = Call> {
    let runs = || prop::collection::vec(run(), 0..4);
    let attempts = || prop::collection::vec(attempt(), 0..4);
    prop_oneof![
        (0_usize..3, any::<u32>(), runs(), attempts()).prop_map(|(w, n, r, a)| Call::Hello(w, n, r, a)),
        (0_usize..3, small(), runs(), attempts()).prop_map(|(w, n, r, a)| Call::Heartbeat(w, n, r, a)),
        (0_usize..3).prop_map(Call::Pull),
        (0_usize..3, attempt(), any::<u8>(), run()).prop_map(|(w, a, k, r)| Call::Report(w, a, k, r)),
        (any::<u8>(), small()).prop_map(|(k, j)| Call::Job(k, j)),
        (0_usize..3).prop_map(Call::Goodbye),
        small().prop_map(Call::Tick),
        Just(Call::Restart),
    ]
}

fn running(attempts: &[AttemptId]) -> Vec<Running> {
    attempts.iter().map(|&attempt| Running { attempt, nonce: 1, states_done: u64::MAX, pulse: u64::MAX }).collect()
}

fn report(kind: u8, run: RunId, holder: WorkerId) -> Report {
    let text = "garbage".to_string();
    match kind % 6 {
        0 => Report::Failed(Failure::Input { run, holder, damaged: kind > 99, text }),
        1 => Report::Failed(Failure::Disk { text }),
        2 => Report::Failed(Failure::Check { text }),
        3 => Report::Failed(Failure::Refused { text }),
        4 => Report::Failed(Failure::Other { text }),
        _ => Report::Done(Box::default()),
    }
}

fn carry_out(sim: &mut Sim, call: Call) {
    let me = |number: usize| worker(number);
    let epoch = |sim: &Sim, number: usize| sim.workers[&worker(number)].epoch.unwrap_or(0);
    match call {
        Call::Hello(number, slots, held, attempts) => {
            let welcome = sim.coordinator.hello(
                sim.now,
                Hello {
                    archive: false,
                    incarnation: 0,
                    place: String::new(),
                    holder: Holder {
                        worker: me(number),
                        address: String::new(),
                        folder: String::new(),
                        fingerprint: String::new(),
                    },
                    slots,
                    task_memory_bytes: u64::MAX,
                    disk_bytes: u64::MAX,
                    held,
                    running: running(&attempts),
                    store: None,
                    build: String::new(),
                },
            );
            let welcome = welcome.expect("it comes from no other store");
            sim.workers.get_mut(&me(number)).expect("known").epoch = Some(welcome.epoch);
        }
        Call::Heartbeat(number, used, held, attempts) => {
            let epoch = epoch(sim, number);
            let used = Used { disk_bytes: used, memory_bytes: used.checked_sub(1) };
            drop(sim.coordinator.heartbeat(sim.now, &me(number), epoch, &running(&attempts), &held, used));
        }
        Call::Pull(number) => {
            let epoch = epoch(sim, number);
            for wanted in [Wanted::Copy, Wanted::Task] {
                if let Ok(Some(grant)) = sim.coordinator.pull(sim.now, &me(number), epoch, wanted) {
                    sim.workers.get_mut(&me(number)).expect("known").running.push(grant);
                }
            }
        }
        Call::Report(number, attempt, kind, run) => {
            let epoch = epoch(sim, number);
            // Half of the time a living attempt with its nonce, and garbage only in the report.
            let grant = sim.workers.get_mut(&me(number)).expect("known").running.pop().filter(|_| kind % 2 == 0);
            let (attempt, nonce) = grant.map_or((attempt, 1), |grant| (grant.attempt, grant.nonce));
            let report = report(kind / 2, run, me(0));
            drop(sim.coordinator.report(sim.now, &me(number), epoch, attempt, nonce, report));
        }
        Call::Job(kind, job) => {
            let (now, job) = (sim.now, JobId(job));
            drop(match kind % 4 {
                0 => sim.coordinator.pause(now, job),
                1 | 2 => sim.coordinator.resume(now, job),
                _ => sim.coordinator.status(now, job).map(drop),
            });
        }
        Call::Goodbye(number) => {
            let epoch = epoch(sim, number);
            drop(sim.coordinator.goodbye(sim.now, &me(number), epoch));
        }
        Call::Tick(millis) => {
            sim.now = sim.now.saturating_add(millis.min(1 << 40));
            sim.coordinator.tick(sim.now);
        }
        Call::Restart => sim.restart(false),
    }
    sim.save();
    sim.check();
    drop((sim.coordinator.jobs(), sim.coordinator.workers(sim.now)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_of_calls_makes_it_panic(calls in prop::collection::vec(call(), 0..120)) {
        let mut sim = Sim::new(42, 3, config());
        let id = sim.submit(&spec("3x3", 3));
        for call in calls {
            carry_out(&mut sim, call);
        }
        prop_assert!(sim.status(id).outcome.is_none_or(|outcome| outcome.count.is_empty()));
    }
}
