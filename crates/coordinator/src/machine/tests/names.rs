//! Two processes of one worker's name: which one is taken on.

use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::{CallError, Hello, Holder, State, Used, Welcome, WorkerId};

/// What a process of a worker says, in the place of that name.
fn said(worker: WorkerId, incarnation: u64, place: &str) -> Hello {
    Hello {
        archive: false,
        holder: Holder {
            worker,
            address: format!("http://{place}"),
            folder: format!("/{place}"),
            fingerprint: String::new(),
        },
        incarnation,
        place: place.to_owned(),
        slots: 1,
        task_memory_bytes: 1 << 30,
        disk_bytes: 1 << 40,
        held: Vec::new(),
        running: Vec::new(),
        store: None,
        build: String::new(),
    }
}

/// A hello of a process of worker 0.
fn hello(sim: &mut Sim, incarnation: u64, place: &str) -> Result<Welcome, CallError> {
    let welcome = sim.coordinator.hello(sim.now, said(worker(0), incarnation, place));
    sim.save();
    welcome
}

fn beat(sim: &mut Sim, id: &WorkerId, epoch: u64) -> bool {
    sim.coordinator.heartbeat(sim.now, id, epoch, &[], &[], Used::default()).is_ok()
}

/// What becomes of the second process: how long it waits, in heartbeats, and whether it is taken on in the end.
#[test]
fn one_living_process_has_a_name() {
    const HEARTBEAT: u64 = 300;
    struct Case {
        what: &'static str,
        place: &'static str,
        first_lives: bool,
        waits: u64,
        taken: bool,
    }
    let case = |what, place, first_lives, waits, taken| Case { what, place, first_lives, waits, taken };
    let table = [
        case("the same folder: a restart", "a", false, 0, true),
        case("the same folder, whatever the other says", "a", true, 0, true),
        case("a copied folder", "b", true, 1, false),
        case("a moved folder, the other is dead", "b", false, 3, true),
        case("places are not known", "", true, 1, false),
    ];
    for Case { what, place, first_lives, waits, taken } in table {
        let mut sim = Sim::new(61, 1, config());
        let id = worker(0);
        let first = hello(&mut sim, 1, if place.is_empty() { "" } else { "a" }).expect("the first");
        let mut waited = 0;
        let second = loop {
            match hello(&mut sim, 2, place) {
                Err(CallError::NameContested { .. }) => waited += 1,
                other => break other,
            }
            assert!(waited < 10, "{what}: it waits for ever");
            sim.tick(HEARTBEAT);
            if first_lives {
                assert!(beat(&mut sim, &id, first.epoch), "{what}: the first is not disturbed");
            }
        };
        assert_eq!((waited, second.is_ok()), (waits, taken), "{what}: {second:?}");
        match second {
            Err(error) => {
                assert!(matches!(error, CallError::NameTaken { .. }), "{what}: {error}");
                for words in ["/a", "worker.id", "worker.lock"] {
                    assert!(place.is_empty() || error.to_string().contains(words), "{what}: {words} in {error}");
                }
                assert!(beat(&mut sim, &id, first.epoch), "{what}");
                // Refused for good, until the first one leaves.
                assert!(hello(&mut sim, 2, place).is_err(), "{what}");
                sim.coordinator.goodbye(sim.now, &id, first.epoch).expect("its own epoch");
                hello(&mut sim, 2, place).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            Ok(second) => {
                assert!(!beat(&mut sim, &id, first.epoch) && beat(&mut sim, &id, second.epoch), "{what}");
            }
        }
        // The first one has lost its name for good: two processes do not throw each other out in turn.
        let back = hello(&mut sim, 1, "a");
        assert!(matches!(back, Err(CallError::NameTaken { .. })), "{what}: {back:?}");
    }
}

/// Strangers who use workers' names take nothing from them.
#[test]
fn hellos_in_workers_names_change_nothing() {
    let mut sim = Sim::new(62, 2, config());
    let id = sim.submit(&spec("4x3", 9));
    (0..2).for_each(|number| sim.hello(&worker(number)));
    for round in 0..400_u64 {
        for number in 0..2 {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        let refused = hello(&mut sim, 1000 + round, "elsewhere");
        assert!(refused.is_err(), "{refused:?}");
        assert!(sim.coordinator.goodbye(sim.now, &worker(1), round).is_err());
        sim.tick(20);
        if sim.status(id).state.is_over() {
            break;
        }
    }
    let status = sim.status(id);
    assert_eq!((status.state, status.notes), (State::Done, Vec::new()));
}

/// However many strangers come, workers that are here stay.
#[test]
fn strangers_do_not_push_workers_out() {
    let mut sim = Sim::new(63, 1, config());
    sim.hello(&worker(0));
    let mut refused = 0;
    for number in 0..5_000 {
        let name = WorkerId(format!("stranger{number}"));
        match sim.coordinator.hello(sim.now, said(name, number, "")) {
            Ok(_) => {}
            Err(CallError::TooManyWorkers { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0, "no limit");
    let epoch = sim.workers[&worker(0)].epoch.expect("introduced");
    assert!(beat(&mut sim, &worker(0), epoch));
    // Dead strangers make room.
    sim.tick(2_000);
    sim.hello(&worker(0));
    assert!(sim.coordinator.hello(sim.now, said(WorkerId("late".into()), 1, "")).is_ok());
}
