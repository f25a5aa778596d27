//! The evidence of stages outlives restarts, power failures and fall-backs, and goes where there is no number to certify.

use keima_orders::JobId;
use serde_json::Value;

use crate::certificate::read_certificate;
use crate::machine::tests::world::sim::{Lie, Sim, config, spec, worker};
use crate::{Config, JobStatus, State};

fn run(sim: &mut Sim, id: JobId, restarts: bool) -> JobStatus {
    for step in 0..4_000_u32 {
        let status = sim.status(id);
        if status.state.is_over() {
            return status;
        }
        if restarts && step % 16 == 15 {
            let power = sim.below(2) == 0;
            sim.restart(power);
        }
        for number in 0..2 {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
        }
        // A task takes time.
        sim.tick(50);
        for number in 0..2 {
            sim.work(&worker(number), 0);
        }
        sim.tick(50);
        sim.check();
    }
    panic!("the job does not end: {:#?}", sim.status(id));
}

fn certificate(sim: &Sim, id: JobId) -> Value {
    let text = sim.coordinator.certificate(id).expect("the job is known").expect("it has a certificate");
    read_certificate(&text).expect("an object")
}

fn evidence_records(sim: &Sim) -> usize {
    sim.store.keys().filter(|key| key.starts_with("evidence/")).count()
}

#[test]
fn evidence_outlives_the_coordinator() {
    let mut lives = 0;
    for seed in 0..12 {
        let mut sim = Sim::new(700 + seed, 2, Config { durable_interval_millis: 1, ..config() });
        let id = sim.submit(&spec("4x4", 1 + seed as u32 % 2));
        let status = run(&mut sim, id, true);
        assert_eq!(status.state, State::Done, "seed {seed}: {}", status.reason);
        let plan = status.plan.expect("a plan");
        assert_eq!(evidence_records(&sim), plan.sweeps.len() * plan.stages() as usize, "seed {seed}");
        let before = certificate(&sim, id);
        sim.restart(false);
        assert_eq!(
            certificate(&sim, id),
            before,
            "seed {seed}: a finished job has the same certificate after a restart"
        );
        let text = |place: &str| before["history"][place].as_str().expect("a text").parse::<u64>().expect("a number");
        lives = lives.max(text("lives"));
        assert!(text("milliseconds") > 0 && text("tasks") > 0, "seed {seed}: {}", before["history"]);
        let sweeps = before["sweeps"].as_array().expect("sweeps");
        assert_eq!(sweeps.len(), plan.sweeps.len(), "seed {seed}");
        assert!(
            sweeps.iter().all(|sweep| sweep["stages"].as_array().is_some_and(|s| s.len() == plan.stages() as usize))
        );
    }
    assert!(lives > 2, "no job was restarted twice: {lives}");
}

#[test]
fn what_was_repeated_is_told_and_replaced() {
    let mut sim = Sim::new(720, 2, Config { recount_one_in: 0, durable_interval_millis: 1, ..config() });
    let mut left = 1;
    let lie: Lie = Box::new(move |order, manifest| {
        if left > 0 && order.first_pass == 6 {
            left -= 1;
            manifest.output.fingerprint[0] ^= 1;
        }
    });
    for number in 0..2 {
        sim.hello(&worker(number));
    }
    sim.workers.get_mut(&worker(1)).expect("known").lie = Some(lie);
    let id = sim.submit(&spec("4x4", 9));
    let status = run(&mut sim, id, false);
    assert_eq!(status.state, State::Done, "{}", status.reason);
    let certificate = certificate(&sim, id);
    let history = &certificate["history"];
    assert_eq!((&history["fall_backs"], &history["lives"]), (&"1".into(), &"1".into()), "{history}");
    assert_eq!(history["failed_checks"][0]["check"], "boundary", "{history}");
    let stages = certificate["sweeps"][0]["stages"].as_array().expect("stages");
    for (before, stage) in stages.iter().zip(&stages[1..]) {
        assert_eq!(before["writes"]["fingerprint"], stage["reads"]["fingerprint"]);
        assert_eq!(before["hash"], stage["before"]);
    }
}

#[test]
fn a_job_without_a_number_keeps_no_evidence() {
    let mut sim = Sim::new(730, 2, config());
    let id = sim.submit(&spec("4x4", 9));
    for _ in 0..10 {
        for number in 0..2 {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        sim.tick(50);
    }
    assert!(evidence_records(&sim) > 0, "some stage has ended");
    assert_eq!(sim.coordinator.certificate(id), Ok(None), "it is not done");
    sim.coordinator.cancel(sim.now, id).expect("it can be cancelled");
    sim.save();
    assert_eq!(evidence_records(&sim), 0);
}

/// A start vector that was lost would make a count of 0, which every other law takes.
#[test]
fn an_empty_start_is_found() {
    let mut sim = Sim::new(740, 2, Config { recount_one_in: 0, ..config() });
    for number in 0..2 {
        sim.hello(&worker(number));
        let mut left = 1;
        let lie: Lie = Box::new(move |order, manifest| {
            if left > 0 && order.from_start {
                left -= 1;
                manifest.runs.clear();
                let passes =
                    manifest.passes.iter_mut().flat_map(|pass| pass.by_degree.iter_mut().chain([&mut pass.new_sums]));
                let ends = [&mut manifest.input, &mut manifest.output].into_iter();
                let ends = ends.flat_map(|tally| [&mut tally.sums, &mut tally.fingerprint]);
                let functionals = manifest.functionals.iter_mut().map(|sum| &mut sum.lanes);
                passes.chain(ends).chain(functionals).for_each(|lanes| lanes.fill(0));
            }
        });
        sim.workers.get_mut(&worker(number)).expect("known").lie = Some(lie);
    }
    let id = sim.submit(&spec("4x4", 9));
    let status = run(&mut sim, id, false);
    assert!(status.notes.iter().any(|note| note.contains("sums of the start vector")), "{:?}", status.notes);
    assert_ne!(status.outcome.map(|outcome| outcome.count).as_deref(), Some("0"));
}
