//! Keys of runs as integers of 64 or 128 bits, and batches of records.

use std::fmt::{Debug, LowerHex};

/// A key of a record: `u64` or `u128`. Runs see an integer, and nothing of the state behind it.
pub trait RunKey: Copy + Ord + Debug + LowerHex + Default + Send + Sync + 'static {
    /// Width in bytes: 8 or 16.
    const BYTES: u8;
    /// The key with this value; `None` if it does not fit.
    fn from_wide(wide: u128) -> Option<Self>;
    /// Zero-extends.
    fn widen(self) -> u128;
    /// The key `gap` above this one, modulo 2^width. The caller checks for wrap-around.
    #[must_use]
    fn step(self, gap: u64) -> Self;
    /// This key minus `lower`, if that fits 64 bits.
    fn gap(self, lower: Self) -> Option<u64>;
    /// Appends `count` consecutive keys from this one on to `keys`. The last must fit the width.
    fn count_up(self, count: u64, keys: &mut Vec<Self>) {
        keys.extend((0..count).map(|above| self.step(above)));
    }
}

impl RunKey for u64 {
    const BYTES: u8 = 8;
    #[inline]
    fn from_wide(wide: u128) -> Option<Self> {
        wide.try_into().ok()
    }
    #[inline]
    fn widen(self) -> u128 {
        self.into()
    }
    #[inline]
    fn step(self, gap: u64) -> Self {
        self.wrapping_add(gap)
    }
    #[inline]
    fn gap(self, lower: Self) -> Option<u64> {
        Some(self.wrapping_sub(lower))
    }
}

impl RunKey for u128 {
    const BYTES: u8 = 16;
    #[inline]
    fn from_wide(wide: u128) -> Option<Self> {
        Some(wide)
    }
    #[inline]
    fn widen(self) -> u128 {
        self
    }
    #[inline]
    fn step(self, gap: u64) -> Self {
        self.wrapping_add(gap.into())
    }
    #[inline]
    fn gap(self, lower: Self) -> Option<u64> {
        self.wrapping_sub(lower).try_into().ok()
    }
}

/// Records in key order, row-major: `rows[i * lanes .. (i + 1) * lanes]` is the value of `keys[i]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch<K> {
    /// Keys, strictly ascending.
    pub keys: Vec<K>,
    /// Values; `keys.len() * lanes` numbers.
    pub rows: Vec<u64>,
}

impl<K> Batch<K> {
    /// An empty batch.
    pub const fn new() -> Self {
        Self { keys: Vec::new(), rows: Vec::new() }
    }
    /// Removes all records and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.rows.clear();
    }
    /// Number of records.
    pub fn len(&self) -> usize {
        self.keys.len()
    }
    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}
