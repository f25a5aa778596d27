//! Keyed fingerprints of vectors in memory: whether what a window has read stands where its tables say.
//!
//! ```text
//!   window before   writes ... (k, v) ...      sum of h(k) v over one state in 64, modulo the last lane's prime
//!   window after    reads  ... (k, v) ...      the same, by its own tables: two rows that changed places show
//! ```
//!
//! Both windows are asked for the canonical keys of their own entries, so tables that lead a row to another state's
//! place are found if the state is in the sample, which changes from boundary to boundary: a wrong table moves many rows,
//! in every column. One boundary in four has a fingerprint; where columns are folded one in two, but none where one starts.
//! Which ones follows from the number of windows that the vector has gone through; which sample, and h(k), from the count's
//! salt, too: one that is repeated with another looks at other states, with other factors.
//! Where a column is folded its start has the sums of [`crate::block::in_memory::family::sums::Masses`] alone: there what is read is a state's
//! value and its image's together.
//!
//! Cost, where there is one: a look at a byte for each state and a key for one in 64, when it is written and when it is
//! read.

use keima_model::{End, Key, mix};

use crate::block::in_memory::family::stage::Place;
use crate::block::rows::lanes::Row;

/// Boundaries of which one is fingerprinted: at all of them it would take 11x11, whose time is least, with one lane a
/// sixth more, and with eight lanes a fiftieth. Where columns are folded some cannot be, and of the others it is one in
/// two.
const PRINTED_ONE_IN: u64 = 4;

/// A block's part of the sample.
#[derive(Debug, Default)]
pub(crate) struct Sampled {
    entries: Vec<u16>,
    keys: Vec<u128>,
}

impl<const K: usize> Place<'_, K> {
    /// Which states of the boundary at `end` are sampled; `None` where none are.
    fn sample_key(&self, end: End) -> Option<u64> {
        let starts_column = match end {
            End::First => self.window == 0,
            End::Last => self.window + 1 == self.column.windows().len(),
        };
        let turn = self.turn + u64::from(end == self.direction.leaves());
        // The first that a window has written, and others, never far apart.
        let one_in = if self.folded { PRINTED_ONE_IN / 2 } else { PRINTED_ONE_IN };
        let wanted = turn == 1 || turn > 1 && turn.wrapping_mul(mix::GOLDEN) < u64::MAX / one_in;
        (wanted && !(starts_column && self.folded)).then(|| turn.mix(self.salt) >> 32)
    }

    /// Factor of a state's value.
    fn factor(&self, key: u128) -> u128 {
        u128::from(key.mix(self.salt) >> 32)
    }

    /// Finds a block's part of the sample: its entries, ascending, and their keys.
    fn sample(&self, end: End, block: u32, Sampled { entries, keys }: &mut Sampled) {
        entries.clear();
        if let Some(key) = self.sample_key(end) {
            self.column.sample(self.window, end, block, key, entries);
        }
        if !entries.is_empty() {
            self.column.keys_of(self.window, end, block, entries, keys);
        }
    }

    /// The part of a block whose rows at `end` these are.
    #[inline(never)]
    pub(crate) fn print(&self, end: End, block: u32, rows: &[Row<K>], sampled: &mut Sampled) -> u128 {
        self.sample(end, block, sampled);
        let Sampled { entries, keys } = sampled;
        let values = entries.iter().map(|&entry| u128::from(rows[usize::from(entry)][K - 1]));
        // At most 2^16 products of 32 and 60 bits.
        values.zip(&*keys).map(|(value, &key)| self.factor(key) * value).sum::<u128>() % u128::from(self.last_modulus())
    }

    /// The part of values that were added to entries of a block at the end that is written, each `(entry, value)`.
    pub(crate) fn print_added<'r>(
        &self,
        block: u32,
        added: impl Iterator<Item = (u16, &'r Row<K>)>,
        sampled: &mut Sampled,
    ) -> u128 {
        self.sample(self.direction.leaves(), block, sampled);
        let Sampled { entries, keys } = sampled;
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

    /// What a window has written the next one reads with the same salt; with another, fingerprints are others, and sums are not.
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
            let mut sweep = sweep.at_turn(salt, 0);
            let written = sweep.run(Direction::Forward, 0, &before, &mut middle, None).unwrap();
            let read = sweep.run(Direction::Forward, 1, &middle, &mut after, None).unwrap();
            assert!(written.written_print > 0, "the first boundary has a fingerprint");
            assert_eq!((read.read, read.read_print), (written.written, written.written_print), "salt {salt}");
            written
        });
        assert_eq!(first, again);
        assert_eq!(first.written, other.written);
        assert_ne!(first.written_print, other.written_print);
    }
}
