//! Terms of the series modulo W numbers below 2^60 at once.
//!
//! ```text
//!   new[t] = sum of old[s] over the predecessors s of t        up to 15 terms add up in a word, then Barrett:
//!   x mod p = x - floor(x floor(2^64 / p) / 2^64) p            minus p once more where that is not below p
//! ```
//!
//! Cost: a gather of W words per transition and one reduction per state and lane.

use super::{Graph, Level};

/// Bound of the moduli: so many terms below it add up in a word.
pub(crate) const MODULUS_LIMIT: u64 = 1 << 60;
const TERMS: usize = 15;

/// A modulus with its reciprocal.
#[derive(Clone, Copy, Debug)]
struct Modulus {
    value: u64,
    reciprocal: u64,
}

impl Modulus {
    fn new(value: u64) -> Self {
        // floor(2^64 / value), one less for powers of two: the quotient is at most 1 too small.
        Self { value, reciprocal: u64::MAX / value }
    }
    #[inline]
    fn reduce(self, x: u64) -> u64 {
        let quotient = ((u128::from(x) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = x.wrapping_sub(quotient.wrapping_mul(self.value));
        if rest >= self.value { rest - self.value } else { rest }
    }
}

/// The series modulo `W` numbers, term by term.
pub struct Residues<'a, const W: usize> {
    graph: &'a Graph,
    moduli: [Modulus; W],
    counts: Vec<[u64; W]>,
    other: Vec<[u64; W]>,
    columns: usize,
}

impl<'a, const W: usize> Residues<'a, W> {
    /// The series modulo each of `moduli`, which must be in 2..2^60; from the first term on.
    pub fn new(graph: &'a Graph, moduli: [u64; W]) -> Self {
        debug_assert!(moduli.iter().all(|modulus| (2..MODULUS_LIMIT).contains(modulus)), "{moduli:?}");
        let moduli = moduli.map(Modulus::new);
        let counts = graph.start.iter().map(|&count| moduli.map(|modulus| modulus.reduce(count))).collect();
        Self { graph, moduli, counts, other: Vec::new(), columns: 0 }
    }
}

impl<const W: usize> Iterator for Residues<'_, W> {
    type Item = [u64; W];
    /// The next term; it never ends.
    fn next(&mut self) -> Option<[u64; W]> {
        let column = self.graph.column(self.columns);
        for level in &column.levels {
            self.other.resize(level.states(), [0; W]);
            apply(level, &self.counts, &mut self.other, self.moduli);
            std::mem::swap(&mut self.counts, &mut self.other);
        }
        self.columns += 1;
        let mut sums = [0_u128; W];
        for (counts, &weight) in self.counts.iter().zip(&column.weights) {
            for (sum, &count) in sums.iter_mut().zip(counts) {
                // Below 2^60 times 2^32: 2^32 states do not overflow it.
                *sum += u128::from(count) * u128::from(weight);
            }
        }
        Some(std::array::from_fn(|lane| (sums[lane] % u128::from(self.moduli[lane].value)) as u64))
    }
}

/// One pass.
fn apply<const W: usize>(level: &Level, old: &[[u64; W]], new: &mut [[u64; W]], moduli: [Modulus; W]) {
    let (mut new, mut sources) = (new, level.sources.as_slice());
    for &(degree, states) in &level.buckets {
        let (targets, new_rest) = new.split_at_mut(states as usize);
        let (these, source_rest) = sources.split_at(degree as usize * states as usize);
        match degree {
            1 => bucket::<W, 1>(these, old, targets, moduli),
            2 => bucket::<W, 2>(these, old, targets, moduli),
            3 => bucket::<W, 3>(these, old, targets, moduli),
            4 => bucket::<W, 4>(these, old, targets, moduli),
            5 => bucket::<W, 5>(these, old, targets, moduli),
            6 => bucket::<W, 6>(these, old, targets, moduli),
            _ => any_bucket(degree as usize, these, old, targets, moduli),
        }
        (new, sources) = (new_rest, source_rest);
    }
}

#[inline]
fn bucket<const W: usize, const D: usize>(
    sources: &[u32],
    old: &[[u64; W]],
    new: &mut [[u64; W]],
    moduli: [Modulus; W],
) {
    for (target, group) in new.iter_mut().zip(sources.as_chunks::<D>().0) {
        let mut sum = [0; W];
        for &source in group {
            add(&mut sum, &old[source as usize]);
        }
        *target = std::array::from_fn(|lane| moduli[lane].reduce(sum[lane]));
    }
}

fn any_bucket<const W: usize>(
    degree: usize,
    sources: &[u32],
    old: &[[u64; W]],
    new: &mut [[u64; W]],
    moduli: [Modulus; W],
) {
    for (target, group) in new.iter_mut().zip(sources.chunks_exact(degree)) {
        *target = [0; W];
        for part in group.chunks(TERMS) {
            for &source in part {
                add(target, &old[source as usize]);
            }
            *target = std::array::from_fn(|lane| moduli[lane].reduce(target[lane]));
        }
    }
}

#[inline]
fn add<const W: usize>(sum: &mut [u64; W], counts: &[u64; W]) {
    for (sum, &count) in sum.iter_mut().zip(counts) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barrett_is_the_remainder() {
        for modulus in [2, 3, 7, 1 << 20, (1 << 59) + 1, (1 << 60) - 93, (1 << 60) - 1] {
            for x in [0, 1, modulus - 1, modulus, modulus + 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
                assert_eq!(Modulus::new(modulus).reduce(x), x % modulus, "{x} modulo {modulus}");
            }
        }
    }
}
