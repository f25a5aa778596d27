//! The share of a group: memory, threads, and how many lanes it takes at a time.

use std::ops::Range;

use keima_blocks::lanes::slices;
use keima_blocks::out_of_core::{KeptProductWords, kept_product_words};
use keima_blocks::sizes::show_bytes;
use keima_model::Direction;

use crate::TaskError;
use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::memory::demand::{Demand, arrival_words};
use crate::block::out_of_core::memory::pool::PoolLimits;
use crate::block::out_of_core::passes::batches;
use crate::block::out_of_core::passes::buffer::GroupLayout;
use crate::block::out_of_core::task::stage::{BlockTask, refuse};
use crate::block::rows::tables::family_ends;

/// Steps of a share to which the memory of a group's own tables is rounded up.
const STEPS: usize = 16;

/// What a group gets: its layout with room for its threads, slices of its lanes, words of memory, threads.
pub(crate) struct Share {
    pub(crate) layout: GroupLayout,
    pub(crate) slices: Vec<Range<usize>>,
    pub(crate) words: Demand,
    pub(crate) threads: usize,
}

impl BlockTask<'_> {
    /// What a group is expected to need, before its tables are there: its shares, if its rows fit them. The tables of small groups
    /// are estimated at several times what they take, which must not make others wait.
    pub(crate) fn expected(&self, number: u32) -> Demand {
        let expected = self.prepared.expected(self.window, number);
        let (share, beside) = (self.prepared.pool.limits().share_words, (expected.part_bytes / 8) as usize);
        let part = share.saturating_mul(self.shares(expected.records));
        let needed = if expected.rows > part { expected.rows.saturating_add(beside) } else { beside };
        Demand { all: part.max(needed), beside }
    }

    /// Takes as many lanes at a time as the share allows. Takes one lane, and more memory than a share, where even
    /// one does not fit.
    pub(crate) fn share(&self, group_tables: &GroupTables<'_>, layout: GroupLayout) -> Result<Share, TaskError> {
        let pool = &self.prepared.pool;
        let kept_product = self.kept_product_words(group_tables);
        let needed = layout.rows().max(1) + kept_product.per_lane;
        let PoolLimits { share_words: share, all_words: all } = pool.limits();
        // The group's own tables count as its memory, and so do the ways that lead to its states.
        let (made, other) =
            ((group_tables.bytes() / 8) as usize, self.arrival_words(group_tables) + kept_product.beside);
        let shares = self.shares(group_tables.group.records);
        let part = share.saturating_mul(shares).min(all);
        let fit = |beside: usize| part.saturating_sub(beside + other) / needed;
        // Rounded, so that buffers have few sizes and serve other groups; but not where that costs a lane.
        let steps = made.next_multiple_of((share / STEPS).max(1));
        let beside = if needed + other + steps > all || fit(steps) < fit(made) { made } else { steps };
        let tables = beside + other;
        if needed + tables > all {
            return refuse(format!(
                "group {} of window {:?} needs {} for each residue, but there are {} beside the tables; raise --memory, or \
                 use a shorter --window",
                group_tables.number,
                self.task.order.window,
                show_bytes((needed + tables) as u64 * 8),
                show_bytes(all as u64 * 8)
            ));
        }
        let fit = u32::try_from(fit(beside)).unwrap_or(u32::MAX);
        let own = self.task.order.lanes();
        let slices: Vec<Range<usize>> = slices(own.len() as u32, fit)
            .into_iter()
            .map(|slice| own.start + slice.start as usize..own.start + slice.end as usize)
            .collect();
        let lanes = slices.first().map_or(1, Range::len);
        let words = needed * lanes + tables;
        // Several threads only if the group is worth several shares. A group that merely needs more memory uses one
        // thread.
        let threads = if shares > 1 { pool.threads(words.max(part)) } else { 1 };
        let (layout, words) = if threads > 1 {
            let each = lanes * layout.passes().max(1);
            let most = part.max(words + words / 8).min(all);
            let room = batches::room(needed).min((most - words) / each);
            (layout.with_room(room), words + room * each)
        } else {
            (layout, words)
        };
        // What else the group gets is room for rows that wait: then they are added all at once.
        let layout = layout.with_aside(part.saturating_sub(words) / lanes);
        let words = part.max(words);
        Ok(Share { layout, slices, words: Demand { all: words, beside }, threads })
    }

    /// Words for the ways that lead to a group's states, if its vector is transposed.
    pub(crate) fn arrival_words(&self, group_tables: &GroupTables<'_>) -> usize {
        if self.direction == Direction::Forward {
            return 0;
        }
        arrival_words(group_tables.tables(), group_tables.families())
    }

    /// Words for a group's product with a kept vector.
    fn kept_product_words(&self, group_tables: &GroupTables<'_>) -> KeptProductWords {
        let states =
            || group_tables.families().iter().map(|family| family_ends(group_tables.tables(), family).0 as usize).sum();
        if self.kept.is_some() { kept_product_words(states()) } else { KeptProductWords::default() }
    }

    /// Number of shares (memory and threads) for a group of so many states, such that it finishes together with all
    /// others.
    fn shares(&self, records: u64) -> usize {
        let slots = self.task.order.block.as_ref().map_or(1, |block| block.slots.max(1));
        self.prepared.pool.shares().worth(records, self.prepared.groups[self.window].records, slots) as usize
    }
}
