//! Jobs that stand still for want of a worker, a link or a disk: they go on by themselves when it is back.

use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::{Config, Failure, JobId, Report, State};

/// One round of all workers: what they have fails with `failure`, or is done.
fn round(sim: &mut Sim, failure: Option<&Failure>) {
    let workers = sim.workers.len();
    for number in 0..workers {
        let name = worker(number);
        if sim.workers[&name].silent {
            continue;
        }
        sim.heartbeat(&name);
        sim.pull(&name);
        match (sim.workers[&name].running.first().cloned(), failure) {
            (Some(grant), Some(failure)) => drop(sim.report(&name, &grant, Report::Failed(failure.clone()))),
            _ => sim.work(&name, 0),
        }
    }
    sim.tick(20);
    sim.check();
}

/// Rounds until the job is in a state.
fn until(sim: &mut Sim, id: JobId, failure: Option<&Failure>, state: State) {
    for _ in 0..3_000 {
        if sim.status(id).state == state {
            return;
        }
        round(sim, failure);
    }
    panic!("it is never {state}: {:#?}", sim.status(id));
}

#[test]
fn a_job_goes_on_when_a_cut_has_healed() {
    for second_copies in [false, true] {
        let mut sim = Sim::new(81, 2, Config { second_copies, ..config() });
        let id = sim.submit(&spec("4x4", 9));
        (0..2).for_each(|number| sim.hello(&worker(number)));
        while !(0..2).all(|number| {
            let newest = sim.coordinator.jobs[&id].boundaries.last();
            newest.is_some_and(|b| b.tasks.iter().any(|t| t.writer == worker(number) && !t.manifest.runs.is_empty()))
        }) {
            round(&mut sim, None);
        }
        sim.walls = [(worker(0), worker(1)), (worker(1), worker(0))].into();
        until(&mut sim, id, None, State::Paused);
        let reason = sim.status(id).reason;
        assert!(reason.contains("goes on by itself") && reason.contains("keima resume j1"), "{reason}");
        // It tries again while the cut lasts, but not all the time.
        let (begun, mut pauses) = (sim.now, 0);
        while sim.now < begun + 40 * config().grace_millis {
            let before = sim.status(id).state;
            round(&mut sim, None);
            pauses += u32::from(before == State::Running && sim.status(id).state == State::Paused);
        }
        assert!((1..=12).contains(&pauses), "{pauses} times");
        sim.walls.clear();
        until(&mut sim, id, None, State::Done);
    }
}

#[test]
fn a_job_goes_on_when_a_disk_has_room() {
    let mut sim = Sim::new(82, 1, config());
    let id = sim.submit(&spec("3x3", 9));
    let full = Failure::Disk { text: "cap of 1 GiB".into() };
    until(&mut sim, id, Some(&full), State::Paused);
    until(&mut sim, id, Some(&full), State::Running);
    until(&mut sim, id, Some(&full), State::Paused);
    until(&mut sim, id, None, State::Done);
}

/// All that fails on all workers may be over some time: nobody has to restart them or to resume the job.
#[test]
fn a_job_goes_on_when_tasks_do_not_fail_any_more() {
    for workers in [1, 2] {
        let mut sim = Sim::new(86, workers, config());
        let id = sim.submit(&spec("3x3", 9));
        let broken = Failure::Other { text: "input/output error".into() };
        until(&mut sim, id, Some(&broken), State::Paused);
        // It tries again while that lasts, but not all the time.
        let (begun, mut pauses) = (sim.now, 0);
        while sim.now < begun + 40 * config().grace_millis {
            let before = sim.status(id).state;
            round(&mut sim, Some(&broken));
            pauses += u32::from(before == State::Running && sim.status(id).state == State::Paused);
        }
        assert!((1..=12).contains(&pauses), "{pauses} times");
        until(&mut sim, id, None, State::Done);
    }
}

/// The only worker refuses the job. What brings the job back: another worker, or that one started again.
#[test]
fn a_job_goes_on_with_a_new_or_restarted_worker() {
    for restarted in [false, true] {
        let mut sim = Sim::new(83, 2, config());
        let id = sim.submit(&spec("3x3", 9));
        sim.workers.get_mut(&worker(1)).expect("known").silent = true;
        let refused = Failure::Refused { text: "no such problem".into() };
        until(&mut sim, id, Some(&refused), State::Paused);
        (0..2_000).for_each(|_| round(&mut sim, None));
        assert_eq!(sim.status(id).state, State::Paused, "nothing has changed");
        if restarted {
            sim.kill(&worker(0), |_| true);
        } else {
            sim.workers.get_mut(&worker(1)).expect("known").silent = false;
        }
        until(&mut sim, id, None, State::Done);
    }
}

/// A pause that the user asked for stays, whatever comes; also one that came before by itself.
#[test]
fn a_users_pause_stays() {
    for by_itself_first in [false, true] {
        let mut sim = Sim::new(84, 2, config());
        let id = sim.submit(&spec("3x3", 9));
        if by_itself_first {
            until(&mut sim, id, Some(&Failure::Other { text: "out of luck".into() }), State::Paused);
        }
        sim.coordinator.pause(sim.now, id).expect("it can be paused");
        assert_eq!(sim.status(id).reason, "paused by the user");
        for restart in [false, true] {
            (0..2).for_each(|number| sim.kill(&worker(number), |_| true));
            if restart {
                sim.restart(false);
            }
            (0..500).for_each(|_| round(&mut sim, None));
            assert_eq!(sim.status(id).state, State::Paused);
        }
        sim.coordinator.resume(sim.now, id).expect("it is paused");
        until(&mut sim, id, None, State::Done);
    }
}

/// A silent worker leaves a note with every job that it worked for or holds runs of, and no note with others.
#[test]
fn a_dead_worker_leaves_a_note() {
    let mut sim = Sim::new(85, 2, config());
    let id = sim.submit(&spec("4x3", 9));
    let other = sim.submit(&spec("2x2", 9));
    while sim.status(id).position.pass < 4 {
        round(&mut sim, None);
    }
    sim.workers.get_mut(&worker(0)).expect("known").silent = true;
    (0..100).for_each(|_| round(&mut sim, None));
    let words = "worker w0 has been silent for 1 s and counts as away";
    let noted = |sim: &mut Sim, id| sim.status(id).notes.iter().filter(|note| note.contains(words)).count();
    assert_eq!((noted(&mut sim, id), noted(&mut sim, other)), (1, 0), "{:?}", sim.status(id).notes);
}
