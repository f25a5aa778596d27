//! Random schedules of everything that can go wrong. Whatever happens, the count comes out right.

use keima_model::Board;

use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::machine::tests::world::toy::Colourings;
use crate::{Config, Durability, State};
use crate::{Failure, Report};

/// One random step.
fn step(sim: &mut Sim, workers: u64, restarts: bool) {
    let id = worker(sim.below(workers) as usize);
    match sim.below(100) {
        0..=29 => {
            sim.pull(&id);
        }
        30..=59 => {
            let at = sim.below(2) as usize;
            sim.work(&id, at);
        }
        60..=79 => sim.heartbeat(&id),
        80..=83 => {
            let pause = sim.below(700);
            sim.tick(pause);
        }
        84 => {
            // An old report again, whatever became of it.
            if let Some((grant, report)) = sim.workers[&id].said.clone() {
                sim.count("told again");
                sim.report(&id, &grant, report);
            }
        }
        85 => {
            // The answer to a pull is lost.
            if sim.pull(&id) {
                sim.workers.get_mut(&id).expect("known").running.pop();
                sim.count("lost grant");
            }
        }
        86 => {
            // Work is done, but the report comes late or never.
            if let Some(grant) = sim.workers[&id].running.first().cloned() {
                let report = sim.execute(&id, &grant);
                sim.workers.get_mut(&id).expect("known").said = Some((grant, report));
            }
        }
        87 => sim.workers.get_mut(&id).expect("known").silent = true,
        88..=89 => sim.workers.get_mut(&id).expect("known").silent = false,
        90 => {
            sim.count("killed");
            sim.kill(&id, |_| true);
        }
        91 if sim.below(3) == 0 => {
            sim.count("lost disk");
            sim.kill(&id, |_| false);
        }
        92 if restarts => {
            sim.count("restart");
            sim.restart(false);
        }
        93 if restarts => {
            sim.count("power failure");
            sim.restart(true);
        }
        94 => {
            if let Some(grant) = sim.workers[&id].running.first().cloned() {
                let failure = match sim.below(3) {
                    0 => Failure::Stopped,
                    1 => Failure::Disk { text: "no space left".into() },
                    _ => Failure::Other { text: "out of luck".into() },
                };
                sim.count("failure");
                sim.report(&id, &grant, Report::Failed(failure));
            }
        }
        95 if sim.below(3) == 0 => {
            let files = sim.workers[&id].disk.len() as u64;
            if files > 0 {
                let at = sim.below(files) as usize;
                let disk = &mut sim.workers.get_mut(&id).expect("known").disk;
                disk.values_mut().nth(at).expect("below the length").damaged = true;
            }
        }
        96 => {
            let now = sim.now;
            for job in sim.coordinator.jobs() {
                let paused = job.state == State::Paused;
                let call =
                    if paused { sim.coordinator.resume(now, job.id) } else { sim.coordinator.pause(now, job.id) };
                assert_eq!(call.is_err(), job.state.is_over());
            }
            sim.save();
        }
        97 => {
            if let Some(epoch) = sim.workers[&id].epoch {
                let _ = sim.coordinator.goodbye(sim.now, &id, epoch);
            }
            sim.save();
            sim.kill(&id, |_| true);
        }
        98 => {
            // One worker does not reach another for a while.
            let wall = (id, worker(sim.below(workers) as usize));
            if wall.0 != wall.1 && !sim.walls.remove(&wall) {
                sim.walls.insert(wall);
            }
        }
        _ => {
            let pause = sim.below(100);
            sim.tick(pause);
        }
    }
    sim.check();
}

/// Prints the seed if the test fails.
struct Seed(u64, &'static str);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with seed {} of {}", self.0, self.1);
        }
    }
}

fn check(what: &'static str, seeds: std::ops::Range<u64>, config: &Config, restarts: bool, wanted: &[&str]) {
    let mut events = std::collections::BTreeMap::new();
    for seed in seeds {
        let _seed = Seed(seed, what);
        let workers = 1 + seed % 3;
        let mut sim = Sim::new(seed.wrapping_mul(0x1234_5678_9abc_def1) + 7, workers as usize, config.clone());
        // One slot or two: workers with a single one make copies in another order.
        sim.slots = 1 + (seed / 3 % 2) as u32;
        let (height, length) = (3 + sim.below(2) as u32, 2 + sim.below(3) as u32);
        let residues = 1 + sim.below(3) as u32;
        let first = sim.submit(&spec(&format!("{height}x{length}"), residues));
        let second = sim.submit(&crate::JobSpec { priority: 1, ..spec("2x3", 3) });
        for _ in 0..600 {
            step(&mut sim, workers, restarts);
        }
        for (id, board) in [(first, Board { height, length }), (second, Board { height: 2, length: 3 })] {
            let status = sim.run_to_end(id);
            assert_eq!(status.state, State::Done, "{}: {:#?}", status.reason, status.notes);
            let fallbacks = status.notes.iter().filter(|note| note.starts_with("fell back")).count();
            (0..fallbacks).for_each(|_| sim.count("fallback"));
            assert_eq!(status.outcome.expect("it is done").count, Colourings::new(board).brute().to_string());
        }
        // Nothing is left behind.
        for _ in 0..2 {
            (0..workers as usize).for_each(|number| sim.heartbeat(&worker(number)));
        }
        assert!(sim.workers.values().all(|w| w.disk.is_empty()), "runs of finished jobs are left");
        assert!(sim.archive.checkpoints.is_empty(), "checkpoints of finished jobs are left");
        // What results and certificates are made of stays.
        let stays = |key: &&String| {
            ["meta/", "job/", "account/", "value/", "evidence/"].iter().any(|kind| key.starts_with(kind))
        };
        let left: Vec<&String> = sim.store.keys().filter(|key| !stays(key)).collect();
        assert!(left.is_empty(), "records of finished jobs are left: {left:?}");
        for (event, count) in sim.events {
            *events.entry(event).or_insert(0) += count;
        }
    }
    println!("{what}: {events:?}");
    for event in wanted {
        assert!(events.contains_key(event), "no {event} in all of {events:?}");
    }
}

const TROUBLE: &[&str] =
    &["release", "abandon", "told again", "lost grant", "killed", "lost disk", "failure", "damaged input", "fallback"];

#[test]
fn a_cluster_counts_right_whatever_happens() {
    let wanted = [TROUBLE, &["copy", "wall", "restart", "power failure"]].concat();
    check("cluster", 0..80, &config(), true, &wanted);
    let seldom = Config { copy_interval_millis: 1_000, ..config() };
    check("cluster with few copies", 80..110, &seldom, true, &wanted);
}

#[test]
fn a_cluster_with_an_archive_counts_right_whatever_happens() {
    let config = Config { archive_interval_millis: Some(0), durable_interval_millis: 1 << 40, ..config() };
    let wanted = [TROUBLE, &["store", "checkpoint", "fetch", "restart", "power failure"]].concat();
    check("archive", 3000..3040, &config, true, &wanted);
    let alone = Config { second_copies: false, archive_interval_millis: Some(500), ..config };
    check("archive without second copies", 3040..3070, &alone, true, &wanted);
    let by_stages = Config { archive_interval_millis: Some(1 << 40), archive_interval_stages: Some(2), ..alone };
    check("archive by stages", 3070..3090, &by_stages, true, &wanted);
}

#[test]
fn one_process_counts_right_whatever_happens() {
    let config = Config { durability: Durability::OneProcess, second_copies: false, speculate: false, ..config() };
    check("one process", 1000..1060, &config, true, &[TROUBLE, &["restart", "power failure"]].concat());
}

#[test]
fn a_cluster_without_second_copies_counts_right() {
    let config = Config { second_copies: false, durable_interval_millis: 0, ..config() };
    check("no copies", 2000..2050, &config, false, TROUBLE);
}
