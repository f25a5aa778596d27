//! One pass modulo two primes below 2^28 at once, each in a half of a word.
//!
//! ```text
//!   word      count modulo q << 32 | count modulo p
//!   sum       up to 15 words, without a carry between the halves
//!   reduce    min(x, x - 8p), min(x, x - 4p), min(x, x - 2p), min(x, x - p), both halves, as far as the sum needs
//! ```
//!
//! So two primes cost one gather per transition, half of what two words would. Sums and reductions run over a part of the states at
//! a time: the gathers are plain loads, the reductions vector instructions. Without those of AVX2 a column takes twice as long.
//! Cost: 4 bytes of indices and one load per transition, one reduction per state.

// What is not inlined into the function with vector instructions is compiled without them.
#![allow(clippy::inline_always)]

use super::level::Level;

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
pub(super) fn unpack(word: u64) -> [u64; 2] {
    [word & u64::from(u32::MAX), word >> 32]
}

/// The sums of counts times weights, reduced.
pub(super) fn weigh(counts: &[u64], weights: &[u32], primes: [u64; 2]) -> [u64; 2] {
    let mut sums = [0_u128; 2];
    for (counts, weights) in counts.chunks(TERMS).zip(weights.chunks(TERMS)) {
        // Products below 2^60: so many add up in a word.
        let mut part = [0_u64; 2];
        for (&word, &weight) in counts.iter().zip(weights) {
            for (sum, residue) in part.iter_mut().zip(unpack(word)) {
                *sum += residue * u64::from(weight);
            }
        }
        for (sum, part) in sums.iter_mut().zip(part) {
            *sum += u128::from(part);
        }
    }
    std::array::from_fn(|lane| (sums[lane] % u128::from(primes[lane])) as u64)
}

/// The counts `new` after a pass, from those before it.
pub(super) fn apply(level: &Level, old: &[u64], new: &mut [u64], primes: [u64; 2]) {
    pulp::Arch::new().dispatch(Pass { level, old, new, primes: primes.map(|prime| prime as u32) });
}

/// A pass, compiled for several sets of vector instructions.
struct Pass<'a> {
    level: &'a Level,
    old: &'a [u64],
    new: &'a mut [u64],
    primes: [u32; 2],
}

impl pulp::WithSimd for Pass<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { level, old, new, primes } = self;
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
}

#[inline(always)]
fn bucket<const D: usize>(sources: &[u32], old: &[u64], new: &mut [u64], primes: [u32; 2]) {
    for (part, groups) in new.chunks_mut(PART).zip(sources.as_chunks::<D>().0.chunks(PART)) {
        for (target, group) in part.iter_mut().zip(groups) {
            *target = sum(0, group, old);
        }
        reduce::<D>(part, primes);
    }
}

#[inline(always)]
fn any_bucket(degree: usize, sources: &[u32], old: &[u64], new: &mut [u64], primes: [u32; 2]) {
    for (target, group) in new.iter_mut().zip(sources.chunks_exact(degree)) {
        *target = 0;
        // One term fewer: the reduced sum so far is one itself.
        for some in group.chunks(TERMS - 1) {
            *target = sum(*target, some, old);
            reduce::<TERMS>(std::slice::from_mut(target), primes);
        }
    }
}

#[inline(always)]
fn sum(first: u64, sources: &[u32], old: &[u64]) -> u64 {
    sources.iter().fold(first, |sum, &source| sum.wrapping_add(old[source as usize]))
}

/// Reduces sums of up to `D` words.
#[inline(always)]
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

    /// Largest residues, weights and numbers of predecessors.
    #[test]
    fn nothing_overflows() {
        let primes = [(1 << 28) - 57, (1 << 28) - 89];
        let largest = pack(primes.map(|prime: u64| prime - 1));
        for degree in 1..=40_u32 {
            let level = Level { buckets: vec![(degree, 3)], sources: vec![0; 3 * degree as usize] };
            let mut new = [0; 3];
            apply(&level, &[largest], &mut new, primes);
            let expected = primes.map(|prime| u64::from(degree) * (prime - 1) % prime);
            assert_eq!(new, [pack(expected); 3], "{degree}");
            let counts = vec![largest; degree as usize];
            let expected = primes.map(|prime| {
                let sum = u128::from(degree) * u128::from(prime - 1) * u128::from(u32::MAX);
                (sum % u128::from(prime)) as u64
            });
            assert_eq!(weigh(&counts, &vec![u32::MAX; degree as usize], primes), expected, "{degree}");
        }
    }
}
