//! No single worker decides a number, and none destroys one: other recurrences, false reports, memory errors.

use std::collections::BTreeSet;
use std::sync::Arc;

use keima_model::Board;
use keima_residue::add_mod;

use crate::machine::tests::world::sim::{Lie, Sim, config, spec, worker};
use crate::machine::tests::world::toy::{Colourings, LooseToys, Toys};
use crate::{CallError, Config, Coordinator, Hello, Holder, JobId, JobStatus, State};

/// The right number of colourings.
fn right(height: u32, length: u32) -> String {
    Colourings::new(Board { height, length }).brute().to_string()
}

/// Everybody works until the job is over or waits for a person.
fn run(sim: &mut Sim, id: JobId) -> JobStatus {
    let workers: Vec<_> = sim.workers.keys().cloned().collect();
    for worker in &workers {
        sim.hello(worker);
    }
    for _ in 0..4_000 {
        let status = sim.status(id);
        if status.state.is_over() || status.state == State::Paused {
            return status;
        }
        for worker in &workers {
            sim.heartbeat(worker);
            sim.pull(worker);
            sim.work(worker, 0);
        }
        sim.tick(50);
        sim.check();
    }
    panic!("the job does not end: {:#?}", sim.status(id));
}

fn count(status: &JobStatus) -> Option<&str> {
    status.outcome.as_ref().map(|outcome| outcome.count.as_str())
}

fn has_note(status: &JobStatus, words: &[&str]) -> bool {
    status.notes.iter().any(|note| words.iter().all(|word| note.contains(word)))
}

/// A lie about tasks from a sweep and pass on, `times` times.
fn doubled_functionals(from_sweep_modulus: Option<u64>, from_pass: u32, times: u32) -> Lie {
    let mut left = times;
    Box::new(move |order, manifest| {
        let late = order.first_pass + order.window.len > from_pass;
        if !late || manifest.functionals.is_empty() || from_sweep_modulus.is_some_and(|p| order.moduli[0] != p) {
            return;
        }
        let lanes = manifest.functionals.iter_mut().flat_map(|sum| sum.lanes.iter_mut().zip(&order.moduli));
        if left > 0 {
            left -= 1;
            lanes.for_each(|(lane, &p)| *lane = add_mod(*lane, *lane, p));
        }
    })
}

/// A worker whose program has another recurrence under the same name is found out by the other two.
#[test]
fn another_recurrence_is_found_by_the_recount() {
    for seed in 0..12 {
        let mut sim = Sim::new(500 + seed, 3, config());
        let liar = worker(seed as usize % 3);
        sim.workers.get_mut(&liar).expect("known").loose = true;
        let id = sim.submit(&spec("4x4", 1 + seed as u32 % 3));
        let status = run(&mut sim, id);
        assert_eq!(
            (status.state, count(&status)),
            (State::Done, Some(&*right(4, 4))),
            "seed {seed}: {}",
            status.reason
        );
        assert!(has_note(&status, &["set aside", "counts wrongly", &liar.0]), "seed {seed}: {:#?}", status.notes);
        let check = status.outcome.expect("it is done").checks.into_iter().find(|check| check.name == "recount");
        assert!(check.is_some_and(|check| check.ok && check.detail.contains("two workers")), "seed {seed}");
    }
}

/// Without the recount the same worker makes a wrong number that passes every check.
#[test]
fn without_the_recount_nothing_finds_it() {
    let mut sim = Sim::new(500, 2, Config { recount_one_in: 0, ..config() });
    (0..2).for_each(|number| sim.workers.get_mut(&worker(number)).expect("known").loose = true);
    let id = sim.submit(&spec("4x4", 2));
    let status = run(&mut sim, id);
    assert_eq!(status.state, State::Done);
    assert_ne!(count(&status), Some(&*right(4, 4)));
}

/// Two workers differ and nobody can tell who is right: no number, until a third one comes. A restart of the coordinator
/// changes nothing, and a pause that the user asks for meanwhile stays.
#[test]
fn two_workers_that_differ_wait_for_a_third() {
    for (wrong, restarts, user_pauses) in [(0, false, false), (1, false, false), (0, true, false), (1, false, true)] {
        let mut sim = Sim::new(520, 2, config());
        sim.workers.get_mut(&worker(wrong)).expect("known").loose = true;
        let id = sim.submit(&spec("4x3", 2));
        let status = run(&mut sim, id);
        assert_eq!((status.state, status.outcome.is_none()), (State::Paused, true));
        for words in ["w0 and w1", "differently", "start one more worker"] {
            assert!(status.reason.contains(words), "{words} in {}", status.reason);
        }
        if restarts {
            sim.restart(false);
        }
        if user_pauses {
            sim.coordinator.pause(sim.now, id).expect("it can be paused");
        }
        sim.workers.insert(worker(2), crate::machine::tests::world::sim::FakeWorker::default());
        sim.hello(&worker(2));
        sim.tick(50);
        if user_pauses {
            assert_eq!(sim.status(id).reason, "paused by the user");
            sim.coordinator.resume(sim.now, id).expect("it is paused");
        }
        assert_eq!(sim.status(id).state, State::Running, "it goes on by itself");
        let status = run(&mut sim, id);
        assert_eq!((status.state, count(&status)), (State::Done, Some(&*right(4, 3))));
        assert!(has_note(&status, &["set aside", "counts wrongly", &worker(wrong).0]), "{:#?}", status.notes);
    }
}

/// One false report of the last stage decides nothing, with two workers or three.
#[test]
fn no_single_worker_decides_the_answer() {
    let mut lies_found = 0;
    for (seed, workers, times) in [(1, 2, 1), (2, 3, 1), (3, 3, u32::MAX), (4, 2, 1), (5, 4, 3)] {
        for liar in 0..workers {
            let mut sim = Sim::new(540 + seed, workers, config());
            sim.workers.get_mut(&worker(liar)).expect("known").lie = Some(doubled_functionals(None, 15, times));
            let id = sim.submit(&spec("4x4", 9));
            let status = run(&mut sim, id);
            let what = format!("seed {seed}, worker {liar}: {} {:#?}", status.reason, status.notes);
            assert_eq!((status.state, count(&status)), (State::Done, Some(&*right(4, 4))), "{what}");
            // Unless others did all of the last stage.
            if has_note(&status, &["differently"]) {
                lies_found += 1;
                let verdict = if times == 1 { "was wrong once" } else { "wrong" };
                assert!(has_note(&status, &[verdict, &worker(liar).0]), "{what}");
            } else {
                assert!(workers > 2, "both workers do the last stage: {what}");
            }
        }
    }
    assert!(lies_found >= 4, "{lies_found} lies were told and found");
}

/// What a liar did alone in an earlier sweep is done again, too.
#[test]
fn who_counts_wrongly_is_trusted_in_nothing() {
    let mut begun_again = 0;
    for seed in 0..6 {
        let mut sim = Sim::new(560 + seed, 3, Config { recount_one_in: 1 << 40, ..config() });
        let id = sim.submit(&spec("4x3", 2));
        let plan = sim.status(id).plan.expect("planned");
        assert!(plan.sweeps.len() > 1);
        let second = plan.sweep_moduli(1)[0];
        sim.workers.get_mut(&worker(1)).expect("known").lie = Some(doubled_functionals(Some(second), 11, u32::MAX));
        let status = run(&mut sim, id);
        assert_eq!((status.state, count(&status)), (State::Done, Some(&*right(4, 3))), "{}", status.reason);
        begun_again += u32::from(has_note(&status, &["began again at sweep 1", "worker w1 counts wrongly"]));
    }
    assert!(begun_again > 0);
}

/// The recount takes a small part of the work.
#[test]
fn few_tasks_are_done_twice() {
    for (one_in, least, most) in [(64, 2, 20), (1, 90, 100), (0, 0, 0)] {
        let mut sim = Sim::new(580, 3, Config { recount_one_in: one_in, ..config() });
        let id = sim.submit(&spec("4x9", 9));
        let status = run(&mut sim, id);
        assert_eq!(count(&status), Some(&*right(4, 9)));
        let totals = sim.coordinator.jobs[&id].record.totals;
        let percent = 100 * totals.recounts / (totals.tasks - totals.recounts);
        assert!((least..=most).contains(&percent), "one in {one_in}: {percent} %, {totals:?}");
        assert!(one_in == 0 || totals.answers_alone == 0, "{totals:?}");
    }
}

/// A worker alone counts as before; where the other one goes away, the job does not wait for it.
#[test]
fn nobody_waits_for_a_recount_that_cannot_be() {
    let mut sim = Sim::new(590, 1, config());
    let id = sim.submit(&spec("4x3", 9));
    let status = run(&mut sim, id);
    assert_eq!((status.state, count(&status)), (State::Done, Some(&*right(4, 3))));
    assert!(status.notes.is_empty(), "{:#?}", status.notes);
    let mut sim = Sim::new(591, 2, config());
    let id = sim.submit(&spec("4x3", 9));
    sim.hello(&worker(1));
    sim.pull(&worker(1));
    sim.kill(&worker(1), |_| false);
    sim.workers.remove(&worker(1));
    let status = run(&mut sim, id);
    assert_eq!((status.state, count(&status)), (State::Done, Some(&*right(4, 3))), "{:#?}", status.notes);
}

/// As long as a worker may come back that is to repeat a task, the job says that it waits for it.
#[test]
fn a_job_that_waits_for_a_recount_says_so() {
    let mut sim = Sim::new(592, 2, Config { recount_one_in: 1, ..config() });
    let id = sim.submit(&spec("4x3", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    let mut waits = BTreeSet::new();
    for round in 0..500 {
        sim.heartbeat(&worker(0));
        sim.pull(&worker(0));
        sim.work(&worker(0), 0);
        match round {
            // It is there and asks for no work: what the other one did is not repeated.
            ..200 => sim.heartbeat(&worker(1)),
            200 => {
                let epoch = sim.workers[&worker(1)].epoch.expect("it said hello");
                sim.coordinator.goodbye(sim.now, &worker(1), epoch).expect("it is known");
            }
            _ => drop(waits.insert(sim.status(id).waits_for)),
        }
        sim.tick(20);
    }
    assert!(waits.contains("w1, which is away, to count a task again"), "{waits:?}");
    assert_eq!(count(&sim.status(id)), Some(&*right(4, 3)));
}

/// One bad fingerprint costs some stages and names the worker; the same again and again ends the job with the evidence.
#[test]
fn one_memory_error_does_not_cost_the_job() {
    for (times, state) in [(1, State::Done), (u32::MAX, State::CheckFailed)] {
        let config = Config { recount_one_in: 0, durable_interval_millis: 1, ..config() };
        let mut sim = Sim::new(600, 2, config);
        let mut left = times;
        let lie: Lie = Box::new(move |order, manifest| {
            if left > 0 && order.first_pass == 6 {
                left -= 1;
                manifest.output.fingerprint[0] ^= 1;
            }
        });
        for number in 0..2 {
            sim.workers.get_mut(&worker(number)).expect("known").lie = None;
        }
        sim.workers.get_mut(&worker(1)).expect("known").lie = Some(lie);
        let id = sim.submit(&spec("4x4", 9));
        let status = run(&mut sim, id);
        let what = format!("{times} times: {}; {:#?}", status.reason, status.notes);
        assert_eq!(status.state, state, "{what}");
        assert!(has_note(&status, &["fell back", "a check failed", "fingerprint", "written by", "w1"]), "{what}");
        if state == State::Done {
            assert_eq!(count(&status), Some(&*right(4, 4)));
            assert!(has_note(&status, &["worker w1 wrote something else", "check its memory"]), "{what}");
        } else {
            assert_eq!(count(&status), Some(""));
            assert!(status.reason.contains("it failed before"), "{what}");
        }
    }
}

/// A sample misses a worker that errs again and again; a check fails. The repeated stages are all counted twice, so that it is
/// found and does not fail the check once more.
#[test]
fn after_a_failed_check_the_worker_that_errs_is_found() {
    for seed in 0..8 {
        let config = Config { recount_one_in: 1 << 40, durable_interval_millis: 1, ..config() };
        let mut sim = Sim::new(605 + seed, 3, config);
        let lie: Lie = Box::new(|order, manifest| {
            if order.first_pass == 6 {
                manifest.output.fingerprint[0] ^= 1;
            }
        });
        let liar = worker(seed as usize % 3);
        sim.workers.get_mut(&liar).expect("known").lie = Some(lie);
        let id = sim.submit(&spec("4x4", 9));
        let status = run(&mut sim, id);
        let what = format!("seed {seed}, worker {liar}: {} {:#?}", status.reason, status.notes);
        assert_eq!((status.state, count(&status)), (State::Done, Some(&*right(4, 4))), "{what}");
        if has_note(&status, &["fell back", "a check failed"]) {
            assert!(has_note(&status, &["differently", &liar.0]), "{what}");
        }
    }
}

/// All workers err alike, so a check fails whenever it comes. The start of the sweep is tried once, also where the first try
/// began there because no boundary was kept.
#[test]
fn a_check_that_always_fails_is_tried_once_from_the_start() {
    // (whether boundaries are kept before the first failure, tries before the end)
    for (kept_before, expected) in [(true, 2), (false, 1)] {
        // Column ends with second copies stay beside the newest boundary.
        let config = Config { second_copies: kept_before, ..config() };
        let mut sim = Sim::new(640, 2, config);
        for number in 0..2 {
            let lie: Lie = Box::new(|order, manifest| {
                if order.first_pass == 8 {
                    manifest.output.fingerprint[0] ^= 1;
                }
            });
            sim.workers.get_mut(&worker(number)).expect("known").lie = Some(lie);
        }
        let id = sim.submit(&spec("4x5", 9));
        let fallen = |sim: &Sim| sim.coordinator.jobs[&id].record.totals.fall_backs;
        while fallen(&sim) == 0 {
            for number in 0..2 {
                sim.heartbeat(&worker(number));
                sim.pull(&worker(number));
                sim.work(&worker(number), 0);
            }
            sim.tick(20);
        }
        sim.coordinator.fleet.config.second_copies = true;
        let status = run(&mut sim, id);
        let what = format!("kept {kept_before}: {} {:#?}", status.reason, status.notes);
        assert_eq!((status.state, fallen(&sim)), (State::CheckFailed, expected), "{what}");
    }
}

/// A worker that alone fails the checks of a task loses it to another.
#[test]
fn failed_checks_of_one_worker_are_its_own() {
    let mut sim = Sim::new(610, 2, config());
    let lie: Lie = Box::new(|_, manifest| manifest.passes[0].new_sums[0] ^= 1);
    sim.workers.get_mut(&worker(0)).expect("known").lie = Some(lie);
    let id = sim.submit(&spec("4x3", 9));
    let status = run(&mut sim, id);
    assert_eq!((status.state, count(&status)), (State::Done, Some(&*right(4, 3))), "{}", status.reason);
    assert!(has_note(&status, &["worker w0 is set aside", "a check failed there every time"]), "{:#?}", status.notes);
}

fn hello(build: &str) -> Hello {
    Hello {
        archive: false,
        incarnation: 0,
        place: String::new(),
        holder: Holder { worker: worker(7), address: String::new(), folder: String::new(), fingerprint: String::new() },
        slots: 1,
        task_memory_bytes: 1 << 30,
        disk_bytes: 1 << 40,
        held: Vec::new(),
        running: Vec::new(),
        store: None,
        build: build.to_owned(),
    }
}

#[test]
fn another_build_is_refused_by_name() {
    let config = Config { build: "0.1.0+1".to_owned(), ..config() };
    let mut coordinator = Coordinator::new(config, Arc::new(Toys), 1);
    let refused = coordinator.hello(1, hello("0.1.0+2"));
    assert!(matches!(refused, Err(CallError::OtherBuild { .. })), "{refused:?}");
    let text = refused.map(drop).unwrap_err().to_string();
    for words in ["w7", "0.1.0+1", "0.1.0+2", "install the same keima"] {
        assert!(text.contains(words), "{words} in {text}");
    }
    assert!(coordinator.workers(1).is_empty(), "it is not known");
    assert!(coordinator.hello(1, hello("0.1.0+1")).is_ok());
}

/// Orders, the result and a restart carry the problem's identity and the builds.
#[test]
fn a_job_keeps_its_identity_over_builds() {
    let of_build = |build: &str| Config { build: build.to_owned(), ..config() };
    let mut sim = Sim::new(620, 1, of_build("0.1.0+1"));
    let id = sim.submit(&spec("3x3", 9));
    sim.hello(&worker(0));
    sim.pull(&worker(0));
    let crate::Work::Stage(order) = &sim.workers[&worker(0)].running[0].work else { panic!("a task") };
    let identity = order.origin.identity.clone();
    assert!(identity.starts_with("colourings 3x3; behaviour "), "{identity}");
    assert_eq!((&*order.origin.build, &*order.origin.begun_by), ("0.1.0+1", "0.1.0+1"));
    let records: Vec<_> = sim.store.clone().into_iter().collect();
    let mut other = Coordinator::restore(config(), Arc::new(LooseToys), 1, sim.now, records).expect("a sound store");
    let status = other.status(sim.now, id).expect("known");
    assert_eq!(status.state, State::Paused);
    assert!(status.reason.contains(&identity) && status.reason.contains("submit the job anew"), "{}", status.reason);
    sim.config = of_build("0.1.0+2");
    sim.restart(false);
    let status = run(&mut sim, id);
    assert!(has_note(&status, &["build 0.1.0+2", "build 0.1.0+1"]), "{:#?}", status.notes);
    let outcome = status.outcome.expect("it is done");
    assert_eq!((outcome.count, outcome.identity), (right(3, 3), identity));
    assert_eq!(outcome.builds, ["0.1.0+1", "0.1.0+2"]);
}
