//! Scripted schedules: leases, failures, priorities, pauses, status.

use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::machine::tests::world::toy::Toys;
use crate::{AttemptId, CallError, Failure, Grant, JobId, JobSpec, Remedy, Report, Used, Verdict, Wanted, Work};
use crate::{Config, Durability, State};

/// Pulls a task, which must be there.
fn take(sim: &mut Sim, number: usize) -> Grant {
    assert!(sim.pull(&worker(number)), "there is work for worker {number}");
    sim.workers[&worker(number)].running.last().expect("it was just granted").clone()
}

/// Runs a job with worker 0 alone until its present stage has several tasks, all of them pending.
fn to_wide_stage(sim: &mut Sim, id: JobId) {
    for _ in 0..200 {
        let status = sim.status(id);
        if status.progress.tasks - status.progress.tasks_done >= 4 && status.progress.tasks_running == 0 {
            return;
        }
        if sim.workers[&worker(0)].running.is_empty() {
            sim.pull(&worker(0));
            if sim.status(id).progress.tasks >= 4 {
                let grant = sim.workers[&worker(0)].running[0].clone();
                sim.report(&worker(0), &grant, Report::Failed(Failure::Stopped));
                continue;
            }
        }
        sim.work(&worker(0), 0);
        sim.tick(10);
    }
    panic!("no stage with several tasks");
}

#[test]
fn strangers_and_old_epochs_must_introduce_themselves() {
    let mut sim = Sim::new(1, 2, config());
    let (me, now) = (worker(0), sim.now);
    assert_eq!(sim.coordinator.pull(now, &me, 0, Wanted::Task), Err(CallError::WhoAreYou(me.clone())));
    sim.hello(&me);
    let epoch = sim.workers[&me].epoch.expect("it said hello");
    assert_eq!(sim.coordinator.pull(now, &me, epoch, Wanted::Task), Ok(None));
    sim.submit(&spec("3x3", 3));
    sim.restart(false);
    let beat = sim.coordinator.heartbeat(now, &me, epoch, &[], &[], Used::default());
    assert_eq!(beat, Err(CallError::WhoAreYou(me.clone())), "an epoch of an earlier life");
    sim.hello(&me);
    assert!(sim.pull(&me));
    let epoch = sim.workers[&me].epoch.expect("it said hello again");
    assert_eq!(
        sim.coordinator.goodbye(now, &me, epoch ^ 1),
        Err(CallError::WhoAreYou(me.clone())),
        "not its own epoch"
    );
    sim.coordinator.goodbye(now, &me, epoch).expect("its own epoch");
    assert!(matches!(sim.coordinator.pull(now, &me, epoch, Wanted::Task), Err(CallError::WhoAreYou(_))));
}

#[test]
fn only_the_living_attempt_with_its_nonce_is_heard() {
    let mut sim = Sim::new(2, 2, config());
    let id = sim.submit(&spec("3x3", 3));
    let late = take(&mut sim, 0);
    let done = sim.execute(&worker(0), &late);
    let forged = Grant { nonce: late.nonce ^ 1, ..late.clone() };
    let refused = |verdict: Option<Verdict>| assert!(matches!(verdict, Some(Verdict::Refused { .. })), "{verdict:?}");
    refused(sim.report(&worker(1), &late, done.clone()));
    let epoch = sim.workers[&worker(0)].epoch.expect("introduced");
    let answer = sim.coordinator.report(sim.now, &worker(0), epoch, late.attempt, forged.nonce, done.clone());
    refused(answer.ok().map(|(verdict, _)| verdict));
    sim.tick(config().lease_millis + 1);
    let next = take(&mut sim, 1);
    assert_eq!((next.attempt.task, next.attempt.generation), (late.attempt.task, late.attempt.generation));
    assert!(next.attempt.attempt > late.attempt.attempt);
    refused(sim.report(&worker(0), &late, done));
    let report = sim.execute(&worker(1), &next);
    assert_eq!(sim.report(&worker(1), &next, report.clone()), Some(Verdict::Accepted));
    assert_eq!(sim.report(&worker(1), &next, report), Some(Verdict::Accepted), "told twice, answered twice");
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

#[test]
fn heartbeats_keep_a_lease_alive() {
    let mut sim = Sim::new(3, 1, config());
    sim.submit(&spec("3x3", 3));
    let grant = take(&mut sim, 0);
    for _ in 0..10 {
        sim.tick(config().lease_millis / 2);
        sim.heartbeat(&worker(0));
    }
    let report = sim.execute(&worker(0), &grant);
    assert_eq!(sim.report(&worker(0), &grant, report), Some(Verdict::Accepted));
}

#[test]
fn the_slow_last_task_is_granted_twice_and_the_first_report_wins() {
    let mut sim = Sim::new(4, 2, config());
    let id = sim.submit(&spec("4x3", 3));
    to_wide_stage(&mut sim, id);
    let slow = take(&mut sim, 1);
    for _ in 0..20 {
        sim.pull(&worker(0));
        sim.work(&worker(0), 0);
        sim.tick(5);
    }
    assert!(!sim.pull(&worker(0)), "not slow yet");
    for _ in 0..3 {
        sim.tick(400);
        sim.heartbeat(&worker(0));
        sim.heartbeat(&worker(1));
    }
    let again = take(&mut sim, 0);
    assert_eq!(AttemptId { attempt: 0, ..again.attempt }, AttemptId { attempt: 0, ..slow.attempt });
    assert_ne!(again.attempt, slow.attempt);
    sim.work(&worker(0), 0);
    sim.heartbeat(&worker(1));
    assert!(sim.workers[&worker(1)].running.is_empty(), "the other one is told to stop");
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

#[test]
fn higher_priority_goes_first_and_then_the_older_job() {
    let mut sim = Sim { slots: 1, ..Sim::new(5, 1, config()) };
    let low = sim.submit(&spec("3x3", 3));
    let high = sim.submit(&JobSpec { priority: 5, ..spec("3x2", 3) });
    let also_low = sim.submit(&spec("2x2", 3));
    assert_eq!(take(&mut sim, 0).attempt.job, high);
    assert_eq!(take(&mut sim, 0).attempt.job, low, "the high one has no second task yet");
    assert_eq!(sim.status(also_low).state, State::Queued);
    assert!(!sim.pull(&worker(0)), "one task is at work and one on its way to the disk");
    for id in [high, low, also_low] {
        assert_eq!(sim.run_to_end(id).state, State::Done);
    }
}

#[test]
fn a_small_worker_is_told_so_and_gets_other_jobs() {
    let mut sim = Sim::new(6, 1, config());
    sim.task_memory_bytes = 100 << 20;
    let large = sim.submit(&JobSpec { task_memory_bytes: 200 << 20, priority: 9, ..spec("3x3", 3) });
    let small = sim.submit(&spec("3x2", 3));
    assert_eq!(take(&mut sim, 0).attempt.job, small);
    let status = sim.status(large);
    assert_eq!(status.state, State::Queued);
    assert!(status.workers[0].note.contains("too little memory"), "{:?}", status.workers);
    let workers = sim.coordinator.workers(sim.now);
    assert!(workers[0].set_aside[0].1.contains("too little memory"));
}

#[test]
fn a_full_disk_pauses_the_job_with_what_to_do() {
    let mut sim = Sim::new(7, 1, config());
    let id = sim.submit(&spec("3x3", 3));
    for number in 0..2 {
        let grant = take(&mut sim, 0);
        sim.report(&worker(0), &grant, Report::Failed(Failure::Disk { text: "cap of 1 GiB".into() }));
        assert!(!sim.pull(&worker(0)), "set aside for a while");
        // At first it waits for runs to be deleted, and nobody is told that it stands still.
        let stands_still = sim.status(id).workers.iter().any(|worker| !worker.note.is_empty());
        assert_eq!(stands_still, number == 1);
        sim.tick(700);
    }
    let status = sim.status(id);
    assert_eq!(status.state, State::Paused);
    for words in ["w0", "/scratch/w0", "cap of 1 GiB", "--disk", "keima resume j1"] {
        assert!(status.reason.contains(words), "{words} in {}", status.reason);
    }
    let stuck = sim.coordinator.stuck(id).expect("nobody can go on");
    assert_eq!(stuck.remedies, [Remedy::Disk]);
    let reason = format!("{stuck}. The job goes on by itself when a worker can; `keima resume j1` tries at once");
    assert_eq!(status.reason, reason);
    assert_eq!(sim.run_to_end(id).state, State::Done, "resumed, it goes on");
    assert_eq!(sim.coordinator.stuck(id), None);
}

#[test]
fn a_full_disk_on_one_of_two_workers_stops_nobody() {
    let mut sim = Sim::new(8, 2, config());
    let id = sim.submit(&spec("3x3", 3));
    sim.hello(&worker(1));
    for _ in 0..2 {
        let grant = take(&mut sim, 0);
        sim.report(&worker(0), &grant, Report::Failed(Failure::Disk { text: "full".into() }));
        sim.heartbeat(&worker(1));
        sim.tick(700);
    }
    assert_eq!(sim.status(id).state, State::Running);
    assert!(!sim.pull(&worker(0)));
    assert!(sim.pull(&worker(1)));
}

#[test]
fn two_failures_on_a_worker_set_it_aside_and_two_workers_pause_the_job() {
    let mut sim = Sim::new(9, 2, config());
    let id = sim.submit(&spec("3x3", 3));
    sim.hello(&worker(1));
    let other = || Report::Failed(Failure::Other { text: "out of luck".into() });
    for number in [0, 0, 1, 1] {
        assert_ne!(sim.status(id).state, State::Paused);
        let grant = take(&mut sim, number);
        sim.report(&worker(number), &grant, other());
    }
    let status = sim.status(id);
    assert_eq!(status.state, State::Paused);
    assert!(status.reason.contains("w0") && status.reason.contains("w1") && status.reason.contains("out of luck"));
    assert!(status.workers.iter().all(|w| w.note.contains("set aside")), "{:?}", status.workers);
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

#[test]
fn a_worker_that_refuses_a_job_is_not_asked_again() {
    let mut sim = Sim::new(10, 2, config());
    let id = sim.submit(&spec("3x3", 3));
    sim.hello(&worker(1));
    let grant = take(&mut sim, 0);
    sim.report(&worker(0), &grant, Report::Failed(Failure::Refused { text: "no such problem".into() }));
    assert!(!sim.pull(&worker(0)));
    assert!(sim.pull(&worker(1)));
    assert!(sim.status(id).workers.iter().any(|w| w.note.contains("no such problem")));
}

#[test]
fn a_check_that_fails_again_and_again_ends_the_job_with_the_evidence() {
    let mut sim = Sim::new(11, 2, config());
    let id = sim.submit(&spec("3x3", 3));
    sim.hello(&worker(1));
    // After two failures on two workers it goes back once; after two more it ends.
    for (number, state) in [(0, State::Running), (1, State::Running), (0, State::Running), (1, State::CheckFailed)] {
        let grant = take(&mut sim, number);
        let text = format!("expected 5, got {number}");
        sim.report(&worker(number), &grant, Report::Failed(Failure::Check { text }));
        assert_eq!(sim.status(id).state, state);
    }
    let status = sim.status(id);
    assert!(status.reason.contains("expected 5, got 0") && status.reason.contains("expected 5, got 1"));
    assert!(status.outcome.is_some_and(|outcome| !outcome.ok && outcome.count.is_empty()));
    assert!(matches!(sim.coordinator.resume(sim.now, id), Err(CallError::WrongState { .. })));
}

#[test]
fn pause_lets_tasks_finish_and_cancel_deletes() {
    let mut sim = Sim::new(12, 1, config());
    let id = sim.submit(&spec("4x3", 3));
    to_wide_stage(&mut sim, id);
    let grant = take(&mut sim, 0);
    sim.coordinator.pause(sim.now, id).expect("it is running");
    assert!(!sim.pull(&worker(0)));
    let report = sim.execute(&worker(0), &grant);
    assert_eq!(sim.report(&worker(0), &grant, report), Some(Verdict::Accepted));
    assert_eq!(sim.status(id).progress.tasks_done, 1);
    sim.restart(true);
    assert_eq!(sim.status(id).state, State::Paused, "a pause survives");
    sim.coordinator.resume(sim.now, id).expect("it is paused");
    sim.hello(&worker(0));
    assert!(sim.pull(&worker(0)));
    sim.coordinator.cancel(sim.now, id).expect("it is running");
    sim.save();
    (0..3).for_each(|_| sim.heartbeat(&worker(0)));
    assert!(sim.workers[&worker(0)].disk.is_empty() && sim.workers[&worker(0)].running.is_empty());
    for call in [sim.coordinator.pause(sim.now, id), sim.coordinator.cancel(sim.now, id)] {
        assert!(matches!(call, Err(CallError::WrongState { .. })), "{call:?}");
    }
    let stranger = JobId(77);
    assert_eq!(sim.coordinator.cancel(sim.now, stranger), Err(CallError::NoSuchJob(stranger)));
}

#[test]
fn submissions_that_make_no_sense_are_refused() {
    let sim = Sim::new(13, 1, config());
    let zero = JobSpec { window: Some(0), ..spec("3x3", 1) };
    for (spec, words) in [(spec("nine", 1), "expected HxL"), (zero, "window")] {
        let Err(CallError::Invalid(text)) = sim.coordinator.consider(&spec).plan(&Toys) else { panic!("it was taken") };
        assert!(text.contains(words), "{text}");
    }
    assert!(sim.coordinator.jobs().is_empty());
}

#[test]
fn time_adds_up_over_restarts_and_progress_shows() {
    let mut sim = Sim::new(14, 1, config());
    let id = sim.submit(&spec("4x4", 1));
    let mut last = 0.0;
    let mut told = false;
    for round in 0..600 {
        sim.heartbeat(&worker(0));
        sim.pull(&worker(0));
        sim.tick(20);
        sim.work(&worker(0), 0);
        let status = sim.status(id);
        told |= status.usage.eta_seconds.is_some_and(|eta| eta.is_finite() && eta > 0.0);
        assert!(status.progress.states_done <= status.progress.states_stage);
        if round % 50 == 49 {
            assert!(status.usage.seconds >= last, "{} after {last}", status.usage.seconds);
            last = status.usage.seconds;
            sim.restart(false);
            // What a life adds between two boundaries may be lost, not more.
            last -= 0.5;
        }
        if status.state.is_over() {
            assert_eq!(status.state, State::Done);
            assert!(status.usage.seconds > 1.0, "{}", status.usage.seconds);
            assert_eq!(status.values().len(), 4, "a column's value each");
            assert!(status.values.series.is_empty(), "told twice");
            assert!(sim.coordinator.jobs().iter().all(|job| job.values().is_empty()), "values in a list of jobs");
            assert!(told, "no time left was ever told");
            return;
        }
    }
    panic!("it does not end");
}

#[test]
fn one_process_writes_little_and_a_commit_writes_one_task() {
    let quiet = Config {
        durability: Durability::OneProcess,
        second_copies: false,
        durable_interval_millis: 1 << 40,
        ..config()
    };
    for (config, quiet) in [(quiet, true), (config(), false)] {
        let mut sim = Sim::new(15, 1, config);
        let id = sim.submit(&spec("4x3", 2));
        let sweeps = sim.status(id).plan.expect("planned").sweeps.len();
        assert!(sweeps > 1);
        let (mut durable, mut commits) = (0, 0);
        while !sim.status(id).state.is_over() {
            let me = worker(0);
            sim.pull(&me);
            let Some(grant) = sim.workers[&me].running.first().cloned() else { continue };
            let before = sim.status(id);
            let report = sim.execute(&me, &grant);
            let epoch = sim.workers[&me].epoch.expect("introduced");
            let answer = sim.coordinator.report(sim.now, &me, epoch, grant.attempt, grant.nonce, report);
            assert!(matches!(answer, Ok((Verdict::Accepted, _))), "{answer:?}");
            let changes = sim.coordinator.take_changes().expect("records can be encoded");
            durable += usize::from(changes.must_be_durable);
            if before.progress.tasks > before.progress.tasks_done + 1 {
                commits += 1;
                let kinds: Vec<&str> = changes.puts.iter().filter_map(|(key, _)| key.split('/').next()).collect();
                assert_eq!(kinds, if quiet { vec![] } else { vec!["task"] });
            }
            sim.workers.get_mut(&me).expect("known").running.clear();
        }
        assert!(commits > 10);
        if quiet {
            assert_eq!(durable, sweeps, "one for the end of each sweep");
        }
    }
}

#[test]
fn orders_chain_their_layouts_and_moduli() {
    let mut sim = Sim::new(16, 1, config());
    let id = sim.submit(&spec("3x2", 2));
    let plan = sim.status(id).plan.expect("planned");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        sim.heartbeat(&worker(0));
        if sim.pull(&worker(0)) {
            let grant = sim.workers[&worker(0)].running[0].clone();
            let Work::Stage(order) = &grant.work else { panic!("no copies on one worker") };
            assert_eq!(order.moduli, plan.sweep_moduli(grant.attempt.sweep));
            assert_eq!(order.from_start, order.first_pass == 0);
            assert!(order.inputs.iter().all(|input| !input.holders.is_empty()));
            seen.insert((grant.attempt.sweep, order.first_pass));
        }
        sim.work(&worker(0), 0);
        sim.tick(1);
    }
    assert_eq!(sim.status(id).state, State::Done);
    assert_eq!(seen.len(), plan.sweeps.len() * plan.stages() as usize);
}
