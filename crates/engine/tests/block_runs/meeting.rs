//! Products of transposed and forward vectors equal published counts, for any cut.

use std::collections::BTreeMap;

use keima_engine::TaskError;
use keima_model::Direction;
use keima_problems::go::{border, published};
use keima_residue::{Integer, add_row, mul_mod, residue_of};
use keima_runs::{Tally, TaskManifest};
use proptest::prelude::*;

use crate::run::{Cut, Run, cut, total};
use crate::states::moduli;

/// The forward vector at the middle, and the transposed one before the stage in which they meet.
fn halves(run: &Run) -> (Vec<TaskManifest>, Vec<TaskManifest>) {
    let (mut kept, mut vector) = (Vec::new(), Vec::new());
    for stage in 0..run.forward() {
        kept = run.stage(stage, &kept);
    }
    for stage in run.forward()..run.stages() - 1 {
        assert_eq!(run.place(stage).direction, Direction::Transposed);
        vector = run.stage(stage, &vector);
        assert!(vector.iter().all(|m| m.functionals.is_empty() && m.kept.is_none()));
    }
    (kept, vector)
}

/// Counts a board from both ends, and compares with the published value.
fn check(height: u32, length: u32, cut: &Cut) {
    let run = Run::new(height, length, cut);
    let (kept, vector) = halves(&run);
    let last = run.stages() - 1;
    let made = run.tasks(last, &run.meeting(&vector, &kept));
    let of = |stage: usize| moduli(run.lanes(stage));
    if !run.place(last).first {
        let (read, written) = (total(&made, |m| &m.input, &of(last - 1)), total(&vector, |m| &m.output, &of(last - 1)));
        assert_eq!(read, written, "{height}x{length} {cut:?}");
    }
    let kept_moduli = of(run.forward() - 1);
    let mut read = Tally::zero(kept_moduli.len());
    for manifest in &made {
        read.add(manifest.kept.as_ref().unwrap(), &kept_moduli);
    }
    assert_eq!(read, total(&kept, |m| &m.output, &kept_moduli), "{height}x{length} {cut:?}");
    let moduli = of(last);
    let mut value = vec![0; moduli.len()];
    for manifest in &made {
        let [functional] = &manifest.functionals[..] else { panic!("{:?}", manifest.functionals) };
        assert_eq!(functional.functional, length - 1);
        assert!(manifest.runs.is_empty() && manifest.output == Tally::zero(moduli.len()));
        add_row(&mut value, &functional.lanes, &moduli);
    }
    let known = match published::known(height, length) {
        Some(known) => known.parse().unwrap(),
        None => Integer::from(border::series::<u128>(height as usize, length as usize)[length as usize - 1]),
    };
    let expected: Vec<u64> = moduli.iter().map(|&p| residue_of(&known, p)).collect();
    assert_eq!(value, expected, "{height}x{length} {cut:?}");
}

#[test]
fn a_count_from_both_ends_is_the_count() {
    for (height, length, middle, cut) in [
        (2, 3, 2, cut(&[2], 1, 1, &[2])),
        (2, 4, 3, cut(&[1, 1], 1, 1, &[2])),
        (3, 4, 2, cut(&[3], 100, 1, &[1])),
        (4, 4, 2, cut(&[2, 2], 10, 2, &[2])),
        (5, 5, 3, cut(&[3, 2], 50, 1, &[2, 4])),
        (5, 5, 2, cut(&[2, 3], 50, 1, &[2, 4])),
        (5, 7, 2, cut(&[1, 4], 1, 1, &[2])),
        (6, 6, 3, cut(&[2, 2, 2], 100, 3, &[2, 4])),
        (6, 6, 5, cut(&[6], 1, 1, &[4])),
        (7, 7, 4, cut(&[4, 3], 300, 2, &[2, 4])),
        (7, 7, 2, cut(&[3, 2, 2], 1000, 7, &[2, 2, 4, 8])),
        (8, 8, 4, cut(&[3, 3, 2], 1 << 40, 1, &[2, 4, 8])),
        (6, 6, 3, cut(&[3, 3], 100, 2, &[2, 12, 16])),
    ] {
        check(height, length, &Cut { middle: Some(middle), ..cut });
    }
}

#[test]
fn a_count_of_9x9_from_both_ends_is_the_count() {
    check(9, 9, &Cut { middle: Some(5), ..cut(&[5, 4], 5000, 2, &[2, 2, 4, 4, 6]) });
}

/// The rows of a transposed vector are listed under their states' keys. Multiplied with the forward vector's rows
/// they give the count, at every boundary.
#[test]
fn transposed_vectors_are_listed_by_their_keys() {
    for (height, length, lengths) in [(5, 5, &[3, 2][..]), (6, 6, &[2, 2, 2]), (7, 7, &[4, 3])] {
        let cut = cut(lengths, 100, 2, &[4]);
        let moduli = moduli(4);
        let forward = Run::new(height, length, &cut);
        let mut listed = BTreeMap::new();
        let mut vector = Vec::new();
        for stage in 0..forward.stages() {
            listed.insert(forward.boundary(stage), forward.listed(stage, &vector));
            vector = forward.stage(stage, &vector);
        }
        let backward = Run::new(height, length, &Cut { middle: Some(2), ..cut });
        let known: Integer = published::known(height, length).unwrap().parse().unwrap();
        let (stages, mut vector) = (backward.forward()..backward.stages() - 1, Vec::new());
        for stage in stages {
            let (boundary, times) = (backward.boundary(stage), backward.times(stage));
            let rows: BTreeMap<u128, Vec<u64>> = backward.listed(stage, &vector).into_iter().collect();
            if !backward.place(stage).first {
                let mut sums = vec![0; moduli.len()];
                for (key, forward) in &listed[&boundary] {
                    let products = forward.iter().zip(&rows[key]).zip(&moduli);
                    let products = products.map(|((&f, &b), &p)| mul_mod(mul_mod(f, b, p), times[key], p));
                    add_row(&mut sums, &products.collect::<Vec<_>>(), &moduli);
                }
                let expected: Vec<u64> = moduli.iter().map(|&p| residue_of(&known, p)).collect();
                assert_eq!(sums, expected, "{height}x{length} {lengths:?} after {boundary} passes");
            }
            vector = backward.stage(stage, &vector);
        }
    }
}

/// Several threads work on a group, and lanes go a few at a time.
#[test]
fn threads_and_slices_do_not_change_it() {
    for (threads, memory_bytes) in [(2, 1 << 22), (3, 1 << 18), (1, 1 << 17), (1, 3 << 16)] {
        let cut = cut(&[4, 3], 2000, 2, &[2, 4, 8]);
        check(7, 7, &Cut { middle: Some(3), threads, memory_bytes, ..cut });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn nothing_that_must_not_matter_matters(
        lengths in prop::collection::vec(1_u32..5, 1..4).prop_filter("2 to 7", |l| (2..8).contains(&l.iter().sum::<u32>())),
        group_records in 1_u64..3000, groups in 1_usize..40, memory_bytes in 1_u64 << 18..1 << 22, threads in 1_u32..4,
        more in 0_u32..3, middle in 2_u32..8,
    ) {
        let height: u32 = lengths.iter().sum();
        let length = (height + more).max(3);
        let middle = Some(middle.min(length - 1));
        let cut = Cut { memory_bytes, threads, middle, ..cut(&lengths, group_records, groups, &[2, 2, 2, 4]) };
        check(height, length, &cut);
    }
}

/// Errors name what is wrong with the orders and inputs of such stages.
#[test]
fn wrong_inputs_are_refused() {
    let cut = Cut { middle: Some(3), ..cut(&[3, 2], 50, 2, &[2, 4]) };
    let run = Run::new(5, 5, &cut);
    let (kept, vector) = halves(&run);
    let order = run.meeting(&vector, &kept);
    let refused = |run: &Run, wrong: &dyn Fn(&mut keima_orders::TaskOrder), expected: &str| {
        let mut order = order.clone();
        wrong(&mut order);
        let text = run.task(&order).unwrap_err().to_string();
        assert!(text.contains(expected), "expected {expected:?}, got {text:?}");
    };
    let stage = |order: &mut keima_orders::TaskOrder, act: &dyn Fn(&mut keima_orders::BlockOrder)| {
        act(order.block.as_mut().unwrap());
    };
    refused(
        &run,
        &|order| stage(order, &|block| drop(block.kept.as_mut().unwrap().inputs.remove(0))),
        "not those of one boundary",
    );
    refused(&run, &|order| stage(order, &|block| block.kept.as_mut().unwrap().moduli = moduli(8)), "cannot be widened");
    refused(&run, &|order| stage(order, &|block| block.direction = Direction::Forward), "only a transposed vector");
    let forward = Run::new(5, 5, &Cut { middle: None, ..cut });
    refused(&forward, &|_| {}, "forward passes alone");
    // Runs of one vector cannot be used for the other.
    let mut strangers = order.clone();
    strangers.inputs.clone_from(&order.block.as_ref().unwrap().kept.as_ref().unwrap().inputs);
    match run.task(&strangers) {
        Err(TaskError::Input { source, .. }) => assert!(source.to_string().contains("its boundary is 15"), "{source}"),
        other => panic!("{other:?}"),
    }
}
