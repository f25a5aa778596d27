//! What a task looks at of a family's states, in portions that threads take: sums, the sample, accepting states.
//!
//! Cost: 1 to 2 ns a state for each look.

use std::ops::Range;

use keima_model::{BlockTables, End, Family, Key as _};
use keima_orders::TaskOrder;

use crate::TaskError;
use crate::block::out_of_core::gather::stands;
use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::task::header::boundary;
use crate::block::out_of_core::task::work::Lanes;
use crate::block::rows::lanes::{Row, Weighted};
use crate::block::rows::ranges::{WORTH, place, ranges};
use crate::block::rows::sums::{Enter, Entering, Total, add_up, merge};
use crate::block::rows::tables::step_at;
use crate::block::rows::threads::crew;
use crate::tally::EndTally;

/// Rows that are looked at in one go: those of a few blocks, or of one.
const PIECE: usize = 1 << 12;

/// Blocks of a family with their rows.
struct Portion<'r, const J: usize> {
    blocks: Range<u32>,
    rows: &'r mut [Row<J>],
}

/// A family at an end of the window in portions of about as many rows: one, or some for each of several threads.
fn portions<'r, const J: usize>(
    tables: &BlockTables,
    end: End,
    family: &Family,
    rows: &'r mut [Row<J>],
    threads: usize,
) -> Vec<Portion<'r, J>> {
    let step = step_at(tables, end);
    let (mut rest, mut start) = (rows, 0);
    let portion = |blocks: Range<u32>| {
        let until = place(tables, family, step, blocks.end);
        let (rows, later) = std::mem::take(&mut rest).split_at_mut(until - start);
        (rest, start) = (later, until);
        Portion { blocks, rows }
    };
    ranges(tables, family, step, &family.blocks, threads, WORTH).into_iter().map(portion).collect()
}

/// What was seen of a portion, or of several.
pub(crate) struct Told<const J: usize> {
    /// States that stand for their keys, and the sum of each of their lanes.
    pub(crate) states: u64,
    pub(crate) standing: [u128; J],
    /// What the passes conserve: the sum of value x ways of what goes into them, the sum of all that comes out.
    pub(crate) conserved: [u128; J],
    /// The sum of the accepting states, each with its weight.
    pub(crate) accepted: [u128; J],
    /// The sample's part of the fingerprint.
    pub(crate) tally: EndTally,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What<'w> {
    /// The states that were read and go into the passes. They are completed first: of two entries for one key one was read.
    /// For transposed passes with the ways that lead to each of the family's states.
    Enters { arrivals: Option<&'w [u32]> },
    /// What has come out of them; where it is asked for, with the accepting states.
    Leaves { read_off: bool },
}

/// Looks at portions of a group's states at one end of the window.
pub(crate) struct Look<'a, const J: usize> {
    pub(crate) view: &'a View<'a>,
    pub(crate) order: &'a TaskOrder,
    pub(crate) end: End,
    pub(crate) lanes: &'a Lanes<J>,
}

impl<const J: usize> Look<'_, J> {
    /// Looks at all of a family, by so many threads.
    pub(crate) fn family(
        &self,
        threads: usize,
        family: &Family,
        rows: &mut [Row<J>],
        what: What<'_>,
    ) -> Result<Told<J>, TaskError> {
        let portions = portions(self.tables(), self.end, family, rows, threads);
        let told = crew(threads, portions, |portion| Ok::<_, TaskError>(self.at(what, portion)))?;
        Ok(told.iter().fold(self.nothing(), |all, told| self.and(all, told)))
    }

    /// Of no portion.
    pub(crate) fn nothing(&self) -> Told<J> {
        let tally = EndTally::new(self.order.salt, self.order.moduli.len());
        Told { states: 0, standing: [0; J], conserved: [0; J], accepted: [0; J], tally }
    }

    /// Of several.
    pub(crate) fn and(&self, mut all: Told<J>, more: &Told<J>) -> Told<J> {
        all.states += more.states;
        merge(&mut all.standing, more.standing, &self.lanes.moduli);
        merge(&mut all.conserved, more.conserved, &self.lanes.moduli);
        merge(&mut all.accepted, more.accepted, &self.lanes.moduli);
        all.tally.merge(&more.tally, &self.order.moduli);
        all
    }

    fn tables(&self) -> &BlockTables {
        self.view.tables()
    }

    fn entries(&self, block: u32) -> usize {
        let tables = self.tables();
        let signature = &tables.signatures[tables.signature_of[block as usize] as usize];
        signature.entries[step_at(tables, self.end)] as usize
    }

    /// Piece by piece, each of which stays in the cache.
    fn at(&self, what: What<'_>, portion: Portion<'_, J>) -> Told<J> {
        let Portion { mut blocks, rows } = portion;
        let (mut told, mut rest) = (self.nothing(), rows);
        while !blocks.is_empty() {
            let (mut end, mut count) = (blocks.start, 0);
            while end < blocks.end && (end == blocks.start || count + self.entries(end) <= PIECE) {
                count += self.entries(end);
                end += 1;
            }
            let (piece, later) = std::mem::take(&mut rest).split_at_mut(count);
            rest = later;
            self.look(what, blocks.start..end, piece, &mut told);
            blocks.start = end;
        }
        told
    }

    fn look(&self, what: What<'_>, blocks: Range<u32>, rows: &mut [Row<J>], told: &mut Told<J>) {
        let (moduli, again) = (&self.lanes.moduli, self.twins(what, &blocks, rows));
        let values = match what {
            What::Enters { arrivals } => {
                let tables = self.tables();
                let first = tables.place(step_at(tables, self.end), blocks.start) as usize;
                let ways = arrivals.map(|ways| &ways[first..first + rows.len()]);
                let enter = Enter { tables, blocks: blocks.clone(), rows, ways, moduli };
                let Entering { values, ways } = pulp::Arch::new().dispatch(enter);
                merge(&mut told.conserved, ways, moduli);
                values
            }
            What::Leaves { read_off } => {
                let values = pulp::Arch::new().dispatch(Total { rows, moduli });
                merge(&mut told.conserved, values, moduli);
                if read_off {
                    self.accept(&blocks, rows, &mut told.accepted);
                }
                values
            }
        };
        merge(&mut told.standing, values, moduli);
        told.states += rows.len() as u64;
        if let Some(again) = again {
            // Less what was counted twice.
            let less = std::array::from_fn(|lane| {
                let modulus = u128::from(moduli.values()[lane]);
                modulus - again.values()[lane] % modulus
            });
            merge(&mut told.standing, less, moduli);
            told.states -= again.entries;
        }
        self.sample(blocks, rows, &mut told.tally);
    }

    /// The entries of some blocks that do not stand for their keys, if there are any. On entering, they are filled in.
    fn twins(&self, what: What<'_>, blocks: &Range<u32>, rows: &mut [Row<J>]) -> Option<Again<J>> {
        let (mut again, mut place) = (None, 0);
        for block in blocks.clone() {
            let entries = self.entries(block);
            let own = &mut rows[place..place + entries];
            let twins = self.view.column().twins(self.view.window, self.end, block);
            for (entry, &twin) in twins.iter().enumerate().filter(|&(entry, &twin)| entry != usize::from(twin)) {
                if matches!(what, What::Enters { .. }) {
                    own[entry] = own[usize::from(twin)];
                }
                again.get_or_insert_with(Again::nothing).add(&own[entry]);
            }
            place += entries;
        }
        again
    }

    fn accept(&self, blocks: &Range<u32>, rows: &[Row<J>], accepted: &mut [u128; J]) {
        let (column, mut place) = (self.view.column(), 0);
        for block in blocks.clone() {
            let mut sum = Weighted::ZERO;
            let weight = column.weight(self.view.window, block) as u32;
            for &entry in column.accepting(block) {
                sum.add(weight, &rows[place + usize::from(entry)]);
            }
            add_up(accepted, &sum, &self.lanes.moduli);
            place += self.entries(block);
        }
    }

    /// Which states of the boundary are sampled: what one task has written another reads, with the same key.
    fn sample_key(&self) -> u64 {
        u64::from(boundary(self.order, self.end)).mix(self.order.salt) >> 32
    }

    /// The entries of a block that are sampled.
    pub(crate) fn sample_of(&self, block: u32, entries: &mut Vec<u16>) {
        let (column, window) = (self.view.column(), self.view.window);
        column.sample(window, self.end, block, self.sample_key(), entries);
        let twins = column.twins(window, self.end, block);
        entries.retain(|&entry| stands(&twins, entry));
    }

    fn sample(&self, blocks: Range<u32>, rows: &[Row<J>], tally: &mut EndTally) {
        let (column, window, end) = (self.view.column(), self.view.window, self.end);
        let mut place = 0;
        let (mut entries, mut keys, mut sampled) = (Vec::new(), Vec::new(), Vec::new());
        for block in blocks {
            self.sample_of(block, &mut entries);
            column.keys_of(window, end, block, &entries, &mut keys);
            sampled.clear();
            sampled.extend(entries.iter().flat_map(|&entry| rows[place + usize::from(entry)]));
            tally.add_sample(&keys, &sampled, self.lanes.first, self.lanes.moduli.values());
            place += self.entries(block);
        }
    }
}

/// Entries whose key another one stands for.
struct Again<const J: usize> {
    entries: u64,
    /// Fewer than 2^32 of them.
    sum: Weighted<J>,
}

impl<const J: usize> Again<J> {
    fn nothing() -> Self {
        Self { entries: 0, sum: Weighted::ZERO }
    }

    fn add(&mut self, row: &Row<J>) {
        self.entries += 1;
        self.sum.add(1, row);
    }

    fn values(&self) -> [u128; J] {
        self.sum.values()
    }
}
