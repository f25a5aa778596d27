//! What the planner makes of a job by blocks: windows for a memory, lanes for a column, sweeps for a disk, and which
//! executor.

use keima_blocks::rows::largest_buffer_rows;
use keima_coordinator::{Execution, Executor, Plan, PlanError, PlanLimits, choose_plan, refit};
use keima_engine::block::Prepared;
use keima_model::{Direction, Directions, ProblemRequest, Registry, Window};
use keima_problems::Problems;
use keima_residue::Integer;

const GENEROUS: PlanLimits = PlanLimits {
    task_memory_bytes: 8 << 30,
    disk_bytes: None,
    residues_per_sweep: None,
    window: None,
    slots: 2,
    worker_slots: 2,
    second_copies: false,
    series: false,
};

fn plan(name: &str, size: &str, limits: &PlanLimits, executor: Executor) -> Result<Plan, PlanError> {
    let problem = Problems.open(&ProblemRequest { name: name.into(), size: size.into(), options: vec![] }).unwrap();
    choose_plan(problem.info(), problem.key_bytes(), limits, executor)
}

/// A record of a run holds so many numbers and no more: sweeps have fewer residues where each has many coefficients.
#[test]
fn sweeps_keep_within_a_record() {
    let plan = |size: &str| {
        let options = vec![("all".to_owned(), String::new())];
        let problem =
            Problems.open(&ProblemRequest { name: "quoridor-fences".into(), size: size.into(), options }).unwrap();
        choose_plan(problem.info(), problem.key_bytes(), &GENEROUS, Executor::Auto)
    };
    for (size, residues) in [("4x20", 8), ("4x150", 6), ("8x70", 7)] {
        let plan = plan(size).unwrap();
        let most = plan.sweeps.iter().map(|(first, end)| end - first).max().unwrap();
        assert!(
            most <= residues && most * plan.coefficients <= 4096,
            "{size}: {:?}, {}",
            plan.sweeps,
            plan.coefficients
        );
    }
    let refused = plan("5x1000");
    assert!(matches!(refused, Err(PlanError::Coefficients { most: 4096, .. })), "{refused:?}");
}

/// Every column's primes suffice for its counts, whatever the limits; memory, windows and disk are as the table says.
#[test]
fn plans_keep_to_their_limits() {
    // (size, task memory in MiB, disk in GiB, residues, expected windows, lanes of the last stage)
    for (size, memory_mib, disk_gib, residues, windows, lanes) in [
        ("9x9", 64, None, None, &[5, 4][..], 4),
        ("12x12", 4096, None, None, &[6, 6], 6),
        ("12x12", 60, None, None, &[6, 6], 6),
        ("13x13", 4096, None, None, &[7, 6], 6),
        // A tenth of the vector for two tasks: one lane of the largest family by a single task.
        ("13x13", 144, None, None, &[7, 6], 6),
        ("13x13", 4096, Some(4), None, &[7, 6], 6),
        ("13x13", 4096, Some(3), None, &[7, 6], 4),
        ("13x13", 4096, None, Some(2), &[7, 6], 2),
        // Tables in parts, for which two windows are too few.
        ("13x13", 57, None, None, &[4, 4, 5], 6),
        ("14x14", 1024, None, None, &[7, 7], 8),
        ("6x40", 64, None, None, &[6], 8),
        // Ten, eleven and thirteen residues are needed.
        ("8x41", 64, None, None, &[4, 4], 10),
        ("8x41", 64, None, Some(8), &[4, 4], 8),
        ("8x46", 64, None, None, &[4, 4], 12),
        ("10x44", 256, None, None, &[5, 5], 16),
    ] {
        let limits = PlanLimits {
            task_memory_bytes: memory_mib << 20,
            disk_bytes: disk_gib.map(|gib: u64| gib << 30),
            residues_per_sweep: residues,
            ..GENEROUS
        };
        let plan = plan("go", size, &limits, Executor::Auto).unwrap();
        let block = plan.block().unwrap_or_else(|| panic!("{size}: {}", plan.why));
        let found: Vec<u32> = plan.windows.iter().map(|window| window.len).collect();
        let last = plan.stage_moduli(0, plan.stages() - 1).len();
        assert_eq!((found.as_slice(), last), (windows, lanes), "{size} in {memory_mib} MiB");
        assert!(disk_gib.is_none_or(|gib| plan.disk_bytes <= gib << 30), "{size}: {} bytes of disk", plan.disk_bytes);
        let (ahead, back) = block.lanes.split_at(plan.forward_stages() as usize);
        assert!(ahead.is_sorted() && back.is_sorted(), "numbers grow: {:?}", block.lanes);
        assert!(block.middle.is_none() || plan.sweeps.len() == 1, "only what grows has a middle: {size}");
        let (spare, primes) = plan.moduli.split_last().unwrap();
        assert!(primes.iter().all(|prime| prime < spare), "the spare is the largest");
        assert!(primes.iter().product::<Integer>() > power_of_3(plan.board.passes()), "{size}");
        if plan.sweeps.len() > 1 {
            continue;
        }
        for stage in 0..plan.stages() {
            let moduli = plan.stage_moduli(0, stage);
            assert_eq!((moduli.len() as u32, moduli.last()), (block.lanes[stage as usize], Some(spare)));
            let place = plan.stage(stage);
            let cells = match place.direction {
                Direction::Forward => (plan.board.column(place.first_pass) + 1) * plan.board.height,
                Direction::Transposed if plan.meets(stage) => plan.board.passes(),
                Direction::Transposed => plan.board.passes() - place.first_pass,
            };
            let product: Integer = moduli[..moduli.len() - 1].iter().product();
            assert!(product > power_of_3(cells), "{size}: stage {stage} has {} lanes", moduli.len());
        }
    }
}

fn power_of_3(cells: u32) -> Integer {
    (0..cells).fold(Integer::from(1), |power, _| power * 3)
}

/// What the planner takes a family's buffer for is what the executor needs, and not much more.
#[test]
fn buffers_are_as_large_as_planned() {
    for lengths in [&[3, 3][..], &[4, 4], &[5, 4], &[5, 5], &[6, 5], &[3, 3, 3], &[7], &[6, 2]] {
        let height: u32 = lengths.iter().sum();
        let windows = Window::of_lengths(lengths);
        let size = format!("{height}x{height}");
        let problem = Problems.open(&ProblemRequest { name: "go".into(), size, options: vec![] }).unwrap();
        let blocks = problem.info().blocks().unwrap();
        // Passes both ways need five bytes more for each row; not all of them where the window is the whole column.
        for (directions, row_bytes, most_percent) in [(Directions::Forward, 8, 150), (Directions::Both, 13, 170)] {
            let column = blocks.column(&windows, directions).unwrap();
            // A group of each family.
            let needed = Prepared::new(column, 1, 0, 1).most_rows() as u64;
            let rows = windows.iter().map(|&window| largest_buffer_rows(problem.info(), blocks, directions, window));
            let planned = rows.max().unwrap() * row_bytes / 8;
            let most = needed * most_percent / 100 + 4096;
            let what = format!("{lengths:?} {directions:?}: needed {needed}, planned {planned}");
            assert!((needed..most).contains(&planned), "{what}");
        }
    }
}

/// Who is taken, and that it is said why; what cannot be is refused.
#[test]
fn the_executor_is_chosen_and_said() {
    let small = PlanLimits { task_memory_bytes: 20 << 20, ..GENEROUS };
    for (name, size, limits, executor, expected, why) in [
        ("go", "9x9", &GENEROUS, Executor::Auto, "block", "has a block form"),
        ("go", "9x9", &GENEROUS, Executor::Stream, "stream", "asked for"),
        ("go", "9x9", &GENEROUS, Executor::Block, "block", "asked for"),
        ("go", "17x17", &GENEROUS, Executor::Auto, "block", "in parts"),
        ("go", "19x19", &GENEROUS, Executor::Auto, "stream", "by blocks"),
        ("go", "13x13", &small, Executor::Auto, "stream", "by blocks"),
        ("go", "1x9", &GENEROUS, Executor::Auto, "stream", "smaller side is 2 to 21"),
        ("hard-squares", "9x9", &GENEROUS, Executor::Auto, "stream", "no block form"),
    ] {
        let plan = plan(name, size, limits, executor).unwrap();
        assert_eq!(plan.execution.name(), expected, "{name} {size}");
        assert!(plan.why.contains(why), "{name} {size}: {}", plan.why);
    }
    assert!(matches!(plan("go", "13x13", &small, Executor::Block), Err(PlanError::Family { .. })));
    assert!(matches!(plan("hard-squares", "9x9", &GENEROUS, Executor::Block), Err(PlanError::NoBlocks { .. })));
    let no_disk = PlanLimits { disk_bytes: Some(1 << 20), ..GENEROUS };
    assert!(matches!(plan("go", "12x12", &no_disk, Executor::Block), Err(PlanError::Disk { .. })));
}

/// The rest of a job keeps what its runs depend on; a memory that is too small is refused with one that does.
#[test]
fn the_rest_of_a_job_fits_other_workers() {
    // (problem, size, memory of a task before and after in MiB, whether it fits)
    for (name, size, before_mib, after_mib, fits) in [
        ("go", "12x12", 4096, 1024, true),
        ("go", "12x12", 4096, 60, false),
        ("go", "12x12", 60, 4096, true),
        ("go", "12x12", 4096, 8, false),
        ("go", "13x13", 150, 144, true),
        ("go", "13x13", 144, 30, false),
        ("quoridor", "7", 512, 16, true),
        ("quoridor", "7", 512, 4, false),
        ("grid-paths", "11x11", 16, 512, true),
    ] {
        let case = format!("{name} {size}, {before_mib} to {after_mib} MiB");
        let limits = |mib: u64| PlanLimits { task_memory_bytes: mib << 20, ..GENEROUS };
        let problem = Problems.open(&ProblemRequest { name: name.into(), size: size.into(), options: vec![] }).unwrap();
        let old = plan(name, size, &limits(before_mib), Executor::Auto).unwrap();
        let again = |mib| refit(&old, problem.info(), problem.key_bytes(), &limits(mib));
        match again(after_mib) {
            Ok(new) => {
                assert!(fits, "{case}");
                assert_eq!(new.task_memory_bytes, after_mib << 20, "{case}");
                let kept = |plan: &Plan| {
                    let Plan { mut execution, windows, moduli, sweeps, .. } = plan.clone();
                    if let Execution::Blocks(block) = &mut execution {
                        block.room_states = 0;
                    }
                    (execution, windows, moduli, sweeps)
                };
                assert_eq!(kept(&old), kept(&new), "{case}");
                // What a worker has room for follows its memory.
                let room = |plan: &Plan| plan.block().map_or(0, |block| block.room_states);
                let shares = room(&old) > 0 || room(&new) > 0;
                assert!(!shares || (room(&old) < room(&new)) == (before_mib < after_mib), "{case}");
            }
            Err(PlanError::Rest { got_bytes, enough_bytes }) => {
                assert!(!fits && got_bytes == after_mib << 20 && again(enough_bytes >> 20).is_ok(), "{case}");
            }
            Err(error) => assert!(!fits && matches!(error, PlanError::TaskMemory { .. }), "{case}: {error}"),
        }
        let little = PlanLimits { disk_bytes: Some(1), ..limits(before_mib) };
        let refused = refit(&old, problem.info(), problem.key_bytes(), &little);
        assert!(old.states.is_empty() || matches!(refused, Err(PlanError::Disk { .. })), "{case}: {refused:?}");
    }
}
