//! Keys: fixed-width unsigned integers that encode border states, and their hash.
//!
//! Cost: a hash takes two multiplications for 64 bits.

use std::fmt::{Debug, Display, LowerHex};
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use crate::mix::{GOLDEN, finalise};

/// The encoding of a border state: `u64`, or `u128` where 64 bits are too few.
pub trait Key:
    Copy
    + Ord
    + Hash
    + Debug
    + Display
    + LowerHex
    + Default
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + 'static
{
    /// Width of the key in bits: 64 or 128.
    const BITS: u32;
    /// Keeps the low [`Key::BITS`] bits.
    fn truncate(wide: u128) -> Self;
    /// Zero-extends.
    fn widen(self) -> u128;
    /// A well-mixed 64-bit hash of the key; each `salt` gives another. It is a bijection of `u64` keys.
    fn mix(self, salt: u64) -> u64;
}

impl Key for u64 {
    const BITS: u32 = 64;
    #[inline]
    fn truncate(wide: u128) -> Self {
        wide as Self
    }
    #[inline]
    fn widen(self) -> u128 {
        self.into()
    }
    #[inline]
    fn mix(self, salt: u64) -> u64 {
        finalise(self.wrapping_add(salt))
    }
}

impl Key for u128 {
    const BITS: u32 = 128;
    #[inline]
    fn truncate(wide: u128) -> Self {
        wide
    }
    #[inline]
    fn widen(self) -> u128 {
        self
    }
    #[inline]
    fn mix(self, salt: u64) -> u64 {
        // A wide key that fits 64 bits hashes as the narrow key does: a fingerprint does not depend on the width.
        let low = (self as u64).wrapping_add(salt);
        let high = (self >> 64) as u64;
        if high == 0 { finalise(low) } else { finalise(finalise(high.wrapping_add(GOLDEN)) ^ finalise(low)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_keys_that_fit_hash_as_narrow_ones() {
        for k in [0_u64, 1, 77, u64::MAX] {
            assert_eq!(k.mix(5), u128::from(k).mix(5));
        }
        assert_ne!((1_u128 << 64).mix(5), 0_u128.mix(5));
        assert_ne!((1_u128 << 64).mix(5), 1_u128.mix(5));
    }
}
