//! Where two vectors meet: how long the forward one is kept, and how a job goes on that loses it.
//!
//! Stages 0 and 1 go forward through the second of four columns, 2 to 5 come back; the boundaries are put there by hand.

use keima_model::Direction;
use keima_runs::{PassTally, RunId, RunManifest, Tally, TaskManifest};

use crate::job::Job;
use crate::job::stage::StageRun;
use crate::machine::tests::world::sim::{Sim, config, spec, worker};
use crate::store::records::{Boundary, Committed, Head, Shard};

use crate::Config;
use crate::fleet::Fleet;
use crate::plan::{BlockPlan, Execution};
use crate::{AttemptId, JobId};

/// A job of two windows a column with the boundaries of `stages`, one run each on `holders`, and whether it is copied.
fn job(stages: &[(u32, &[usize], bool)]) -> (Sim, JobId) {
    let mut sim = Sim::new(41, 4, Config { second_copies: true, ..config() });
    let id = sim.submit(&spec("4x4", 3));
    (0..4).for_each(|number| sim.hello(&worker(number)));
    with(&mut sim, id, |job, fleet| {
        let lanes = vec![2; 6];
        let block = BlockPlan { group_records: 1, lanes, room_states: 0, parted: false, middle: Some(2) };
        job.record.plan.execution = Execution::Blocks(block);
        for &(stage, holders, copied) in stages {
            let boundary = boundary(job, stage, copied);
            for run in boundary.runs() {
                for &holder in holders {
                    fleet.hold(&worker(holder), run);
                }
                job.boundaries.need(run);
            }
            job.boundaries.push(boundary);
        }
        fleet.holdings_changed();
    });
    (sim, id)
}

fn boundary(job: &Job, stage: u32, copied: bool) -> Boundary {
    let place = job.record.plan.stage(stage);
    let attempt = AttemptId { job: job.id, sweep: 0, generation: stage + 1, task: 0, attempt: 0 };
    let run = RunManifest {
        id: RunId(format!("{attempt}/r0")),
        bytes: 100,
        records: 1,
        first_key: 0,
        last_key: 0,
        sums: vec![0; 2],
        checksum: 0,
    };
    let manifest = TaskManifest { runs: vec![run], ..TaskManifest::default() };
    let head = Head {
        sweep: 0,
        stage,
        generation: stage + 1,
        pass: place.boundaries().1,
        direction: place.direction,
        durable: false,
        copied,
        archive: None,
        totals: Tally::zero(2),
        exact: true,
        tasks: 1,
        trusted: Vec::new(),
    };
    let tasks = vec![Committed { attempt, nonce: 0, writer: worker(0), second: None, manifest }];
    Boundary::new(head, tasks, false)
}

fn with<T>(sim: &mut Sim, id: JobId, act: impl FnOnce(&mut Job, &mut Fleet) -> T) -> T {
    let job = sim.coordinator.jobs.get_mut(&id).expect("it was submitted");
    act(job, &mut sim.coordinator.fleet)
}

fn stages(job: &Job) -> Vec<u32> {
    job.boundaries.iter().map(|boundary| boundary.head.stage).collect()
}

/// Takes the runs of a stage from a worker.
fn lose(job: &Job, fleet: &mut Fleet, stage: u32, holder: usize) {
    let boundary = job.boundaries.iter().find(|boundary| boundary.head.stage == stage).expect("it is there");
    let id = worker(holder);
    for run in boundary.runs() {
        fleet.workers.get_mut(&id).expect("known").held.remove(&run.id);
        fleet.forget_holder(&id, &run.id);
    }
    fleet.holdings_changed();
}

#[test]
fn stages_go_forward_and_come_back() {
    let (mut sim, id) = job(&[]);
    with(&mut sim, id, |job, _| {
        let plan = &job.record.plan;
        assert_eq!((plan.stages(), plan.forward_stages(), plan.kept_stage()), (6, 2, Some(1)));
        let seen: Vec<_> = (0..6).map(|number| (plan.stage(number).boundaries(), plan.passes_before(number))).collect();
        let ahead = [((4, 6), 4), ((6, 8), 6)];
        let back = [((16, 14), 8), ((14, 12), 10), ((12, 10), 12), ((10, 8), 14)];
        assert_eq!(seen, [&ahead[..], &back].concat());
        assert_eq!((0..6).filter(|&number| plan.starts(number)).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((0..6).filter(|&number| plan.meets(number)).collect::<Vec<_>>(), [5]);
        assert_eq!((0..6).filter(|&n| plan.stage(n).ends_column(plan.board)).collect::<Vec<_>>(), [1, 3, 5]);
        assert!((0..6).all(|n| (plan.stage(n).direction == Direction::Transposed) == (n > 1)));
    });
}

#[test]
fn the_kept_boundary_stays() {
    let (mut sim, id) = job(&[(0, &[0], false), (1, &[0], false), (2, &[1], false), (3, &[1], false)]);
    with(&mut sim, id, |job, fleet| {
        job.drop_superseded(fleet);
        assert_eq!(stages(job), [1, 3]);
        let (boundaries, plan) = (&job.boundaries, &job.record.plan);
        let reads = |stage| boundaries.input_of(plan, stage).map(|boundary| boundary.head.stage);
        let kept = boundaries.kept(plan).map(|kept| kept.head.stage);
        assert_eq!((reads(2), reads(4), kept), (None, Some(3), Some(1)));
        assert_eq!(boundaries.next_stage(), 4);
    });
}

#[test]
fn without_the_kept_vector_what_came_after_it_is_worth_nothing() {
    // (boundaries, the stage that is lost, what is left, the note)
    let all: &[(u32, &[usize], bool)] = &[(0, &[0], true), (1, &[1], false), (2, &[2], false), (3, &[3], false)];
    for (lost, left, note) in
        [(3, &[0, 1, 2][..], "to the boundary at pass 14 on the way back"), (1, &[0], "to the boundary after 6 passes")]
    {
        let (mut sim, id) = job(all);
        with(&mut sim, id, |job, fleet| {
            lose(job, fleet, lost, lost as usize);
            job.fall_back_if_lost(fleet);
            assert_eq!(stages(job), left, "{lost}");
            let notes = job.record.notes.to_vec();
            assert!(notes.iter().any(|text| text.contains(note)), "{lost}: {notes:?}");
        });
    }
    let (mut sim, id) = job(&all[1..]);
    with(&mut sim, id, |job, fleet| {
        lose(job, fleet, 1, 1);
        job.fall_back_if_lost(fleet);
        assert_eq!((stages(job), job.boundaries.next_stage()), (vec![], 0));
    });
}

/// A kept vector that has lost a holder is copied before newer boundaries. Until then none of these counts as copied.
#[test]
fn a_kept_vector_is_copied_again() {
    let (mut sim, id) = job(&[(1, &[0, 1], true), (3, &[1, 2], true)]);
    with(&mut sim, id, |job, fleet| {
        assert_eq!(job.status(fleet).durability.copied_passes, Some(12));
        job.start_copies(fleet);
        assert!(job.copies.round.is_none(), "all is copied");
        lose(job, fleet, 1, 0);
        assert_eq!(job.status(fleet).durability.copied_passes, None);
        job.start_copies(fleet);
        let round = job.copies.round.as_ref().expect("a copy is wanted");
        assert_eq!(round.boundary, 2, "the generation of stage 1");
    });
}

/// The last stage must read the kept vector as it was written.
#[test]
fn another_vector_than_the_kept_one_is_noticed() {
    for (sum, fails) in [(0, false), (1, true)] {
        let (mut sim, id) = job(&[(1, &[0], false), (4, &[1], false)]);
        with(&mut sim, id, |job, fleet| {
            let mut stage = StageRun::new(5, 9, false, true, vec![Shard::of_keys(0, None, 1)]);
            let attempt = AttemptId { job: id, sweep: 0, generation: 9, task: 0, attempt: 0 };
            let lanes = job.record.plan.stage_moduli(0, 5).len();
            let kept = Some(Tally { sums: vec![sum; 2], ..Tally::zero(2) });
            let passes = vec![PassTally::default(); 2];
            let (input, output) = (Tally::zero(2), Tally::zero(lanes));
            let manifest = TaskManifest { input, output, kept, passes, ..TaskManifest::default() };
            stage.finish(Committed { attempt, nonce: 0, writer: worker(0), second: None, manifest });
            job.stage = Some(stage);
            job.complete_stage(fleet);
            let notes = job.record.notes.to_vec().join("; ");
            assert_eq!(notes.contains("sums read, against what was kept"), fails, "{notes}");
            assert!(!fails || job.boundaries.is_empty(), "the kept vector is in doubt, too: {notes}");
        });
    }
}
