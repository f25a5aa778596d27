//! Keys of four bits a cell, and the bit arithmetic that a pass needs of them.

use keima_model::Key;

/// A key with one nibble for each cell. "Bit" arguments have one bit set, or none.
pub trait Word: Key {
    /// The lowest bit of every nibble.
    const ONES: Self;
    /// The word 1.
    const ONE: Self;
    /// The word 0.
    const ZERO: Self;
    /// The lowest set bit, or none.
    #[must_use]
    fn lowest(self) -> Self;
    /// The highest set bit, or none.
    #[must_use]
    fn highest(self) -> Self;
    /// All bits below a bit; all bits for none.
    #[must_use]
    fn below(self) -> Self;
    /// All but the lowest set bit.
    #[must_use]
    fn rest(self) -> Self;
    /// Number of the lowest set bit; the width for none.
    fn lowest_number(self) -> u32;
    /// Number of set bits.
    fn count(self) -> u32;
    /// Puts a code into every marked nibble.
    #[must_use]
    fn times(self, code: u32) -> Self;
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
            fn lowest_number(self) -> u32 {
                self.trailing_zeros()
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
            fn low(self) -> u32 {
                self as u32
            }
        }
    };
}

word!(u64, 0x1111_1111_1111_1111);
word!(u128, 0x1111_1111_1111_1111_1111_1111_1111_1111);
