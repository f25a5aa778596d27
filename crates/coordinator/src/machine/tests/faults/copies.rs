//! Second copies of column ends: who makes them, when, and what happens if they fail.

use crate::machine::tests::world::sim::{Sim, config, copied, spec, work_until, worker};
use crate::{Config, Failure, Report, State, Work};

/// Workers with one slot that always have a task to do make copies all the same, once a column end was passed over.
#[test]
fn copies_are_made_by_workers_that_are_never_idle() {
    let mut sim = Sim { slots: 1, ..Sim::new(27, 2, config()) };
    let id = sim.submit(&spec("4x4", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    // One does what it asks for before the other asks: there is always a task that nobody is at.
    work_until(&mut sim, id, 2, |sim| copied(sim, id));
    let (pass, status) = (sim.coordinator.jobs[&id].boundaries.last().map(|b| b.head.pass), sim.status(id));
    assert!(
        status.durability.copied_passes.is_some_and(|passes| Some(passes) <= pass && passes % 4 == 0),
        "{status:#?}"
    );
    sim.kill(&worker(0), |_| false);
    sim.tick(60_000);
    assert_eq!(sim.status(id).durability.copied_passes, None, "one of two holders is gone");
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
