//! Bounds as products of powers.

/// A power of two times a number of 31 bits: at least `count`, and at least 1.
pub(crate) fn power(count: u128) -> Vec<(u32, u32)> {
    let shift = (u128::BITS - count.leading_zeros()).saturating_sub(30);
    let top = (count >> shift) as u32;
    let rest = u32::from(top == 0 || count & ((1 << shift) - 1) > 0);
    vec![(top + rest, 1), (2, shift)]
}

/// The binary logarithm of a product of powers.
pub(crate) fn bits(factors: &[(u32, u32)]) -> f64 {
    factors.iter().map(|&(base, exponent)| f64::from(base).log2() * f64::from(exponent)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_rounded_up() {
        for count in [0, 1, 2, 3, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, 1 << 31, u128::from(u64::MAX), u128::MAX >> 1]
        {
            let product = power(count).iter().map(|&(base, exponent)| u128::from(base).pow(exponent)).product::<u128>();
            assert!(
                product >= count.max(1) && (count < 2 || (product - count) >> 1 <= count >> 29),
                "{count}: {product}"
            );
        }
    }
}
