//! The inner product of a transposed vector with a forward vector that was kept at the same boundary, group by group.
//!
//! ```text
//!   transposed runs --gather, passes of the first window--> b of a group's states, in the buffer
//!   kept runs       --gather--> f of a state, row by row -----> sum += weight f b      modulo each prime
//! ```
//!
//! f(s) counts the ways to a state, b(s) the ways from it to the end, so `<f, b>` is the count of the whole board
//! (see `rows::inner_product`). The kept rows are widened to all primes; where they had fewer, their spare lane is
//! checked. The sums of the kept rows and the fingerprint of a sample are reported, to compare with what was written.
//! Each state counts as often as its key has entries, times their weight.
//!
//! Cost: reading and placing a row, and a multiplication for each lane. Memory: a bit for each state, and the sampled
//! rows with their places, one in 64 (see [`keima_blocks::out_of_core::kept_product_words`]).

use keima_model::{Direction, End, MOST_WEIGHT};
use keima_residue::residue_of;

use crate::TaskError;
use crate::block::out_of_core::gather::Gather;
use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::groups::GroupId;
use crate::block::out_of_core::passes::buffer::GroupMemory;
use crate::block::out_of_core::task::end_scan::EndScan;
use crate::block::out_of_core::task::read_group::longest_last;
use crate::block::out_of_core::task::stage::{BlockTask, refuse};
use crate::block::out_of_core::task::work::{GroupWork, LaneSlice};
use crate::block::rows::inner_product::WideSum;
use crate::block::rows::lanes::Row;
use crate::block::rows::tables::entry_count;
use crate::block::rows::threads::each;
use crate::block::rows::widen::{StateRows, WidenedLanes};
use crate::tally::EndTally;

/// The weights of a group's states, and the sampled ones among them.
struct StateFacts {
    /// (place, weight) in ascending order: states from this place on have this weight.
    weights: Vec<(usize, u64)>,
    /// One bit for each state: whether it is sampled.
    sampled: Vec<u64>,
}

impl StateFacts {
    fn new<const J: usize>(scan: &EndScan<'_, J>) -> Result<Self, TaskError> {
        let (group_tables, tables) = (scan.group_tables, scan.group_tables.tables());
        let states: u64 = group_tables.families().iter().map(|family| family.size[0]).sum();
        let mut facts = Self { weights: Vec::new(), sampled: vec![0; (states as usize).div_ceil(64)] };
        let (mut entries, mut largest) = (Vec::new(), 0);
        each_block(group_tables, |block, start| {
            scan.sample_of(block, &mut entries);
            for place in entries.iter().map(|&entry| start + usize::from(entry)) {
                facts.sampled[place / 64] |= 1 << (place % 64);
            }
            let weight = group_tables.column().weight(group_tables.window, block);
            let twins = group_tables.column().twins(group_tables.window, End::First, block);
            // An entry represents all entries of its key, itself included.
            let mut stands_for = vec![0_u64; twins.len()];
            for &twin in &twins {
                stands_for[usize::from(twin)] += 1;
            }
            if twins.is_empty() && entry_count(tables, block, 0) > 0 {
                facts.weigh_from(start, weight);
            }
            for (entry, times) in stands_for.into_iter().enumerate().filter(|&(_, times)| times > 0) {
                facts.weigh_from(start + entry, weight * times);
            }
        });
        facts.weights.iter().for_each(|&(_, weight)| largest = weight.max(largest));
        if largest > MOST_WEIGHT {
            return refuse(format!(
                "a key of group {} counts {largest} times, more than {MOST_WEIGHT}; this is a fault of the problem",
                group_tables.number
            ));
        }
        Ok(facts)
    }

    fn weigh_from(&mut self, place: usize, weight: u64) {
        if self.weights.last().is_none_or(|&(_, last)| last != weight) {
            self.weights.push((place, weight));
        }
    }

    /// The weight of the state at a place. Arbitrary for an entry that represents no key.
    #[inline(always)]
    fn weight(&self, place: usize) -> u64 {
        let after = self.weights.partition_point(|&(from, _)| from <= place);
        after.checked_sub(1).map_or(0, |number| self.weights[number].1)
    }
}

/// Visits a group's blocks, each with its start among the group's states at the first step.
fn each_block(group_tables: &GroupTables<'_>, mut visit: impl FnMut(u32, usize)) {
    let mut start = 0;
    for family in group_tables.families() {
        for block in family.blocks.clone() {
            visit(block, start + group_tables.tables().place(0, block) as usize);
        }
        start += family.size[0] as usize;
    }
}

/// Receives rows of the kept vector, and multiplies each with the state at its place.
struct Products<'s, const J: usize> {
    states: &'s StateFacts,
    rows: &'s [Row<J>],
    sums: [WideSum; J],
    /// The sampled rows, with their places.
    sampled: Vec<(usize, Row<J>)>,
}

impl<const J: usize> StateRows<J> for Products<'_, J> {
    #[inline(always)]
    fn put(&mut self, place: usize, row: Row<J>) -> bool {
        let Some(own) = self.rows.get(place) else { return false };
        let weight = self.states.weight(place);
        for ((sum, f), &b) in self.sums.iter_mut().zip(row).zip(own) {
            sum.add(weight * f, b);
        }
        if self.states.sampled.get(place / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1) {
            self.sampled.push((place, row));
        }
        true
    }
    /// Kept vectors have runs with all lanes.
    fn put_some(&mut self, _: usize, _: usize, _: &[u64]) -> bool {
        false
    }
}

/// What one thread has read.
struct KeptReader<'a, const J: usize> {
    gather: Gather<'a>,
    products: Products<'a, J>,
    read: [u128; J],
    rows: u64,
    bytes: u64,
}

/// What all threads have read.
struct KeptSums<const J: usize> {
    /// The inner product modulo each lane's prime.
    products: [u64; J],
    read: [u128; J],
    rows: u64,
    bytes: u64,
    /// Fingerprint of the sampled rows.
    tally: EndTally,
}

impl<const J: usize> KeptSums<J> {
    fn of(readers: Vec<KeptReader<'_, J>>, scan: &EndScan<'_, J>, lanes: &LaneSlice<J>) -> Self {
        let tally = EndTally::new(scan.order.salt, scan.order.moduli.len());
        let mut all = Self { products: [0; J], read: [0; J], rows: 0, bytes: 0, tally };
        for reader in readers {
            for (lane, &modulus) in lanes.moduli.values().iter().enumerate() {
                let product = residue_of(&reader.products.sums[lane].value(), modulus);
                all.products[lane] = keima_residue::add_mod(all.products[lane], product, modulus);
                all.read[lane] = (all.read[lane] + reader.read[lane]) % u128::from(modulus);
            }
            fingerprint(scan, reader.products.sampled, lanes, &mut all.tally);
            all.rows += reader.rows;
            all.bytes += reader.bytes;
        }
        all
    }
}

impl BlockTask<'_> {
    /// Takes `J` lanes of a group through the window, and multiplies the result with the rows of the kept vector.
    pub(crate) fn multiply_with_kept<const J: usize>(
        &mut self,
        work: &GroupWork<'_>,
        memory: &mut GroupMemory<'_>,
        first: usize,
    ) -> Result<(), TaskError> {
        let (lanes, order, counted) = (self.lanes::<J>(first)?, self.task.order, self.totals.output.states);
        let rows = self.lane_slice(work, &lanes, memory)?;
        let started = std::time::Instant::now();
        let kept = order.block.as_ref().and_then(|block| block.kept.as_ref());
        let (Some(kept_vector), Some(kept)) = (&self.kept, kept) else { return Ok(()) };
        let id = GroupId { direction: Direction::Forward, window: self.window, number: work.group_tables.number };
        let group_tables = self.prepared.group_tables(id, 1)?;
        let scan = EndScan { group_tables: &group_tables, order, end: End::First, lanes: &lanes };
        let (states, sources) =
            (StateFacts::new(&scan)?, self.prepared.beside(Direction::Forward, End::First, self.window)?);
        let reader = || KeptReader {
            gather: Gather::new(&group_tables, sources),
            products: Products { states: &states, rows, sums: [WideSum::default(); J], sampled: Vec::new() },
            read: [0; J],
            rows: 0,
            bytes: 0,
        };
        let mut readers: Vec<KeptReader<'_, J>> = (0..work.threads.max(1)).map(|_| reader()).collect();
        let inputs = longest_last(kept.inputs.iter().collect());
        let wanted = kept_vector.widen.reads(first, J);
        each(&mut readers, None, inputs, |input, reader| {
            if self.is_to_stop() {
                return Err(TaskError::Stopped);
            }
            let KeptReader { gather, products, read: total, .. } = reader;
            let section = gather.open(input, &kept_vector.header, &wanted, self.task)?;
            let made = WidenedLanes { widener: &kept_vector.widen, first };
            let read = gather.read(section, order, &made, products, total)?;
            reader.rows += read.rows;
            reader.bytes += read.bytes;
            Ok(())
        })?;
        let KeptSums { products, read, rows: read_rows, bytes, tally } = KeptSums::of(readers, &scan, &lanes);
        // States are counted once, with the first lanes.
        let expected = if first == 0 { self.totals.output.states - counted } else { read_rows };
        if read_rows != expected {
            return self.other_rows("the kept runs", work, expected, read_rows);
        }
        let nanos = work.nanos(started);
        let Some(kept_vector) = &mut self.kept else { return Ok(()) };
        if first == 0 {
            kept_vector.tally.states += read_rows;
        }
        kept_vector.tally.add_sums(&read, first, lanes.moduli.values());
        kept_vector.tally.merge(&tally, &order.moduli);
        self.totals.bytes_read += bytes;
        self.totals.times.read_nanos += nanos;
        for (_, functional) in &mut self.totals.functionals {
            for ((total, sum), &modulus) in functional[first..].iter_mut().zip(products).zip(lanes.moduli.values()) {
                *total = keima_residue::add_mod(*total, sum, modulus);
            }
        }
        Ok(())
    }
}

/// Adds the fingerprint of the sampled states that one reader has found.
fn fingerprint<const J: usize>(
    scan: &EndScan<'_, J>,
    mut sampled: Vec<(usize, Row<J>)>,
    lanes: &LaneSlice<J>,
    tally: &mut EndTally,
) {
    sampled.sort_unstable_by_key(|&(place, _)| place);
    let (group_tables, mut entries, mut keys, mut rows) = (scan.group_tables, Vec::new(), Vec::new(), Vec::new());
    let mut left = sampled.as_slice();
    each_block(group_tables, |block, start| {
        scan.sample_of(block, &mut entries);
        entries.retain(|&entry| {
            let place = start + usize::from(entry);
            // Entries and places both ascend, and only sampled rows were kept.
            let Some(((_, row), later)) = left.split_first().filter(|((at, _), _)| *at == place) else { return false };
            rows.extend(row);
            left = later;
            true
        });
        group_tables.column().keys_of(group_tables.window, End::First, block, &entries, &mut keys);
        tally.add_sample(&keys, &rows, lanes.first, lanes.moduli.values());
        rows.clear();
    });
}
