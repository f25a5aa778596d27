//! Where terms modulo a prime come from: a graph, or a list of exact numbers.

use rug::Integer;
use rug::ops::RemRounding;

use super::kept::Kept;
use crate::graph::{Graph, Pairs, Residues};

/// Lanes of a group of primes that goes through the graph together.
pub(crate) const GROUP: usize = 4;

/// A series that can be had modulo any prime below 2^60.
pub trait Source: Sync {
    /// The terms modulo `prime`, from the first on.
    fn residues<'a>(&'a self, prime: u64) -> Box<dyn Iterator<Item = u64> + 'a>;
    /// The terms modulo each of two primes below 2^28, from the first on, made by so many threads.
    fn pairs<'a>(&'a self, primes: [u64; 2], threads: usize) -> Box<dyn Terms + 'a>;
    /// The terms after those that were kept; `None` if they are of no use.
    fn pairs_after<'a>(&'a self, kept: &Kept, threads: usize) -> Option<Box<dyn Terms + 'a>>;
    /// The first `terms` terms modulo each of four primes.
    fn group(&self, primes: [u64; GROUP], terms: usize) -> [Vec<u64>; GROUP];
    /// Number of terms there are; `None` if any number can be had.
    fn terms(&self) -> Option<usize>;
    /// A bound on the order modulo two primes below 2^28, if there is one.
    fn order_bound(&self, primes: [u64; 2]) -> Option<usize>;
    /// A bound on the bits of the numerators and the common denominator of a recurrence of that order, if there is one.
    fn coefficient_bits(&self, order: usize) -> Option<usize>;
}

/// Terms modulo two primes, one after the other.
pub trait Terms: Iterator<Item = [u64; 2]> {
    /// What makes the terms after those so far, if it is worth keeping.
    fn counts(&self) -> Option<Vec<u64>>;
}

impl Terms for Pairs<'_> {
    fn counts(&self) -> Option<Vec<u64>> {
        Pairs::counts(self)
    }
}

/// Terms that are there.
struct Listed<I>(I);

impl<I: Iterator<Item = [u64; 2]>> Iterator for Listed<I> {
    type Item = [u64; 2];
    fn next(&mut self) -> Option<[u64; 2]> {
        self.0.next()
    }
}

impl<I: Iterator<Item = [u64; 2]>> Terms for Listed<I> {
    fn counts(&self) -> Option<Vec<u64>> {
        None
    }
}

impl Source for Graph {
    fn residues<'a>(&'a self, prime: u64) -> Box<dyn Iterator<Item = u64> + 'a> {
        Box::new(Residues::new(self, [prime]).map(|[residue]| residue))
    }
    fn pairs<'a>(&'a self, primes: [u64; 2], threads: usize) -> Box<dyn Terms + 'a> {
        Box::new(Pairs::new(self, primes, threads))
    }
    fn pairs_after<'a>(&'a self, kept: &Kept, threads: usize) -> Option<Box<dyn Terms + 'a>> {
        let pairs = Pairs::after(self, kept.primes, threads, kept.terms.len(), kept.counts.clone());
        pairs.map(|pairs| Box::new(pairs) as Box<dyn Terms>)
    }
    fn group(&self, primes: [u64; GROUP], terms: usize) -> [Vec<u64>; GROUP] {
        let rows: Vec<[u64; GROUP]> = Residues::new(self, primes).take(terms).collect();
        std::array::from_fn(|lane| rows.iter().map(|row| row[lane]).collect())
    }
    fn terms(&self) -> Option<usize> {
        None
    }
    fn order_bound(&self, primes: [u64; 2]) -> Option<usize> {
        Some(Graph::order_bound(self, primes))
    }
    /// They are integers, which settle without one.
    fn coefficient_bits(&self, _: usize) -> Option<usize> {
        None
    }
}

impl Source for [Integer] {
    fn residues<'a>(&'a self, prime: u64) -> Box<dyn Iterator<Item = u64> + 'a> {
        Box::new(self.iter().map(move |term| signed_residue(term, prime)))
    }
    fn pairs<'a>(&'a self, primes: [u64; 2], _: usize) -> Box<dyn Terms + 'a> {
        Box::new(Listed(self.iter().map(move |term| primes.map(|prime| signed_residue(term, prime)))))
    }
    fn pairs_after<'a>(&'a self, _: &Kept, _: usize) -> Option<Box<dyn Terms + 'a>> {
        None
    }
    fn group(&self, primes: [u64; GROUP], terms: usize) -> [Vec<u64>; GROUP] {
        primes.map(|prime| self.residues(prime).take(terms).collect())
    }
    fn terms(&self) -> Option<usize> {
        Some(self.len())
    }
    fn order_bound(&self, _: [u64; 2]) -> Option<usize> {
        None
    }
    /// Coefficients are quotients of determinants of r x r terms (Cramer), whose rows have a length of at most sqrt(r) times
    /// the largest term (Hadamard). Those of P are sums of r products of such a coefficient with a term.
    fn coefficient_bits(&self, order: usize) -> Option<usize> {
        let bits = self.iter().map(Integer::significant_bits).max().unwrap_or(0) as usize;
        let half_log = order.max(1).ilog2() as usize / 2 + 1;
        Some((order + 1) * (bits + half_log) + half_log)
    }
}

/// `x` modulo `modulus`, from 0 on, for x of either sign.
pub(crate) fn signed_residue(x: &Integer, modulus: u64) -> u64 {
    Integer::from(x.rem_euc(&Integer::from(modulus))).to_u64_wrapping()
}
