//! Forecasts as tables: published numbers of states, bytes and times that follow from them, and what more of anything
//! does.

use std::sync::Arc;

use keima_coordinator::{Executor, PlanError};
use keima_count::estimate::{Offer, Outline, PerState, Speeds, SweepSpeed, Times, Way, measure, measure_disk};
use keima_model::{AnyProblem, Direction, ProblemRequest, Registry};
use keima_problems::Problems;
use proptest::prelude::*;

const OFFER: Offer = Offer { disk_bytes_per_second: Some(1e9), ..Offer::with_runs(Executor::Auto, 1, 2, 2 << 30) };

fn request(name: &str, size: &str) -> ProblemRequest {
    ProblemRequest { name: name.into(), size: size.into(), options: Vec::new() }
}

fn open(name: &str, size: &str) -> AnyProblem {
    Problems.open(&request(name, size)).unwrap()
}

fn outline(size: &str, offer: &Offer) -> Result<Outline, PlanError> {
    Outline::new(&open("go", size), offer)
}

/// Round figures: 10 ns to read a state, 1 and 1 per lane for a pass, 20 to write it.
fn speeds() -> Speeds {
    Speeds {
        height: 10,
        key_bytes: 8,
        threads: 2,
        read: PerState { base_nanos: 10.0, lane_nanos: 0.0 },
        pass: PerState { base_nanos: 1.0, lane_nanos: 1.0 },
        write: PerState { base_nanos: 20.0, lane_nanos: 0.0 },
        sweeps: vec![
            SweepSpeed { lanes: 1, forward_nanos: 1.0, backward_nanos: 2.0 },
            SweepSpeed { lanes: 2, forward_nanos: 2.0, backward_nanos: 4.0 },
            SweepSpeed { lanes: 4, forward_nanos: 4.0, backward_nanos: 8.0 },
        ],
        rest: 1.0,
        table_seconds: 1.0,
        table_bytes: 1 << 20,
        ..Speeds::default()
    }
}

/// Table 1 of the paper: valid classes at the kinks 0 and m-1.
#[test]
fn states_are_the_published_ones() {
    let golden = include_str!("../../../tests/golden/go_border_state_classes.csv");
    let mut checked = 0;
    for row in golden.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let [height, fewest, most] =
            row.split(',').map(|n| n.parse::<u128>().unwrap()).collect::<Vec<_>>().try_into().unwrap();
        let size = format!("{height}x{height}");
        let outline = outline(&size, &OFFER).unwrap();
        let states = outline.states.as_ref().unwrap();
        let last_column = (height * (height - 1)) as usize;
        if height > 2 {
            assert_eq!(outline.peak_states(), Some(most), "{size}");
            assert_eq!((states[last_column], states[last_column + height as usize - 1]), (fewest, most), "{size}");
        }
        assert_eq!(states.len() as u128, height * height + 1, "{size}");
        checked += 1;
    }
    assert!(checked >= 19, "{checked}");
}

/// What stages do adds up to what the states say.
#[test]
fn stages_read_what_was_written() {
    let check = |size: &str, executor, residues, first_column: u32, meets: bool| {
        let offer = Offer { executor, residues_per_sweep: residues, ..OFFER };
        let outline = outline(size, &offer).unwrap();
        let plan = &outline.plan;
        let states = outline.states.as_ref().unwrap();
        let passes = states[(first_column * plan.board.height) as usize..plan.board.passes() as usize].iter();
        let (state_passes, ..) = outline.totals();
        let sweeps = plan.sweeps.len() as u128;
        assert_eq!(u128::from(state_passes), passes.sum::<u128>() * sweeps, "{size} {executor:?}");
        let kept = plan.kept_stage().map(|number| outline.stages[number as usize]);
        assert_eq!(kept.is_some(), meets, "{size}");
        for (number, pair) in (1..).zip(outline.stages.windows(2)).filter(|(_, pair)| pair[0].sweep == pair[1].sweep) {
            let of_stage = number % plan.stages();
            if plan.starts(of_stage) {
                assert_eq!(pair[1].bytes_read, 0, "{size}: {pair:?}");
                continue;
            }
            let kept = kept.filter(|_| plan.meets(of_stage));
            let (bytes, states) = kept.map_or((0, 0), |kept| (kept.bytes_written, kept.states_after));
            assert_eq!(pair[1].bytes_read, pair[0].bytes_written + bytes, "{size}: {pair:?}");
            assert_eq!(pair[1].states_before, pair[0].states_after + states, "{size}: {pair:?}");
            assert_eq!(pair[1].bytes_written == 0, plan.meets(of_stage), "{size}: {pair:?}");
            assert!(pair[0].lanes <= pair[1].lanes, "{size}: {pair:?}");
        }
        let starts = outline.stages.iter().filter(|stage| stage.bytes_read == 0).count();
        assert_eq!(starts as u128, sweeps * if meets { 2 } else { 1 }, "{size}");
    };
    check("9x9", Executor::Stream, None, 0, false);
    check("9x9", Executor::Stream, Some(1), 0, false);
    check("19x19", Executor::Auto, None, 0, false);
    check("20x20", Executor::Auto, None, 0, false);
    check("21x21", Executor::Auto, Some(4), 0, false);
    check("10x14", Executor::Block, None, 1, true);
    check("13x13", Executor::Block, None, 1, true);
    check("13x13", Executor::Block, Some(2), 1, false);
}

#[test]
fn the_way_is_that_of_the_count() {
    let large = Offer { memory_bytes: 16 << 30, out_of_core: false, ..OFFER };
    let check = |name: &str, size: &str, offer: Offer, way, executor: &str| {
        let outline = Outline::new(&open(name, size), &offer).unwrap();
        assert_eq!((outline.way, outline.plan.execution.name()), (way, executor), "{name} {size} {offer:?}");
    };
    check("go", "13x13", large.clone(), Way::InMemory, "block");
    check("go", "13x13", Offer { memory_bytes: 2 << 30, ..large.clone() }, Way::InMemory, "block");
    check("go", "13x13", Offer { memory_bytes: 1 << 30, ..large.clone() }, Way::OneProcess, "block");
    check("go", "13x13", Offer { executor: Executor::Stream, ..large.clone() }, Way::OneProcess, "stream");
    check("go", "13x13", Offer { out_of_core: true, ..large.clone() }, Way::OneProcess, "block");
    check("go", "13x13", Offer { disk_bytes: Some(50 << 30), ..large.clone() }, Way::OneProcess, "block");
    check("go", "13x13", Offer { window: Some(4), ..large.clone() }, Way::OneProcess, "block");
    check("go", "13x13", Offer { workers: 3, ..large.clone() }, Way::Cluster, "block");
    let ordinary =
        |memory_gib: u64| Offer { workers: 40, threads: 16, memory_bytes: memory_gib << 30, ..large.clone() };
    check("go", "19x19", ordinary(64), Way::Cluster, "block");
    check("go", "19x19", ordinary(48), Way::Cluster, "stream");
    check("hard-squares", "9x9", large, Way::OneProcess, "stream");
    let small = Offer { memory_bytes: 33 << 20, ..OFFER };
    assert!(matches!(outline("13x13", &small), Err(PlanError::TaskMemory { .. })));
    let tight = Offer { disk_bytes: Some(1 << 20), ..OFFER };
    assert!(matches!(outline("13x13", &tight), Err(PlanError::Disk { .. })));
}

/// From both ends where three vectors fit; else as many residues at a time as fit, unless a sweep would take hours.
#[test]
fn memory_decides_how_many_residues_are_done_at_a_time() {
    let check = |size: &str, memory_gib: u64, sweeps: &[usize], backward: bool| {
        let offer = Offer { memory_bytes: memory_gib << 30, out_of_core: false, ..OFFER };
        let outline = Outline::new(&open("go", size), &offer).unwrap();
        let got: Vec<usize> = outline.plan.sweeps.iter().map(|(first, end)| (end - first) as usize).collect();
        let transposed = outline.stages.iter().any(|stage| stage.direction != Direction::Forward);
        assert_eq!((outline.way == Way::InMemory, transposed), (!sweeps.is_empty(), backward), "{size} {memory_gib}");
        assert!(sweeps.is_empty() || got == sweeps, "{size} {memory_gib}: {got:?}");
        let fit = outline.memory_bytes.is_none_or(|bytes| bytes <= offer.memory_bytes);
        assert!(fit, "{size} {memory_gib}: {:?}", outline.memory_bytes);
    };
    check("13x13", 8, &[6], true);
    check("13x13", 5, &[4, 2], false);
    check("13x13", 3, &[2, 2, 2], false);
    check("13x13", 2, &[1; 6], false);
    // Not in memory: there too, vectors from both ends meet.
    check("13x13", 1, &[], true);
    check("14x14", 32, &[7], true);
    check("14x14", 22, &[4, 3], false);
    check("14x14", 16, &[4, 3], false);
    check("15x15", 24, &[1; 7], false);
    check("16x16", 1024, &[8], true);
    check("16x16", 400, &[4, 4], false);
    check("16x16", 128, &[1; 8], false);
    // There are no tables of all families.
    check("17x17", 1 << 20, &[], false);
    // A sweep of hours had better be resumed somewhere in its midst.
    check("16x60", 128, &[], false);
}

/// By hand: a state in memory costs 2 and 4 ns with two lanes, 4 and 8 with four.
#[test]
fn time_in_memory_is_states_times_speed() {
    let offer = Offer { memory_bytes: 16 << 30, out_of_core: false, ..OFFER };
    let outline = outline("10x10", &offer).unwrap();
    let times = Times::new(&outline, &speeds(), &offer);
    let by_hand: f64 = outline
        .stages
        .iter()
        .map(|stage| {
            let forward = stage.direction == Direction::Forward;
            let nanos = f64::from(stage.lanes) * if forward { 1.0 } else { 2.0 };
            stage.state_passes as f64 * nanos * 1e-9
        })
        .sum();
    let got = times.total.wall_seconds - times.setup_seconds;
    assert!((got / (by_hand / 2.0) - 1.0).abs() < 1e-9, "{got} {by_hand}");
    let tables = outline.table_bytes as f64 / f64::from(1 << 20);
    assert!(tables > 1.0 && (times.setup_seconds - tables).abs() < 1e-9, "{times:?}");
    assert_eq!((times.disk_bytes, outline.totals().2), (0.0, 0));
}

#[test]
fn time_with_runs_is_that_of_cores_and_disks_overlapped() {
    let check = |disk: f64, cache_bytes, slower: bool| {
        let offer = Offer {
            executor: Executor::Block,
            cache_bytes,
            disk_bytes_per_second: Some(disk),
            memory_bytes: 64 << 30,
            ..OFFER
        };
        let outline = outline("14x14", &offer).unwrap();
        let times = Times::new(&outline, &speeds(), &offer);
        let waits = times.total.disk_seconds > times.total.core_seconds / 2.0 * 1.1;
        assert_eq!(waits, slower, "{disk} {cache_bytes}: {:?}", times.total);
        assert!(times.total.wall_seconds >= times.total.disk_seconds, "{:?}", times.total);
        assert!(times.total.wall_seconds >= times.total.core_seconds / 2.0, "{:?}", times.total);
        let sum = times.total.disk_seconds + times.total.core_seconds / 2.0 * 1.06 + times.setup_seconds + 1.0;
        assert!(times.total.wall_seconds <= sum, "{:?}", times.total);
        times.disk_bytes
    };
    let all = check(1e6, 0, true);
    check(1e12, 0, false);
    // With a large cache only what is written gets to the disk.
    let written = check(1e6, 1 << 50, true);
    assert!(written < 0.6 * all, "{written} {all}");
}

/// Of second copies half is read: nothing of it where machines hold what they wrote. Short columns have fewer.
#[test]
fn caches_of_workers_spare_their_disks() {
    let bytes = |cache_bytes, disk| {
        let disk_bytes_per_second = Some(disk);
        let blocks = Offer { executor: Executor::Block, workers: 2, memory_bytes: 64 << 30, ..OFFER };
        let offer = Offer { cache_bytes, disk_bytes_per_second, ..blocks };
        let outline = outline("14x14", &offer).unwrap();
        let (_, read, written, copied) = outline.totals();
        assert!(outline.way == Way::Cluster && copied > 0, "{copied}");
        let got = Times::new(&outline, &speeds(), &offer).disk_bytes;
        (got, read as f64, written as f64, copied as f64)
    };
    let near = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-3, "{got}, expected {expected}");
    let (slow, fast) = (1e6, 1e12);
    let (all, read, written, copied) = bytes(0, slow);
    near(all, read + written + 2.0 * copied);
    let (spared, _, written, copied) = bytes(1 << 50, slow);
    near(spared, written + copied);
    let (fewer, ..) = bytes(0, fast);
    let no_more = read + written + 2.0 * copied;
    assert!(read + written < fewer && fewer < 0.9 * no_more, "{fewer}, {read} {written} {copied}");
}

#[test]
fn what_is_not_known_is_not_told() {
    let outline = Outline::new(&open("square-free", "5"), &OFFER).unwrap();
    assert_eq!((outline.peak_states(), outline.stages.len(), outline.totals()), (None, 0, (0, 0, 0, 0)));
    assert!(outline.notes.iter().any(|note| note.contains("unknown")), "{:?}", outline.notes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// More memory hardly ever means more traffic, more workers and faster disks never more time, a longer board never less.
    #[test]
    fn more_of_anything_does_not_hurt(
        height in 4_u32..=19, more in 0_u32..5, memory in 28_u32..36, workers in 1_u32..60,
        executor in prop::sample::select(vec![Executor::Auto, Executor::Stream]),
    ) {
        let offer = Offer { memory_bytes: 1 << memory, workers, executor, residues_per_sweep: Some(4), ..OFFER };
        let size = format!("{height}x{}", height + more);
        let traffic = |offer: &Offer, size: &str| {
            let outline = outline(size, offer).ok()?;
            let (state_passes, read, written, _) = outline.totals();
            let wall = Times::new(&outline, &speeds(), offer).total.wall_seconds;
            Some((outline.plan.execution.name(), read + written, state_passes, wall))
        };
        let Some((executor, bytes, state_passes, wall)) = traffic(&offer, &size) else { return Ok(()) };
        let larger = Offer { memory_bytes: offer.memory_bytes * 2, ..offer.clone() };
        let (same, fewer, ..) = traffic(&larger, &size).unwrap();
        // Blocks that fit now have fewer windows, but lanes of other numbers. Where tables are made a part at a time, that
        // time decides on windows, too. A cut with its shorter window last has a little more to read.
        prop_assert!(same != executor || fewer as f64 <= bytes as f64 * 1.01, "{} {}", fewer, bytes);
        let faster = Offer { disk_bytes_per_second: Some(4e9), ..offer.clone() };
        prop_assert!(traffic(&faster, &size).unwrap().3 <= wall);
        let (.., longer, _) = traffic(&offer, &format!("{height}x{}", height + more + 1)).unwrap();
        prop_assert!(longer >= state_passes);
    }
}

/// What is measured is positive, whatever was measured on what.
#[tokio::test(flavor = "multi_thread")]
async fn measured_speeds_are_there() {
    let dir = tempfile::tempdir().unwrap();
    for (name, size, executor, in_memory) in [
        ("go", "5x5", Executor::Auto, true),
        ("go", "5x5", Executor::Block, false),
        ("go", "2x3", Executor::Block, false),
        ("go", "5x5", Executor::Stream, false),
        ("hard-squares", "6x6", Executor::Auto, false),
    ] {
        let what = format!("{name} {size} {executor:?}");
        let offer = Offer { executor, out_of_core: !in_memory, ..OFFER };
        let outline = Outline::new(&open(name, size), &offer).unwrap();
        let scratch = dir.path().join(&what);
        let speeds =
            measure(Arc::new(Problems), &request(name, size), &outline, &offer, u64::MAX, &scratch).await.unwrap();
        assert_eq!(speeds.height, outline.plan.board.height, "{what}");
        let times = Times::new(&outline, &speeds, &offer);
        assert!(times.total.core_seconds > 0.0 && times.total.wall_seconds.is_finite(), "{what}: {times:?}");
        let measured = if in_memory { speeds.sweeps[0].forward_nanos } else { speeds.pass.at(2) };
        assert!(measured > 0.0 && measured < 1e6, "{what}: {speeds:?}");
    }
    // Tables in parts, where memory for all is wanting.
    let parted = (32..64).find_map(|memory_mib| {
        let offer = Offer { window: Some(3), ..Offer::with_runs(Executor::Block, 1, 1, memory_mib << 20) };
        Outline::new(&open("go", "9x9"), &offer).ok().filter(|outline| outline.parted.is_some()).map(|it| (it, offer))
    });
    let (outline, offer) = parted.unwrap();
    let scratch = dir.path().join("parts");
    let speeds =
        measure(Arc::new(Problems), &request("go", "9x9"), &outline, &offer, u64::MAX, &scratch).await.unwrap();
    let parts = speeds.parts.unwrap();
    assert!(parts > 0.01 && parts < 1e4, "{speeds:?}");
    let times = Times::new(&outline, &speeds, &offer);
    let estimated: f64 = outline.stages.iter().map(|stage| stage.table_seconds).sum();
    assert!((times.total.table_seconds / (estimated * parts) - 1.0).abs() < 1e-9, "{times:?}");
    assert!(times.total.table_seconds < times.total.core_seconds);
    assert!(measure_disk(dir.path()).unwrap() > 1e3);
    assert!(measure_disk(&dir.path().join("nowhere")).is_err());
}
