//! Plans of the block executor, in memory and out of core, and the choice between the executors.
//!
//! ```text
//!   a worker's memory    the tables, and for each task a buffer of its families, with room for what passes put aside
//!   windows              the longest, up to 8 cells, whose largest family fits, if not with all lanes then with one at a
//!                        time
//!   tables in parts      where the tables of all families do not fit: made for each group of families, in the windows for
//!                        which this, and the reading and writing of the states, takes least time
//!   moduli               primes just below 2^60; the spare; and as many more as fill the lanes ([`LANES`])
//!   lanes of a column    the fewest whose primes, the spare left out, exceed the bound of all counts at its end; of a
//!                        transposed vector the bound of the ways in which a state is completed
//!   middle               where a forward vector and a transposed one meet, whose numbers have half the bits of one that goes
//!                        all the way: where their lanes add up to least
//! ```
//!
//! Two vectors meet where numbers grow (a single sweep), tables for both ways fit a worker, and nobody wants the counts of
//! all shorter boards.

use keima_blocks::lanes::{LANES, MOST_LANES};
use keima_blocks::limits::{LONGEST_WINDOW, LONGEST_WINDOW_AT_END, MODULUS_LIMIT, MOST_GROUPS};
use keima_blocks::rows::buffered_states;
use keima_model::{BlockProblem, FamilyBounds, ProblemInfo, Window};
use keima_residue::primes_below;

use self::lanes::{lanes_at_end, middle};
use self::memory::Memory;
use super::forecast::Usage;
use super::{BlockPlan, MIN_TASK_RECORDS, Plan, PlanError, PlanLimits, bound_product, moduli, plan, saturated_states};
use crate::api::Executor;

mod lanes;
mod memory;

/// To write and to read a state with eight lanes, for one thread.
const EXCHANGE_NANOS: f64 = 130.0;
/// Groups for each task that runs at a time that are aimed at.
const GROUPS_PER_SLOT: u64 = 16;
/// The same where tables are made for each of them: each makes all blocks of its rests.
const PARTED_GROUPS_PER_SLOT: u64 = 4;
/// A vector is aimed to have so many groups at most. A window then has fewer than three times as many.
const MOST_PLANNED_GROUPS: u64 = MOST_GROUPS / 4;
/// Tasks are not cut finer than this.
const LEAST_GROUP_RECORDS: u64 = 1 << 14;

/// Plans a count over dense blocks that stays within `memory_bytes` of one process.
pub fn in_memory_plan(
    info: &dyn ProblemInfo,
    key_bytes: u32,
    memory_bytes: u64,
    threads: u32,
    lanes: Option<u32>,
) -> Result<Plan, PlanError> {
    let states = saturated_states(info)?;
    let moduli = moduli::below(MODULUS_LIMIT.into(), &bound_product(&info.bound()));
    let height = info.board().height;
    let windows = Window::cut(height, longest_window(height));
    let all = moduli.len() as u32;
    let step = lanes.unwrap_or(all).max(1);
    let sweeps = (0..all).step_by(step as usize).map(|first| (first, all.min(first + step))).collect();
    let limits = PlanLimits {
        task_memory_bytes: memory_bytes,
        disk_bytes: None,
        residues_per_sweep: None,
        window: None,
        slots: threads,
        worker_slots: threads,
        second_copies: false,
        series: false,
    };
    let why = match lanes {
        None => "the problem is made of blocks, and its vectors fit in memory".to_owned(),
        Some(_) => "the problem is made of blocks, and two vectors of a few residues fit in memory".to_owned(),
    };
    Ok(Plan { why, ..base(info, key_bytes, &limits, states, windows, moduli, sweeps) })
}

/// Plans a job by the executor that is asked for; by blocks where nobody asks and they can.
pub fn choose_plan(
    info: &dyn ProblemInfo,
    key_bytes: u32,
    limits: &PlanLimits,
    executor: Executor,
) -> Result<Plan, PlanError> {
    let because = |plan: Plan, why: String| Plan { why, ..plan };
    match executor {
        Executor::Stream => Ok(because(plan(info, key_bytes, limits)?, "asked for".into())),
        Executor::Block => {
            let plan = block_plan(info, key_bytes, limits)?;
            let why = format!("asked for{}", taken_otherwise(&plan, limits));
            Ok(because(plan, why))
        }
        Executor::Auto => match block_plan(info, key_bytes, limits) {
            Ok(plan) => {
                let otherwise = taken_otherwise(&plan, limits);
                let parts = plan.block.as_ref().is_some_and(|block| block.parted);
                let parts = if parts { ", with tables made a part at a time" } else { "" };
                let why =
                    format!("the problem is made of blocks, and its largest family fits a task{parts}{otherwise}");
                Ok(because(plan, why))
            }
            Err(PlanError::NoBlocks { why, .. }) => Ok(because(plan(info, key_bytes, limits)?, why.into())),
            Err(error @ PlanError::Family { .. }) => {
                Ok(because(plan(info, key_bytes, limits)?, format!("by blocks: {error}")))
            }
            Err(error) => Err(error),
        },
    }
}

/// What was asked for that blocks cannot have just so, and where vectors meet.
fn taken_otherwise(plan: &Plan, limits: &PlanLimits) -> String {
    let mut text = String::new();
    let longest = longest_window(plan.board.height);
    if limits.window.is_some_and(|window| window > longest) {
        text += &format!("; windows of blocks have {longest} cells at most");
    }
    let largest = plan.sweeps.first().map_or(0, |&(first, end)| end - first);
    if limits.residues_per_sweep.is_some_and(|asked| asked != largest) {
        text += &format!("; {largest} residues a sweep: blocks take {}, and no more than are needed", one_of(&LANES));
    }
    if let Some(middle) = plan.middle() {
        text += &format!("; vectors from both ends meet after column {middle}");
    }
    text
}

/// As "1, 2 or 4".
fn one_of(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match texts.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => texts.concat(),
    }
}

/// Plans a job over dense blocks whose vectors are in runs.
pub fn block_plan(info: &dyn ProblemInfo, key_bytes: u32, limits: &PlanLimits) -> Result<Plan, PlanError> {
    let board = info.board();
    let no_blocks = |why| PlanError::NoBlocks { what: format!("{} {}", info.name(), info.size()), why };
    let blocks = info.blocks().ok_or_else(|| no_blocks(info.why_no_blocks()))?;
    if board.length < 2 || info.coefficients() != 1 {
        return Err(no_blocks("blocks begin with the second column of a board"));
    }
    for (option, value) in [("residues-per-sweep", limits.residues_per_sweep), ("window", limits.window)] {
        if value == Some(0) {
            return Err(PlanError::Zero { option });
        }
    }
    let states = saturated_states(info)?;
    let needed = moduli::below(MODULUS_LIMIT.into(), &bound_product(&info.bound())).len() as u32;
    let memory = windows(info, blocks, limits, &states, needed)?;
    let both = memory.both_ways(info, blocks, limits);
    let mut refusal = no_blocks("no number of residues suits it");
    // As many residues at a time as were asked for, or as memory and disk allow.
    let most = limits.residues_per_sweep.unwrap_or(MOST_LANES);
    for lanes in LANES.into_iter().rev().filter(|&lanes| lanes <= most) {
        let sweeps = sweeps(needed, lanes);
        let total = sweeps.last().map_or(0, |&(_, end)| end);
        let largest = sweeps.first().map_or(1, |&(first, end)| end - first);
        let mut plan = base(info, key_bytes, limits, states.clone(), memory.windows.clone(), filled(total), sweeps);
        plan.record_bytes = 8.0 * f64::from(largest) * super::INDEX_FACTOR;
        let ahead = with_lanes(info, blocks, plan, (&memory, None), limits);
        let middle = both.as_ref().and_then(|_| middle(info, blocks, &ahead));
        let met = both.as_ref().zip(middle).map(|(both, middle)| {
            let met = with_lanes(info, blocks, ahead.clone(), (both, Some(middle)), limits);
            // Tables for both ways leave less memory: families that are done in more goes for it cost more than is saved.
            (both.goes(&met, limits) <= memory.goes(&ahead, limits)).then_some(met)
        });
        for plan in met.flatten().into_iter().chain([ahead]) {
            match limits.disk_bytes {
                Some(allowed) if plan.disk_bytes > allowed => {
                    refusal = PlanError::Disk {
                        needed_bytes: plan.disk_bytes,
                        allowed_bytes: allowed,
                        residues_per_sweep: largest,
                    };
                }
                _ => return Ok(plan),
            }
        }
    }
    Err(refusal)
}

/// A plan whose lanes, groups and disk are those of vectors that meet after so many columns, or of one that goes forward.
fn with_lanes(
    info: &dyn ProblemInfo,
    blocks: &dyn BlockProblem,
    mut plan: Plan,
    (memory, middle): (&Memory, Option<u32>),
    limits: &PlanLimits,
) -> Plan {
    let total = plan.moduli.len() as u32;
    let largest = plan.sweeps.first().map_or(1, |&(first, end)| end - first);
    let parted = memory.needs.is_parted();
    plan.block = Some(BlockPlan { group_records: 0, lanes: Vec::new(), parted, middle });
    let lanes_of = |stage| if plan.meets(stage) { total } else { lanes_at_end(info, blocks, &plan, stage) };
    let lanes: Vec<u32> = (0..plan.stages()).map(lanes_of).collect();
    let most_lanes = match middle {
        None => largest,
        Some(_) => most_on_the_way(&lanes),
    };
    let share_bytes = memory.needs.share_bytes(limits.task_memory_bytes);
    let group_records = most_records(
        &blocks.family_bounds(),
        &plan.windows,
        plan.peak_states,
        (plan.slots, parted),
        share_bytes,
        most_lanes,
    );
    plan.task_records = group_records;
    plan.block = Some(BlockPlan { group_records, lanes, parted, middle });
    plan.disk_bytes = Usage::of(&plan, largest).peak_disk_bytes(limits.second_copies);
    plan
}

/// Most lanes of stages, the last one left out: where vectors meet, groups may be done a few lanes at a time.
fn most_on_the_way(lanes: &[u32]) -> u32 {
    lanes.split_last().and_then(|(_, others)| others.iter().max()).copied().unwrap_or(1)
}

fn base(
    info: &dyn ProblemInfo,
    key_bytes: u32,
    limits: &PlanLimits,
    states: Vec<u64>,
    windows: Vec<Window>,
    moduli: Vec<u64>,
    sweeps: Vec<(u32, u32)>,
) -> Plan {
    let peak_states = states.iter().max().copied().unwrap_or(0);
    Plan {
        executor: "block".into(),
        board: info.board(),
        windows,
        key_bytes,
        coefficients: info.coefficients(),
        sweeps,
        moduli,
        task_memory_bytes: limits.task_memory_bytes,
        task_records: peak_states,
        min_task_records: MIN_TASK_RECORDS,
        slots: limits.slots.max(1),
        states,
        peak_states,
        disk_bytes: 0,
        record_bytes: 0.0,
        block: None,
        why: String::new(),
    }
}

/// Sweeps of `lanes` residues, the last of as few as suffice.
fn sweeps(needed: u32, lanes: u32) -> Vec<(u32, u32)> {
    let (mut sweeps, mut end) = (Vec::new(), 0);
    while end < needed {
        let fewest = LANES.into_iter().find(|&few| few >= needed - end).map_or(lanes, |few| few.min(lanes));
        sweeps.push((end, end + fewest));
        end += fewest;
    }
    sweeps
}

/// `total` primes below 2^60, the largest as the spare at the end.
fn filled(total: u32) -> Vec<u64> {
    let primes: Vec<u64> = primes_below(MODULUS_LIMIT.into()).take(total as usize).collect();
    primes.iter().skip(1).chain(primes.first()).copied().collect()
}

/// Longest window of a column: where there are two, each is at an end.
fn longest_window(height: u32) -> u32 {
    if (LONGEST_WINDOW_AT_END + 1..=2 * LONGEST_WINDOW_AT_END).contains(&height) {
        LONGEST_WINDOW_AT_END
    } else {
        LONGEST_WINDOW
    }
}

/// The longest windows whose tables and largest family fit a worker, if one task at a time does a lane of it with the
/// memory of all. Each exchange between windows costs more than doing lanes a few at a time: 13x13 in 1 GiB takes 173 s
/// of computing with windows 7,6 and two lanes at a time, 232 s with 5,4,4 and four.
///
/// Where no such tables fit, those that can be made a part at a time, and of these the ones for which making the parts of a
/// column, and writing and reading its states once a window, takes least time.
fn windows(
    info: &dyn ProblemInfo,
    blocks: &dyn BlockProblem,
    limits: &PlanLimits,
    states: &[u64],
    residues: u32,
) -> Result<Memory, PlanError> {
    let height = info.board().height;
    let longest = longest_window(height);
    let lengths = limits.window.map_or(1..=longest, |len| len..=len).rev();
    let mut least_bytes = u64::MAX;
    let whole = lengths.clone().map(|len| Window::cut(height, len.min(longest)));
    for windows in whole {
        let memory = Memory::whole(info, blocks, windows, limits);
        if memory.needs.least_bytes() <= limits.task_memory_bytes {
            return Ok(memory);
        }
        least_bytes = least_bytes.min(memory.needs.least_bytes());
    }
    let parted = lengths.flat_map(|len| cuts(height, len.min(LONGEST_WINDOW)));
    let peak_states = states.iter().max().copied().unwrap_or(0);
    let mut best: Option<(f64, Memory)> = None;
    // Of two windows each has all blocks of the other in its rest, which would be made for every group.
    for windows in parted.filter(|windows| windows.len() > 2) {
        let memory = Memory::parted(info, blocks, windows, limits);
        if memory.needs.least_bytes() > limits.task_memory_bytes {
            least_bytes = least_bytes.min(memory.needs.least_bytes());
            continue;
        }
        let lanes = residues.min(limits.residues_per_sweep.unwrap_or(MOST_LANES)).clamp(1, MOST_LANES);
        let share_bytes = memory.needs.share_bytes(limits.task_memory_bytes);
        let records = most_records(
            &blocks.family_bounds(),
            &memory.windows,
            peak_states,
            (limits.slots, true),
            share_bytes,
            lanes,
        );
        let seconds = |window| blocks.parted_seconds(&memory.windows, window, peak_states, records);
        let tables = (0..memory.windows.len()).map(seconds);
        let exchanges = EXCHANGE_NANOS * 1e-9 * peak_states as f64 * memory.windows.len() as f64;
        let seconds = tables.sum::<f64>() + exchanges;
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, memory));
        }
    }
    best.map(|(_, memory)| memory).ok_or(PlanError::Family { got_bytes: limits.task_memory_bytes, least_bytes })
}

/// Cuts of a column into windows of at most `len` cells: even ones, with the longer windows first or last, and such with
/// shorter windows at both ends, where families are larger.
fn cuts(height: u32, len: u32) -> Vec<Vec<Window>> {
    let even = |height| Window::cut(height, len).into_iter().map(|window| window.len);
    let mut cuts: Vec<Vec<u32>> = vec![even(height).collect(), even(height).rev().collect()];
    for end in (1..len).rev().filter(|end| 2 * end < height) {
        cuts.push(std::iter::once(end).chain(even(height - 2 * end)).chain([end]).collect());
    }
    cuts.iter().map(|lengths| Window::of_lengths(lengths)).collect()
}

/// Records of a group: they fit a task, and there are groups for all.
fn most_records(
    bounds: &FamilyBounds,
    windows: &[Window],
    peak_states: u64,
    (slots, parted): (u32, bool),
    share_bytes: u64,
    lanes: u32,
) -> u64 {
    let by_memory = buffered_states(bounds, windows, share_bytes, lanes);
    let groups = if parted { PARTED_GROUPS_PER_SLOT } else { GROUPS_PER_SLOT };
    let by_slots = peak_states / (groups * u64::from(slots.max(1)));
    let most = by_memory.min(by_slots.max(LEAST_GROUP_RECORDS));
    most.max(peak_states / MOST_PLANNED_GROUPS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two windows up to 16 cells, and of eight cells at its ends alone.
    #[test]
    fn columns_have_few_windows() {
        for (height, expected) in [
            (2, &[2][..]),
            (7, &[7]),
            (8, &[4, 4]),
            (9, &[5, 4]),
            (14, &[7, 7]),
            (15, &[8, 7]),
            (16, &[8, 8]),
            (17, &[6, 6, 5]),
            (21, &[7, 7, 7]),
        ] {
            let windows = Window::cut(height, longest_window(height));
            assert_eq!(windows, Window::of_lengths(expected), "{height} cells");
        }
    }

    /// Every cut covers the column, with windows of no more than the length, and none longer than it need be.
    #[test]
    fn cuts_cover_the_column() {
        for height in 2..=21 {
            for len in 1..=LONGEST_WINDOW.min(height) {
                let cuts = cuts(height, len);
                for windows in &cuts {
                    let case = format!("{height} cells by {len}: {windows:?}");
                    let mut next = 0;
                    for window in windows {
                        assert!(window.first == next && (1..=len).contains(&window.len), "{case}");
                        next = window.end();
                    }
                    assert_eq!(next, height, "{case}");
                }
                let fewest = height.div_ceil(len) as usize;
                assert!(cuts.iter().any(|windows| windows.len() == fewest), "{height} cells by {len}");
                assert!(cuts.iter().all(|windows| windows.len() <= fewest + 2), "{height} cells by {len}");
            }
        }
        let of = |lengths: &[u32]| Window::of_lengths(lengths);
        assert!(cuts(13, 5).contains(&of(&[4, 4, 5])) && cuts(13, 5).contains(&of(&[5, 4, 4])));
        assert!(cuts(13, 5).contains(&of(&[2, 5, 4, 2])), "{:?}", cuts(13, 5));
    }
}
