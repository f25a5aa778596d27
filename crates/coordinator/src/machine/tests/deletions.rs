//! How often a worker is told what to delete.

use keima_runs::{RunId, RunManifest};

use super::world::sim::{Sim, config, worker};

/// A report tells what is to go once. An answer may be lost: heartbeats repeat it until it is gone.
#[test]
fn reports_tell_once_and_heartbeats_until_it_is_done() {
    let mut sim = Sim::new(103, 1, config());
    let id = worker(0);
    sim.hello(&id);
    // A run of a job that nobody knows.
    let run = |number| RunManifest {
        id: RunId(format!("j7/s0/g1/t0/a{number}/r0")),
        bytes: 100,
        records: 1,
        first_key: 0,
        last_key: 0,
        sums: vec![0],
        checksum: 0,
    };
    let hold = |sim: &mut Sim, number| {
        sim.coordinator.fleet.hold(&id, &run(number));
        sim.coordinator.fleet.runs_became_unneeded();
    };
    hold(&mut sim, 0);
    let machine = &mut sim.coordinator;
    assert_eq!(machine.news_for(&id).release, [run(0).id]);
    assert_eq!(machine.news_for(&id).release, []);
    for _ in 0..2 {
        assert_eq!(machine.housekeeping(&id).release, [run(0).id]);
    }
    assert_eq!(machine.news_for(&id).release, []);
    // Another one that nobody needs: the next report tells.
    hold(&mut sim, 1);
    assert_eq!(sim.coordinator.news_for(&id).release, [run(0).id, run(1).id]);
}
