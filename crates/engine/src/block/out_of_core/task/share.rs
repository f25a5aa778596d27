//! What a group gets of the worker's memory and threads, and how many lanes it takes at a time.

use std::ops::Range;

use keima_blocks::lanes::slices;
use keima_model::Direction;

use crate::TaskError;
use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::memory::demand::{KeptProductWords, arrival_words, kept_product_words};
use crate::block::out_of_core::memory::pool::{Demand, PoolLimits};
use crate::block::out_of_core::passes::batches;
use crate::block::out_of_core::passes::buffer::GroupLayout;
use crate::block::out_of_core::task::stage::{BlockTask, refuse};
use crate::block::rows::tables::family_ends;

/// Steps of a share in which tables count that are made for a group.
const STEPS: usize = 16;

/// What a group gets: its lines with room for its threads, slices of its lanes, words of memory, threads.
pub(crate) struct Share {
    pub(crate) layout: GroupLayout,
    pub(crate) slices: Vec<Range<usize>>,
    pub(crate) words: Demand,
    pub(crate) threads: usize,
}

impl BlockTask<'_> {
    /// As many lanes at a time as its part of the memory allows; one, where not even that fits and others have to wait.
    pub(crate) fn share(&self, group_tables: &GroupTables<'_>, layout: GroupLayout) -> Result<Share, TaskError> {
        let pool = &self.prepared.pool;
        let kept_product = self.kept_product_words(group_tables);
        let needed = layout.rows().max(1) + kept_product.per_lane;
        let PoolLimits { share_words: share, all_words: all } = pool.limits();
        // Tables that are made for this group count as its memory, and the ways that lead to its states.
        let (made, other) =
            ((group_tables.bytes() / 8) as usize, self.arrival_words(group_tables) + kept_product.beside);
        let shares = self.shares(group_tables.group.records);
        let part = share.saturating_mul(shares).min(all);
        let fit = |beside: usize| part.saturating_sub(beside + other) / needed;
        // In a few steps, so that pieces are of few sizes and serve other groups; where that costs nothing.
        let steps = made.next_multiple_of((share / STEPS).max(1));
        let beside = if needed + other + steps > all || fit(steps) < fit(made) { made } else { steps };
        let tables = beside + other;
        if needed + tables > all {
            return refuse(format!(
                "group {} of window {:?} needs {} bytes of memory for each residue, but there are {} beside the \
                 tables; use more memory, or a shorter --window",
                group_tables.number,
                self.task.order.window,
                (needed + tables) * 8,
                all * 8
            ));
        }
        let fit = u32::try_from(fit(beside)).unwrap_or(u32::MAX);
        let slices: Vec<Range<usize>> = slices(self.task.order.moduli.len() as u32, fit)
            .into_iter()
            .map(|slice| slice.start as usize..slice.end as usize)
            .collect();
        let lanes = slices.first().map_or(1, Range::len);
        let words = needed * lanes + tables;
        // Not where it only has to take others' memory: threads need some too, and nobody waits for it.
        let threads = if shares > 1 { pool.threads(words.max(part)) } else { 1 };
        let (layout, words) = if threads > 1 {
            let each = lanes * layout.passes().max(1);
            let most = part.max(words + words / 8).min(all);
            let room = batches::room(needed).min((most - words) / each);
            (layout.with_room(room), part.max(words + room * each))
        } else {
            (layout, words)
        };
        Ok(Share { layout, slices, words: Demand { all: words, beside }, threads })
    }

    /// Words for the ways that lead to a group's states, where its vector is transposed.
    pub(crate) fn arrival_words(&self, group_tables: &GroupTables<'_>) -> usize {
        if self.direction == Direction::Forward {
            return 0;
        }
        arrival_words(group_tables.tables(), group_tables.families())
    }

    /// What a group's meeting with a kept vector takes beside, see [`kept_product_words`].
    fn kept_product_words(&self, group_tables: &GroupTables<'_>) -> KeptProductWords {
        let states =
            || group_tables.families().iter().map(|family| family_ends(group_tables.tables(), family).0 as usize).sum();
        if self.kept.is_some() { kept_product_words(states()) } else { KeptProductWords::default() }
    }

    /// How many tasks' memory and threads a group of so many states is worth: with them it is done when all others are.
    fn shares(&self, records: u64) -> usize {
        let slots = self.task.order.block.as_ref().map_or(1, |block| block.slots.max(1));
        self.prepared.pool.shares().worth(records, self.prepared.groups[self.window].records, slots) as usize
    }
}
