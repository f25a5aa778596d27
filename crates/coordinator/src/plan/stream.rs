//! Plans of the stream executor.

use std::collections::BTreeMap;

use keima_blocks::limits::{LEAST_TASK_BYTES, OUTPUT_PERCENT, output_record_bytes, table_record_bytes};
use keima_model::{ProblemInfo, Window};
use keima_runs::MAX_LANES;

use super::forecast::{Usage, saturated_states};
use super::moduli::{self, bound_product};
use super::stages::INDEX_FACTOR;
use super::{Execution, Plan, PlanError, PlanLimits};

/// Most residues that the planner carries at once unless asked. Beyond this, keys and expansion are so small a part of a
/// record's cost that more residues save nothing.
const MOST_RESIDUES_PER_SWEEP: u32 = 8;
/// Longest window that the planner chooses unless asked or all families are small. Longer ones make families large.
const LONGEST_WINDOW: u32 = 4;
/// Longest window where all families are small. Longer ones save few shuffles.
const LONGEST_WINDOW_OF_SMALL_FAMILIES: u32 = 8;
/// A family is small if its table stays in a third-level cache.
const SMALL_FAMILY_BYTES: u64 = 8 << 20;
/// A task must be able to buffer this many records, however many lanes they have.
const LEAST_TASK_RECORDS: u64 = 256;
/// For a task that writes fewer records than this, granting and committing cost more than the work.
pub(super) const MIN_TASK_RECORDS: u64 = 4096;
/// Largest family, in percent of the records that a task is meant to write.
const FAMILY_PERCENT: u128 = 150;
/// Bytes of a sorted key in a run: a delta varint, and its part of the block headers.
const KEY_BYTES_ON_DISK: f64 = 1.15;

/// Plans a job for the stream executor, over keys of `key_bytes`. The error says which limit is too low and what to do.
pub fn plan(info: &dyn ProblemInfo, key_bytes: u32, limits: &PlanLimits) -> Result<Plan, PlanError> {
    let board = info.board();
    let coefficients = info.coefficients();
    if board.height == 0 || board.length == 0 || coefficients == 0 {
        let what = format!("board {board} with {coefficients} coefficients");
        return Err(PlanError::Problem { what, expected: "at least one cell and one coefficient".into() });
    }
    limits.check()?;
    let most_lanes = MAX_LANES as u32;
    if coefficients > most_lanes {
        return Err(PlanError::Coefficients { coefficients, most: most_lanes });
    }
    let states = saturated_states(info)?;
    let moduli = moduli::choose(&bound_product(&info.bound()));
    let total = moduli.len() as u32;
    let asked = limits.residues_per_sweep.map(|r| r.min(total));
    let fewest = total.div_ceil(asked.unwrap_or(MOST_RESIDUES_PER_SWEEP).min(most_lanes / coefficients));
    let most = if asked.is_some() { fewest } else { total };

    // A problem may take long to count a family, and every number of sweeps asks for the same ones.
    let mut families: BTreeMap<(u32, u32), Option<u128>> = BTreeMap::new();
    let mut largest_family =
        |window: &Window| *families.entry((window.first, window.len)).or_insert_with(|| info.largest_family(*window));

    let mut attempt = |sweep_count: u32| {
        let sweeps = balanced(total, sweep_count);
        let lanes = total.div_ceil(sweep_count).saturating_mul(coefficients);
        let task_records = task_records(limits.task_memory_bytes, key_bytes, lanes)?;
        let small_family = SMALL_FAMILY_BYTES / table_record_bytes(key_bytes.into(), lanes.into());
        let sizes = FamilySizes { task_records, small_family, peak_states: states.iter().max().copied() };
        let windows = windows(board.height, limits, &sizes, &mut largest_family);
        let record_bytes = (8.0 * f64::from(lanes) + KEY_BYTES_ON_DISK) * INDEX_FACTOR;
        let mut plan = Plan {
            execution: Execution::Stream,
            board,
            windows,
            key_bytes,
            coefficients,
            moduli: moduli.clone(),
            sweeps,
            task_memory_bytes: limits.task_memory_bytes,
            task_records,
            min_task_records: MIN_TASK_RECORDS.min(task_records),
            slots: limits.slots.max(1),
            states: states.clone(),
            peak_states: states.iter().max().copied().unwrap_or(0),
            disk_bytes: 0,
            record_bytes,
            why: String::new(),
        };
        plan.disk_bytes = Usage::of(&plan, lanes).peak_disk_bytes(limits.second_copies);
        match limits.disk_bytes {
            Some(allowed) if plan.disk_bytes > allowed => Err(PlanError::Disk {
                needed_bytes: plan.disk_bytes,
                allowed_bytes: allowed,
                residues_per_sweep: total.div_ceil(sweep_count),
            }),
            _ => Ok(plan),
        }
    };
    let mut refusal = None;
    // Numbers of sweeps whose largest has the same number of residues make the same plan: try each once.
    let mut counts: Vec<u32> = (fewest..=most).collect();
    counts.dedup_by_key(|&mut count| total.div_ceil(count));
    for sweep_count in counts {
        match attempt(sweep_count) {
            Ok(plan) => return Ok(plan),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or(PlanError::Zero { option: "residues-per-sweep" }))
}

/// Cuts `total` moduli into `count` sweeps whose sizes differ by at most one, the larger ones first.
fn balanced(total: u32, count: u32) -> Vec<(u32, u32)> {
    Window::cut(total, total.div_ceil(count.max(1))).into_iter().map(|w| (w.first, w.end())).collect()
}

/// Records that fit a task's output buffer.
pub(super) fn task_records(task_memory_bytes: u64, key_bytes: u32, lanes: u32) -> Result<u64, PlanError> {
    let record_bytes = output_record_bytes(key_bytes.into(), lanes.into());
    let least_for_records = (LEAST_TASK_RECORDS * record_bytes).div_ceil(OUTPUT_PERCENT) * 100;
    let least_bytes = LEAST_TASK_BYTES.max(least_for_records);
    if task_memory_bytes < least_bytes {
        return Err(PlanError::TaskMemory { got_bytes: task_memory_bytes, least_bytes, lanes });
    }
    Ok(task_memory_bytes / 100 * OUTPUT_PERCENT / record_bytes)
}

/// What the windows of a column depend on.
struct FamilySizes {
    /// Records of a task.
    task_records: u64,
    /// Most records of a small family.
    small_family: u64,
    /// States of the largest vector, if they are known.
    peak_states: Option<u64>,
}

/// Windows of a column: the user's, or the longest whose families fit a task.
///
/// Longer windows mean fewer shuffles. But a family that is much larger than a task spills in every pass, and at the
/// stage's end all others wait for its task. A family larger than the cache costs more in every pass than a shuffle
/// saves. If no length keeps families small enough, windows are single cells. If the problem does not know its
/// families, the planner takes each to be as large as the vector.
fn windows(
    height: u32,
    limits: &PlanLimits,
    sizes: &FamilySizes,
    mut largest_family: impl FnMut(&Window) -> Option<u128>,
) -> Vec<Window> {
    if let Some(len) = limits.window {
        return Window::cut(height, len);
    }
    let most = u128::from(sizes.task_records) * FAMILY_PERCENT / 100;
    let mut fits = |window: &Window| {
        let family = largest_family(window).or(sizes.peak_states.map(u128::from));
        family.is_none_or(|states| states <= most)
    };
    let cut = |len| Window::cut(height, len);
    let longest = LONGEST_WINDOW.min(height);
    let Some(chosen) = (1..=longest).rev().map(cut).find(|windows| windows.iter().all(&mut fits)) else {
        return cut(1);
    };
    // A whole column is one family, and so is every window where the problem knows of no families.
    let small = most.min(sizes.small_family.into());
    let mut is_small = |window: &Window| largest_family(window).is_some_and(|states| states <= small);
    let longer = longest + 1..=LONGEST_WINDOW_OF_SMALL_FAMILIES.min(height.saturating_sub(1));
    longer.map(cut).take_while(|windows| windows.iter().all(&mut is_small)).last().unwrap_or(chosen)
}
