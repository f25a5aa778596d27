//! Scripted schedules: lost workers and disks, grace times, restarts, wrong numbers.

use keima_model::Board;

use crate::machine::tests::world::sim::{Sim, config, copied, spec, work_until, worker};
use crate::machine::tests::world::toy::Colourings;
use crate::{Config, Durability, State};
use crate::{JobId, Report, Verdict};

#[test]
fn a_lost_disk_costs_a_column_where_there_are_second_copies() {
    let mut sim = Sim::new(21, 2, Config { durable_interval_millis: 1 << 40, ..config() });
    let id = sim.submit(&spec("4x4", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    work_until(&mut sim, id, 2, |sim| copied(sim, id));
    // Go on into the next column, so that the newest boundary has no copy.
    work_until(&mut sim, id, 2, |sim| {
        let job = &sim.coordinator.jobs[&id];
        let newest = job.boundaries.last().expect("a boundary");
        let on_first = newest.tasks.iter().any(|t| t.writer == worker(0) && !t.manifest.runs.is_empty());
        !newest.head.copied && job.boundaries.iter().any(|b| b.head.copied) && on_first
    });
    sim.kill(&worker(0), |_| false);
    let status = sim.run_to_end(id);
    assert_eq!(status.state, State::Done);
    let fell = status.notes.iter().find(|note| note.starts_with("fell back")).expect("a note");
    assert!(fell.contains("to the boundary after"), "{fell}");
}

/// Whether each worker has written runs of the newest boundary.
fn all_wrote(sim: &Sim, id: JobId, workers: usize) -> bool {
    let newest = sim.coordinator.jobs[&id].boundaries.last();
    let wrote = |id| newest.is_some_and(|b| b.tasks.iter().any(|t| t.writer == id && !t.manifest.runs.is_empty()));
    (0..workers).all(|number| wrote(worker(number)))
}

/// (reader, holder) of each wall, workers in all, who is set aside, whether what others cannot read is done anew.
type Walls = (&'static [(usize, usize)], usize, &'static [usize], bool);

/// Workers that do not reach each other's runs, all of them sound.
#[test]
fn sound_runs_stay_where_one_worker_does_not_reach_them() {
    let table: [Walls; 4] = [
        (&[(0, 1)], 2, &[0], false),
        (&[(0, 1)], 3, &[0], false),
        (&[(0, 2), (1, 2)], 3, &[0, 2], true),
        (&[(0, 1), (1, 0)], 2, &[0, 1], false),
    ];
    for (walls, workers, aside, anew) in table {
        for second_copies in [false, true] {
            let mut sim = Sim::new(33, workers, Config { second_copies, ..config() });
            let id = sim.submit(&spec("4x4", 9));
            (0..workers).for_each(|number| sim.hello(&worker(number)));
            work_until(&mut sim, id, workers, |sim| all_wrote(sim, id, workers));
            sim.walls = walls.iter().map(|&(reader, holder)| (worker(reader), worker(holder))).collect();
            let case = format!("{walls:?} of {workers}, second copies {second_copies}");
            let paused = aside.len() == workers;
            let end = if paused { State::Paused } else { State::Done };
            work_until(&mut sim, id, workers, |sim| sim.coordinator.jobs[&id].record.state == end);
            let status = sim.status(id);
            assert!(sim.events.contains_key("wall"), "{case}: nobody met a wall");
            let fell = status.notes.iter().any(|note| note.starts_with("fell back"));
            assert!(fell == anew || second_copies && !fell, "{case}: {:#?}", status.notes);
            for number in 0..workers {
                let words = format!("worker w{number} is set aside: ");
                let set = status.notes.iter().any(|note| note.starts_with(&words) && note.contains("cannot read"));
                assert!(!set || aside.contains(&number), "{case}: {:#?}", status.notes);
                assert!(set || !aside.contains(&number) || second_copies, "{case}: {:#?}", status.notes);
            }
            assert_eq!(status.reason.contains("--listen"), paused, "{case}: {}", status.reason);
            assert_eq!(sim.run_to_end(id).state, State::Done, "{case}");
        }
    }
}

/// Until a worker that died counts as away, nobody is to blame for not reaching it, though that takes longer than the grace.
#[test]
fn a_worker_that_died_is_not_out_of_reach() {
    let patient = Config { second_copies: false, lease_millis: 4_000, grace_millis: 1_000, ..config() };
    let mut sim = Sim::new(35, 2, patient);
    let id = sim.submit(&spec("4x4", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    work_until(&mut sim, id, 2, |sim| all_wrote(sim, id, 2));
    let dead = sim.workers.get_mut(&worker(0)).expect("known");
    (dead.silent, dead.running) = (true, Vec::new());
    let mut unread = 0;
    for _ in 0..400 {
        sim.heartbeat(&worker(1));
        sim.pull(&worker(1));
        sim.work(&worker(1), 0);
        sim.tick(20);
        unread = unread.max(sim.coordinator.jobs[&id].health.copies.most_strikes());
    }
    let status = sim.status(id);
    assert!(unread >= 3, "it was missed {unread} times");
    assert!(status.notes.iter().any(|note| note.starts_with("fell back")), "{:?}", status.notes);
    assert!(!status.notes.iter().any(|note| note.contains("set aside")), "{:?}", status.notes);
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

#[test]
fn a_silent_workers_runs_are_awaited_for_the_grace_time() {
    for (away, falls) in [(2_000, false), (5_000, true)] {
        let mut sim = Sim::new(23, 2, Config { second_copies: false, ..config() });
        let id = sim.submit(&spec("4x3", 9));
        (0..2).for_each(|number| sim.hello(&worker(number)));
        work_until(&mut sim, id, 2, |sim| {
            let job = &sim.coordinator.jobs[&id];
            job.stage.is_none() && job.boundaries.last().is_some_and(|b| b.tasks.iter().any(|t| t.writer == worker(0)))
        });
        let me = worker(0);
        (sim.workers.get_mut(&me).expect("known").silent, sim.workers.get_mut(&me).expect("known").running) =
            (true, Vec::new());
        for _ in 0..away / 100 {
            sim.heartbeat(&worker(1));
            sim.tick(100);
        }
        let status = sim.status(id);
        let fell = status.notes.iter().any(|n| n.starts_with("fell back") && n.contains("w0") && n.contains("run j1/"));
        assert_eq!(fell, falls, "{:?}", status.notes);
        assert_eq!(sim.run_to_end(id).state, State::Done);
    }
}

#[test]
fn nobody_there_means_nothing_is_lost() {
    let mut sim = Sim::new(24, 2, config());
    let id = sim.submit(&spec("4x3", 9));
    work_until(&mut sim, id, 2, |sim| sim.coordinator.jobs[&id].boundaries.last().is_some_and(|b| b.head.pass >= 4));
    let pass = sim.status(id).position.pass;
    (0..2).for_each(|number| sim.kill(&worker(number), |_| true));
    sim.restart(false);
    for _ in 0..50 {
        sim.tick(10_000);
    }
    // The second worker takes its time, but less than the grace time after the first.
    sim.hello(&worker(0));
    (0..10).for_each(|_| sim.tick(200));
    sim.hello(&worker(1));
    let status = sim.status(id);
    assert!(status.position.pass == pass && status.notes.iter().all(|note| !note.contains("fell back")), "{status:?}");
    assert!(status.durability.resumed_from.is_some());
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

#[test]
fn running_tasks_are_taken_on_again_after_a_restart() {
    let mut sim = Sim::new(25, 1, config());
    let id = sim.submit(&spec("3x3", 9));
    assert!(sim.pull(&worker(0)));
    let grant = sim.workers[&worker(0)].running[0].clone();
    sim.restart(false);
    sim.hello(&worker(0));
    assert_eq!(sim.workers[&worker(0)].running.len(), 1, "it is not abandoned");
    let report = sim.execute(&worker(0), &grant);
    assert_eq!(sim.report(&worker(0), &grant, report), Some(Verdict::Accepted));
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

#[test]
fn one_process_goes_on_from_its_durable_boundary() {
    let config =
        Config { durability: Durability::OneProcess, second_copies: false, durable_interval_millis: 0, ..config() };
    let mut sim = Sim::new(26, 1, config);
    let id = sim.submit(&spec("4x3", 9));
    work_until(&mut sim, id, 1, |sim| sim.coordinator.jobs[&id].boundaries.last().is_some_and(|b| b.head.pass == 8));
    sim.kill(&worker(0), |_| true);
    sim.restart(true);
    sim.hello(&worker(0));
    assert_eq!(sim.status(id).position.pass, 8);
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

#[test]
fn a_wrong_value_in_a_run_is_found_by_the_next_stage() {
    let mut sim = Sim::new(27, 1, config());
    let id = sim.submit(&spec("4x3", 9));
    work_until(&mut sim, id, 1, |sim| {
        let job = &sim.coordinator.jobs[&id];
        job.stage.is_none() && job.boundaries.last().is_some_and(|b| b.head.pass >= 6)
    });
    let input: Vec<_> =
        sim.coordinator.jobs[&id].boundaries.last().expect("one").runs().map(|r| r.id.clone()).collect();
    let disk = &mut sim.workers.get_mut(&worker(0)).expect("known").disk;
    assert!(disk.values_mut().any(|run| input.contains(&run.manifest.id) && run.swap_values()), "nothing was swapped");
    assert!(!sim.status(id).values.series.is_empty(), "a shorter board was told");
    let status = sim.run_to_end(id);
    // The sums are right: two states have each other's value. Only the fingerprint tells. The stages are repeated.
    let note = status.notes.iter().find(|note| note.contains("a check failed")).expect("a note");
    assert!(note.starts_with("fell back") && note.contains("fingerprint") && note.contains("written by w0"), "{note}");
    let brute = Colourings::new(Board { height: 4, length: 3 }).brute();
    assert_eq!((status.state, status.outcome.expect("it is done").count), (State::Done, brute.to_string()));
}

#[test]
fn another_number_in_a_second_sweep_is_found() {
    let mut sim = Sim::new(28, 1, config());
    let id = sim.submit(&spec("3x3", 1));
    work_until(&mut sim, id, 1, |sim| sim.coordinator.jobs[&id].record.sweep == 1);
    let job = sim.coordinator.jobs.get_mut(&id).expect("known");
    job.record.pass_states[3] = job.record.pass_states[3].map(|states| states + 1);
    let status = sim.run_to_end(id);
    assert_eq!(status.state, State::CheckFailed);
    assert!(status.reason.contains("states before pass 3"), "{}", status.reason);
}

#[test]
fn a_wrong_residue_withholds_the_count() {
    let mut sim = Sim::new(29, 1, config());
    let id = sim.submit(&spec("3x3", 1));
    work_until(&mut sim, id, 1, |sim| sim.coordinator.jobs[&id].record.sweep == 1);
    let job = sim.coordinator.jobs.get_mut(&id).expect("known");
    job.functionals.corrupt();
    let status = sim.run_to_end(id);
    assert_eq!(status.state, State::CheckFailed);
    assert!(status.outcome.is_none_or(|outcome| outcome.count.is_empty()));
    assert!(status.reason.contains("spare"), "{}", status.reason);
}

#[test]
fn a_job_whose_vector_is_empty_counts_zero() {
    // Three colours always fit a grid; the worker of the first task claims that no state has a successor.
    let mut sim = Sim::new(32, 1, config());
    let id = sim.submit(&spec("3x2", 9));
    assert!(sim.pull(&worker(0)));
    let grant = sim.workers[&worker(0)].running[0].clone();
    let Report::Done(mut manifest) = sim.execute(&worker(0), &grant) else { panic!("it works") };
    let zero = vec![0; manifest.input.sums.len()];
    (manifest.runs, manifest.splits) = (Vec::new(), Vec::new());
    let sums = manifest.input.sums.clone();
    for (number, pass) in manifest.passes.iter_mut().enumerate() {
        pass.by_degree = vec![if number == 0 { sums.clone() } else { zero.clone() }];
        pass.states = u64::from(number == 0);
        pass.new_sums = zero.clone();
    }
    (manifest.output.states, manifest.output.sums, manifest.output.fingerprint) = (0, zero.clone(), zero.clone());
    manifest.functionals.iter_mut().for_each(|f| f.lanes = zero.clone());
    assert_eq!(sim.report(&worker(0), &grant, Report::Done(manifest)), Some(Verdict::Accepted));
    let status = sim.run_to_end(id);
    assert_eq!(status.state, State::Done, "{}", status.reason);
    assert_eq!(status.outcome.expect("done").count, "0");
}
