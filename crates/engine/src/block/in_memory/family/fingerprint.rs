//! Keyed fingerprints of vectors in memory: does a window read each row at the place where the window before wrote
//! it?
//!
//! ```text
//!   window before   writes ... (k, v) ...      sum of h(k) v over one state in 64, modulo the last lane's prime
//!   window after    reads  ... (k, v) ...      the same, by its own tables: two rows that changed places show
//! ```
//!
//! Each window computes the canonical keys of its own entries. So a table that leads a row to another state's place
//! is found if the state is in the sample. The sample changes from boundary to boundary, and a wrong table moves many
//! rows in every column.
//!
//! One boundary in four has a fingerprint; where columns are folded, one in two. The number of windows that the
//! vector has passed selects the boundaries. The count's salt also selects the sample and h(k), so a repeated count
//! with another salt checks other states with other factors.
//!
//! A folded column has no fingerprint at its start, where the value read is that of a state and its image together.
//! There the sums ([`Masses`](crate::block::Masses)) are the only check.
//!
//! Cost, where there is one: one byte for each state and one key in 64, at writing and at reading.

use keima_model::{End, Key, mix};

use crate::block::in_memory::family::stage::WindowStage;
use crate::block::rows::lanes::Row;

/// One in so many boundaries has a fingerprint; one in half as many where columns are folded, since there some cannot
/// have one. A bound on the cost, which is largest for rows of one lane.
const FINGERPRINT_ONE_IN: u64 = 4;

/// A block's part of the sample.
#[derive(Debug, Default)]
pub(crate) struct BlockSample {
    entries: Vec<u16>,
    keys: Vec<u128>,
}

impl<const K: usize> WindowStage<'_, K> {
    /// The key of the sample at `end`; `None` if that boundary has no fingerprint.
    fn sample_key(&self, end: End) -> Option<u64> {
        let starts_column = match end {
            End::First => self.window == 0,
            End::Last => self.window + 1 == self.column.windows().len(),
        };
        let windows_done = self.windows_done + u64::from(end == self.direction.leaves());
        // The first boundary that a window writes, and others at even distances.
        let one_in = if self.folded { FINGERPRINT_ONE_IN / 2 } else { FINGERPRINT_ONE_IN };
        let wanted =
            windows_done == 1 || windows_done > 1 && windows_done.wrapping_mul(mix::GOLDEN) < u64::MAX / one_in;
        (wanted && !(starts_column && self.folded)).then(|| windows_done.mix(self.salt) >> 32)
    }

    /// Factor of a state's value.
    fn factor(&self, key: u128) -> u128 {
        u128::from(key.mix(self.salt) >> 32)
    }

    /// Finds a block's part of the sample: its entries, ascending, and their keys.
    fn sample(&self, end: End, block: u32, BlockSample { entries, keys }: &mut BlockSample) {
        entries.clear();
        if let Some(key) = self.sample_key(end) {
            self.column.sample(self.window, end, block, key, entries);
        }
        if !entries.is_empty() {
            self.column.keys_of(self.window, end, block, entries, keys);
        }
    }

    /// The fingerprint of a block's rows at `end`.
    #[inline(never)]
    pub(crate) fn fingerprint(&self, end: End, block: u32, rows: &[Row<K>], sample: &mut BlockSample) -> u128 {
        self.sample(end, block, sample);
        let BlockSample { entries, keys } = sample;
        let values = entries.iter().map(|&entry| u128::from(rows[usize::from(entry)][K - 1]));
        // At most 2^16 products of 32 and 60 bits.
        values.zip(&*keys).map(|(value, &key)| self.factor(key) * value).sum::<u128>() % u128::from(self.last_modulus())
    }

    /// The fingerprint of values that were added to entries of a block on leaving, each `(entry, value)`.
    pub(crate) fn fingerprint_added<'r>(
        &self,
        block: u32,
        added: impl Iterator<Item = (u16, &'r Row<K>)>,
        sample: &mut BlockSample,
    ) -> u128 {
        self.sample(self.direction.leaves(), block, sample);
        let BlockSample { entries, keys } = sample;
        let of = |(entry, value): (u16, &Row<K>)| {
            let place = entries.binary_search(&entry).ok()?;
            Some(self.factor(keys[place]) * u128::from(value[K - 1]))
        };
        added.filter_map(of).sum::<u128>() % u128::from(self.last_modulus())
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{BlockProblem, Board, Direction, Directions, Window};
    use keima_problems::go::Go;

    use crate::block::in_memory::sweep::Sweep;
    use crate::block::rows::lanes::Moduli;
    use crate::block::rows::vector::Rows;
    use keima_blocks::limits::MODULUS_LIMIT;

    /// With one salt the next window reads the fingerprint that a window wrote. Another salt changes the fingerprint,
    /// not the sums.
    #[test]
    fn fingerprints_have_a_key() {
        let windows = Window::of_lengths(&[4, 3]);
        let go = Go::<u64>::new(String::new(), Board { height: 7, length: 7 });
        let column = go.column(&windows, Directions::Both).unwrap();
        let column = column.as_ref();
        let (states, _) = crate::block::largest(column);
        let rows = || Rows::<1>::zeroed(states as usize).unwrap();
        let [first, again, other] = [1, 1, 2].map(|salt| {
            let (mut before, mut middle, mut after) = (rows(), rows(), rows());
            before.iter_mut().zip(1..).for_each(|(row, value)| *row = [value]);
            let sweep = Sweep::new(column, Moduli::new([MODULUS_LIMIT - 93]).unwrap(), 2).unwrap();
            let mut sweep = sweep.after_windows(salt, 0);
            let written = sweep.run(Direction::Forward, 0, &before, &mut middle, None).unwrap();
            let read = sweep.run(Direction::Forward, 1, &middle, &mut after, None).unwrap();
            assert!(written.written_fingerprint > 0, "the first boundary has a fingerprint");
            assert_eq!(
                (read.read, read.read_fingerprint),
                (written.written, written.written_fingerprint),
                "salt {salt}"
            );
            written
        });
        assert_eq!(first, again);
        assert_eq!(first.written, other.written);
        assert_ne!(first.written_fingerprint, other.written_fingerprint);
    }
}
