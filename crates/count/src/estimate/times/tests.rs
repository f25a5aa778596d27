//! Times of stages from given speeds.

use super::*;
use keima_coordinator::Executor;
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

fn outline(size: &str, offer: &Offer) -> Outline {
    let request = ProblemRequest { name: "go".into(), size: size.into(), options: Vec::new() };
    Outline::new(&Problems.open(&request).unwrap(), offer).unwrap()
}

/// The first stage alone.
fn one_stage(offer: &Offer) -> Outline {
    let mut outline = outline("10x10", offer);
    outline.stages.truncate(1);
    outline
}

fn offer(workers: u32, threads: u32, disk_bytes_per_second: Option<f64>) -> Offer {
    Offer { disk_bytes_per_second, ..Offer::with_runs(Executor::Block, workers, threads, 8 << 30) }
}

fn close<const N: usize>(got: [f64; N], expected: [f64; N]) {
    assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-9), "{got:?}, {expected:?}");
}

/// By hand: 10 s to read, 6 s and 12 s of passes with two lanes, 20 s to write; 16 GB are read and 16 GB written.
#[test]
fn a_stage_takes_as_long_as_its_largest_family() {
    let speeds = Speeds {
        height: 10,
        read: PerState { base_nanos: 10.0, lane_nanos: 0.0 },
        pass: PerState { base_nanos: 1.0, lane_nanos: 1.0 },
        write: PerState { base_nanos: 20.0, lane_nanos: 0.0 },
        ..Speeds::default()
    };
    let check = |machines: (u32, u32), gigabytes: Option<f64>, share, slices: (u32, f64, bool), expected: [f64; 5]| {
        let offer = offer(machines.0, machines.1, gigabytes.map(|speed| speed * 1e9));
        let mut outline = outline("10x10", &offer);
        outline.stages.truncate(2);
        outline.stages.drain(..1);
        for stage in &mut outline.stages {
            (stage.lanes, stage.states_before, stage.states_after) = (2, 1_000_000_000, 1_000_000_000);
            stage.state_passes = 6_000_000_000;
            (stage.bytes_before, stage.bytes_written, stage.bytes_copied) = (16_000_000_000, 16_000_000_000, 0);
            (stage.family_share, stage.family_slices, stage.slices) = (share, slices.0, slices.1);
            stage.grows = slices.2;
            stage.family_threads = 1;
        }
        let times = Times::new(&outline, &speeds, &offer);
        let [time] = times.stages[..] else { panic!("{}", times.stages.len()) };
        let got = [time.core_seconds, time.threads_seconds, time.family_seconds, time.disk_seconds, time.wall_seconds];
        let near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-9);
        assert!(near, "{machines:?} {gigabytes:?} {share} {slices:?}: {got:?}, expected {expected:?}");
        assert_eq!(time.waits_for_family(), expected[2] > expected[1]);
        // Tables take no time here.
        assert_eq!(times.total, time);
    };
    // Core time, all threads, largest family, disks, wall time.
    check((1, 2), None, 0.25, (1, 1.0, false), [48.0, 25.2, 12.0, 0.0, 25.205]);
    check((1, 16), None, 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 0.0, 12.005]);
    check((8, 2), None, 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 0.0, 12.005]);
    check((40, 16), None, 0.02, (1, 1.0, false), [48.0, 0.07875, 0.96, 0.0, 0.965]);
    check((1, 16), None, 0.05, (1, 1.0, false), [48.0, 3.15, 2.4, 0.0, 3.155]);
    check((1, 16), None, 0.0, (1, 1.0, false), [48.0, 3.15, 0.0, 0.0, 3.155]);
    // The family's 8 GB go to one worker's disk; all 32 GB to those of all.
    check((1, 16), Some(1.0), 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 32.0, 33.58]);
    check((4, 4), Some(1.0), 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 8.0, 16.005]);
    // Twice to be read and taken through passes without lanes, of all states a quarter more.
    check((1, 16), None, 0.25, (2, 1.25, false), [52.0, 3.4125, 16.0, 0.0, 16.005]);
    check((4, 4), Some(1.0), 0.25, (2, 1.25, false), [52.0, 3.4125, 16.0, 8.0, 20.005]);
    // Where lanes are made of others these are read twice: 12 GB of the family.
    check((4, 4), Some(1.0), 0.25, (2, 1.25, true), [52.0, 3.4125, 16.0, 9.0, 22.005]);
}

/// By hand: three lanes and that of the ways, 5 ns each, 1.6 times.
#[test]
fn transposed_passes_have_a_lane_more_and_take_longer() {
    let speeds = Speeds { pass: PerState { base_nanos: 0.0, lane_nanos: 5.0 }, ..Speeds::default() };
    let offer = offer(1, 2, None);
    let mut outline = one_stage(&offer);
    (outline.stages[0].lanes, outline.stages[0].state_passes) = (3, 1_000_000_000);
    for (direction, expected) in [(Direction::Forward, 15.0), (Direction::Transposed, 32.0)] {
        outline.stages[0].direction = direction;
        let got = Times::new(&outline, &speeds, &offer).stages[0].core_seconds;
        assert!((got - expected).abs() < 1e-9, "{direction:?}: {got}, expected {expected}");
    }
}

/// Tables in parts are made by the threads that do the families; here in one and a half times what is estimated.
#[test]
fn tables_in_parts_are_added() {
    let offer = offer(1, 2, None);
    let mut outline = one_stage(&offer);
    (outline.stages[0].table_seconds, outline.stages[0].family_share) = (8.0, 0.75);
    outline.stages[0].family_threads = 2;
    let speeds = Speeds { parts: Some(1.5), ..Speeds::default() };
    let [time] = Times::new(&outline, &speeds, &offer).stages[..] else { panic!("one stage") };
    let got = [time.core_seconds, time.threads_seconds, time.family_seconds];
    close(got, [12.0, 6.3, 9.0]);
}

/// By hand: a fifth of the 8 s for tables is one thread's, of a family with half of the states.
#[test]
fn threads_make_tables_together() {
    let offer = offer(1, 16, None);
    let mut outline = one_stage(&offer);
    (outline.stages[0].table_seconds, outline.stages[0].family_share) = (8.0, 0.5);
    for (makers, expected) in [(0, 4.0), (1, 4.0), (2, 2.4), (16, 1.0)] {
        outline.stages[0].family_makers = makers;
        let time = Times::new(&outline, &Speeds::default(), &offer).stages[0];
        assert!((time.family_seconds - expected).abs() < 1e-9, "{makers} threads: {time:?}");
        assert!((time.core_seconds - 8.0).abs() < 1e-9, "{time:?}");
    }
}

/// Threads that do the largest family take 1.5 times as long together as one alone; here one makes its tables.
#[test]
fn threads_share_the_largest_family() {
    let pass = PerState { base_nanos: 1.0, lane_nanos: 0.0 };
    let speeds = Speeds { height: 10, pass, ..Speeds::default() };
    let offer = offer(1, 16, None);
    let mut outline = one_stage(&offer);
    let stage = &mut outline.stages[0];
    (stage.state_passes, stage.table_seconds, stage.family_share) = (96_000_000_000, 8.0, 0.5);
    stage.family_makers = 1;
    for (threads, expected) in [(0, 52.0), (1, 52.0), (2, 40.0), (6, 16.0), (12, 10.0)] {
        outline.stages[0].family_threads = threads;
        let time = Times::new(&outline, &speeds, &offer).stages[0];
        assert!((time.family_seconds - expected).abs() < 1e-9, "{threads} threads: {time:?}");
        assert!((time.core_seconds - 104.0).abs() < 1e-9, "{time:?}");
    }
}

/// While a family with a quarter of the states is done one thread of two waits: its time counts twice.
#[test]
fn threads_that_wait_for_memory_count_as_if_at_work() {
    let pass = PerState { base_nanos: 1.0, lane_nanos: 0.0 };
    let speeds = Speeds { height: 10, pass, ..Speeds::default() };
    let offer = offer(1, 2, None);
    let mut outline = one_stage(&offer);
    let stage = &mut outline.stages[0];
    (stage.state_passes, stage.slices, stage.waiting) = (40_000_000_000, 1.5, 0.25);
    (stage.family_share, stage.family_slices, stage.family_threads) = (0.25, 2, 1);
    let time = Times::new(&outline, &speeds, &offer).stages[0];
    let got = [time.core_seconds, time.threads_seconds, time.family_seconds];
    close(got, [60.0, 42.0, 20.0]);
}

/// Of a family with a quarter of the states, four slices of lanes and 8 s of tables: two workers have two slices each, and both
/// make the tables.
#[test]
fn workers_that_share_a_family_take_less_time_and_make_its_tables_each() {
    let pass = PerState { base_nanos: 1.0, lane_nanos: 0.0 };
    let speeds = Speeds { height: 10, pass, ..Speeds::default() };
    let offer = offer(4, 1, None);
    for (workers, expected) in [(1, [48.0, 12.6, 42.0]), (2, [50.0, 13.125, 22.0]), (4, [54.0, 14.175, 12.0])] {
        let mut outline = one_stage(&offer);
        let stage = &mut outline.stages[0];
        (stage.state_passes, stage.slices, stage.waiting, stage.table_seconds) = (40_000_000_000, 1.0, 0.0, 8.0);
        (stage.family_share, stage.family_slices, stage.family_threads) = (0.25, 4, 1);
        stage.family_workers = workers;
        let time = Times::new(&outline, &speeds, &offer).stages[0];
        close([time.core_seconds, time.threads_seconds, time.family_seconds], expected);
    }
}

/// In memory threads share the largest family.
#[test]
fn nobody_waits_for_a_family_in_memory() {
    let offer = Offer { executor: Executor::Auto, out_of_core: false, ..offer(1, 64, None) };
    let speed = SweepSpeed { lanes: 1, forward_nanos: 1.0, backward_nanos: 1.0 };
    let outline = outline("12x12", &offer);
    let times = Times::new(&outline, &Speeds { sweeps: vec![speed], rest: 1.0, ..Speeds::default() }, &offer);
    assert_eq!(outline.way, Way::InMemory);
    assert!(times.total.core_seconds > 0.0 && times.total.family_seconds == 0.0, "{:?}", times.total);
    assert!((times.total.wall_seconds - times.total.core_seconds / 64.0).abs() < 1e-9, "{:?}", times.total);
}
