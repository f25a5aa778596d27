//! What a task looks at of a family's states, in portions that threads take: sums, the sample, accepting states.
//!
//! ```text
//!   rows of a family   block block block | block block | block block block block | ...
//!   portions           0                 | 1           | 2                       |
//! ```
//!
//! Cost: 1 to 2 ns a state for each look.

use std::ops::Range;

use keima_model::{BlockTables, End, Family, Key as _};

use super::batches::{WORTH, block_at};
use super::gather::stands;
use super::lanes::{Row, Weighted};
use super::slice::Lanes;
use super::sums::{Enter, Total, add_up, merge};
use super::view::View;
use crate::TaskOrder;
use crate::tally::EndTally;

/// Portions for each thread.
const PARTS: usize = 4;

/// Blocks of a family with their rows.
pub(super) struct Portion<'r, const J: usize> {
    pub(super) blocks: Range<u32>,
    pub(super) rows: &'r mut [Row<J>],
}

/// A family at an end of the window in portions of about as many rows: one, or some for each of several threads.
pub(super) fn portions<'r, const J: usize>(
    tables: &BlockTables,
    end: End,
    family: &Family,
    rows: &'r mut [Row<J>],
    threads: usize,
) -> Vec<Portion<'r, J>> {
    let step = step(tables, end);
    let all = rows.len();
    let count = if threads == 1 { 1 } else { (all / WORTH).clamp(1, PARTS * threads) };
    let mut portions = Vec::with_capacity(count);
    let (mut rest, mut first, mut start) = (rows, family.blocks.start, 0);
    for number in 1..=count {
        let last = number == count;
        let next = if last { family.blocks.end } else { block_at(tables, step, &family.blocks, all * number / count) };
        if next > first {
            let until = if next == family.blocks.end { all } else { tables.place(step, next) as usize };
            let own;
            (own, rest) = rest.split_at_mut(until - start);
            portions.push(Portion { blocks: first..next, rows: own });
            (first, start) = (next, until);
        }
    }
    portions
}

fn step(tables: &BlockTables, end: End) -> usize {
    if end == End::First { 0 } else { tables.states.len() - 1 }
}

/// What was seen of a portion, or of several.
pub(super) struct Told<const J: usize> {
    /// States that stand for their keys.
    pub(super) states: u64,
    /// The sum of each lane, of the values or of value x ways.
    pub(super) sums: [u128; J],
    /// The sum of the accepting states, each with its weight.
    pub(super) accepted: [u128; J],
    /// The sample's part of the fingerprint.
    pub(super) tally: EndTally,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The states that were read, which are completed first: of two entries for one key one was. Their number, their sum
    /// and their sample.
    Stands,
    /// What goes into the passes: the sum of value x ways.
    Enters,
    /// What has come out of them: the sum, and where it is asked for that of the accepting states.
    Leaves { read_off: bool },
    /// The sampled states of a boundary.
    Sample,
}

/// Looks at portions of a group's states at one end of the window.
pub(super) struct Look<'a, const J: usize> {
    pub(super) view: &'a View<'a>,
    pub(super) order: &'a TaskOrder,
    pub(super) end: End,
    pub(super) lanes: &'a Lanes<J>,
}

impl<const J: usize> Look<'_, J> {
    /// Of no portion.
    pub(super) fn nothing(&self) -> Told<J> {
        let tally = EndTally::new(self.order.salt, self.order.moduli.len());
        Told { states: 0, sums: [0; J], accepted: [0; J], tally }
    }

    /// Of several.
    pub(super) fn and(&self, mut all: Told<J>, more: &Told<J>) -> Told<J> {
        all.states += more.states;
        merge(&mut all.sums, more.sums, &self.lanes.moduli);
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
        signature.entries[step(tables, self.end)] as usize
    }

    fn total(&self, rows: &[Row<J>]) -> [u128; J] {
        pulp::Arch::new().dispatch(Total { rows, moduli: &self.lanes.moduli })
    }

    /// Looks at a portion.
    pub(super) fn at(&self, what: What, portion: Portion<'_, J>) -> Told<J> {
        match what {
            What::Stands => self.stand(portion),
            What::Enters => self.enter(portion),
            What::Leaves { read_off } => self.leave(portion, read_off),
            What::Sample => self.sample(portion),
        }
    }

    fn stand(&self, portion: Portion<'_, J>) -> Told<J> {
        let (column, window) = (self.view.column(), self.view.window);
        let Portion { blocks, rows } = portion;
        let mut told = self.nothing();
        let (mut place, mut has_twins) = (0, false);
        for block in blocks.clone() {
            let entries = self.entries(block);
            let own = &mut rows[place..place + entries];
            for (entry, &twin) in column.twins(window, End::First, block).iter().enumerate() {
                own[entry] = own[usize::from(twin)];
                has_twins = true;
            }
            place += entries;
        }
        if has_twins {
            let mut place = 0;
            for block in blocks.clone() {
                let entries = self.entries(block);
                let twins = column.twins(window, End::First, block);
                let mut sum = Weighted::ZERO;
                for (_, row) in (0..).zip(&rows[place..place + entries]).filter(|(entry, _)| stands(&twins, *entry)) {
                    told.states += 1;
                    sum.add(1, row);
                }
                add_up(&mut told.sums, &sum, &self.lanes.moduli);
                place += entries;
            }
        } else {
            (told.states, told.sums) = (rows.len() as u64, self.total(rows));
        }
        told.tally = self.sample(Portion { blocks, rows }).tally;
        told
    }

    fn enter(&self, portion: Portion<'_, J>) -> Told<J> {
        let Portion { blocks, rows } = portion;
        let enter = Enter { tables: self.tables(), blocks, rows, moduli: &self.lanes.moduli };
        Told { sums: pulp::Arch::new().dispatch(enter), ..self.nothing() }
    }

    fn leave(&self, portion: Portion<'_, J>, read_off: bool) -> Told<J> {
        let Portion { blocks, rows } = portion;
        let mut told = Told { sums: self.total(rows), ..self.nothing() };
        let (column, mut place) = (self.view.column(), 0);
        for block in blocks.filter(|_| read_off) {
            let mut sum = Weighted::ZERO;
            let weight = column.weight(self.view.window, block) as u32;
            for &entry in column.accepting(block) {
                sum.add(weight, &rows[place + usize::from(entry)]);
            }
            add_up(&mut told.accepted, &sum, &self.lanes.moduli);
            place += self.entries(block);
        }
        told
    }

    /// Which states of the boundary are sampled: what one task has written another reads, with the same key.
    fn sample_key(&self) -> u64 {
        let boundary = self.order.first_pass + if self.end == End::First { 0 } else { self.order.window.len };
        u64::from(boundary).mix(self.order.salt) >> 32
    }

    fn sample(&self, portion: Portion<'_, J>) -> Told<J> {
        let Portion { blocks, rows } = portion;
        let (column, window, end) = (self.view.column(), self.view.window, self.end);
        let (key, mut told) = (self.sample_key(), self.nothing());
        let (mut entries, mut keys, mut sampled) = (Vec::new(), Vec::new(), Vec::new());
        let mut place = 0;
        for block in blocks {
            column.sample(window, end, block, key, &mut entries);
            let twins = column.twins(window, end, block);
            entries.retain(|&entry| stands(&twins, entry));
            column.keys_of(window, end, block, &entries, &mut keys);
            sampled.clear();
            sampled.extend(entries.iter().flat_map(|&entry| rows[place + usize::from(entry)]));
            told.tally.add_sample(&keys, &sampled, self.lanes.first, self.lanes.moduli.values());
            place += self.entries(block);
        }
        told
    }
}
