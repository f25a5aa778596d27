//! Mixing of bits, from which every hash and every seeded number of the workspace is made.

/// 2^64 over the golden ratio, odd: its multiples lie evenly (Knuth, TAOCP 3, section 6.4).
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014): a bijection of `u64` in which every input bit reaches every
/// output bit.
#[inline]
pub const fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The next number of `SplitMix64`; its state is any number.
pub const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    finalise(*state)
}

/// 128 bits to 64, as a step before multiplication by [`GOLDEN`]: cheap, and the identity for numbers that fit 64 bits.
#[inline]
pub const fn fold(wide: u128) -> u64 {
    (wide as u64) ^ ((wide >> 64) as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First numbers of the published generator from seed 1234567.
    #[test]
    fn split_mix_is_the_published_one() {
        let mut state = 1_234_567;
        let numbers = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423_u64];
        assert_eq!([(); 3].map(|()| split_mix(&mut state)), numbers);
    }
}
