//! The planner against tables.

use keima_model::{Board, Layout, ProblemInfo};
use keima_residue::{Integer, is_prime};
use proptest::prelude::*;

use super::example::Example;
use super::*;

const GENEROUS: PlanLimits = PlanLimits {
    task_memory_bytes: 1 << 30,
    disk_bytes: None,
    residues_per_sweep: None,
    window: None,
    slots: 2,
    worker_slots: 1,
    second_copies: false,
    series: false,
};

fn product(moduli: &[u64]) -> Integer {
    moduli.iter().copied().product()
}

#[test]
fn moduli_are_as_few_as_the_proved_bound_allows() {
    // Height, length, moduli with the spare, whether they lie just below 2^64 (else just below 2^60).
    let check = |height, length, count, wide| {
        let example = Example::new(height, length);
        let plan = plan(&example, 8, &GENEROUS).unwrap();
        let board = format!("{height}x{length}: {:?}", plan.moduli);
        assert_eq!(plan.moduli.len(), count, "{board}");
        let top = if wide { u64::MAX } else { 1 << 60 };
        assert!(plan.moduli.iter().all(|&p| is_prime(p) && p < top && p > top - 10_000), "{board}");
        let (&spare, others) = plan.moduli.split_last().unwrap();
        assert!(others.is_sorted_by(|a, b| a > b) && others.iter().all(|&p| p < spare), "{board}");
        let bound = bound_product(&example.bound());
        assert!(product(others) > bound, "{board}");
        assert!(product(&others[..others.len() - 1]) <= bound, "{board}");
    };
    check(1, 1, 2, false);
    check(5, 5, 2, false); // 40 bits
    check(6, 6, 2, false); // 58 bits
    check(5, 8, 2, true); // 63.4 bits
    check(9, 9, 4, false); // 128.4 bits: three of either kind
    check(10, 10, 4, false);
    check(11, 11, 4, true); // 191.8 bits: three below 2^64, but four below 2^60
    check(12, 12, 5, false);
    check(13, 13, 6, false);
    check(19, 19, 10, true);
}

#[test]
fn a_board_without_end_is_refused() {
    let check = |height, length, refused: Option<u64>| {
        let example = Example { board: Board { height, length }, bound: Some(vec![(2, 9)]), ..Example::new(1, 1) };
        let expected = refused.map(|cells| PlanError::Board { cells, most: 1 << 22 });
        assert_eq!(plan(&example, 8, &GENEROUS).err(), expected, "{height}x{length}");
    };
    check(4, 1 << 20, None);
    check(4, (1 << 20) + 1, Some((1 << 22) + 4));
    check(4, u32::MAX, Some(4 * u64::from(u32::MAX)));
}

#[test]
fn bounds_that_are_no_single_power() {
    assert_eq!(bound_product(&[]), 1);
    assert_eq!(bound_product(&[(3, 4), (2, 5)]), 81 * 32);
    assert_eq!(bound_text(&[(3, 4), (2, 5)]), "3^4 * 2^5");
    assert_eq!(bound_text(&[]), "1");
}

#[test]
fn sweeps_are_few_and_balanced() {
    // With 1,000,000 states throughout and one column of four cells in a window, the disk holds two vectors.
    let megabytes = |lanes: f64| (2e6 * (8.0 * lanes + 1.15) * 1.01) as u64 + 1;
    let check = |height, length, asked, disk_bytes, sweeps: &[(u32, u32)]| {
        let mut example = Example::new(height, length);
        example.states = Some(vec![1_000_000; example.board.passes() as usize + 1]);
        // Slots beyond number keep the job shorter than the durable interval.
        let limits = PlanLimits { disk_bytes, residues_per_sweep: asked, slots: 1000, ..GENEROUS };
        let plan = plan(&example, 8, &limits).unwrap();
        assert_eq!(plan.sweeps, sweeps, "{height}x{length} {asked:?} {disk_bytes:?}");
        let carried: Vec<_> = (0..9).flat_map(|sweep| plan.sweep_moduli(sweep)).copied().collect();
        assert_eq!(carried, plan.moduli);
    };
    check(9, 9, None, None, &[(0, 4)]);
    check(19, 19, None, None, &[(0, 5), (5, 10)]);
    check(19, 19, Some(10), None, &[(0, 10)]);
    check(19, 19, Some(99), None, &[(0, 10)]);
    check(19, 19, Some(4), None, &[(0, 4), (4, 7), (7, 10)]);
    check(9, 9, Some(3), None, &[(0, 2), (2, 4)]);
    check(9, 9, Some(1), None, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    check(9, 9, None, Some(megabytes(4.0)), &[(0, 4)]);
    check(9, 9, None, Some(megabytes(4.0) - 2_000_000), &[(0, 2), (2, 4)]);
    check(9, 9, None, Some(megabytes(2.0)), &[(0, 2), (2, 4)]);
    check(9, 9, None, Some(megabytes(1.0)), &[(0, 1), (1, 2), (2, 3), (3, 4)]);
    check(9, 9, Some(1), Some(megabytes(1.0)), &[(0, 1), (1, 2), (2, 3), (3, 4)]);
}

#[test]
fn windows_are_as_long_as_families_fit() {
    // 9x9 carries 4 lanes: 35 % of 96 MB are 700,000 records of 48 bytes, and a family may be half as large again.
    let check = |families: &[u128], window, memory_bytes: u64, lens: &[u32]| {
        let mut example = Example::new(9, 9);
        example.families = families.to_vec();
        let limits = PlanLimits { task_memory_bytes: memory_bytes, window, ..GENEROUS };
        let plan = plan(&example, 8, &limits).unwrap();
        let got: Vec<_> = plan.windows.iter().map(|w| w.len).collect();
        assert_eq!(got, lens, "{families:?} {window:?} {memory_bytes}");
    };
    let families = &[262_500, 525_000, 1_050_000, 2_100_000, 4_200_000];
    // Nine cells in windows of at most four are three of three.
    check(families, None, 192_000_000, &[3, 3, 3]);
    check(families, None, 96_000_000, &[3, 3, 3]);
    check(families, None, 95_999_000, &[2, 2, 2, 2, 1]);
    check(families, None, 48_000_000, &[2, 2, 2, 2, 1]);
    check(families, None, 47_999_000, &[1; 9]);
    check(families, None, 8 << 20, &[1; 9]);
    check(families, Some(5), 8 << 20, &[5, 4]);
    check(families, Some(99), 8 << 20, &[9]);
    check(families, Some(1), 1 << 30, &[1; 9]);
    check(&[], None, 8 << 20, &[3, 3, 3]);
    // Windows are longer where a table of the largest family, of 56 bytes a record, takes at most 8 MiB.
    check(&[10, 100, 1_000, 10_000, 149_796], None, 192_000_000, &[5, 4]);
    check(&[10, 100, 1_000, 10_000, 149_797], None, 192_000_000, &[3, 3, 3]);
    // A family that is not known is not larger than the vector.
    let mut example = Example::new(9, 9);
    example.states = Some(vec![1_000; 82]);
    assert_eq!(plan(&example, 8, &GENEROUS).unwrap().windows.len(), 3);
    example.states = Some(vec![1_000_000_000; 82]);
    assert_eq!(plan(&example, 8, &GENEROUS).unwrap().windows.len(), 9);
}

#[test]
fn tasks_are_sized_by_their_output_buffer() {
    let plan_with = |coefficients, memory_bytes| {
        let mut example = Example::new(9, 9);
        example.coefficients = coefficients;
        plan(&example, 8, &PlanLimits { task_memory_bytes: memory_bytes, slots: 0, ..GENEROUS })
    };
    let plan = plan_with(1, 100 << 20).unwrap();
    // A third of 100 MiB in records of 8 + 32 + 8 bytes.
    assert!((740_000..770_000).contains(&plan.task_records), "{}", plan.task_records);
    assert_eq!((plan.min_task_records, plan.slots, plan.disk_bytes, plan.peak_states), (4096, 1, 0, 0));
    assert!(plan.states.is_empty());
    // Long values: fewer residues a sweep first, then a refusal.
    let plan = plan_with(1000, 10 << 20).unwrap();
    assert_eq!(plan.sweeps.len(), 4);
    assert!(plan.min_task_records <= plan.task_records);
    let error = plan_with(4_000, 10 << 20).unwrap_err();
    assert!(matches!(error, PlanError::TaskMemory { least_bytes: 20_000_000..30_000_000, .. }), "{error}");
    // However much memory: a record of a run holds no more.
    assert_eq!(plan_with(4_096, 1 << 30).unwrap().sweeps.len(), 4);
    let error = plan_with(4_097, 1 << 40).unwrap_err();
    assert!(matches!(error, PlanError::Coefficients { coefficients: 4_097, most: 4_096 }), "{error}");
}

/// State counts that grow to `peak` over the first columns.
fn ramp(example: &Example, peak: u128) -> Vec<u128> {
    let passes = u128::from(example.board.passes());
    (0..=passes).map(|p| if p < 27 { (peak >> (27 - p).min(100)).max(1) } else { peak }).collect()
}

#[test]
fn disk_holds_two_vectors_and_a_boundary_between_durable_ones() {
    let check = |peak: u128, slots, residues_per_sweep, vectors: f64| {
        let mut example = Example::new(9, 9);
        example.states = Some(ramp(&example, peak));
        let plan = plan(&example, 8, &PlanLimits { residues_per_sweep, slots, ..GENEROUS }).unwrap();
        let got = plan.disk_bytes as f64 / (peak as f64 * plan.record_bytes);
        assert!((got - vectors).abs() < 0.01, "{peak} states on {slots} slots: {got} vectors, expected {vectors}");
        assert_eq!(plan.peak_states, peak as u64);
        let record_bytes = if residues_per_sweep.is_some() { 9.24 } else { 33.48 };
        assert!((plan.record_bytes - record_bytes).abs() < 0.01, "{}", plan.record_bytes);
    };
    // Shorter than a minute: 54 passes over 1e6 states at 118 ns are 6 s.
    check(1_000_000, 1, None, 2.0);
    check(20_000_000, 3, None, 2.0);
    // Longer, but a stage that reads a large vector writes durably.
    check(20_000_000, 1, None, 2.0);
    check(100_000_000_000, 1, None, 2.0);
    check(100_000_000_000, 1_000_000, None, 2.0);
    // Longer with small vectors, of which the newest durable one is retained: one residue in each of four sweeps.
    check(20_000_000, 1, Some(1), 3.0);
    check(2_000_000, 1, Some(1), 2.0);
}

#[test]
fn refusals_say_what_to_do() {
    let check = |change: &dyn Fn(&mut Example, &mut PlanLimits), words: &[&str]| {
        let mut example = Example::new(9, 9);
        example.states = Some(vec![1_000_000_000; 82]);
        let mut limits = GENEROUS;
        change(&mut example, &mut limits);
        let text = plan(&example, 8, &limits).unwrap_err().to_string();
        for word in words {
            assert!(text.contains(word), "{text:?} does not say {word:?}");
        }
    };
    check(&|_, l| l.disk_bytes = Some(10 << 30), &["10 GiB", "with 1 residue a sweep", "raise --disk"]);
    let two = |_: &mut Example, l: &mut PlanLimits| (l.disk_bytes, l.residues_per_sweep) = (Some(30 << 30), Some(2));
    check(&two, &["with 2 residues", "fewer residues"]);
    check(&|_, l| l.disk_bytes = Some(0), &["--disk allows 0 B"]);
    check(&|_, l| l.task_memory_bytes = 1 << 20, &["has 1 MiB", "at least 8 MiB", "raise --memory", "fewer threads"]);
    check(&|_, l| l.task_memory_bytes = 0, &["at least 8 MiB"]);
    check(&|_, l| l.window = Some(0), &["window is 0", "at least 1"]);
    check(&|_, l| l.residues_per_sweep = Some(0), &["residues-per-sweep is 0"]);
    check(&|e, _| e.board.length = 0, &["9x0", "at least one cell"]);
    check(&|e, _| e.states = Some(vec![1; 81]), &["81 state counts", "expected 82"]);
    check(&|e, l| (e.states, l.disk_bytes) = (Some(vec![u128::MAX; 82]), Some(u64::MAX - 1)), &["16 EiB"]);
    // Without a forecast nothing is refused for disk.
    let limits = PlanLimits { disk_bytes: Some(0), ..GENEROUS };
    assert!(plan(&Example::new(9, 9), 8, &limits).is_ok());
}

proptest! {
    #[test]
    fn stages_cover_the_passes_and_their_layouts_chain(height in 1_u32..=21, length in 1_u32..=21, len in 1_u32..=22) {
        let limits = PlanLimits { window: Some(len), ..GENEROUS };
        let plan = plan(&Example::new(height, length), 8, &limits).unwrap();
        let stages: Vec<_> = (0..plan.stages()).map(|number| plan.stage(number)).collect();
        let mut pass = 0;
        for (i, stage) in stages.iter().enumerate() {
            prop_assert_eq!(stage.first_pass, pass);
            prop_assert_eq!(plan.board.cell(stage.first_pass), stage.window.first);
            prop_assert!((1..=len).contains(&stage.window.len));
            prop_assert_eq!(plan.board.column(stage.end_pass() - 1), plan.board.column(stage.first_pass));
            prop_assert_eq!(stage.layout_in, Layout::Stage(stage.window));
            let next = stages.get(i + 1).map_or(Layout::Canonical, |next| next.layout_in);
            prop_assert_eq!(stage.layout_out, next);
            pass = stage.end_pass();
        }
        prop_assert_eq!(pass, plan.board.passes());
    }
}

#[test]
fn a_plan_survives_its_stores() {
    let mut example = Example::new(9, 9);
    example.states = Some(ramp(&example, 1_000_000));
    let plan = plan(&example, 16, &GENEROUS).unwrap();
    let bytes = postcard::to_stdvec(&plan).unwrap();
    assert_eq!(postcard::from_bytes::<Plan>(&bytes).unwrap(), plan);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    // A damaged plan must not panic.
    let broken = Plan { windows: Vec::new(), sweeps: vec![(3, 1), (7, 99)], ..plan };
    assert_eq!((broken.stages(), broken.stage(2).first_pass, broken.stage(99).window.len), (9, 18, 9));
    assert!((0..3).all(|sweep| broken.sweep_moduli(sweep).is_empty()));
}
