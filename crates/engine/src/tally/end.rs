//! States, sums and fingerprint at one end of a stage.
//!
//! Fingerprint: sum of h(canonical key) x value, with a keyed 48-bit hash h. The fingerprints of vectors that differ
//! in one key or one value differ too, except with probability 2^-48. Plain sums do not see a state in a wrong place.
//!
//! The 48 x 64 bit products are sums of four products of 24 and 32 bits. Each of the four is summed in a word for 255
//! states, and then added to the long sums. So vector instructions do eight lanes at once.
//!
//! Cost: four multiplications and six additions for each lane and state.

use keima_model::Key;
use pulp::{Simd, WithSimd};

use super::{LOW_HALF, LaneSums, whole};

/// Bits of the fingerprint's hash, so that 2^16 products fit an accumulator of `LaneSums`.
const HASH_BITS: u32 = 48;
/// Half of it: a product with half a value has 56 bits.
const HALF_HASH_BITS: u32 = HASH_BITS / 2;
/// Sums of so many products of 24 and 32 bits fit a word.
const BLOCK: usize = 255;
/// States between two reductions: their products fit the long sums.
const FOLD_AFTER: u32 = 60_000;

/// States, sums and fingerprint at one end of a stage.
pub(crate) struct EndTally {
    salt: u64,
    pub(crate) states: u64,
    pub(crate) sums: LaneSums,
    fingerprint: LaneSums,
    /// States added to the long sums since these were last reduced.
    unreduced: u32,
    /// Hash of each state of the present batch.
    hashes: Vec<u64>,
}

impl EndTally {
    pub(crate) fn new(salt: u64, lanes: usize) -> Self {
        let [sums, fingerprint] = [(); 2].map(|()| LaneSums::new(lanes));
        Self { salt, states: 0, sums, fingerprint, unreduced: 0, hashes: Vec::new() }
    }

    /// Adds a batch of states with their canonical keys.
    pub(crate) fn add<K: Key>(&mut self, canonical: &[K], rows: &[u64], moduli: &[u64]) {
        let lanes = self.sums.lanes();
        for (keys, rows) in canonical.chunks(BLOCK).zip(rows.chunks(BLOCK * lanes)) {
            self.states += keys.len() as u64;
            self.hashes.clear();
            self.hashes.extend(keys.iter().map(|key| key.mix(self.salt) >> (64 - HASH_BITS)));
            let Self { sums, fingerprint, hashes, .. } = self;
            pulp::Arch::new().dispatch(AddBlock { sums, fingerprint, hashes, rows });
            self.unreduced += BLOCK as u32;
            if self.unreduced > FOLD_AFTER {
                self.fold(moduli);
            }
        }
    }

    fn fold(&mut self, moduli: &[u64]) {
        self.sums.fold(moduli);
        self.fingerprint.fold(moduli);
        self.unreduced = 0;
    }

    /// Adds a sample of at most 65,535 states to the fingerprint only. The rows have the lanes from `first` on,
    /// modulo `moduli`. Do not mix it with [`EndTally::add`].
    pub(crate) fn add_sample(&mut self, canonical: &[u128], rows: &[u64], first: usize, moduli: &[u64]) {
        let Some(mut lanes) = self.fingerprint.part(first, moduli.len()) else { return };
        for (&key, row) in canonical.iter().zip(rows.chunks_exact(moduli.len())) {
            lanes.add(Key::mix(key, self.salt) >> (64 - HASH_BITS), row);
        }
        lanes.fold(moduli);
    }

    /// Adds sums over many states, in the lanes from `first` on.
    pub(crate) fn add_sums(&mut self, sums: &[u128], first: usize, moduli: &[u64]) {
        let Some(mut lanes) = self.sums.part(first, moduli.len()) else { return };
        let residues: Vec<u64> = sums.iter().zip(moduli).map(|(&s, &p)| keima_residue::reduce_wide(s, p)).collect();
        lanes.add(1, &residues);
        lanes.fold(moduli);
    }

    /// Adds the tally of another thread.
    pub(crate) fn merge(&mut self, other: &Self, moduli: &[u64]) {
        self.states += other.states;
        self.sums.merge(&other.sums, moduli);
        self.fingerprint.merge(&other.fingerprint, moduli);
    }

    pub(crate) fn finish(&self, moduli: &[u64]) -> keima_runs::Tally {
        keima_runs::Tally {
            states: self.states,
            sums: self.sums.values(moduli),
            fingerprint: self.fingerprint.values(moduli),
        }
    }
}

/// Adds at most [`BLOCK`] states: each row to the sums, and hash x row to the fingerprint.
struct AddBlock<'a> {
    sums: &'a mut LaneSums,
    fingerprint: &'a mut LaneSums,
    hashes: &'a [u64],
    rows: &'a [u64],
}

impl WithSimd for AddBlock<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sums, fingerprint, hashes, rows } = self;
        let lanes = sums.lanes();
        let mut first = 0;
        macro_rules! columns {
            ($($width:literal)*) => {$(
                while lanes - first >= $width {
                    let [of_rows, of_products] = column_sums::<$width>(hashes, rows, lanes, first);
                    sums.add_terms(first, &of_rows);
                    fingerprint.add_terms(first, &of_products);
                    first += $width;
                }
            )*};
        }
        columns!(8 4 2 1);
    }
}

/// The sums of `W` lanes from `first` on, and of their products with the hashes.
#[inline(always)]
fn column_sums<const W: usize>(hashes: &[u64], rows: &[u64], lanes: usize, first: usize) -> [[u128; W]; 2] {
    const LOW_HASH: u64 = (1 << HALF_HASH_BITS) - 1;
    let [mut low, mut high] = [[0_u64; W]; 2];
    let mut products = [[0_u64; W]; 4];
    for (&hash, row) in hashes.iter().zip(rows.chunks_exact(lanes)) {
        let Some(values) = row[first..].first_chunk::<W>() else { continue };
        let hash = [hash & LOW_HASH, hash >> HALF_HASH_BITS];
        for lane in 0..W {
            let value = [values[lane] & LOW_HALF, values[lane] >> 32];
            low[lane] += value[0];
            high[lane] += value[1];
            products[0][lane] += hash[0] * value[0];
            products[1][lane] += hash[1] * value[0];
            products[2][lane] += hash[0] * value[1];
            products[3][lane] += hash[1] * value[1];
        }
    }
    let mut sums = [[0; W]; 2];
    for lane in 0..W {
        sums[0][lane] = whole(low[lane], high[lane]);
        for (part, shift) in products.iter().zip([0, HALF_HASH_BITS, 32, 32 + HALF_HASH_BITS]) {
            sums[1][lane] += u128::from(part[lane]) << shift;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODULI: [u64; 2] = [1_000_000_007, 998_244_353];

    #[test]
    fn fingerprint_sees_what_sums_do_not() {
        let tally = |keys: &[u64], rows: &[u64]| {
            let mut t = EndTally::new(7, 2);
            t.add(keys, rows, &MODULI);
            t.finish(&MODULI)
        };
        let right = tally(&[1, 2, 3], &[5, 6, 7, 8, 9, 10]);
        let swapped = tally(&[1, 3, 2], &[5, 6, 7, 8, 9, 10]);
        let moved = tally(&[1, 2, 4], &[5, 6, 7, 8, 9, 10]);
        let reordered = tally(&[3, 1, 2], &[9, 10, 5, 6, 7, 8]);
        assert_eq!(right, reordered);
        for wrong in [swapped, moved] {
            assert_eq!((right.states, &right.sums), (wrong.states, &wrong.sums));
            assert_ne!(right.fingerprint, wrong.fingerprint);
        }
    }

    proptest! {
        /// Any number of lanes and states, with the largest values, against sums of products taken one by one.
        #[test]
        fn columns_agree_with_products_one_by_one(
            keys in prop::collection::vec(any::<u64>(), 0..700), lanes in 1_usize..20, fold: bool, seed: u64,
        ) {
            let p = u64::MAX - 58;
            let value = |i: usize, lane: usize| (p - 1).wrapping_sub(seed.wrapping_mul((i * lanes + lane) as u64) >> 1) % p;
            let rows: Vec<u64> = (0..keys.len() * lanes).map(|at| value(at / lanes, at % lanes)).collect();
            let mut tally = EndTally::new(seed, lanes);
            for (keys, rows) in keys.chunks(300).zip(rows.chunks(300 * lanes)) {
                tally.add(keys, rows, &[p]);
                if fold {
                    tally.fold(&[p]);
                }
            }
            let found = tally.finish(&[p]);
            let [mut sums, mut prints] = [(); 2].map(|()| vec![0; lanes]);
            for (key, row) in keys.iter().zip(rows.chunks(lanes)) {
                keima_residue::add_row(&mut sums, row, &[p]);
                let hash = key.mix(seed) >> 16;
                let products: Vec<u64> = row.iter().map(|&v| keima_residue::mul_mod(hash, v, p)).collect();
                keima_residue::add_row(&mut prints, &products, &[p]);
            }
            prop_assert_eq!((found.states, found.sums, found.fingerprint), (keys.len() as u64, sums, prints));
        }
    }

    /// More states than the long sums hold without a reduction, with the largest values and a hash above half of the largest.
    #[test]
    fn long_sums_do_not_overflow() {
        let (salt, p) = (9, u64::MAX - 58);
        let key = (0..64_u64).find(|key| Key::mix(*key, salt) >> 63 == 1).unwrap();
        let (keys, rows) = (vec![key; 1 << 10], vec![p - 1; 1 << 10]);
        let mut tally = EndTally::new(salt, 1);
        (0..400).for_each(|_| tally.add(&keys, &rows, &[p]));
        let (states, hash) = (400 << 10, Key::mix(key, salt) >> 16);
        let found = tally.finish(&[p]);
        assert_eq!(found.states, states);
        assert_eq!(found.sums, [p - states]);
        assert_eq!(found.fingerprint, [p - keima_residue::mul_mod(hash, states, p)]);
    }
}
