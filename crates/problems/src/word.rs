//! The arithmetic on keys that hold four bits a cell, for problems that walk over the cells of a border.
//!
//! Cost: one or two instructions a function; all of them are inner loops.

use keima_model::Key;

/// A key with bit walks. "Bit" arguments have one bit set, or none.
pub trait Word: Key {
    /// The lowest bit of every nibble.
    const ONES: Self;
    /// The word 1.
    const ONE: Self;
    /// The word 0.
    const ZERO: Self;
    /// Lowest set bit, or none.
    #[must_use]
    fn lowest(self) -> Self;
    /// Highest set bit, or none.
    #[must_use]
    fn highest(self) -> Self;
    /// All bits below a bit; all bits for none.
    #[must_use]
    fn below(self) -> Self;
    /// All but the lowest set bit.
    #[must_use]
    fn rest(self) -> Self;
    /// Number of zeros below the lowest set bit; the width for none.
    fn trailing_zeros(self) -> u32;
    /// Number of set bits.
    fn count(self) -> u32;
    /// The product with a code: puts it into every nibble whose lowest bit is set.
    #[must_use]
    fn times(self, code: u32) -> Self;
    /// The lowest nibble, the only one of the word, in all places.
    #[must_use]
    fn repeated(self) -> Self;
    /// The sum, without a carry beyond the word.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The low 32 bits.
    fn low(self) -> u32;
}

macro_rules! word {
    ($type:ty, $ones:expr) => {
        impl Word for $type {
            const ONES: Self = $ones;
            const ONE: Self = 1;
            const ZERO: Self = 0;
            #[inline]
            fn lowest(self) -> Self {
                self & self.wrapping_neg()
            }
            #[inline]
            fn highest(self) -> Self {
                const TOP: $type = 1 << (<$type>::BITS - 1);
                TOP.checked_shr(self.leading_zeros()).unwrap_or(0)
            }
            #[inline]
            fn below(self) -> Self {
                self.wrapping_sub(1)
            }
            #[inline]
            fn rest(self) -> Self {
                self & self.wrapping_sub(1)
            }
            #[inline]
            fn trailing_zeros(self) -> u32 {
                <$type>::trailing_zeros(self)
            }
            #[inline]
            fn count(self) -> u32 {
                self.count_ones()
            }
            #[inline]
            fn times(self, code: u32) -> Self {
                self.wrapping_mul(code.into())
            }
            #[inline]
            fn repeated(self) -> Self {
                self.wrapping_mul(Self::ONES)
            }
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn low(self) -> u32 {
                self as u32
            }
        }
    };
}

word!(u64, 0x1111_1111_1111_1111);
word!(u128, 0x1111_1111_1111_1111_1111_1111_1111_1111);
