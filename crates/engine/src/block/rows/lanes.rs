//! Rows of K residues, and sums of rows that are reduced once.
//!
//! Moduli are below 2^60, so a sum of up to 16 residues fits a word. To reduce a sum of D residues modulo p, subtract
//! 8p, 4p, 2p and p in turn: as many of these as D needs, each only where the result is not negative. There are no
//! carries and no branches, so the compiler can use SIMD instructions.
//!
//! ```text
//!                                     instructions to choose   AVX2   AVX-512
//!   min(a, a - c p), both unsigned                                4         1
//!   a - c p if that has no sign, else a                           1         2
//! ```

use keima_blocks::limits::MODULUS_LIMIT;

/// A window leads to a state in fewer ways than this. So 2^8 rows can be weighted with ways before the sum is
/// reduced.
pub(crate) const MOST_WAYS: u32 = 1 << 24;

/// K residues of one state, or K other words.
pub type Row<const K: usize> = [u64; K];

/// Most lanes that fit a register of AVX2. Such rows are reduced by sign, and compiled for AVX2 even where there is
/// AVX-512.
const AVX2_LANES: usize = 4;

/// The moduli of a sweep, one per lane.
#[derive(Clone, Copy, Debug)]
pub struct Moduli<const K: usize> {
    values: Row<K>,
}

impl<const K: usize> Moduli<K> {
    /// `None` unless all moduli are at least 2 and below [`MODULUS_LIMIT`].
    pub fn new(moduli: Row<K>) -> Option<Self> {
        let suit = moduli.iter().all(|p| (2..MODULUS_LIMIT).contains(p));
        suit.then_some(Self { values: moduli })
    }

    /// The moduli.
    pub fn values(&self) -> &Row<K> {
        &self.values
    }

    /// Adds `value` to a row.
    #[inline(always)]
    pub(crate) fn put(&self, row: &mut Row<K>, value: &Row<K>) {
        let mut sum = *row;
        add(&mut sum, value);
        self.reduce::<2>(&mut sum);
        *row = sum;
    }

    /// Reduces a sum of `D` residues, 1 to 16.
    #[inline(always)]
    pub(crate) fn reduce<const D: usize>(&self, sum: &mut Row<K>) {
        if D > 8 {
            self.subtract::<8>(sum);
        }
        if D > 4 {
            self.subtract::<4>(sum);
        }
        if D > 2 {
            self.subtract::<2>(sum);
        }
        if D > 1 {
            self.subtract::<1>(sum);
        }
    }

    /// Halves residues of odd moduli. Either a residue or its sum with the modulus is even.
    #[inline(always)]
    pub(crate) fn halve(&self, row: &mut Row<K>) {
        for (value, &modulus) in row.iter_mut().zip(&self.values) {
            *value = (*value >> 1) + (*value & 1) * (modulus / 2 + 1);
        }
    }

    /// Subtracts `TIMES` times the moduli where the result is not negative. The sums are of at most `2 * TIMES`
    /// residues.
    #[inline(always)]
    fn subtract<const TIMES: u64>(&self, sum: &mut Row<K>) {
        for (value, &modulus) in sum.iter_mut().zip(&self.values) {
            // The difference is between -8p and 8p, so it fits 63 bits and a sign.
            let less = value.wrapping_sub(TIMES * modulus);
            *value = if K > AVX2_LANES {
                less.min(*value)
            } else if less.cast_signed() < 0 {
                *value
            } else {
                less
            };
        }
    }
}

/// Calls code generic in the number of lanes, for each number that rows may have out of core
/// ([`keima_blocks::lanes::LANES`]).
macro_rules! of_width {
    ($lanes:expr, $width:ident => $body:expr, _ => $other:expr) => {
        of_width!(@ 1, 2, 4, 6, 8, 10, 12, 16; $lanes, $width => $body, $other)
    };
    (@ $($lanes:literal),*; $found:expr, $width:ident => $body:expr, $other:expr) => {
        match $found {
            $($lanes => {
                const $width: usize = $lanes;
                $body
            })*
            _ => $other,
        }
    };
}
pub(crate) use of_width;

/// Runs work in memory on rows of K lanes, compiled as by [`dispatch`]. A single lane is compiled without vector
/// instructions: compilers make gathers of it, which are slower than plain loads.
#[inline]
pub(crate) fn dispatch_in_memory<const K: usize, W: pulp::WithSimd>(work: W) -> W::Output {
    if K == 1 { work.with_simd(pulp::Scalar::new()) } else { dispatch::<K, W>(work) }
}

/// Runs work on rows of K lanes, compiled for the widest vector instructions that suit K lanes.
#[inline]
pub(crate) fn dispatch<const K: usize, W: pulp::WithSimd>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if K <= AVX2_LANES
        && let Some(avx2) = pulp::x86::V3::try_new()
    {
        return pulp::Simd::vectorize(avx2, work);
    }
    pulp::Arch::new().dispatch(work)
}

/// Adds a row without reducing the sum.
#[inline(always)]
pub(crate) fn add<const K: usize>(sum: &mut Row<K>, row: &Row<K>) {
    for (value, &more) in sum.iter_mut().zip(row) {
        *value = value.wrapping_add(more);
    }
}

/// A sum of products of rows and small weights, in two halves that do not overflow within a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighted<const K: usize> {
    low: Row<K>,
    high: Row<K>,
}

impl<const K: usize> Weighted<K> {
    pub(crate) const ZERO: Self = Self { low: [0; K], high: [0; K] };

    /// Adds `weight` times the row. The weights between two calls of `values` must add up to less than 2^32.
    #[inline(always)]
    pub(crate) fn add(&mut self, weight: u32, row: &Row<K>) {
        for ((low, high), &value) in self.low.iter_mut().zip(&mut self.high).zip(row) {
            *low += (value & 0xffff_ffff) * u64::from(weight);
            *high += (value >> 32) * u64::from(weight);
        }
    }

    /// The sum in each lane.
    pub(crate) fn values(&self) -> [u128; K] {
        std::array::from_fn(|lane| u128::from(self.low[lane]) + (u128::from(self.high[lane]) << 32))
    }
}

/// The sum of the last lanes of many rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastLane {
    low: u64,
    high: u64,
}

impl LastLane {
    /// Adds `times` times a row's last lane. `times` must be at most 2, and rows fewer than 2^31.
    #[inline(always)]
    pub(crate) fn add<const K: usize>(&mut self, times: u64, row: &Row<K>) {
        let value = row[K - 1];
        self.low += (value & 0xffff_ffff) * times;
        self.high += (value >> 32) * times;
    }

    /// The sum.
    pub(crate) fn value(&self) -> u128 {
        u128::from(self.low) + (u128::from(self.high) << 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_reduced() {
        let p = MODULUS_LIMIT - 93;
        let moduli = Moduli::new([p, p - 14, 3, 1_000_003]).unwrap();
        assert!(Moduli::new([MODULUS_LIMIT]).is_none());
        assert!(Moduli::new([1]).is_none());
        let mut row = [p - 1, p - 15, 1, 1_000_002];
        moduli.halve(&mut row);
        assert_eq!(row, [(p - 1) / 2, (p - 15) / 2, 2, 500_001]);
        let mut row = [p - 2, 1, 2, 1];
        moduli.halve(&mut row);
        assert_eq!(row, [p - 1, (p - 14).div_ceil(2), 1, 500_002]);
        fn check<const K: usize, const D: usize>(moduli: &Moduli<K>) {
            // The largest sum, and others.
            for less in 0..3 {
                let terms: [Row<K>; D] = [moduli.values().map(|p| p - 1 - less % p); D];
                let mut sum = terms[0];
                terms[1..].iter().for_each(|term| add(&mut sum, term));
                let expected: Vec<u64> = sum.iter().zip(moduli.values()).map(|(s, p)| s % p).collect();
                moduli.reduce::<D>(&mut sum);
                assert_eq!(sum.to_vec(), expected, "{K} lanes, {D} terms");
            }
        }
        fn check_all<const K: usize>(moduli: &Moduli<K>) {
            check::<K, 1>(moduli);
            check::<K, 2>(moduli);
            check::<K, 3>(moduli);
            check::<K, 4>(moduli);
            check::<K, 5>(moduli);
            check::<K, 7>(moduli);
            check::<K, 8>(moduli);
            check::<K, 9>(moduli);
            check::<K, 16>(moduli);
        }
        check_all(&moduli);
        check_all(&Moduli::new([p]).unwrap());
        check_all(&Moduli::new([p, 7, p - 14, 1_000_003, p, 2]).unwrap());
    }

    #[test]
    fn rows_of_all_widths_have_kernels() {
        for lanes in 0..20 {
            let width = of_width!(lanes, J => J, _ => 0);
            assert_eq!(width, if keima_blocks::lanes::LANES.contains(&(lanes as u32)) { lanes } else { 0 });
        }
    }

    #[test]
    fn weighted_sums_do_not_overflow() {
        let mut sum = Weighted::<1>::ZERO;
        for _ in 0..1 << 16 {
            sum.add((1 << 16) - 1, &[MODULUS_LIMIT - 1]);
        }
        assert_eq!(sum.values(), [(((1_u128 << 16) - 1) * u128::from(MODULUS_LIMIT - 1)) << 16]);
        let mut sum = LastLane::default();
        for _ in 0..1 << 16 {
            sum.add(2, &[7, MODULUS_LIMIT - 1]);
        }
        assert_eq!(sum.value(), u128::from(MODULUS_LIMIT - 1) << 17);
    }
}
