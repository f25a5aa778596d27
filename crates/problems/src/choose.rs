//! Binomial coefficients. Cost: one multiplication and division per element taken.

/// Ways to take `take` of `of` things.
pub(crate) fn choose(of: u32, take: u32) -> u128 {
    (0..take).fold(1, |ways, i| ways * u128::from(of.saturating_sub(i)) / u128::from(i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ones() {
        for (of, take, expected) in
            [(0, 0, 1), (5, 0, 1), (5, 2, 10), (5, 5, 1), (3, 4, 0), (64, 32, 1_832_624_140_942_590_534)]
        {
            assert_eq!(choose(of, take), expected, "{of} {take}");
        }
    }
}
