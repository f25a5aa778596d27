//! What a fake worker reports: a manifest of the right form whose sums are all zero.
//!
//! Zero keeps every law: sums of what was read, of each pass and of what was written. Numbers of states, keys and splits are
//! those of the sampled vectors. Two workers make the same of one task.

use anyhow::{Context, Result};
use keima_coordinator::Plan;
use keima_model::{Functional, Layout};
use keima_orders::TaskOrder;
use keima_runs::{
    FunctionalSum, GapFinder, MAX_SPLITS, PassTally, RunId, RunManifest, Split, Tally, TaskManifest, common_gaps,
};

use super::vector::Fronts;

/// Records between two splits of a run, at least: about as many as a block holds.
const BLOCK_RECORDS: u64 = 4096;
/// Numbers of successors that a pass tells apart.
const DEGREES: usize = 4;

/// Does a task.
pub(super) fn work(
    fronts: &mut Fronts,
    plan: &Plan,
    functionals: &[Functional],
    order: &TaskOrder,
) -> Result<TaskManifest> {
    let number = (0..plan.stages()).find(|&stage| plan.stage(stage).first_pass == order.first_pass);
    let number = number.context("an order of no stage")?;
    let (before, after) = fronts.around(plan, number)?;
    let parents = if order.from_start { 0..before.keys.len() } else { before.shard(order.low, order.high) };
    let made = after.made_by(&parents);
    let read = before.records(&parents);
    let lanes = order.moduli.len() * plan.coefficients as usize;
    let tally = |states| Tally { states, ..Tally::zero(lanes) };
    let weight = |place: usize| after.records(&(place..place + 1));
    let written: u64 = made.iter().map(|&place| weight(place)).sum();
    let passes = (0..order.window.len).map(|pass| PassTally {
        states: if pass == 0 { read } else { 0 },
        successors: written,
        by_degree: vec![vec![0; lanes]; DEGREES],
        by_shift: Vec::new(),
        new_sums: vec![0; lanes],
    });
    let read_off = (0..).zip(functionals).filter(|(_, functional)| {
        (order.first_pass..order.first_pass + order.window.len).contains(&functional.after_pass)
    });
    let bytes = |states: u64| (states as f64 * plan.record_bytes_with(lanes as u32)) as u64;
    let (mut runs, mut splits) = (Vec::new(), Vec::new());
    if let (Some(&first), Some(&last)) = (made.first(), made.last()) {
        runs.push(RunManifest {
            id: RunId(format!("{}/r0", order.attempt)),
            bytes: bytes(written),
            records: written.max(1),
            first_key: after.keys[first],
            last_key: after.keys[last],
            sums: vec![0; lanes],
            checksum: 0x1234_5678,
        });
        splits = split(made.iter().map(|&place| (after.keys[place], weight(place))), written, order.most_splits);
    }
    let mut gaps = GapFinder::default();
    gaps.push(made.iter().map(|&place| after.keys[place]));
    debug_assert!(order.layout_out != Layout::Canonical || number + 1 == plan.stages());
    Ok(TaskManifest {
        runs,
        splits,
        gaps: common_gaps(&[gaps]),
        input: tally(read),
        output: tally(written),
        kept: None,
        passes: passes.collect(),
        functionals: read_off.map(|(functional, _)| FunctionalSum { functional, lanes: vec![0; lanes] }).collect(),
        bytes_read: bytes(read),
        bytes_written: bytes(written),
        ..TaskManifest::default()
    })
}

/// As many splits as the blocks of a run of `records` records give: each state of the sample stands for several pieces, and
/// the keys between it and the one before are told apart evenly.
fn split(states: impl Iterator<Item = (u128, u64)>, records: u64, most_splits: u32) -> Vec<Split> {
    let most = (records / BLOCK_RECORDS).clamp(1, MAX_SPLITS as u64);
    let mut splits: Vec<Split> = Vec::new();
    let (mut low, mut below) = (0_u128, 0_u64);
    for (key, weight) in states {
        let end = key.saturating_add(1);
        below += weight;
        let wanted = (u128::from(below) * u128::from(most) / u128::from(records.max(1))) as u64;
        let pieces = wanted.saturating_sub(splits.len() as u64).max(1).min(weight.max(1));
        let from = if splits.is_empty() { key.saturating_sub(pieces.into()) } else { low };
        let step = ((end - from) / u128::from(pieces)).max(1);
        for piece in 1..=pieces {
            let at = if piece == pieces { end } else { (from + step * u128::from(piece)).min(end) };
            let part = weight * piece / pieces - weight * (piece - 1) / pieces;
            match splits.last_mut() {
                Some(last) if at <= last.key => last.records += part,
                _ => splits.push(Split { key: at, records: part }),
            }
        }
        if let Some(last) = splits.last_mut() {
            last.key = last.key.max(end);
        }
        low = end;
    }
    let step = splits.len().div_ceil(MAX_SPLITS.min(most_splits as usize).max(1)).max(1);
    splits
        .chunks(step)
        .filter_map(|part| Some(Split { key: part.last()?.key, records: part.iter().map(|split| split.records).sum() }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_ascend_and_hold_all_records() {
        let check = |states: Vec<(u128, u64)>, least: usize, most: u32| {
            let records: u64 = states.iter().map(|&(_, weight)| weight).sum();
            let last = states.last().map_or(0, |&(key, _)| key);
            let splits = split(states.into_iter(), records, most);
            assert!(splits.is_sorted_by(|a, b| a.key < b.key), "{splits:?}");
            assert_eq!(splits.iter().map(|split| split.records).sum::<u64>(), records);
            assert!((least..=MAX_SPLITS.min(most as usize)).contains(&splits.len()), "{} splits", splits.len());
            assert!(splits.last().is_some_and(|split| split.key == last + 1));
        };
        check(vec![(7, 1)], 1, 8);
        check((0..5).map(|key| (key, 3)).collect(), 1, u32::MAX);
        check((0..16).map(|key| (key << 80, 400_000)).collect(), 1000, u32::MAX);
        check((0..4000).map(|key| (key * 3, 90)).collect(), 80, u32::MAX);
        check((0..4000).map(|key| (key * 3, 90)).collect(), 5, 8);
    }
}
