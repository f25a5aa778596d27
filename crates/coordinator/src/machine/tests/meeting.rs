//! Where two vectors meet: what is kept of the forward one, for how long, and what becomes of a job that loses it.
//!
//! Stages 0 and 1 go forward through the second of four columns, 2 to 5 come back; the boundaries are put there by hand.

use std::collections::BTreeSet;

use keima_model::Direction;
use keima_runs::{PassTally, RunId, RunManifest, Tally, TaskManifest};

use super::sim::{Sim, config, spec, worker};
use crate::job::Job;
use crate::job::boundaries::{Boundary, Committed, Head};
use crate::job::stage::StageRun;
use crate::job::stage::shards::Shard;
use crate::machine::{Common, Config};
use crate::plan::BlockPlan;
use crate::{AttemptId, JobId};

/// A job of two windows a column with the boundaries of `stages`, one run each on `holders`, and whether it is copied.
fn job(stages: &[(u32, &[usize], bool)]) -> (Sim, JobId) {
    let mut sim = Sim::new(41, 4, Config { second_copies: true, ..config() });
    let id = sim.submit(spec("4x4", 3));
    (0..4).for_each(|number| sim.hello(&worker(number)));
    with(&mut sim, id, |job, common| {
        let lanes = vec![2; 6];
        job.record.plan.block = Some(BlockPlan { group_records: 1, lanes, parted: false, middle: Some(2) });
        for &(stage, holders, copied) in stages {
            let boundary = boundary(job, stage, copied);
            for run in boundary.runs() {
                for &holder in holders {
                    common.hold(&worker(holder), run);
                }
                job.runs.insert(run.id.clone(), run.bytes);
            }
            job.boundaries.push(boundary);
        }
        common.holdings_changed();
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
        totals: Tally::zero(2),
        exact: true,
        tasks: 1,
    };
    let tasks = vec![Committed { attempt, nonce: 0, writer: worker(0), manifest }];
    Boundary { head, tasks, copies: BTreeSet::new(), stored: false }
}

fn with<T>(sim: &mut Sim, id: JobId, act: impl FnOnce(&mut Job, &mut Common) -> T) -> T {
    let job = sim.coordinator.jobs.get_mut(&id).expect("it was submitted");
    act(job, &mut sim.coordinator.common)
}

fn stages(job: &Job) -> Vec<u32> {
    job.boundaries.iter().map(|boundary| boundary.head.stage).collect()
}

/// Takes the runs of a stage from a worker.
fn lose(job: &Job, common: &mut Common, stage: u32, holder: usize) {
    let boundary = job.boundaries.iter().find(|boundary| boundary.head.stage == stage).expect("it is there");
    let held = &mut common.workers.get_mut(&worker(holder)).expect("known").held;
    for run in boundary.runs() {
        held.remove(&run.id);
    }
    common.holdings_changed();
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
        assert!((0..6).all(|n| (plan.stage(n).direction == Direction::Backward) == (n > 1)));
    });
}

#[test]
fn the_kept_boundary_stays() {
    let (mut sim, id) = job(&[(0, &[0], false), (1, &[0], false), (2, &[1], false), (3, &[1], false)]);
    with(&mut sim, id, |job, common| {
        job.let_boundaries_go(common);
        assert_eq!(stages(job), [1, 3]);
        let reads = |job: &Job, stage| job.input_of(stage).map(|boundary| boundary.head.stage);
        assert_eq!((reads(job, 2), reads(job, 4), job.kept().map(|kept| kept.head.stage)), (None, Some(3), Some(1)));
        assert_eq!(job.next_stage(), 4);
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
        with(&mut sim, id, |job, common| {
            lose(job, common, lost, lost as usize);
            job.fall_back_if_lost(common);
            assert_eq!(stages(job), left, "{lost}");
            let notes = &job.record.notes;
            assert!(notes.iter().any(|text| text.contains(note)), "{lost}: {notes:?}");
        });
    }
    let (mut sim, id) = job(&all[1..]);
    with(&mut sim, id, |job, common| {
        lose(job, common, 1, 1);
        job.fall_back_if_lost(common);
        assert_eq!((stages(job), job.next_stage()), (vec![], 0));
    });
}

/// Of a kept vector that has lost a holder another copy is made before those of newer boundaries; until then none of these
/// counts as copied.
#[test]
fn a_kept_vector_is_copied_again() {
    let (mut sim, id) = job(&[(1, &[0, 1], true), (3, &[1, 2], true)]);
    with(&mut sim, id, |job, common| {
        assert_eq!(job.copied_passes(common), Some(12));
        job.start_copies(common);
        assert!(job.copying.is_none(), "all is copied");
        lose(job, common, 1, 0);
        assert_eq!(job.copied_passes(common), None);
        job.start_copies(common);
        let round = job.copying.as_ref().expect("a copy is wanted");
        assert_eq!(round.boundary, 2, "the generation of stage 1");
    });
}

/// What the last stage reads of the kept vector is held against what was written there.
#[test]
fn another_vector_than_the_kept_one_is_noticed() {
    for (sum, fails) in [(0, false), (1, true)] {
        let (mut sim, id) = job(&[(1, &[0], false), (4, &[1], false)]);
        with(&mut sim, id, |job, common| {
            let mut stage = StageRun::new(5, 9, false, true, vec![Shard { low: 0, high: None, records: 1 }]);
            let attempt = AttemptId { job: id, sweep: 0, generation: 9, task: 0, attempt: 0 };
            let lanes = job.record.plan.stage_moduli(0, 5).len();
            let kept = Some(Tally { sums: vec![sum; 2], ..Tally::zero(2) });
            let passes = vec![PassTally::default(); 2];
            let (input, output) = (Tally::zero(2), Tally::zero(lanes));
            let manifest = TaskManifest { input, output, kept, passes, ..TaskManifest::default() };
            stage.tasks[0].done = Some(Committed { attempt, nonce: 0, writer: worker(0), manifest });
            stage.left = 0;
            job.stage = Some(stage);
            job.complete_stage(common);
            let noticed = job.record.reason.contains("sums of what was read against what was kept");
            assert_eq!(noticed, fails, "{}", job.record.reason);
        });
    }
}
