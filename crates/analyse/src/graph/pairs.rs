//! Terms of the series modulo two primes below 2^28 at once, each in a half of a word.
//!
//! ```text
//!   word      count modulo q << 32 | count modulo p
//!   sum       up to 15 words, without a carry between the halves
//!   reduce    min(x, x - 8p), min(x, x - 4p), min(x, x - 2p), min(x, x - p), both halves, as far as the sum needs
//! ```
//!
//! So two primes cost one gather per transition, half of what two words would. A prime this small gives a smaller order than
//! the integers by chance, about once in 2^28 / order cases; the other prime tells. Sums and reductions run over a part of the
//! states at a time, so that the compiler makes vector instructions of the reductions and plain loads of the gathers.
//! Cost: 4 bytes of indices and one load per transition, one reduction per state.

use super::{Column, Graph, Level};

/// Bound of the primes: 15 residues add up in half a word.
pub(crate) const PAIR_LIMIT: u64 = 1 << 28;
/// Terms of a sum that is not reduced.
const TERMS: usize = 15;
/// States whose sums are reduced together.
const PART: usize = 1 << 10;

/// Both residues in a word.
pub(super) fn pack([low, high]: [u64; 2]) -> u64 {
    low | high << 32
}

/// The two residues of a word.
fn unpack(word: u64) -> [u64; 2] {
    [word & u64::from(u32::MAX), word >> 32]
}

/// A graph modulo two primes.
#[derive(Clone, Copy)]
pub(super) struct Operator<'a> {
    graph: &'a Graph,
    primes: [u64; 2],
}

impl<'a> Operator<'a> {
    pub(super) fn new(graph: &'a Graph, primes: [u64; 2]) -> Self {
        debug_assert!(primes.iter().all(|prime| (2..PAIR_LIMIT).contains(prime)), "{primes:?}");
        Self { graph, primes }
    }
    pub(super) fn graph(&self) -> &'a Graph {
        self.graph
    }
    pub(super) fn primes(&self) -> [u64; 2] {
        self.primes
    }
    /// The counts before the first column.
    pub(super) fn start(&self) -> Vec<u64> {
        self.graph.start.iter().map(|&count| pack(self.primes.map(|prime| count % prime))).collect()
    }
    /// Column `number`, from 0. Returns it.
    pub(super) fn apply(&self, number: usize, counts: &mut Vec<u64>) -> &'a Column {
        self.apply_with(number, counts, &mut Vec::new())
    }
    fn apply_with(&self, number: usize, counts: &mut Vec<u64>, other: &mut Vec<u64>) -> &'a Column {
        let column = self.graph.column(number);
        let [p, q] = self.primes.map(|prime| prime as u32);
        for level in &column.levels {
            other.resize(level.states(), 0);
            apply(level, counts, other, [p, q]);
            std::mem::swap(counts, other);
        }
        column
    }
}

/// One pass.
fn apply(level: &Level, old: &[u64], new: &mut [u64], primes: [u32; 2]) {
    let (mut new, mut sources) = (new, level.sources.as_slice());
    for &(degree, states) in &level.buckets {
        let (targets, new_rest) = new.split_at_mut(states as usize);
        let (these, source_rest) = sources.split_at(degree as usize * states as usize);
        match degree {
            1 => bucket::<1>(these, old, targets, primes),
            2 => bucket::<2>(these, old, targets, primes),
            3 => bucket::<3>(these, old, targets, primes),
            4 => bucket::<4>(these, old, targets, primes),
            5 => bucket::<5>(these, old, targets, primes),
            6 => bucket::<6>(these, old, targets, primes),
            7 => bucket::<7>(these, old, targets, primes),
            8 => bucket::<8>(these, old, targets, primes),
            _ => any_bucket(degree as usize, these, old, targets, primes),
        }
        (new, sources) = (new_rest, source_rest);
    }
}

#[inline]
fn bucket<const D: usize>(sources: &[u32], old: &[u64], new: &mut [u64], primes: [u32; 2]) {
    for (part, groups) in new.chunks_mut(PART).zip(sources.as_chunks::<D>().0.chunks(PART)) {
        for (target, group) in part.iter_mut().zip(groups) {
            *target = group.iter().fold(0, |sum: u64, &source| sum.wrapping_add(old[source as usize]));
        }
        reduce::<D>(part, primes);
    }
}

fn any_bucket(degree: usize, sources: &[u32], old: &[u64], new: &mut [u64], primes: [u32; 2]) {
    for (target, group) in new.iter_mut().zip(sources.chunks_exact(degree)) {
        *target = 0;
        // One term fewer: the reduced sum so far is one itself.
        for some in group.chunks(TERMS - 1) {
            *target = some.iter().fold(*target, |sum, &source| sum.wrapping_add(old[source as usize]));
            reduce::<TERMS>(std::slice::from_mut(target), primes);
        }
    }
}

/// Reduces sums of up to `D` words.
#[inline]
fn reduce<const D: usize>(words: &mut [u64], primes: [u32; 2]) {
    let [p, q] = primes;
    let less = |half: u32, times: u32, prime: u32| half.min(half.wrapping_sub(times * prime));
    for word in words {
        let (mut low, mut high) = (*word as u32, (*word >> 32) as u32);
        for times in [8, 4, 2, 1] {
            if D > times as usize {
                (low, high) = (less(low, times, p), less(high, times, q));
            }
        }
        *word = u64::from(low) | u64::from(high) << 32;
    }
}

/// The series modulo two primes, term by term. It never ends.
pub struct Pairs<'a> {
    operator: Operator<'a>,
    counts: Vec<u64>,
    other: Vec<u64>,
    columns: usize,
}

impl<'a> Pairs<'a> {
    /// The series modulo each of `primes`, which must be in 2..2^28; from the first term on.
    pub fn new(graph: &'a Graph, primes: [u64; 2]) -> Self {
        let operator = Operator::new(graph, primes);
        Self { operator, counts: operator.start(), other: Vec::new(), columns: 0 }
    }
}

impl Iterator for Pairs<'_> {
    type Item = [u64; 2];
    fn next(&mut self) -> Option<[u64; 2]> {
        let column = self.operator.apply_with(self.columns, &mut self.counts, &mut self.other);
        self.columns += 1;
        let mut sums = [0_u128; 2];
        for (&word, &weight) in self.counts.iter().zip(&column.weights) {
            for (sum, residue) in sums.iter_mut().zip(unpack(word)) {
                // Below 2^60: 2^68 states do not overflow the sum.
                *sum += u128::from(residue * u64::from(weight));
            }
        }
        let reduced = |lane: usize| (sums[lane] % u128::from(self.operator.primes[lane])) as u64;
        Some([reduced(0), reduced(1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_reduced_in_both_halves() {
        for [p, q] in [[2, 3], [(1 << 28) - 57, (1 << 28) - 89], [268_435_367, 7]] {
            for [x, y] in [[0, 0], [1, 1], [p - 1, q - 1], [p / 2, q / 3]] {
                let mut words = [pack([u64::from(x), u64::from(y)]) * TERMS as u64];
                reduce::<TERMS>(&mut words, [p, q]);
                let expected = [x, y].map(|residue| u64::from(residue) * TERMS as u64);
                assert_eq!(
                    unpack(words[0]),
                    [expected[0] % u64::from(p), expected[1] % u64::from(q)],
                    "{x} {y} {p} {q}"
                );
            }
        }
    }
}
