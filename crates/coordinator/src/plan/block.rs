//! Plans of the block executor, in memory and out of core.
//!
//! ```text
//!   a worker's memory    the tables, and for each task a buffer of its families, with room for what passes put aside
//!   windows              the longest whose largest family fits, if not with all lanes then with one at a time
//!   tables in parts      where the tables of all families do not fit: each group of families makes its own
//!   moduli               primes just below 2^60; the spare; and as many more as fill the lanes ([`LANES`])
//!   lanes of a column    the fewest whose primes, the spare left out, exceed the bound of all counts at its end; of a
//!                        transposed vector, the bound of the ways in which a state is completed
//!   middle               where a forward vector and a transposed one meet: where their lanes add up to least
//! ```
//!
//! Numbers of two vectors that meet have half the bits of one that goes all the way. Vectors meet where numbers grow (a
//! single sweep), where tables for both ways fit a worker, and where nobody wants the counts of all shorter boards.

use keima_blocks::lanes::{LANES, MOST_LANES};
use keima_blocks::limits::MODULUS_LIMIT;
use keima_model::{BlockProblem, ProblemInfo, Window};
use keima_residue::primes_below;

use self::lanes::{lanes_at_end, middle};
use self::memory::Memory;
use super::forecast::{Usage, saturated_states};
use super::moduli::{self, bound_product};
use super::stages::INDEX_FACTOR;
use super::stream::MIN_TASK_RECORDS;
use super::{BlockPlan, Execution, Plan, PlanError, PlanLimits};

pub(super) use self::cuts::longest_window;

mod cuts;
mod lanes;
mod memory;

/// What a plan is made from.
struct Request<'a> {
    info: &'a dyn ProblemInfo,
    blocks: &'a dyn BlockProblem,
    key_bytes: u32,
    limits: &'a PlanLimits,
    states: Vec<u64>,
}

impl Request<'_> {
    fn peak_states(&self) -> u64 {
        self.states.iter().max().copied().unwrap_or(0)
    }
}

/// Plans a count over dense blocks that stays within `memory_bytes` of one process. Each sweep carries `lanes` residues;
/// `None` for all of them at once.
pub fn in_memory_plan(
    info: &dyn ProblemInfo,
    key_bytes: u32,
    memory_bytes: u64,
    threads: u32,
    lanes: Option<u32>,
) -> Result<Plan, PlanError> {
    let moduli = moduli::below(MODULUS_LIMIT.into(), &bound_product(&info.bound()));
    let height = info.board().height;
    let windows = Window::cut(height, longest_window(height));
    let all = moduli.len() as u32;
    let step = lanes.unwrap_or(all).max(1);
    let sweeps = (0..all).step_by(step as usize).map(|first| (first, all.min(first + step))).collect();
    let states = saturated_states(info)?;
    let why = match lanes {
        None => "this problem has a block form, and its vectors fit in memory",
        Some(_) => "this problem has a block form, and two vectors of a few residues fit in memory",
    };
    Ok(Plan {
        windows,
        moduli,
        sweeps,
        task_memory_bytes: memory_bytes,
        slots: threads.max(1),
        why: why.to_owned(),
        ..base(info, key_bytes, states)
    })
}

/// Plans a job over dense blocks whose vectors are in runs.
pub fn block_plan(info: &dyn ProblemInfo, key_bytes: u32, limits: &PlanLimits) -> Result<Plan, PlanError> {
    let no_blocks = |why| PlanError::NoBlocks { what: format!("{} {}", info.name(), info.size()), why };
    let blocks = info.blocks().ok_or_else(|| no_blocks(info.why_no_blocks()))?;
    if info.board().length < 2 || info.coefficients() != 1 {
        return Err(no_blocks("the board has a single column, or several numbers for each state"));
    }
    limits.check()?;
    let request = Request { info, blocks, key_bytes, limits, states: saturated_states(info)? };
    let needed = moduli::below(MODULUS_LIMIT.into(), &bound_product(&info.bound())).len() as u32;
    let memory = cuts::windows(&request, needed)?;
    let both = memory.both_ways(&request);
    let mut refusal = no_blocks("no number of residues a sweep fits");
    // As many residues at a time as were asked for, or as memory and disk allow.
    let most = limits.residues_per_sweep.unwrap_or(MOST_LANES);
    for lanes in LANES.into_iter().rev().filter(|&lanes| lanes <= most) {
        let sweeps = sweeps(needed, lanes);
        let largest = sweeps.first().map_or(1, |&(first, end)| end - first);
        for plan in plans(&request, &memory, both.as_ref(), sweeps) {
            match limits.disk_bytes {
                Some(allowed_bytes) if plan.disk_bytes > allowed_bytes => {
                    let needed_bytes = plan.disk_bytes;
                    refusal = PlanError::Disk { needed_bytes, allowed_bytes, residues_per_sweep: largest };
                }
                _ => return Ok(plan),
            }
        }
    }
    Err(refusal)
}

/// The plan of blocks for other limits. Refuses those under which some stage does not fit a worker.
pub(super) fn refit(plan: &Plan, info: &dyn ProblemInfo, limits: &PlanLimits) -> Result<BlockPlan, PlanError> {
    let (Some(blocks), Some(block)) = (info.blocks(), plan.block()) else {
        let what = format!("{} {}", info.name(), info.size());
        return Err(PlanError::NoBlocks { what, why: info.why_no_blocks() });
    };
    let got_bytes = limits.task_memory_bytes;
    let fits = |bytes: &u64| {
        memory::fits(plan, block, info, blocks, &PlanLimits { task_memory_bytes: *bytes, ..limits.clone() })
    };
    if fits(&got_bytes) {
        return Ok(BlockPlan { room_states: memory::room_states(plan, block, info, blocks, limits), ..block.clone() });
    }
    let mut more = (1..u64::BITS).map(|doublings| got_bytes.max(1).saturating_mul(1 << doublings));
    let enough_bytes = more.find(fits).unwrap_or(u64::MAX);
    Err(PlanError::Rest { got_bytes, enough_bytes })
}

/// The plans with these sweeps, the better one first: vectors that meet, where that pays, and one that goes all the way.
fn plans(
    request: &Request<'_>,
    memory: &Memory,
    both: Option<&Memory>,
    sweeps: Vec<(u32, u32)>,
) -> impl Iterator<Item = Plan> {
    let total = sweeps.last().map_or(0, |&(_, end)| end);
    let largest = sweeps.first().map_or(1, |&(first, end)| end - first);
    let Request { info, blocks, key_bytes, limits, ref states } = *request;
    let plan = Plan {
        windows: memory.windows.clone(),
        moduli: filled(total),
        sweeps,
        task_memory_bytes: limits.task_memory_bytes,
        slots: limits.slots.max(1),
        record_bytes: 8.0 * f64::from(largest) * INDEX_FACTOR,
        ..base(info, key_bytes, states.clone())
    };
    let ahead = with_lanes(request, plan, memory, None);
    let middle = both.and_then(|_| middle(info, blocks, &ahead));
    let met = both.zip(middle).map(|(both, middle)| {
        let met = with_lanes(request, ahead.clone(), both, Some(middle));
        // Tables for both ways leave less memory. Further rounds over a family's lanes cost more than meeting saves.
        (both.rounds(request, &met) <= memory.rounds(request, &ahead)).then_some(met)
    });
    met.flatten().into_iter().chain([ahead])
}

/// A plan with its lanes, groups and disk. With a `middle`, two vectors meet after so many columns.
fn with_lanes(request: &Request<'_>, mut plan: Plan, memory: &Memory, middle: Option<u32>) -> Plan {
    let total = plan.moduli.len() as u32;
    let largest = plan.sweeps.first().map_or(1, |&(first, end)| end - first);
    let parted = memory.needs.is_parted();
    let mut block = BlockPlan { group_records: 0, lanes: Vec::new(), room_states: 0, parted, middle };
    plan.execution = Execution::Blocks(block.clone());
    let lanes_of =
        |stage| if plan.meets(stage) { total } else { lanes_at_end(request.info, request.blocks, &plan, stage) };
    let lanes: Vec<u32> = (0..plan.stages()).map(lanes_of).collect();
    let most_lanes = match middle {
        None => largest,
        Some(_) => most_on_the_way(&lanes),
    };
    let group_records = memory.group_records(request, most_lanes);
    plan.task_records = group_records;
    block.room_states = memory::room_states(&plan, &block, request.info, request.blocks, request.limits);
    plan.execution = Execution::Blocks(BlockPlan { group_records, lanes, ..block });
    plan.disk_bytes = Usage::of(&plan, largest).peak_disk_bytes(request.limits.second_copies);
    plan
}

/// Most lanes of stages, the last one left out: where vectors meet, it may pass over a group a few lanes at a time.
fn most_on_the_way(lanes: &[u32]) -> u32 {
    lanes.split_last().and_then(|(_, others)| others.iter().max()).copied().unwrap_or(1)
}

/// A plan without windows, moduli and sweeps.
fn base(info: &dyn ProblemInfo, key_bytes: u32, states: Vec<u64>) -> Plan {
    let peak_states = states.iter().max().copied().unwrap_or(0);
    Plan {
        execution: Execution::InMemory,
        board: info.board(),
        windows: Vec::new(),
        key_bytes,
        coefficients: info.coefficients(),
        moduli: Vec::new(),
        sweeps: Vec::new(),
        task_memory_bytes: 0,
        task_records: peak_states,
        min_task_records: MIN_TASK_RECORDS,
        slots: 1,
        states,
        peak_states,
        disk_bytes: 0,
        record_bytes: 0.0,
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
