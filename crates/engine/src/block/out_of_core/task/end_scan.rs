//! Scanning a group's states at one end of the window: sums, the sample of the fingerprint, accepting states.
//!
//! Threads scan portions of a family. Cost: one read of each row, and a key for each sampled state.

use std::ops::Range;

use keima_model::{BlockTables, End, Family, Key as _};
use keima_orders::TaskOrder;

use crate::TaskError;
use crate::block::out_of_core::gather::stands;
use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::task::header::boundary;
use crate::block::out_of_core::task::work::LaneSlice;
use crate::block::rows::lanes::{Row, Weighted};
use crate::block::rows::ranges::{LEAST_RANGE_ROWS, place_or_end, ranges};
use crate::block::rows::sums::{Enter, Entering, Total, add_up, merge};
use crate::block::rows::tables::step_at;
use crate::block::rows::threads::crew;
use crate::tally::EndTally;

/// Rows that are scanned at a time: those of a few blocks, or of one.
const ROWS_AT_A_TIME: usize = 1 << 12;

/// Blocks of a family with their rows.
struct Portion<'r, const J: usize> {
    blocks: Range<u32>,
    rows: &'r mut [Row<J>],
}

/// Cuts a family into portions with similar numbers of rows: one for one thread, several for each of several threads.
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
        let until = place_or_end(tables, family, step, blocks.end);
        let (rows, later) = std::mem::take(&mut rest).split_at_mut(until - start);
        (rest, start) = (later, until);
        Portion { blocks, rows }
    };
    ranges(tables, family, step, &family.blocks, threads, LEAST_RANGE_ROWS).into_iter().map(portion).collect()
}

/// What a scan found in one portion or several.
pub(crate) struct ScanSums<const J: usize> {
    /// Number of states, each key counted once, and the sums of their lanes.
    pub(crate) states: u64,
    pub(crate) standing: [u128; J],
    /// The two sides of mass balance: on entering, the sum of value x ways; on leaving, the sum of values.
    pub(crate) conserved: [u128; J],
    /// The weighted sum of the accepting states.
    pub(crate) accepted: [u128; J],
    /// The sample's part of the fingerprint.
    pub(crate) tally: EndTally,
}

/// Which states are scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned<'w> {
    /// The states that enter the passes. Runs hold one entry per key; its twin is copied here first. A transposed
    /// vector needs the ways that lead to the family's states.
    Enters { arrivals: Option<&'w [u32]> },
    /// The states that have left the passes. `read_off` asks for the accepting states.
    Leaves { read_off: bool },
}

/// A scan of a group's states at one end of the window.
pub(crate) struct EndScan<'a, const J: usize> {
    pub(crate) group_tables: &'a GroupTables<'a>,
    pub(crate) order: &'a TaskOrder,
    pub(crate) end: End,
    pub(crate) lanes: &'a LaneSlice<J>,
}

impl<const J: usize> EndScan<'_, J> {
    /// Scans a family with `threads` threads.
    pub(crate) fn family(
        &self,
        threads: usize,
        family: &Family,
        rows: &mut [Row<J>],
        what: Scanned<'_>,
    ) -> Result<ScanSums<J>, TaskError> {
        let portions = portions(self.tables(), self.end, family, rows, threads);
        let sums = crew(threads, portions, |portion| Ok::<_, TaskError>(self.at(what, portion)))?;
        Ok(sums.iter().fold(self.nothing(), |all, sums| self.and(all, sums)))
    }

    /// The sums of no state.
    pub(crate) fn nothing(&self) -> ScanSums<J> {
        let tally = EndTally::new(self.order.salt, self.order.moduli.len());
        ScanSums { states: 0, standing: [0; J], conserved: [0; J], accepted: [0; J], tally }
    }

    /// The sums of two scans.
    pub(crate) fn and(&self, mut all: ScanSums<J>, more: &ScanSums<J>) -> ScanSums<J> {
        all.states += more.states;
        merge(&mut all.standing, more.standing, &self.lanes.moduli);
        merge(&mut all.conserved, more.conserved, &self.lanes.moduli);
        merge(&mut all.accepted, more.accepted, &self.lanes.moduli);
        all.tally.merge(&more.tally, &self.order.moduli);
        all
    }

    fn tables(&self) -> &BlockTables {
        self.group_tables.tables()
    }

    fn entries(&self, block: u32) -> usize {
        let tables = self.tables();
        let signature = &tables.signatures[tables.signature_of[block as usize] as usize];
        signature.entries[step_at(tables, self.end)] as usize
    }

    /// Scans a portion piece by piece, so that each piece stays in the cache.
    fn at(&self, what: Scanned<'_>, portion: Portion<'_, J>) -> ScanSums<J> {
        let Portion { mut blocks, rows } = portion;
        let (mut sums, mut rest) = (self.nothing(), rows);
        while !blocks.is_empty() {
            let (mut end, mut count) = (blocks.start, 0);
            while end < blocks.end && (end == blocks.start || count + self.entries(end) <= ROWS_AT_A_TIME) {
                count += self.entries(end);
                end += 1;
            }
            let (piece, later) = std::mem::take(&mut rest).split_at_mut(count);
            rest = later;
            self.look(what, blocks.start..end, piece, &mut sums);
            blocks.start = end;
        }
        sums
    }

    fn look(&self, what: Scanned<'_>, blocks: Range<u32>, rows: &mut [Row<J>], sums: &mut ScanSums<J>) {
        let (moduli, again) = (&self.lanes.moduli, self.twins(what, &blocks, rows));
        let values = match what {
            Scanned::Enters { arrivals } => {
                let tables = self.tables();
                let first = tables.place(step_at(tables, self.end), blocks.start) as usize;
                let ways = arrivals.map(|ways| &ways[first..first + rows.len()]);
                let enter = Enter { tables, blocks: blocks.clone(), rows, ways, moduli };
                let Entering { values, ways } = pulp::Arch::new().dispatch(enter);
                merge(&mut sums.conserved, ways, moduli);
                values
            }
            Scanned::Leaves { read_off } => {
                let values = pulp::Arch::new().dispatch(Total { rows, moduli });
                merge(&mut sums.conserved, values, moduli);
                if read_off {
                    self.accept(&blocks, rows, &mut sums.accepted);
                }
                values
            }
        };
        merge(&mut sums.standing, values, moduli);
        sums.states += rows.len() as u64;
        if let Some(again) = again {
            // Subtracts the twins, which were counted twice.
            let less = std::array::from_fn(|lane| {
                let modulus = u128::from(moduli.values()[lane]);
                modulus - again.values()[lane] % modulus
            });
            merge(&mut sums.standing, less, moduli);
            sums.states -= again.entries;
        }
        self.sample(blocks, rows, &mut sums.tally);
    }

    /// Sums the entries of some blocks that do not represent their keys. Fills them in on entering. `None` if there
    /// are none.
    fn twins(&self, what: Scanned<'_>, blocks: &Range<u32>, rows: &mut [Row<J>]) -> Option<Twins<J>> {
        let (mut again, mut place) = (None, 0);
        for block in blocks.clone() {
            let entries = self.entries(block);
            let own = &mut rows[place..place + entries];
            let twins = self.group_tables.column().twins(self.group_tables.window, self.end, block);
            for (entry, &twin) in twins.iter().enumerate().filter(|&(entry, &twin)| entry != usize::from(twin)) {
                if matches!(what, Scanned::Enters { .. }) {
                    own[entry] = own[usize::from(twin)];
                }
                again.get_or_insert_with(Twins::nothing).add(&own[entry]);
            }
            place += entries;
        }
        again
    }

    fn accept(&self, blocks: &Range<u32>, rows: &[Row<J>], accepted: &mut [u128; J]) {
        let (column, mut place) = (self.group_tables.column(), 0);
        for block in blocks.clone() {
            let mut sum = Weighted::ZERO;
            let weight = column.weight(self.group_tables.window, block) as u32;
            for &entry in column.accepting(block) {
                sum.add(weight, &rows[place + usize::from(entry)]);
            }
            add_up(accepted, &sum, &self.lanes.moduli);
            place += self.entries(block);
        }
    }

    /// The key of the boundary's sample: the same for the task that writes and the task that reads.
    fn sample_key(&self) -> u64 {
        u64::from(boundary(self.order, self.end)).mix(self.order.salt) >> 32
    }

    /// The sampled entries of a block.
    pub(crate) fn sample_of(&self, block: u32, entries: &mut Vec<u16>) {
        let (column, window) = (self.group_tables.column(), self.group_tables.window);
        column.sample(window, self.end, block, self.sample_key(), entries);
        let twins = column.twins(window, self.end, block);
        entries.retain(|&entry| stands(&twins, entry));
    }

    fn sample(&self, blocks: Range<u32>, rows: &[Row<J>], tally: &mut EndTally) {
        let (column, window, end) = (self.group_tables.column(), self.group_tables.window, self.end);
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

/// Sum of the entries whose keys other entries represent.
struct Twins<const J: usize> {
    entries: u64,
    /// At most 2^32 - 1 entries.
    sum: Weighted<J>,
}

impl<const J: usize> Twins<J> {
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
