//! What a group gets of the worker's memory and threads, and how many lanes it takes at a time.

use std::ops::Range;

use keima_blocks::lanes::slices;
use keima_blocks::out_of_core::meeting_words;
use keima_model::Direction;

use crate::TaskError;
use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::memory::demand::arrival_words;
use crate::block::out_of_core::memory::pool::Words;
use crate::block::out_of_core::passes::batches;
use crate::block::out_of_core::passes::buffer::Lines;
use crate::block::out_of_core::task::stage::{Stage, refuse};
use crate::block::rows::tables::ends;

/// Steps of a share in which tables count that are made for a group.
const STEPS: usize = 16;

/// What a group gets: its lines with room for its threads, slices of its lanes, words of memory, threads.
pub(crate) struct Share {
    pub(crate) lines: Lines,
    pub(crate) slices: Vec<Range<usize>>,
    pub(crate) words: Words,
    pub(crate) threads: usize,
}

impl Stage<'_> {
    /// As many lanes at a time as its part of the memory allows; one, where not even that fits and others have to wait.
    pub(crate) fn share(&self, view: &View<'_>, lines: Lines) -> Result<Share, TaskError> {
        let pool = &self.prepared.pool;
        let (join_lane, join) = self.join_words(view);
        let needed = lines.rows().max(1) + join_lane;
        let (share, all) = pool.words();
        // Tables that are made for this group count as its memory, and the ways that lead to its states.
        let (made, other) = ((view.bytes() / 8) as usize, self.arrival_words(view) + join);
        let shares = self.shares(view.group.records);
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
                view.number,
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
        let (lines, words) = if threads > 1 {
            let each = lanes * lines.passes().max(1);
            let most = part.max(words + words / 8).min(all);
            let room = batches::room(needed).min((most - words) / each);
            (lines.with_room(room), part.max(words + room * each))
        } else {
            (lines, words)
        };
        Ok(Share { lines, slices, words: Words { all: words, beside }, threads })
    }

    /// Words for the ways that lead to a group's states, where its vector is transposed.
    pub(crate) fn arrival_words(&self, view: &View<'_>) -> usize {
        if self.direction == Direction::Forward {
            return 0;
        }
        arrival_words(view.tables(), view.families())
    }

    /// What a group's meeting with a kept vector takes beside, see [`meeting_words`].
    fn join_words(&self, view: &View<'_>) -> (usize, usize) {
        let states = || view.families().iter().map(|family| ends(view.tables(), family).0 as usize).sum();
        if self.join.is_some() { meeting_words(states()) } else { (0, 0) }
    }

    /// How many tasks' memory and threads a group of so many states is worth: with them it is done when all others are.
    fn shares(&self, records: u64) -> usize {
        let slots = self.task.order.block.as_ref().map_or(1, |block| block.slots.max(1));
        self.prepared.pool.shares().worth(records, self.prepared.groups[self.window].records, slots) as usize
    }
}
