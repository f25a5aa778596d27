//! Where a transposed vector comes to the boundary at which a forward one was kept: their inner product, group by group.
//!
//! ```text
//!   transposed runs --gather, passes of the first window--> b of a group's states, in the buffer
//!   kept runs       --gather--> f of a state, row by row -----> sum += weight f b      modulo each prime
//! ```
//!
//! f(s) counts the ways to a state, b(s) those from it on, so `<f, b>` is the count of the whole board (see
//! [`crate::block::rows::inner_product`]). The kept rows are widened to all primes, and checked by their spare lane where they had fewer; their
//! sums and the fingerprint of a sample are told, to be held against what was written. A state whose key stands for its
//! colours reversed too counts twice.
//!
//! Cost: reading and placing a row, and a multiplication for each lane. Memory: a bit for each state, and the rows of a
//! sample, one in 64, with their places; see [`keima_blocks::out_of_core::meeting_words`].

use keima_model::{Direction, End};
use keima_residue::residue_of;
use keima_runs::RunManifest;

use crate::TaskError;
use crate::block::out_of_core::gather::Gather;
use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::passes::buffer::Memory;
use crate::block::out_of_core::task::end_scan::Look;
use crate::block::out_of_core::task::stage::{Stage, refuse};
use crate::block::out_of_core::task::work::{Lanes, Work};
use crate::block::rows::inner_product::Wide;
use crate::block::rows::lanes::Row;
use crate::block::rows::threads::each;
use crate::block::rows::widen::Seats;
use crate::tally::EndTally;

/// What is known of a group's states beside their values.
struct States {
    /// Entries that count once, by their places: of blocks with no stone outside, those that are their own reversal.
    once: Vec<usize>,
    /// A bit for each state that is sampled.
    sampled: Vec<u64>,
}

impl States {
    fn new<const J: usize>(look: &Look<'_, J>) -> Self {
        let (view, tables) = (look.view, look.view.tables());
        let states: u64 = view.families().iter().map(|family| family.size[0]).sum();
        let (mut once, mut sampled) = (Vec::new(), vec![0; (states as usize).div_ceil(64)]);
        let mut entries = Vec::new();
        each_block(view, |block, start| {
            look.sample_of(block, &mut entries);
            for place in entries.iter().map(|&entry| start + usize::from(entry)) {
                sampled[place / 64] |= 1 << (place % 64);
            }
            if view.column().weight(view.window, block) == 1 {
                let twins = view.column().twins(view.window, End::First, block);
                let count = tables.signatures[tables.signature_of[block as usize] as usize].entries[0];
                let mut times = vec![0; count as usize];
                for entry in 0..count as usize {
                    times[twins.get(entry).map_or(entry, |&twin| usize::from(twin))] += 1;
                }
                once.extend((0..count as usize).filter(|&entry| times[entry] == 1).map(|entry| start + entry));
            }
        });
        Self { once, sampled }
    }

    fn weight(&self, place: usize) -> u64 {
        if self.once.binary_search(&place).is_ok() { 1 } else { 2 }
    }
}

/// Visits a group's blocks with the places where they begin among its states at the first step.
fn each_block(view: &View<'_>, mut visit: impl FnMut(u32, usize)) {
    let mut start = 0;
    for family in view.families() {
        for block in family.blocks.clone() {
            visit(block, start + view.tables().place(0, block) as usize);
        }
        start += family.size[0] as usize;
    }
}

/// Takes rows of the kept vector, each to its state.
struct Products<'s, const J: usize> {
    states: &'s States,
    rows: &'s [Row<J>],
    sums: [Wide; J],
    /// Those of the sample, with their places.
    sampled: Vec<(usize, Row<J>)>,
}

impl<const J: usize> Seats<J> for Products<'_, J> {
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
}

/// What a thread has read.
struct Reader<'a, const J: usize> {
    gather: Gather<'a>,
    products: Products<'a, J>,
    read: [u128; J],
    rows: u64,
    bytes: u64,
}

impl Stage<'_> {
    /// Takes `J` lanes of a group through the window and multiplies what comes out with the rows of the kept vector.
    pub(crate) fn meet<const J: usize>(
        &mut self,
        work: &Work<'_>,
        memory: &mut Memory<'_>,
        first: usize,
    ) -> Result<(), TaskError> {
        let (lanes, order, counted) = (self.lanes::<J>(first)?, self.task.order, self.output.states);
        let rows = self.slice(work, &lanes, memory)?;
        let started = std::time::Instant::now();
        let kept = order.block.as_ref().and_then(|block| block.kept.as_ref());
        let (Some(join), Some(kept)) = (&self.join, kept) else { return Ok(()) };
        let view = self.prepared.view((Direction::Forward, self.window), work.view.number, None)?;
        let look = Look { view: &view, order, end: End::First, lanes: &lanes };
        let (states, sources) =
            (States::new(&look), self.prepared.beside(Direction::Forward, End::First, self.window)?);
        let reader = || Reader {
            gather: Gather::new(&view, sources),
            products: Products { states: &states, rows, sums: [Wide::default(); J], sampled: Vec::new() },
            read: [0; J],
            rows: 0,
            bytes: 0,
        };
        let mut readers: Vec<Reader<'_, J>> = (0..work.threads.max(1)).map(|_| reader()).collect();
        let mut runs: Vec<&RunManifest> = kept.inputs.iter().map(|input| &input.manifest).collect();
        runs.sort_by_key(|run| run.records);
        let wanted = join.widen.reads(first, J);
        each(&mut readers, None, runs, |run, reader| {
            if self.is_to_stop() {
                return Err(TaskError::Stopped);
            }
            let Reader { gather, products, read: total, .. } = reader;
            let section = gather.open(run, &join.header, wanted.clone(), self.task)?;
            let read = gather.read(section, &join.header, order, (&join.widen, first), products, total)?;
            reader.rows += read.rows;
            reader.bytes += read.bytes;
            Ok(())
        })?;
        let (mut sums, mut tally, mut bytes) = ([0_u64; J], EndTally::new(order.salt, order.moduli.len()), 0);
        let (mut read, mut read_rows) = ([0_u128; J], 0);
        for reader in readers {
            for (lane, &modulus) in lanes.moduli.values().iter().enumerate() {
                let product = residue_of(&reader.products.sums[lane].value(), modulus);
                sums[lane] = keima_residue::add_mod(sums[lane], product, modulus);
                read[lane] = (read[lane] + reader.read[lane]) % u128::from(modulus);
            }
            fingerprint(&look, reader.products.sampled, &lanes, &mut tally);
            read_rows += reader.rows;
            bytes += reader.bytes;
        }
        // States are counted with the first lanes.
        let expected = if first == 0 { self.output.states - counted } else { read_rows };
        if read_rows != expected {
            return refuse(format!(
                "group {} has {expected} states, but the runs that were kept have {read_rows}; they are not those of one \
                 boundary",
                view.number
            ));
        }
        let nanos = work.nanos(started);
        let Some(join) = &mut self.join else { return Ok(()) };
        if first == 0 {
            join.tally.states += read_rows;
        }
        join.tally.add_sums(&read, first, lanes.moduli.values());
        join.tally.merge(&tally, &order.moduli);
        self.bytes_read += bytes;
        self.times.read_nanos += nanos;
        for (_, functional) in &mut self.functionals {
            for ((total, sum), &modulus) in functional[first..].iter_mut().zip(sums).zip(lanes.moduli.values()) {
                *total = keima_residue::add_mod(*total, sum, modulus);
            }
        }
        Ok(())
    }
}

/// Adds the fingerprint of those states of the sample that one reader has met.
fn fingerprint<const J: usize>(
    look: &Look<'_, J>,
    mut sampled: Vec<(usize, Row<J>)>,
    lanes: &Lanes<J>,
    tally: &mut EndTally,
) {
    sampled.sort_unstable_by_key(|&(place, _)| place);
    let (view, mut entries, mut keys, mut rows) = (look.view, Vec::new(), Vec::new(), Vec::new());
    let mut left = sampled.as_slice();
    each_block(view, |block, start| {
        look.sample_of(block, &mut entries);
        entries.retain(|&entry| {
            let place = start + usize::from(entry);
            // Entries and places both ascend, and only what is sampled was kept.
            let Some(((_, row), later)) = left.split_first().filter(|((at, _), _)| *at == place) else { return false };
            rows.extend(row);
            left = later;
            true
        });
        view.column().keys_of(view.window, End::First, block, &entries, &mut keys);
        tally.add_sample(&keys, &rows, lanes.first, lanes.moduli.values());
        rows.clear();
    });
}
