//! Rows of K residues, and sums of them that are reduced once.
//!
//! Moduli are below 2^60, so that sums of up to 16 residues fit a word; a sum of D is brought below its modulus p by
//! subtracting 8p, 4p, 2p and p in turn, as many of them as D asks for, each only if it fits. No carries and no branches:
//! the compiler makes SIMD code of it where the machine has it.
//!
//! ```text
//!                                     instructions to choose   AVX2   AVX-512
//!   min(a, a - c p), both unsigned                                4         1
//!   a - c p if that has no sign, else a                           1         2
//! ```

use keima_blocks::limits::MODULUS_LIMIT;

/// Ways through a window are fewer, so that 2^8 rows can be weighed by them before the sum is reduced.
pub(crate) const MOST_WAYS: u32 = 1 << 24;

/// K residues of one state, or as many of something else.
pub type Row<const K: usize> = [u64; K];

/// Rows of up to so many lanes fit a register of AVX2. They are reduced by sign, and compiled for AVX2 where there is AVX-512.
const AVX2_LANES: usize = 4;

/// The moduli of a sweep, one per lane.
#[derive(Clone, Copy, Debug)]
pub struct Moduli<const K: usize> {
    values: Row<K>,
}

impl<const K: usize> Moduli<K> {
    /// `None` unless all moduli are between 2 and [`MODULUS_LIMIT`].
    pub fn new(moduli: Row<K>) -> Option<Self> {
        let suit = moduli.iter().all(|p| (2..MODULUS_LIMIT).contains(p));
        suit.then_some(Self { values: moduli })
    }

    /// The moduli.
    pub fn values(&self) -> &Row<K> {
        &self.values
    }

    /// Adds to a row.
    #[inline(always)]
    pub(crate) fn put(&self, row: &mut Row<K>, value: &Row<K>) {
        let mut sum = *row;
        add(&mut sum, value);
        self.reduce::<2>(&mut sum);
        *row = sum;
    }

    /// Brings a sum of `D` residues, 1 to 16, below the moduli.
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

    /// Halves residues of odd moduli: a residue or its sum with the modulus is even.
    #[inline(always)]
    pub(crate) fn halve(&self, row: &mut Row<K>) {
        for (value, &modulus) in row.iter_mut().zip(&self.values) {
            *value = (*value >> 1) + (*value & 1) * (modulus / 2 + 1);
        }
    }

    /// Subtracts `TIMES` times the moduli where that is not negative, from sums of up to twice as many residues.
    #[inline(always)]
    fn subtract<const TIMES: u64>(&self, sum: &mut Row<K>) {
        for (value, &modulus) in sum.iter_mut().zip(&self.values) {
            // From -8p to 8p, whatever the sum is: that fits 63 bits and a sign.
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

/// Does something for rows of as many lanes as they may have out of core ([`keima_blocks::lanes::LANES`]): each is a kernel of
/// its own.
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

/// Does work of a sweep in memory with rows of K lanes, compiled as by [`dispatch`]; not so a single lane, of which compilers
/// make gathers that are slower than plain loads: 1.1 times the time forward and back at 13x13.
#[inline]
pub(crate) fn dispatch_in_memory<const K: usize, W: pulp::WithSimd>(work: W) -> W::Output {
    if K == 1 { work.with_simd(pulp::Scalar::new()) } else { dispatch::<K, W>(work) }
}

/// Does work with rows of K lanes, compiled for the widest vector instructions of the machine that suit so many.
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

/// Adds without reducing.
#[inline(always)]
pub(crate) fn add<const K: usize>(sum: &mut Row<K>, row: &Row<K>) {
    for (value, &more) in sum.iter_mut().zip(row) {
        *value = value.wrapping_add(more);
    }
}

/// A sum of many products of a row and a small weight, in two halves that do not overflow within a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighted<const K: usize> {
    low: Row<K>,
    high: Row<K>,
}

impl<const K: usize> Weighted<K> {
    pub(crate) const ZERO: Self = Self { low: [0; K], high: [0; K] };

    /// Adds `weight` times the row; the weights before the value is taken sum up to less than 2^32.
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

/// The sum of the values in the last lane of many rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastLane {
    low: u64,
    high: u64,
}

impl LastLane {
    /// Adds a row's, `times` being 1 or 2. Holds for 2^31 rows.
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
