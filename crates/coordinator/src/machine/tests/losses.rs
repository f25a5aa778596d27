//! Scripted schedules: lost workers, second copies, grace times, restarts, wrong numbers.

use std::sync::Arc;

use keima_model::Board;
use keima_runs::RunId;

use super::sim::{Sim, config, spec, worker};
use super::toy::{Colourings, Toys};
use crate::store::records::VERSION;
use crate::{CallError, Failure, Hello, Holder, JobId, Report, Verdict, Work};
use crate::{Config, Coordinator, Durability, RestoreError, State};

/// Both workers work, heartbeats and ticks included, until `when` holds.
fn work_until(sim: &mut Sim, id: JobId, workers: usize, when: impl Fn(&Sim) -> bool) {
    for _ in 0..2_000 {
        if when(sim) {
            return;
        }
        for number in 0..workers {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        sim.tick(20);
        sim.check();
    }
    panic!("it never happens: {:#?}", sim.status(id));
}

fn copied(sim: &Sim, id: JobId) -> bool {
    sim.coordinator.jobs[&id].boundaries.iter().any(|b| b.head.copied)
}

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

/// Workers with one slot that always have a task to do make copies all the same, once a column end was passed over.
#[test]
fn copies_are_made_by_workers_that_are_never_idle() {
    let mut sim = Sim { slots: 1, ..Sim::new(27, 2, config()) };
    let id = sim.submit(&spec("4x4", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    // One does what it asks for before the other asks: there is always a task that nobody is at.
    work_until(&mut sim, id, 2, |sim| copied(sim, id));
    let (pass, status) = (sim.coordinator.jobs[&id].boundaries.last().map(|b| b.head.pass), sim.status(id));
    assert!(status.copied_passes.is_some_and(|passes| Some(passes) <= pass && passes % 4 == 0), "{status:#?}");
    sim.kill(&worker(0), |_| false);
    sim.tick(60_000);
    assert_eq!(sim.status(id).copied_passes, None, "one of two holders is gone");
}

/// Column ends are passed over until the last that was copied is old enough; these are not made durable for copies, either.
#[test]
fn column_ends_are_copied_at_intervals() {
    let check = |copy_interval_millis, durable_too, expected: &dyn Fn(&[u64]) -> bool| {
        let durable_interval_millis = 1 << 40;
        let config = Config { copy_interval_millis, durable_interval_millis, recount_one_in: 0, ..config() };
        let mut sim = Sim::new(36, 2, config);
        let id = sim.submit(&spec("4x9", 9));
        (0..2).for_each(|number| sim.hello(&worker(number)));
        let (mut begun, mut durable) = (vec![sim.now], false);
        for _ in 0..4_000 {
            let job = &sim.coordinator.jobs[&id];
            if job.record.state.is_over() {
                break;
            }
            if *begun.last().expect("the first") != job.copies.last_at {
                begun.push(job.copies.last_at);
            }
            durable |= job.boundaries.iter().any(|boundary| boundary.head.durable);
            for number in 0..2 {
                sim.heartbeat(&worker(number));
                sim.pull(&worker(number));
                sim.work(&worker(number), 0);
            }
            sim.tick(20);
            sim.check();
        }
        assert_eq!((sim.status(id).state, durable), (State::Done, durable_too));
        let gaps: Vec<u64> = begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(expected(&gaps), "interval {copy_interval_millis}: {gaps:?}, {} in all", sim.now - begun[0]);
    };
    check(0, true, &|gaps| gaps.len() > 4);
    // One a little early is better than one that waits for the end of a long column.
    check(300, true, &|gaps| (1..=8).contains(&gaps.len()) && gaps.iter().all(|&gap| gap >= 150));
    check(3_000, false, &<[u64]>::is_empty);
    check(1 << 40, false, &<[u64]>::is_empty);
}

/// Workers whose disks have room for tasks and for no second copies do all tasks, and are seldom asked for copies.
#[test]
fn no_room_for_copies_keeps_nobody_from_tasks() {
    let wait_millis = 1_000;
    let mut sim = Sim::new(28, 2, Config { disk_wait_millis: wait_millis, ..config() });
    let id = sim.submit(&spec("4x4", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    let mut refused = [const { Vec::new() }; 2];
    for _ in 0..2_000 {
        for (number, times) in refused.iter_mut().enumerate() {
            let name = worker(number);
            sim.heartbeat(&name);
            if !sim.pull(&name) {
                continue;
            }
            let grant = sim.workers[&name].running.last().expect("it was just granted").clone();
            if matches!(grant.work, Work::Copy(_)) {
                times.push(sim.now);
                sim.report(&name, &grant, Report::Failed(Failure::Disk { text: "cap of 1 GiB".into() }));
            } else {
                sim.work(&name, 0);
            }
        }
        sim.tick(20);
        sim.check();
    }
    let status = sim.status(id);
    assert_eq!(status.state, State::Done, "{status:#?}");
    assert!(refused.iter().any(|times| !times.is_empty()), "nobody was asked for a copy");
    for times in &refused {
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= wait_millis), "{times:?}");
    }
    assert!(status.notes.iter().any(|note| note.contains("no room for second copies")), "{:?}", status.notes);
    assert!(!status.notes.iter().any(|note| note.contains("set aside")), "{:?}", status.notes);
}

#[test]
fn a_damaged_copy_is_replaced_by_the_other_one() {
    let mut sim = Sim::new(22, 2, config());
    let id = sim.submit(&spec("4x4", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    work_until(&mut sim, id, 2, |sim| {
        copied(sim, id) && sim.coordinator.jobs[&id].boundaries.last().is_some_and(|b| b.head.copied)
    });
    let input: Vec<_> =
        sim.coordinator.jobs[&id].boundaries.last().expect("one").runs().map(|r| r.id.clone()).collect();
    for file in sim.workers.get_mut(&worker(0)).expect("known").disk.values_mut() {
        file.damaged = input.contains(&file.manifest.id);
    }
    let status = sim.run_to_end(id);
    assert_eq!(status.state, State::Done);
    assert!(sim.events.contains_key("damaged input"), "no damage was met");
    assert!(!status.notes.iter().any(|note| note.starts_with("fell back")), "{:?}", status.notes);
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

/// A copy that nobody can make holds up those of one boundary, not of all that come after it.
#[test]
fn copies_that_fail_are_given_up_at_the_next_column_end() {
    let mut sim = Sim::new(34, 2, config());
    let id = sim.submit(&spec("4x4", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    let (mut failed, mut failures) = (None, 0);
    for _ in 0..2_000 {
        for number in 0..2 {
            let name = worker(number);
            sim.heartbeat(&name);
            if sim.pull(&name) {
                let grant = sim.workers[&name].running.last().expect("it was just granted").clone();
                if let Work::Copy(input) = &grant.work
                    && *failed.get_or_insert(input.manifest.id.clone()) == input.manifest.id
                {
                    failures += 1;
                    sim.report(&name, &grant, Report::Failed(Failure::Other { text: "out of luck".into() }));
                }
            }
            sim.work(&name, 0);
        }
        sim.tick(20);
        sim.check();
        if copied(&sim, id) {
            break;
        }
    }
    assert!(failures >= 2, "it failed {failures} times");
    assert!(copied(&sim, id), "no later boundary was copied: {:#?}", sim.status(id));
    assert!(
        sim.status(id).notes.iter().any(|note| note.contains("gave up second copies")),
        "{:#?}",
        sim.status(id).notes
    );
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
    let pass = sim.status(id).pass;
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
    assert!(status.pass == pass && status.notes.iter().all(|note| !note.contains("fell back")), "{status:?}");
    assert!(status.resumed_from.is_some());
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
    assert_eq!(sim.status(id).pass, 8);
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
    assert!(!sim.status(id).series.is_empty(), "a shorter board was told");
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
fn stores_that_cannot_be_read_are_refused() {
    let mut sim = Sim::new(30, 1, config());
    sim.submit(&spec("3x3", 1));
    let restore = |store: &super::sim::Store| {
        let records = store.clone().into_iter().collect();
        Coordinator::restore(config(), std::sync::Arc::new(super::toy::Toys), 1, 1, records).err()
    };
    assert_eq!(restore(&sim.store), None);
    let damage = |key: &str, value: &[u8]| {
        let mut store = sim.store.clone();
        store.insert(key.into(), value.into());
        restore(&store)
    };
    assert_eq!(damage("meta/version", &[99]), Some(RestoreError::Version { expected: VERSION, got: 99 }));
    for key in ["job/1", "job/x", "boundary/1/0/1", "task/1/0", "value/1/0/99999999999", "nonsense", "grant/1"] {
        let error = damage(key, &[0xff]).unwrap_or_else(|| panic!("{key} was taken"));
        let RestoreError::Damaged { key: named, .. } = error else { panic!("{error}") };
        assert_eq!(named, key);
    }
    let mut store = sim.store.clone();
    store.remove("meta/version");
    assert!(restore(&store).is_some());
}

#[test]
fn a_coordinator_that_does_not_know_the_problem_pauses_the_job() {
    let mut sim = Sim::new(31, 1, config());
    let id = sim.submit(&spec("3x3", 9));
    let job = sim.coordinator.jobs.get_mut(&id).expect("known");
    job.record.identity = "something else".into();
    job.store(&mut sim.coordinator.fleet);
    sim.save();
    sim.restart(false);
    let status = sim.status(id);
    assert_eq!(status.state, State::Paused);
    assert!(status.reason.contains("something else"), "{}", status.reason);
    assert!(sim.coordinator.resume(sim.now, id).is_err());
    assert!(!sim.pull(&worker(0)));
    assert_eq!(sim.coordinator.cancel(sim.now, id), Ok(()));
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

#[test]
fn runs_of_another_store_are_refused_and_stay() {
    let mut sim = Sim::new(40, 1, config());
    let id = sim.submit(&spec("4x3", 3));
    let me = worker(0);
    while sim.workers[&me].disk.is_empty() {
        sim.pull(&me);
        sim.work(&me, 0);
    }
    let held: Vec<RunId> = sim.workers[&me].disk.keys().cloned().collect();
    let hello = |held: &[RunId], store| Hello {
        archive: false,
        incarnation: 1,
        place: String::new(),
        holder: Holder {
            worker: me.clone(),
            address: String::new(),
            folder: "/scratch/w0".into(),
            fingerprint: String::new(),
        },
        slots: 1,
        task_memory_bytes: 1 << 30,
        disk_bytes: 1 << 40,
        held: held.to_vec(),
        running: Vec::new(),
        store,
        build: String::new(),
    };
    let theirs = sim.workers[&me].store;
    let mut fresh = Coordinator::new(config(), Arc::new(Toys), 41);
    let Err(CallError::OtherCoordinator { runs, ours, .. }) = fresh.hello(1, hello(&held, theirs)) else {
        panic!("the runs of another store were taken")
    };
    assert_eq!(runs, held.len());
    assert!(fresh.workers(1).is_empty(), "nothing of it is noted");
    // Nothing to lose: it may change over.
    assert_eq!(fresh.hello(1, hello(&[], theirs)).map(|w| w.store), Ok(ours));
    // A restart is not another store, however little of it outlived the power.
    sim.restart(true);
    sim.hello(&me);
    assert_eq!(sim.workers[&me].store, theirs);
    assert_eq!(sim.run_to_end(id).state, State::Done);
}
