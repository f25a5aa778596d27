//! What a task looks at of a family's states, in portions that threads take: sums, the sample, accepting states.
//!
//! Cost: 1 to 2 ns a state for each look.

use std::ops::Range;

use keima_model::{BlockTables, End, Family, Key as _};

use super::gather::stands;
use super::lanes::{Row, Weighted};
use super::ranges::{WORTH, place, ranges};
use super::slice::Lanes;
use super::sums::{Enter, Total, add_up, merge};
use super::view::View;
use super::workers::crew;
use crate::tally::EndTally;
use crate::{TaskError, TaskOrder};

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
    let step = step(tables, end);
    let (mut rest, mut start) = (rows, 0);
    let portion = |blocks: Range<u32>| {
        let until = place(tables, family, step, blocks.end);
        let (rows, later) = std::mem::take(&mut rest).split_at_mut(until - start);
        (rest, start) = (later, until);
        Portion { blocks, rows }
    };
    ranges(tables, family, step, &family.blocks, threads, WORTH).into_iter().map(portion).collect()
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
    /// Looks at all of a family, by so many threads.
    pub(super) fn family(
        &self,
        threads: usize,
        family: &Family,
        rows: &mut [Row<J>],
        what: What,
    ) -> Result<Told<J>, TaskError> {
        let portions = portions(self.tables(), self.end, family, rows, threads);
        let told = crew(threads, portions, |portion| Ok::<_, TaskError>(self.at(what, portion)))?;
        Ok(told.iter().fold(self.nothing(), |all, told| self.and(all, told)))
    }

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

    fn at(&self, what: What, portion: Portion<'_, J>) -> Told<J> {
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
