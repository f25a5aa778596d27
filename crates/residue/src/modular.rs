//! Sums and products modulo a prime below 2^64, and long sums that are reduced rarely.
//!
//! Cost: an add and a conditional subtract a sum; a 128-bit division a product.

/// `a + b` modulo `modulus`; both below it.
#[inline]
pub fn add_mod(a: u64, b: u64, modulus: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    let (less, borrow) = sum.overflowing_sub(modulus);
    // The true sum is below 2 * modulus: subtract unless it was below modulus already.
    if carry || !borrow { less } else { sum }
}

/// `a * b` modulo `modulus`.
#[inline]
pub fn mul_mod(a: u64, b: u64, modulus: u64) -> u64 {
    reduce_wide(u128::from(a) * u128::from(b), modulus)
}

/// `wide` modulo `modulus`.
#[inline]
pub fn reduce_wide(wide: u128, modulus: u64) -> u64 {
    (wide % u128::from(modulus)) as u64
}

/// Adds `source` to `target` lane by lane. Lane `i` is modulo `moduli[i % moduli.len()]`: a row has one group of lanes per
/// coefficient.
#[inline]
pub fn add_row(target: &mut [u64], source: &[u64], moduli: &[u64]) {
    for (targets, sources) in target.chunks_mut(moduli.len()).zip(source.chunks(moduli.len())) {
        for ((t, &s), &p) in targets.iter_mut().zip(sources).zip(moduli) {
            *t = add_mod(*t, s, p);
        }
    }
}

/// A sum of many 64-bit terms, or of products of a 64-bit and a 48-bit term. It is reduced just often enough that 128 bits
/// cannot overflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulator {
    sum: u128,
}

impl Accumulator {
    /// Bits of a term. 65,535 terms may be added between two calls of [`Accumulator::fold`].
    pub const TERM_BITS: u32 = 112;

    /// Adds a term below 2^112.
    #[inline]
    pub fn add(&mut self, term: u128) {
        self.sum = self.sum.wrapping_add(term);
    }
    /// Reduces the sum below `modulus`. Call it at least once in 65,535 additions of wide terms.
    #[inline]
    pub fn fold(&mut self, modulus: u64) {
        self.sum %= u128::from(modulus);
    }
    /// The sum modulo `modulus`.
    pub fn value(&self, modulus: u64) -> u64 {
        reduce_wide(self.sum, modulus)
    }
}

/// base^exponent modulo a number from 1 on.
pub fn pow_mod(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut power = 1 % modulus;
    base %= modulus;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = mul_mod(power, base, modulus);
        }
        base = mul_mod(base, base, modulus);
        exponent >>= 1;
    }
    power
}

/// The inverse of a number that a prime does not divide, modulo that prime (Fermat).
pub fn inverse(value: u64, prime: u64) -> u64 {
    pow_mod(value, prime.saturating_sub(2), prime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_and_products_agree_with_wide_arithmetic(a: u64, b: u64, top in 0_u64..1000, small: bool) {
            let p = if small { (1 << 60) - 93 - top } else { u64::MAX - top };
            let (a, b) = (a % p, b % p);
            let wide = |x: u128| (x % u128::from(p)) as u64;
            prop_assert_eq!(add_mod(a, b, p), wide(u128::from(a) + u128::from(b)));
            prop_assert_eq!(mul_mod(a, b, p), wide(u128::from(a) * u128::from(b)));
            let mut row = [a, b, b, a];
            add_row(&mut row, &[b, b, a, a], &[p, p - 2]);
            prop_assert_eq!(row[0], add_mod(a, b, p));
            prop_assert_eq!(row[2], add_mod(b, a, p));
        }
    }

    #[test]
    fn accumulator_does_not_overflow_when_folded() {
        let p = u64::MAX - 58;
        let term = (1_u128 << Accumulator::TERM_BITS) - 1;
        let mut sum = Accumulator::default();
        let mut expected = 0;
        for i in 0..200_000_u32 {
            if i % 65_535 == 0 {
                sum.fold(p);
            }
            sum.add(term);
            expected = add_mod(expected, reduce_wide(term, p), p);
        }
        assert_eq!(sum.value(p), expected);
    }
}
