//! Records and runs of another coordinator: of another version, of unknown problems, of another store.

use std::sync::Arc;

use keima_runs::RunId;

use crate::machine::tests::world::sim::{Sim, Store, config, spec, worker};
use crate::machine::tests::world::toy::Toys;
use crate::store::records::{Head, VERSION};
use crate::{CallError, Config, Coordinator, Hello, Holder, RestoreError, State};

#[test]
fn stores_that_cannot_be_read_are_refused() {
    let mut sim = Sim::new(30, 1, config());
    sim.submit(&spec("3x3", 1));
    let restore = |store: &Store| {
        let records = store.clone().into_iter().collect();
        Coordinator::restore(config(), Arc::new(Toys), 1, 1, records).err()
    };
    assert_eq!(restore(&sim.store), None);
    let damage = |key: &str, value: &[u8]| {
        let mut store = sim.store.clone();
        store.insert(key.into(), value.into());
        restore(&store)
    };
    for got in [VERSION - 1, VERSION + 1, 99] {
        let refused = RestoreError::Version { expected: VERSION, got };
        assert_eq!(damage("meta/version", &[got as u8]), Some(refused));
    }
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
fn a_vector_of_a_stage_beyond_the_last_is_refused() {
    let mut found = false;
    let mut sim = Sim::new(32, 1, Config { durable_interval_millis: 0, ..config() });
    sim.submit(&spec("3x3", 1));
    let me = worker(0);
    for _ in 0..200 {
        sim.heartbeat(&me);
        sim.pull(&me);
        sim.work(&me, 0);
        sim.tick(50);
        let Some((key, value)) = sim.store.iter().find(|(key, _)| key.starts_with("boundary/")) else { continue };
        let head: Head = postcard::from_bytes(value).unwrap();
        for (stage, sweep) in [(u32::MAX, head.sweep), (head.stage, u32::MAX)] {
            let plan = sim.coordinator.jobs.values().next().unwrap().record.plan.clone();
            assert_eq!(head.check(&plan), Ok(()));
            let wrong = Head { sweep, stage, ..head.clone() };
            assert!(wrong.check(&plan).unwrap_err().contains("expected one of"));
            let mut store = sim.store.clone();
            store.insert(key.clone(), postcard::to_stdvec(&wrong).unwrap());
            let restored = Coordinator::restore(config(), Arc::new(Toys), 1, 1, store.into_iter().collect());
            // Of another sweep than the job's nothing is of use.
            assert_eq!(restored.is_err(), sweep == head.sweep, "stage {stage} of sweep {sweep}");
        }
        found = true;
        break;
    }
    assert!(found, "no boundary was stored");
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
