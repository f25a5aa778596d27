//! A function of a word that treats each bit, or each byte, on its own: an OR over table look-ups, one per byte.
//!
//! Codecs between working form and keys are such functions. Cost: a look-up per byte of the word; 256 entries a byte.

use keima_model::Key;

/// One row of 256 entries for each byte of a word: what each value of the byte adds to the result.
pub(crate) struct ByteTable<K>(Vec<[K; 256]>);

impl<K: Key> ByteTable<K> {
    /// A function of words of `bits` bits that is 0 so far.
    pub(crate) fn new(bits: u32) -> Self {
        Self(vec![[K::default(); 256]; bits.div_ceil(8) as usize])
    }

    /// Maps bit `from` of a word to `target`.
    pub(crate) fn add_bit(&mut self, from: u32, target: K) {
        self.add(from, 1, |bit| if bit == 1 { target } else { K::default() });
    }

    /// Maps the four bits of `cell` to what `encode` makes of them.
    pub(crate) fn add_nibble(&mut self, cell: u32, encode: impl Fn(u32) -> K) {
        self.add(4 * cell, 4, encode);
    }

    /// Maps `bits` bits within one byte, from bit `from` on.
    fn add(&mut self, from: u32, bits: u32, encode: impl Fn(u32) -> K) {
        for (byte, entry) in (0_u32..).zip(&mut self.0[(from / 8) as usize]) {
            *entry = *entry | encode(byte >> (from % 8) & ((1 << bits) - 1));
        }
    }

    /// The function's value.
    #[inline]
    pub(crate) fn look_up(&self, word: K) -> K {
        let mut rest = word;
        self.0.iter().fold(K::default(), |sum, row| {
            let byte = (rest.widen() & 0xff) as usize;
            rest = rest >> 8;
            sum | row[byte]
        })
    }
}
