//! Cutting a vector into shards when it is read.
//!
//! ```text
//!   splits of all tasks, by key   . . .  . | . . . . |  . .. . | .  .  .
//!   family boundaries             ^    ^   ^     ^   ^     ^   ^      ^
//!   shards                        [ low=0  )[        )[        )[ high=None
//! ```
//!
//! Each finished task left weighted split points. Their sorted union says roughly how many records lie below each key. A
//! cut comes where enough records have gathered, moved down to the family boundary below. Families exchange nothing
//! during a stage, so whole families make the outputs of different tasks disjoint. A family that is too large for one
//! task is cut inside. Then outputs hold equal keys, which the next stage adds up, and the stage's state count is only an
//! upper bound (`Cut::closed` is false). Cost: O(splits log splits).

use keima_runs::Split;

use crate::store::records::Shard;

/// Most tasks of a stage.
const MOST_TASKS: u64 = 1 << 16;
/// Tasks per slot to aim at: then the last ones to finish waste a small part of a stage.
const TASKS_PER_SLOT: u64 = 4;
/// A family is cut inside if it has this many times the records that fit a task's memory.
const LARGE_FAMILY: u64 = 2;

/// How fine to cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    /// A task should write no more records than this.
    pub(super) task_records: u64,
    /// Tasks are not cut finer than this.
    pub(super) min_task_records: u64,
    /// Tasks that run at a time.
    pub(super) slots: u64,
    /// Forecast states at the stage's start; 0 where unknown.
    pub(super) states_before: u64,
    /// Forecast states at the stage's end; 0 where unknown.
    pub(super) states_after: u64,
    /// Low bits of the key that do not belong to the family; `None` to cut anywhere.
    pub(super) family_bits: Option<u32>,
}

/// Shards that cover the key space without gap or overlap, ascending.
pub(super) struct Cut {
    /// The shards, at least one.
    pub(super) shards: Vec<Shard>,
    /// Whether no family was cut.
    pub(super) closed: bool,
}

/// How many records a shard should have, and with how many a family is cut.
fn target(total: u64, grain: &Grain) -> (u64, u64) {
    let (after, before) = (grain.states_after, grain.states_before);
    let (after, before) = if after == 0 || before == 0 { (1, 1) } else { (after, before) };
    let written = u128::from(total) * u128::from(after) / u128::from(before);
    let by_memory = written.div_ceil(u128::from(grain.task_records.max(1)));
    let by_slots = u128::from(TASKS_PER_SLOT * grain.slots.clamp(1, MOST_TASKS))
        .min(u128::from(total / grain.min_task_records.max(1)));
    let share = |tasks: u128| u128::from(total).div_ceil(tasks.clamp(1, MOST_TASKS.into())).max(1) as u64;
    // Only memory is a reason to cut a family: its parts write equal states, and that costs more than an idle slot.
    (share(by_memory.max(by_slots)), share(by_memory).saturating_mul(LARGE_FAMILY))
}

/// Cuts the key space by the splits of all tasks that wrote the vector.
pub(super) fn cut(mut splits: Vec<Split>, grain: &Grain) -> Cut {
    splits.sort_unstable_by_key(|s| s.key);
    let below: Vec<u64> = splits
        .iter()
        .scan(0_u64, |sum, s| {
            *sum = sum.saturating_add(s.records);
            Some(*sum)
        })
        .collect();
    let total = below.last().copied().unwrap_or(0);
    let (target, most) = target(total, grain);
    let mut cut = Cut { shards: Vec::new(), closed: grain.family_bits.is_some() };
    let (mut low, mut before) = (0_u128, 0_u64);
    for (split, &records) in splits.iter().zip(&below) {
        // Splits at the very key of the last cut are counted already.
        let gathered = records.saturating_sub(before);
        if gathered < target || records == total {
            continue;
        }
        let family = match grain.family_bits {
            Some(bits) => split.key.checked_shr(bits).map_or(0, |family| family << bits),
            None => split.key,
        };
        let large = gathered >= most;
        let at = if family <= low && large { split.key } else { family };
        if at <= low || cut.shards.len() as u64 + 1 >= MOST_TASKS {
            continue;
        }
        cut.closed &= at == family;
        // Records of the family that begins at the cut belong to the next shard.
        let count = splits.partition_point(|s| s.key <= at);
        let records = count.checked_sub(1).map_or(before, |last| below[last].max(before));
        cut.shards.push(Shard::of_keys(low, Some(at), (records - before).max(1)));
        (low, before) = (at, records);
    }
    cut.shards.push(Shard::of_keys(low, None, (total - before).max(1)));
    if cut.shards.len() == 1 {
        // One shard has all of every family, whatever the layout conserves.
        cut.closed = true;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grain(task_records: u64, min: u64, slots: u64, family_bits: Option<u32>) -> Grain {
        Grain { task_records, min_task_records: min, slots, states_before: 1, states_after: 1, family_bits }
    }

    fn check_cover(cut: &Cut) {
        let mut next = Some(0);
        for shard in &cut.shards {
            assert_eq!(Some(shard.low), next, "gap or overlap");
            assert!(shard.high.is_none_or(|h| h > shard.low), "empty shard");
            next = shard.high;
        }
        assert_eq!(next, None, "the key space has an end");
    }

    proptest! {
        #[test]
        fn shards_cover_the_key_space(
            splits in prop::collection::vec((any::<u128>(), 0_u64..1 << 40), 0..200),
            task_records in 0_u64..1 << 20, min in 0_u64..1 << 20, slots in 0_u64..1 << 20,
            bits in prop::option::of(0_u32..130), growth in (any::<u64>(), any::<u64>()),
        ) {
            let splits: Vec<_> = splits.into_iter().map(|(key, records)| Split { key, records }).collect();
            let cut = cut(splits, &Grain { states_before: growth.0, states_after: growth.1, ..grain(task_records, min, slots, bits) });
            check_cover(&cut);
            if cut.closed && let Some(bits) = bits.filter(|&b| b < 128) {
                for shard in &cut.shards {
                    prop_assert_eq!((shard.low >> bits) << bits, shard.low, "a cut inside a family");
                }
            }
        }
    }

    fn even(count: u128, step: u128) -> Vec<Split> {
        (1..=count).map(|i| Split { key: i * step, records: 10 }).collect()
    }

    #[test]
    fn memory_slots_and_families_decide_the_number_of_shards() {
        // (task_records, min, slots, family bits, expected shards, closed)
        let table = [
            (1_000_000, 1, 1, None, 4, false),
            (1_000_000, 100_000, 8, None, 1, true),
            (100, 100_000, 1, None, 10, false),
            (1_000_000, 250, 8, Some(4), 4, true),
            // All 100 keys in one family: cut inside, since it is far too large.
            (100, 100_000, 1, Some(40), 10, false),
        ];
        for (task_records, min, slots, bits, shards, closed) in table {
            let cut = cut(even(100, 16), &grain(task_records, min, slots, bits));
            check_cover(&cut);
            let close = cut.shards.len().abs_diff(shards) <= if bits == Some(40) { 6 } else { 0 };
            assert!(close, "expected {shards} shards, got {}: {:?}", cut.shards.len(), cut.shards);
            assert_eq!(cut.closed, closed, "{task_records} {min} {slots} {bits:?}");
        }
    }

    #[test]
    fn a_growing_vector_is_cut_finer() {
        let coarse = cut(even(100, 16), &grain(500, 1_000_000, 1, None)).shards.len();
        let fine = cut(even(100, 16), &Grain { states_after: 3, ..grain(500, 1_000_000, 1, None) }).shards.len();
        assert_eq!((coarse, fine), (2, 6));
    }
}
