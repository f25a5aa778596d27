//! The combiner: adds up the values of equal keys in memory.
//!
//! ```text
//!   slots  [ 0 | 3 | 0 | 1 | ... ]   open addressing, 0 = free, else 1 + place in the columns below
//!   keys   [ k1 | k2 | k3 | ... ]    in order of first arrival
//!   rows   [ v1 | v2 | v3 | ... ]    `lanes` words each
//! ```
//!
//! Equal successors arrive close to each other. So the dense columns stay in the nearest cache, and only the small
//! slot array is accessed at random. Finding places and adding values are two separate loops, so neither waits for
//! the other's cache misses and mispredictions. Values whose lanes are all zero are kept, since the number of states
//! must not depend on the moduli.
//!
//! Cost of a successor: one multiplication, and about 1.5 probes at a load of at most one half.

use keima_blocks::limits::table_record_bytes;
use keima_model::{Key, mix};

use crate::MemoryRefused;
use crate::memory::reserved;
use crate::stream::rows::{self, RowModuli, Sources};

/// Distinct keys with their values, in order of first arrival.
pub(crate) struct Table<K> {
    slots: Vec<u32>,
    /// Right shift from a hash to a place in `slots`.
    shift: u32,
    lanes: usize,
    keys: Vec<K>,
    rows: Vec<u64>,
    /// Place of each successor of the present batch.
    places: Vec<u32>,
}

/// Fibonacci hashing (Knuth, TAOCP 3, section 6.4): the high bits of a product with an odd constant.
#[inline]
fn spread<K: Key>(key: K) -> u64 {
    let folded = mix::fold(key.widen());
    (folded ^ (folded >> 31)).wrapping_mul(mix::GOLDEN)
}

const MIN_SLOTS: usize = 1 << 10;

impl<K: Key> Table<K> {
    /// Most bytes of a record, with its slots.
    pub(crate) fn record_bytes(lanes: usize) -> usize {
        table_record_bytes(size_of::<K>() as u64, lanes as u64) as usize
    }

    /// An empty table with room reserved, but not touched, for `records`.
    pub(crate) fn with_room(lanes: usize, records: usize) -> Result<Self, MemoryRefused> {
        Ok(Self {
            slots: vec![0; MIN_SLOTS],
            shift: 64 - MIN_SLOTS.trailing_zeros(),
            lanes,
            keys: reserved(records)?,
            rows: reserved(records.saturating_mul(lanes))?,
            places: Vec::new(),
        })
    }

    /// A table without memory. It replaces one that is being read.
    pub(crate) fn none() -> Self {
        Self { slots: Vec::new(), shift: 64, lanes: 0, keys: Vec::new(), rows: Vec::new(), places: Vec::new() }
    }

    /// Removes all records, and prepares for about `records` new ones.
    pub(crate) fn reset(&mut self, records: usize) {
        self.keys.clear();
        self.rows.clear();
        let wanted = (records * 2).next_power_of_two().max(MIN_SLOTS);
        self.slots.clear();
        self.slots.resize(wanted, 0);
        self.shift = 64 - wanted.trailing_zeros();
    }

    /// Number of distinct keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The columns: keys, and `lanes` words per key.
    pub(crate) fn columns(&self) -> (&[K], &[u64]) {
        (&self.keys, &self.rows)
    }

    /// Appends records with new keys, without entering them into the slots. For input that is already merged. Do not
    /// mix it with [`Table::combine`].
    pub(crate) fn append(&mut self, keys: &[K], rows: &[u64]) {
        self.keys.extend_from_slice(keys);
        self.rows.extend_from_slice(rows);
    }

    /// Doubles the slots until `records` fit at a load of at most one half.
    fn make_room(&mut self, records: usize) {
        let wanted = (records * 2).next_power_of_two().max(MIN_SLOTS);
        if wanted <= self.slots.len() {
            return;
        }
        self.slots.clear();
        self.slots.resize(wanted, 0);
        self.shift = 64 - wanted.trailing_zeros();
        let mask = wanted - 1;
        for (i, &key) in self.keys.iter().enumerate() {
            let mut at = (spread(key) >> self.shift) as usize;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = i as u32 + 1;
        }
    }

    /// Finds or makes the place of each key.
    fn find(&mut self, keys: &[K]) {
        self.places.clear();
        let mask = self.slots.len() - 1;
        for &key in keys {
            let mut at = (spread(key) >> self.shift) as usize;
            let place = loop {
                let slot = self.slots[at];
                if slot == 0 {
                    self.keys.push(key);
                    // The caller's limit keeps the number of records far below u32::MAX.
                    let place = self.keys.len() as u32;
                    self.slots[at] = place;
                    break place - 1;
                }
                if self.keys[slot as usize - 1] == key {
                    break slot - 1;
                }
                at = (at + 1) & mask;
            };
            self.places.push(place);
        }
        self.rows.resize(self.keys.len() * self.lanes, 0);
    }

    /// Adds to each successor the row of its source.
    pub(crate) fn combine(&mut self, successors: &[K], sources: &Sources<'_>, moduli: &RowModuli) {
        self.grow_for(successors.len());
        self.find(successors);
        rows::add_to_places(&mut self.rows, &self.places, sources, moduli);
    }

    /// Makes room for a batch. Most of a batch usually has keys that are known. So slots grow only if the batch, with
    /// all keys new, would exceed a load of three quarters.
    fn grow_for(&mut self, batch: usize) {
        let worst = self.keys.len() + batch;
        if worst * 4 > self.slots.len() * 3 {
            self.make_room(worst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keima_residue::add_mod;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The combiner as a plain map.
    fn plain(batches: &[Vec<(u64, u8, u64)>], lanes: usize, moduli: &[u64]) -> BTreeMap<u64, Vec<u64>> {
        let mut map: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for &(key, shift, value) in batches.iter().flatten() {
            let row = map.entry(key).or_insert_with(|| vec![0; lanes]);
            for lane in 0..lanes {
                let up = usize::from(shift) * moduli.len();
                if lane >= up {
                    let p = moduli[lane % moduli.len()];
                    row[lane] = add_mod(row[lane], value % p, p);
                }
            }
        }
        map
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_map(
            batches in prop::collection::vec(prop::collection::vec((0_u64..5000, 0_u8..4, any::<u64>()), 0..600), 0..6),
            count in 1_usize..10, coefficients in 1_usize..4, small: bool, shifted: bool, expected in 0_usize..3000,
        ) {
            let top = if small { 1 << 60 } else { 1 << 64 };
            let moduli: Vec<u64> = keima_residue::primes_below(top).take(count).collect();
            let lanes = count * coefficients;
            let mut batches = batches;
            if !shifted {
                batches.iter_mut().flatten().for_each(|r| r.1 = 0);
            }
            let mut table = Table::<u64>::with_room(lanes, 10).unwrap();
            table.reset(expected);
            for batch in &batches {
                let keys: Vec<u64> = batch.iter().map(|r| r.0).collect();
                let shifts: Vec<u8> = batch.iter().map(|r| r.1).collect();
                let sources: Vec<u64> =
                    batch.iter().flat_map(|r| (0..lanes).map(|l| r.2 % moduli[l % count])).collect();
                let degrees = vec![1; batch.len()];
                let shifts = if shifted { &shifts[..] } else { &[] };
                let sources = Sources { degrees: &degrees, shifts, rows: &sources };
                table.combine(&keys, &sources, &RowModuli::new(&moduli, lanes));
            }
            let (keys, rows) = table.columns();
            let got: BTreeMap<u64, Vec<u64>> =
                keys.iter().zip(rows.chunks(lanes)).map(|(&k, r)| (k, r.to_vec())).collect();
            prop_assert_eq!(keys.len(), got.len());
            prop_assert_eq!(got, plain(&batches, lanes, &moduli));
        }
    }
}
