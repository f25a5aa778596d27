//! The archive: lost runs are fetched, and another coordinator goes on with a checkpoint.

use std::cell::Cell;

use keima_model::Board;

use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::machine::tests::world::toy::{Colourings, Toys};
use crate::store::records::Boundary;
use crate::{CallError, Checkpoint, Config, Grant, JobId, Replan, Resumption, State, is_checkpoint_name};

/// What the lost cluster has worked before.
const WORKED_MILLIS: u64 = 123_456;

fn archived() -> Config {
    let never = 1 << 40;
    Config { durable_interval_millis: never, second_copies: false, archive_interval_millis: Some(0), ..config() }
}

fn work_until(sim: &mut Sim, id: JobId, when: impl Fn(&Sim) -> bool) {
    work_on_some_until(sim, id, |_, _| true, when);
}

/// The same; workers do those of their tasks that get on.
fn work_on_some_until(sim: &mut Sim, id: JobId, gets_on: impl Fn(&Sim, &Grant) -> bool, when: impl Fn(&Sim) -> bool) {
    for _ in 0..2_000 {
        if when(sim) {
            return;
        }
        let ids: Vec<_> = sim.workers.keys().cloned().collect();
        for id in ids {
            sim.heartbeat(&id);
            sim.pull(&id);
            if let Some(next) = sim.workers[&id].running.iter().position(|grant| gets_on(sim, grant)) {
                sim.work(&id, next);
            }
        }
        sim.tick(20);
        sim.check();
    }
    panic!("it never happens: {:#?}", sim.status(id));
}

/// The number of checkpoints that were published.
fn checkpoints(sim: &Sim) -> usize {
    sim.archive.checkpoints.len()
}

fn brute(height: u32, length: u32) -> String {
    Colourings::new(Board { height, length }).brute().to_string()
}

/// A cluster that worked until it had published so many checkpoints, and then was lost with all its disks.
pub(super) fn lost_cluster(seed: u64, published: usize) -> Sim {
    let mut sim = Sim::new(seed, 2, archived());
    let id = sim.submit(&spec("4x6", 9));
    sim.coordinator.jobs.get_mut(&id).expect("it was just submitted").record.active_millis = WORKED_MILLIS;
    work_until(&mut sim, id, |sim| checkpoints(sim) >= published);
    sim
}

/// Checkpoints of the only folder, the newest first.
fn read_all(sim: &Sim) -> (String, Vec<Checkpoint>) {
    let folder = sim.archive.checkpoints.keys().next().and_then(|name| name.split_once('/')).expect("a folder").0;
    for name in sim.archive.checkpoints.keys() {
        assert!(name.strip_prefix(folder).is_some_and(|name| is_checkpoint_name(&name[1..])), "{name}");
    }
    let read = |bytes: &Vec<u8>| Checkpoint::read(bytes).expect("it was just written");
    (folder.to_owned(), sim.archive.checkpoints.values().rev().map(read).collect())
}

/// Another coordinator with other workers, and the same archive.
fn other_cluster(from: &mut Sim, workers: usize) -> Sim {
    let mut sim = Sim::new(4711, workers, archived());
    sim.archive = std::mem::take(&mut from.archive);
    sim
}

pub(super) fn go_on(sim: &mut Sim) -> Result<JobId, CallError> {
    go_on_with(sim, None)
}

fn go_on_with(sim: &mut Sim, replan: Option<Replan>) -> Result<JobId, CallError> {
    let (folder, mut older) = read_all(sim);
    let newest = older.remove(0);
    let mut from = Resumption { folder, newest, older, notes: Vec::new() };
    if let Some(wanted) = replan {
        from.plan_anew(&sim.coordinator.consider_rest(wanted)?, &Toys)?;
    }
    let admitted = sim.coordinator.admit_checkpoint(sim.now, from, crate::Terms::default());
    sim.save();
    admitted
}

fn count(sim: &mut Sim, id: JobId) -> String {
    let status = sim.run_to_end(id);
    assert_eq!(status.state, State::Done, "{status:#?}");
    status.outcome.expect("it is done").count
}

#[test]
fn another_coordinator_goes_on_with_other_workers() {
    for (seed, published, workers) in [(1, 1, 1), (2, 2, 3), (3, 4, 5)] {
        let mut lost = lost_cluster(seed, published);
        let mut sim = other_cluster(&mut Sim::new(1, 0, archived()), workers);
        // Its own jobs have taken numbers.
        let own = sim.submit(&spec("2x2", 9));
        count(&mut sim, own);
        sim.archive = std::mem::take(&mut lost.archive);
        let id = go_on(&mut sim).unwrap();
        assert_ne!(id, own);
        // It survives a restart before anything is fetched.
        sim.restart(true);
        let passes = sim.status(id).position.pass;
        assert!(passes >= 4 * published as u32 && passes.is_multiple_of(4), "{passes} passes");
        assert_eq!(count(&mut sim, id), brute(4, 6), "seed {seed}");
        let status = sim.status(id);
        assert!(
            sim.events.contains_key("fetch") && status.usage.seconds * 1000.0 >= WORKED_MILLIS as f64,
            "{status:#?}"
        );
        assert!(status.notes.iter().any(|note| note.starts_with("goes on from the archive's folder")), "{status:#?}");
        assert!(!status.notes.iter().any(|note| note.starts_with("fell back")), "{status:#?}");
        assert!(sim.coordinator.certificate(id).unwrap().is_some(), "all stages have evidence");
    }
}

#[test]
fn a_cluster_that_loses_all_disks_fetches_its_vector() {
    let mut sim = lost_cluster(5, 2);
    for number in 0..2 {
        sim.kill(&worker(number), |_| false);
    }
    let id = JobId(1);
    assert_eq!(count(&mut sim, id), brute(4, 6));
    let status = sim.status(id);
    assert!(sim.events.contains_key("fetch"), "{:?}", sim.events);
    assert!(!status.notes.iter().any(|note| note.contains("the start")), "{status:#?}");
}

#[test]
fn a_damaged_run_in_the_archive_leads_to_the_checkpoint_before() {
    let mut lost = lost_cluster(6, 3);
    let mut sim = other_cluster(&mut lost, 2);
    let (folder, all) = read_all(&sim);
    let before: Vec<String> = all[1].objects().map(|(name, _)| name).collect();
    let of_newest = all[0].objects().find(|(name, _)| !before.contains(name)).expect("its own run").0;
    sim.archive.runs.get_mut(&format!("{folder}/{of_newest}")).expect("it is stored").damaged = true;
    let id = go_on(&mut sim).unwrap();
    assert_eq!(count(&mut sim, id), brute(4, 6));
    let status = sim.status(id);
    let fell = status.notes.iter().find(|note| note.starts_with("fell back")).expect("a note");
    assert!(fell.contains("to the boundary after"), "{fell}");
    assert!(status.notes.iter().any(|note| note.contains("cannot be used from the archive")), "{status:#?}");
}

#[test]
fn an_archive_out_of_reach_delays_and_no_more() {
    let mut lost = lost_cluster(7, 2);
    let mut sim = other_cluster(&mut lost, 2);
    let id = go_on(&mut sim).unwrap();
    sim.archive.away = true;
    for _ in 0..300 {
        for number in 0..2 {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        sim.tick(50);
    }
    let status = sim.status(id);
    assert!(status.notes.iter().any(|note| note.contains("cannot be fetched from the archive now")), "{status:#?}");
    assert_eq!(status.progress.tasks_done, 0);
    sim.archive.away = false;
    assert_eq!(count(&mut sim, id), brute(4, 6));
    assert!(!sim.status(id).notes.iter().any(|note| note.starts_with("fell back")));
}

#[test]
fn a_coordinator_without_its_archive_asks_for_it() {
    let mut lost = lost_cluster(11, 2);
    let mut sim = other_cluster(&mut lost, 2);
    let id = go_on(&mut sim).unwrap();
    sim.config.archive_interval_millis = None;
    sim.restart(true);
    work_until(&mut sim, id, |sim| sim.coordinator.jobs[&id].record.state == State::Paused);
    let status = sim.status(id);
    assert!(status.reason.contains("only in the archive") && status.reason.contains("--archive URL"), "{status:#?}");
    sim.config.archive_interval_millis = Some(0);
    sim.restart(true);
    (0..2).for_each(|number| sim.kill(&worker(number), |_| true));
    assert_eq!(count(&mut sim, id), brute(4, 6));
    assert!(!sim.status(id).notes.iter().any(|note| note.starts_with("fell back")), "{:#?}", sim.status(id));
}

#[test]
fn names_that_a_living_job_may_use_are_refused() {
    let mut lost = lost_cluster(8, 1);
    let mut sim = other_cluster(&mut lost, 1);
    let own = sim.submit(&spec("4x4", 9));
    let refused = go_on(&mut sim).unwrap_err().to_string();
    assert!(refused.contains("j1/...") && refused.contains("job j1"), "{refused}");
    sim.coordinator.cancel(sim.now, own).unwrap();
    let first = go_on(&mut sim).unwrap();
    // The same checkpoint twice at a time, too.
    let refused = go_on(&mut sim).unwrap_err().to_string();
    assert!(refused.contains(&format!("job {first}")), "{refused}");
    assert_eq!(count(&mut sim, first), brute(4, 6));
}

#[test]
fn the_newest_archived_boundary_stays() {
    let mut sim = lost_cluster(9, 2);
    let is_archived = |boundary: &Boundary| boundary.head.archive.is_some();
    for _ in 0..200 {
        let Some(job) = sim.coordinator.jobs.get(&JobId(1)).filter(|job| !job.is_over()) else { return };
        let sweep = job.record.sweep;
        let archived = job.boundaries.iter().any(is_archived);
        assert!(archived || sweep > 0, "{:#?}", job.status(&sim.coordinator.fleet));
        for number in 0..2 {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        sim.tick(20);
    }
}

/// Any change of a checkpoint is found.
#[test]
fn changed_checkpoints_are_refused() {
    let sim = lost_cluster(10, 1);
    let bytes = sim.archive.checkpoints.values().next().unwrap().clone();
    assert!(Checkpoint::read(&bytes).is_ok());
    for at in (0..bytes.len()).step_by(7).chain(0..32) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(Checkpoint::read(&changed).is_err(), "byte {at}");
    }
    for end in [0, 15, 31, 32, 63, 64, bytes.len() - 33, bytes.len() - 1] {
        assert!(Checkpoint::read(&bytes[..end]).is_err(), "{end} bytes");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(Checkpoint::read(&longer).is_err());
    let mut other = bytes;
    other[16] ^= 2;
    let refused = Checkpoint::read(&other).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("this program reads 1,"), "{refused}");
}

/// Workers with less memory than the plan asks for do nothing, until the rest is planned anew.
#[test]
fn the_rest_is_planned_anew_for_other_workers() {
    let fewer_bytes = 16 << 20;
    for (seed, task_memory_bytes) in [(21, None), (22, Some(8 << 20))] {
        let mut sim = other_cluster(&mut lost_cluster(seed, 2), 0);
        let nobody = go_on_with(&mut sim, Some(Replan::default())).unwrap_err().to_string();
        assert!(nobody.contains("no worker is here") && nobody.contains("--task-memory"), "{nobody}");
        let lost = std::mem::take(&mut sim.archive);
        let mut sim = Sim { archive: lost, task_memory_bytes: fewer_bytes, ..Sim::new(seed, 3, archived()) };
        (0..3).for_each(|number| {
            sim.pull(&worker(number));
        });
        let old = go_on(&mut sim).unwrap();
        let begun = sim.status(old).position.pass;
        for _ in 0..50 {
            (0..3).for_each(|number| sim.heartbeat(&worker(number)));
            (0..3).for_each(|number| {
                sim.pull(&worker(number));
            });
            (0..3).for_each(|number| sim.work(&worker(number), 0));
            sim.tick(20);
        }
        assert_eq!(sim.status(old).position.pass, begun, "no worker has the memory: {:#?}", sim.status(old));
        sim.coordinator.cancel(sim.now, old).unwrap();
        let replan = Replan { task_memory_bytes, disk_bytes: None };
        let id = go_on_with(&mut sim, Some(replan)).unwrap();
        assert_eq!(count(&mut sim, id), brute(4, 6), "seed {seed}");
        let status = sim.status(id);
        let expected = task_memory_bytes.unwrap_or(fewer_bytes);
        assert_eq!(status.plan.as_ref().map(|plan| plan.task_memory_bytes), Some(expected), "{status:#?}");
        assert!(status.notes.iter().any(|note| note.contains("planned anew")), "{status:#?}");
        assert!(sim.coordinator.certificate(id).unwrap().is_some(), "all stages have evidence");
    }
    let mut sim = other_cluster(&mut lost_cluster(23, 1), 1);
    let too_small = Replan { task_memory_bytes: Some(1), ..Replan::default() };
    let refused = go_on_with(&mut sim, Some(too_small)).unwrap_err().to_string();
    assert!(refused.contains("each task needs at least"), "{refused}");
}

/// After so many stages a boundary within a column goes to the archive, too; another cluster goes on with it.
#[test]
fn boundaries_within_columns_are_archived_by_stages() {
    let config = Config { archive_interval_millis: Some(1 << 40), archive_interval_stages: Some(1), ..archived() };
    let mut sim = Sim::new(31, 2, config);
    let id = sim.submit(&spec("4x6", 9));
    let within = |sim: &Sim| read_all(sim).1.first().is_some_and(|newest| !newest.ends_column());
    work_until(&mut sim, id, |sim| checkpoints(sim) >= 3 && within(sim));
    let mut other = other_cluster(&mut sim, 3);
    let id = go_on(&mut other).unwrap();
    assert!(!other.status(id).position.pass.is_multiple_of(4), "{:#?}", other.status(id));
    assert_eq!(count(&mut other, id), brute(4, 6));
}

/// What a job of twenty columns stores if time alone decides: how many column ends, how many other boundaries. With its time.
fn stored_every(interval_millis: u64) -> (u32, u32, u64) {
    let mut sim = Sim::new(33, 2, Config { archive_interval_millis: Some(interval_millis), ..archived() });
    let id = sim.submit(&spec("4x20", 9));
    let (began, mut ends, mut within, mut seen) = (sim.now, 0, 0, None);
    while !sim.status(id).state.is_over() {
        for number in 0..2 {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        sim.tick(20);
        let newest = sim.archive.checkpoints.keys().next_back().cloned();
        if newest.is_some() && newest != seen {
            seen = newest;
            *if read_all(&sim).1[0].ends_column() { &mut ends } else { &mut within } += 1;
        }
    }
    (ends, within, sim.now - began)
}

/// Time decides at the ends of columns, and within columns that take longer than that.
#[test]
fn boundaries_within_long_columns_are_archived_by_time() {
    let (ends, within, millis) = stored_every(1 << 40);
    assert_eq!((ends, within), (0, 0));
    for (interval_millis, stores_within) in [(millis / 4, false), (millis / 200, true), (0, false)] {
        let (ends, within, _) = stored_every(interval_millis);
        let case = format!("every {interval_millis} of {millis} ms: {ends} column ends, {within} others");
        assert!(ends > 0 && (within > 0) == stores_within, "{case}");
    }
}

/// What is stored within a column never gets there, so slow is the archive. It gives way to the column's end.
#[test]
fn column_ends_are_archived_before_what_is_within_columns() {
    for stages in [1, 3] {
        let config =
            Config { archive_interval_millis: Some(1 << 40), archive_interval_stages: Some(stages), ..archived() };
        let mut sim = Sim::new(32, 2, config);
        let id = sim.submit(&spec("4x6", 9));
        let is_slow = |sim: &Sim, grant: &Grant| {
            let job = &sim.coordinator.jobs[&id];
            job.archive.round_of(grant.attempt.generation).is_some_and(|round| job.gives_way(round))
        };
        let delayed = Cell::new(0);
        let gets_on = |sim: &Sim, grant: &Grant| {
            delayed.set(delayed.get() + u32::from(is_slow(sim, grant)));
            !is_slow(sim, grant)
        };
        work_on_some_until(&mut sim, id, gets_on, |sim| checkpoints(sim) >= 2);
        let ends: Vec<bool> = read_all(&sim).1.iter().map(Checkpoint::ends_column).collect();
        assert!(ends.iter().all(|end| *end), "every {stages} stages: {ends:?}");
        assert!(delayed.get() > 0, "every {stages} stages: nothing within a column was to be stored");
    }
}
