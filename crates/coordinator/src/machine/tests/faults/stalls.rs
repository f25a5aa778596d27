//! Workers that live and do not get on: their tasks go to others, and nobody waits for them.

use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::{Config, JobId, State};

/// All workers pull, work and heartbeat until the job is over, or for so many rounds. Nobody resumes it.
fn work(sim: &mut Sim, id: JobId, rounds: usize) -> State {
    let workers = sim.workers.len();
    for _ in 0..rounds {
        for number in 0..workers {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        sim.tick(50);
        sim.check();
        if sim.status(id).state.is_over() {
            break;
        }
    }
    sim.status(id).state
}

fn hang(sim: &mut Sim, number: usize, hangs: bool) {
    sim.workers.get_mut(&worker(number)).expect("known").hangs = hangs;
}

/// The only task of the first stage is on a worker whose disk hangs, and nothing was ever finished.
#[test]
fn a_task_that_does_not_get_on_goes_to_an_idle_worker() {
    let mut sim = Sim::new(71, 2, config());
    let id = sim.submit(&spec("3x3", 9));
    hang(&mut sim, 0, true);
    assert!(sim.pull(&worker(0)));
    sim.hello(&worker(1));
    let lease = config().lease_millis;
    for _ in 0..lease / 100 - 1 {
        sim.tick(100);
        (0..2).for_each(|number| sim.heartbeat(&worker(number)));
        assert!(!sim.pull(&worker(1)), "too early");
    }
    assert_eq!(work(&mut sim, id, 1_000), State::Done);
    let status = sim.status(id);
    assert!(!status.notes.iter().any(|note| note.contains("fell back")), "{:?}", status.notes);
}

/// Not one second grant, but as many as it takes; and not without end.
#[test]
fn several_hanging_workers_do_not_hold_a_task() {
    for (hanging, done) in [(3, true), (4, false)] {
        let mut sim = Sim::new(72, 5, Config { stall_millis: 1 << 40, ..config() });
        let id = sim.submit(&spec("3x2", 9));
        (0..5).for_each(|number| sim.hello(&worker(number)));
        for number in 0..hanging {
            hang(&mut sim, number, true);
            assert!(sim.pull(&worker(number)), "worker {number}");
            for _ in 0..12 {
                sim.tick(100);
                (0..5).for_each(|number| sim.heartbeat(&worker(number)));
            }
        }
        assert_eq!(work(&mut sim, id, 200) == State::Done, done, "{hanging} hang");
    }
}

/// A worker that only heartbeats keeps its lease for the stall time, and is then set aside, so that it does not get the task
/// again at once. Alone it is tried again by itself.
#[test]
fn a_lease_is_kept_by_progress() {
    let mut sim = Sim::new(73, 1, config());
    let id = sim.submit(&spec("3x2", 9));
    hang(&mut sim, 0, true);
    assert!(sim.pull(&worker(0)));
    let stall = config().stall_millis;
    for _ in 0..stall / 100 {
        assert_eq!(sim.status(id).progress.tasks_running, 1);
        sim.tick(100);
        sim.heartbeat(&worker(0));
    }
    sim.tick(100);
    let status = sim.status(id);
    assert_eq!((status.progress.tasks_running, status.state), (0, State::Paused), "{status:#?}");
    assert!(status.reason.contains("does not get on") && status.reason.contains("disk"), "{}", status.reason);
    sim.heartbeat(&worker(0));
    assert!(sim.workers[&worker(0)].running.is_empty(), "it is told to stop");
    hang(&mut sim, 0, false);
    assert_eq!(work(&mut sim, id, 1_000), State::Done);
}

/// A worker hangs that holds what the others need: they do not wait for it, and do the work again.
#[test]
fn a_hanging_holder_is_as_good_as_lost() {
    for second_copies in [false, true] {
        let mut sim = Sim::new(74, 2, Config { second_copies, ..config() });
        let id = sim.submit(&spec("4x4", 9));
        (0..2).for_each(|number| sim.hello(&worker(number)));
        for _ in 0..400 {
            let newest = sim.coordinator.jobs[&id].boundaries.last();
            let wrote =
                newest.is_some_and(|b| b.tasks.iter().any(|t| t.writer == worker(0) && !t.manifest.runs.is_empty()));
            if wrote && sim.status(id).position.pass > 4 {
                break;
            }
            assert_eq!(work(&mut sim, id, 1), State::Running, "it was over before worker 0 wrote anything");
        }
        assert!(sim.pull(&worker(0)) || !sim.workers[&worker(0)].running.is_empty());
        hang(&mut sim, 0, true);
        assert_eq!(work(&mut sim, id, 2_000), State::Done, "{:#?}", sim.status(id));
    }
}
