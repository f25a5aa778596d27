//! Plans that follow the workers: made when the first comes, made anew for others, until the first task is granted.

use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::{Follows, JobId, JobSpec, State};

const MIB: u64 = 1 << 20;

/// The memory of each worker's tasks, in the order in which they come, and what the job is planned for then.
fn planned(sim: &mut Sim, id: JobId, memories: &[u64]) -> u64 {
    for (number, memory) in memories.iter().enumerate() {
        sim.task_memory_bytes = *memory;
        sim.hello(&worker(number));
    }
    sim.status(id).plan.expect("a plan").task_memory_bytes
}

#[test]
fn a_job_is_planned_for_the_workers_that_come() {
    let typed = Follows { task_memory: false, ..Follows::ALL };
    // (what follows the workers, task memory of each worker, what the job is planned for, whether it runs)
    let table: [(Follows, &[u64], u64, bool); 6] = [
        (Follows::ALL, &[64 * MIB], 64 * MIB, true),
        (Follows::ALL, &[1024 * MIB], 1024 * MIB, true),
        (Follows::ALL, &[128 * MIB, 64 * MIB], 64 * MIB, true),
        // The least makes no plan: that worker gets no tasks.
        (Follows::ALL, &[MIB, 64 * MIB], 64 * MIB, true),
        // Nobody can do it: it waits for a larger worker.
        (Follows::ALL, &[MIB], 256 * MIB, false),
        (typed, &[64 * MIB], 256 * MIB, false),
    ];
    for (follows, memories, expected, runs) in table {
        let mut sim = Sim::new(51, memories.len(), config());
        let id = sim.submit(&JobSpec { task_memory_bytes: 256 * MIB, follows, ..spec("3x3", 3) });
        planned(&mut sim, id, memories);
        let granted = (0..3 * memories.len()).filter(|turn| sim.pull(&worker(turn % memories.len()))).count() > 0;
        let case = format!("{follows:?}, workers of {memories:?}");
        assert_eq!(granted, runs, "{case}");
        assert_eq!(planned(&mut sim, id, &[]), expected, "{case}");
        if runs {
            assert_eq!(sim.run_to_end(id).state, State::Done, "{case}");
        } else {
            let status = sim.status(id);
            assert_eq!(status.state, State::Queued, "{case}");
            assert!(status.workers[0].note.contains("too little memory"), "{case}: {:?}", status.workers);
            let noted =
                status.notes.iter().any(|note| note.contains("cannot be planned for the workers that are here"));
            assert_eq!(noted, follows.task_memory, "{case}: {:?}", status.notes);
        }
    }
}

/// Until its first task a job follows workers that come and go; after that its plan stays.
#[test]
fn a_plan_stays_once_the_job_has_begun() {
    let mut sim = Sim::new(52, 3, config());
    let id = sim.submit(&JobSpec { follows: Follows::ALL, ..spec("3x3", 3) });
    for (number, memory) in [(0, 256), (1, 128)] {
        planned(&mut sim, id, &[]);
        sim.task_memory_bytes = memory * MIB;
        sim.hello(&worker(number));
        assert!(!sim.pull(&worker(number)), "it is planned first");
        let plan = sim.status(id).plan.expect("a plan");
        let slots = 2 * (number as u32 + 1);
        assert_eq!((plan.task_memory_bytes, plan.slots), (memory * MIB, slots), "with worker {number}");
    }
    assert!(sim.pull(&worker(0)));
    sim.task_memory_bytes = 64 * MIB;
    sim.hello(&worker(2));
    assert!(!sim.pull(&worker(2)));
    assert_eq!(sim.status(id).plan.expect("a plan").task_memory_bytes, 128 * MIB);
    assert_eq!(sim.run_to_end(id).state, State::Done);
}

/// Without workers a guess must not refuse a job that larger workers can do.
#[test]
fn without_workers_a_larger_guess_is_tried() {
    for (follows, taken) in [(Follows::ALL, true), (Follows::default(), false)] {
        let sim = Sim::new(53, 0, config());
        let spec = JobSpec { task_memory_bytes: MIB, follows, ..spec("3x3", 3) };
        assert_eq!(
            sim.coordinator.consider(&spec).plan(&crate::machine::tests::world::toy::Toys).is_ok(),
            taken,
            "{follows:?}"
        );
    }
}
