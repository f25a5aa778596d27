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
//!
//! *Lazy* moduli (as in Harvey's lazy reduction) are so small that whatever a window adds up fits a word: for p = 2^b - c
//! and at most 2^(64-b) ways to any state. Sums are then left alone in all passes of a window, and written as they are; each
//! row is reduced once, when it is read:
//!
//! ```text
//!   x = high 2^b + low,   2^b = c modulo p   -->   low + c high, below 2p since c is small   -->   less p, if it fits
//! ```

/// Ways through a window are fewer, so that 2^8 rows can be weighed by them before the sum is reduced.
pub(super) const MOST_WAYS: u32 = 1 << 24;

/// K residues of one state, or as many of something else.
pub type Row<const K: usize> = [u64; K];

/// Moduli of a block vector must be below this.
pub const MODULUS_LIMIT: u64 = 1 << 60;

/// Rows of up to so many lanes fit a register of AVX2. They are reduced by sign, and compiled for AVX2 where there is AVX-512.
const AVX2_LANES: usize = 4;

/// The moduli of a sweep, one per lane.
#[derive(Clone, Copy, Debug)]
pub struct Moduli<const K: usize> {
    values: Row<K>,
    /// Of lazy ones, else 0: all are a little below 2^bits.
    bits: u32,
    /// 2^bits less each of them.
    less: Row<K>,
}

impl<const K: usize> Moduli<K> {
    /// `None` unless all moduli are between 2 and [`MODULUS_LIMIT`].
    pub fn new(moduli: Row<K>) -> Option<Self> {
        let suit = moduli.iter().all(|p| (2..MODULUS_LIMIT).contains(p));
        suit.then_some(Self { values: moduli, bits: 0, less: [0; K] })
    }

    /// Lazy ones: sums are not reduced before they are read again, and must fit a word until then. `None` unless all are
    /// below 2^bits, by less than 2^32, and so near to it that one subtraction is enough then.
    pub fn lazy(moduli: Row<K>, bits: u32) -> Option<Self> {
        let power = (33..=60).contains(&bits).then_some(1_u64 << bits)?;
        let fits = |p: u64| u128::from(power - p) * ((1 << (64 - bits)) + 1) <= u128::from(p);
        let near = |p: u64| u32::try_from(power - p).is_ok() && fits(p);
        let suit = moduli.iter().all(|&p| p < power && near(p));
        suit.then(|| Self { values: moduli, bits, less: moduli.map(|p| power - p) })
    }

    /// The moduli.
    pub fn values(&self) -> &Row<K> {
        &self.values
    }

    /// Whether sums are left alone until a window's end.
    #[inline(always)]
    pub(super) fn are_lazy(&self) -> bool {
        self.bits > 0
    }

    /// Brings sums that were left alone below the moduli: any words, of lazy moduli; else these are left as they are.
    #[inline(always)]
    pub(super) fn finish(&self, row: &mut Row<K>) {
        self.finish_all(std::slice::from_mut(row));
    }

    /// The same of many rows.
    #[inline(always)]
    pub(super) fn finish_all(&self, rows: &mut [Row<K>]) {
        if !self.are_lazy() {
            return;
        }
        // Copies of its own: the rows that are written cannot be these, and all stay in registers.
        let (moduli, bits, mask) = (self.values, self.bits, (1 << self.bits) - 1);
        let less = self.less.map(|less| less & 0xffff_ffff);
        for row in rows {
            *row = std::array::from_fn(|lane| {
                // Both factors are short: one multiplication of halves.
                let high = (row[lane] >> bits) & 0xffff_ffff;
                let sum = (row[lane] & mask) + high * less[lane];
                let rest = sum.wrapping_sub(moduli[lane]);
                if rest.cast_signed() < 0 { sum } else { rest }
            });
        }
    }

    /// Adds to a row, and settles it.
    #[inline(always)]
    pub(super) fn put<const LAZY: bool>(&self, row: &mut Row<K>, value: &Row<K>) {
        let mut sum = *row;
        add(&mut sum, value);
        self.settle::<2, LAZY>(&mut sum);
        *row = sum;
    }

    /// The same, lazily if they are lazy: for loops that are not compiled for either.
    #[inline(always)]
    pub(super) fn put_either(&self, row: &mut Row<K>, value: &Row<K>) {
        if self.are_lazy() { self.put::<true>(row, value) } else { self.put::<false>(row, value) }
    }

    /// Brings a sum of `D` residues below the moduli, unless it is to be left alone since they are `LAZY`: what loops are
    /// compiled for, one by one.
    #[inline(always)]
    pub(super) fn settle<const D: usize, const LAZY: bool>(&self, sum: &mut Row<K>) {
        if !LAZY {
            self.reduce::<D>(sum);
        }
    }

    /// Brings a sum of `D` residues, 1 to 16, below the moduli.
    #[inline(always)]
    pub(super) fn reduce<const D: usize>(&self, sum: &mut Row<K>) {
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
    pub(super) fn halve(&self, row: &mut Row<K>) {
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

/// Does something for rows of as many lanes as they may have out of core ([`keima_model::LANES`]): each is a kernel of
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
pub(super) use of_width;

/// Does work of a sweep in memory with rows of K lanes, compiled as by [`dispatch`]; not so a single lane, of which compilers
/// make gathers that are slower than plain loads: 1.1 times the time forward and back at 13x13.
#[inline]
pub(super) fn dispatch_in_memory<const K: usize, W: pulp::WithSimd>(work: W) -> W::Output {
    if K == 1 { work.with_simd(pulp::Scalar::new()) } else { dispatch::<K, W>(work) }
}

/// Does work with rows of K lanes, compiled for the widest vector instructions of the machine that suit so many.
#[inline]
pub(super) fn dispatch<const K: usize, W: pulp::WithSimd>(work: W) -> W::Output {
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
pub(super) fn add<const K: usize>(sum: &mut Row<K>, row: &Row<K>) {
    for (value, &more) in sum.iter_mut().zip(row) {
        *value = value.wrapping_add(more);
    }
}

/// A sum of many products of a row and a small weight, in two halves that do not overflow within a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighted<const K: usize> {
    low: Row<K>,
    high: Row<K>,
}

impl<const K: usize> Weighted<K> {
    pub(super) const ZERO: Self = Self { low: [0; K], high: [0; K] };

    /// Adds `weight` times the row; the weights before the value is taken sum up to less than 2^32.
    #[inline(always)]
    pub(super) fn add(&mut self, weight: u32, row: &Row<K>) {
        for ((low, high), &value) in self.low.iter_mut().zip(&mut self.high).zip(row) {
            *low += (value & 0xffff_ffff) * u64::from(weight);
            *high += (value >> 32) * u64::from(weight);
        }
    }

    /// The sum in each lane.
    pub(super) fn values(&self) -> [u128; K] {
        std::array::from_fn(|lane| u128::from(self.low[lane]) + (u128::from(self.high[lane]) << 32))
    }
}

/// The sum of the values in the last lane of many rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastLane {
    low: u64,
    high: u64,
}

impl LastLane {
    /// Adds a row's, `times` being 1 or 2. Holds for 2^31 rows.
    #[inline(always)]
    pub(super) fn add<const K: usize>(&mut self, times: u64, row: &Row<K>) {
        let value = row[K - 1];
        self.low += (value & 0xffff_ffff) * times;
        self.high += (value >> 32) * times;
    }

    /// The sum.
    pub(super) fn value(&self) -> u128 {
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
    fn any_word_is_finished() {
        for bits in [40, 46, 52, 60] {
            let primes: Vec<u64> = keima_residue::primes_below(1 << bits).take(4).collect();
            let moduli = Moduli::<4>::lazy(primes.try_into().unwrap(), bits).unwrap();
            for word in [0, 1, (1 << bits) - 1, 1 << bits, u64::MAX / 3, u64::MAX - 1, u64::MAX] {
                for word in [word, moduli.values()[2], moduli.values()[2].wrapping_mul(5)] {
                    let mut row = [word; 4];
                    moduli.finish(&mut row);
                    assert_eq!(row, moduli.values().map(|p| word % p), "{word}, {bits} bits");
                }
            }
            let mut row = [u64::MAX; 4];
            Moduli::new(*moduli.values()).unwrap().finish(&mut row);
            assert_eq!(row, [u64::MAX; 4], "others are reduced as they are made");
        }
        let prime = (1 << 46) - 21;
        assert!(Moduli::lazy([prime], 46).is_some());
        let short = (1 << 60) - (1 << 40);
        for (modulus, bits) in [(prime, 45), (prime, 47), (prime, 61), (7, 3), (0, 46), (short, 60)] {
            assert!(Moduli::lazy([modulus], bits).is_none(), "{modulus}, {bits} bits");
        }
        // One subtraction is enough up to here: 2^46 - c with c (2^18 + 1) = 2^46 - c.
        let far = (1 << 46) - (1 << 46) / ((1 << 18) + 2);
        assert!(Moduli::lazy([far], 46).is_some() && Moduli::lazy([far - 1], 46).is_none());
        let mut row = [u64::MAX];
        Moduli::lazy([far], 46).unwrap().finish(&mut row);
        assert_eq!(row, [u64::MAX % far]);
    }

    #[test]
    fn rows_of_all_widths_have_kernels() {
        for lanes in 0..20 {
            let width = of_width!(lanes, J => J, _ => 0);
            assert_eq!(width, if keima_model::LANES.contains(&(lanes as u32)) { lanes } else { 0 });
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
