//! The tables of a column: how its words are cut in two, and what each cell does.
//!
//! ```text
//!   cells whose places are left of the cut     [`above`](super::above): blocks move
//!   the cell at the cut, and those below it    [`below`](super::below): words move within blocks
//! ```
//!
//! The numbering of the words is the same for all cells: there is no exchange between them.
//!
//! Cost: seconds for the largest boards; about 1 % of a vector's memory.

use std::collections::BTreeMap;

use keima_blocks::brackets::RIGHT_LETTERS;
use keima_model::{BracketProblem, BracketWord, Reading, WordCounts};

use super::above::{AbovePass, opened_within};
use super::below::{BelowPass, Rights};
use super::lefts::{Lefts, open_bracket};

/// A join that changes the left word: the block that it comes from, and the number of the bracket that closes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outer {
    pub(crate) block: u32,
    pub(crate) depth: u32,
}

/// The tables of a column.
#[derive(Debug)]
pub struct BracketTables {
    pub(crate) counts: WordCounts,
    /// Whether every cell lies on the curve.
    pub(crate) covers: bool,
    pub(crate) reading: Reading,
    /// Sizes of the blocks of new pairs; the same above and below.
    pub(crate) pairs: Vec<usize>,
    /// Sizes of the vector's blocks above.
    pub(crate) long: Vec<usize>,
    /// Sizes of the vector's blocks below.
    pub(crate) blocks: Vec<usize>,
    /// The height of each block above.
    pub(crate) long_heights: Vec<u32>,
    /// The height of each block below.
    pub(crate) heights: Vec<u32>,
    pub(crate) above: Vec<AbovePass>,
    /// By height and depth.
    pub(crate) inner: Vec<Vec<Vec<u16>>>,
    /// By cell and height.
    pub(crate) below: Vec<Vec<BelowPass>>,
    /// Blocks below that exchange rows only among themselves: left words with brackets at the same places, first those without.
    pub(crate) families: Vec<Vec<u32>>,
    /// Where each block stands in its family.
    pub(crate) member: Vec<u32>,
    /// The joins that come to block `b` are `outer[first_outer[b]..first_outer[b + 1]]`.
    pub(crate) first_outer: Vec<u32>,
    pub(crate) outer: Vec<Outer>,
}

impl BracketTables {
    /// Makes the tables of a problem, whose words are cut so that up to `right_letters` follow a left word: 2 to
    /// [`RIGHT_LETTERS`]. The result of a count does not depend on it.
    pub fn new(problem: &dyn BracketProblem, right_letters: u32) -> Self {
        let letters = problem.board().height;
        let counts = WordCounts::new(letters, problem.ends());
        let right = letters.min(right_letters.clamp(2, RIGHT_LETTERS));
        let cut = letters - right;
        let (short, long) = (Lefts::new(&counts, cut), Lefts::new(&counts, cut + 1));
        let highest = short.heights.iter().chain(&long.heights).max().copied().unwrap_or(0) + 2;
        let rights = |letters: u32| (0..=highest).map(|height| Rights::new(&counts, letters, height)).collect();
        let (all, less): (Vec<Rights>, Vec<Rights>) = (rights(right), rights(right - 1));
        let inner = |height: usize| {
            let lower = height.checked_sub(2).and_then(|lower| less.get(lower));
            lower.map_or_else(Vec::new, |lower| {
                (0..=height as u32 - 2).map(|depth| opened_within(&less[height], lower, depth)).collect()
            })
        };
        let (first_outer, outer) = outer(&short);
        let (families, member) = families(&short);
        Self {
            covers: problem.covers(),
            reading: problem.reading(),
            pairs: short.sizes(&counts, right - 1),
            long: long.sizes(&counts, right - 1),
            blocks: short.sizes(&counts, right),
            above: (0..cut).map(|place| AbovePass::new(&short, &long, place)).collect(),
            inner: (0..less.len()).map(inner).collect(),
            below: (0..right - 1)
                .map(|place| (0..=highest).map(|height| BelowPass::new(&all, &less, height, place)).collect())
                .collect(),
            heights: short.heights,
            long_heights: long.heights,
            families,
            member,
            first_outer,
            outer,
            counts,
        }
    }

    /// Words of a vector.
    pub fn words(&self) -> usize {
        self.counts.words() as usize
    }

    /// New pairs beside it.
    pub fn new_pairs(&self) -> usize {
        self.counts.shorter_words() as usize
    }

    /// The position of a word.
    pub(crate) fn position(&self, word: BracketWord) -> Option<usize> {
        let rank = self.counts.rank(word, self.counts.letters(), self.counts.ends())?;
        usize::try_from(rank).ok()
    }

    /// The position of the word whose curve is complete once the cell has joined its edges, whose upper one is at `place`.
    pub(crate) fn completed_at(&self, place: u32) -> Option<usize> {
        let letters = match self.counts.ends() {
            0 => [1, 2],
            2 => [2, 2],
            _ => return None,
        };
        // A curve through all cells of whole columns is complete at their end.
        if self.covers && place + 2 < self.counts.letters() {
            return None;
        }
        self.position(BracketWord::default().with(place, letters[0]).with(place + 1, letters[1]))
    }
}

/// Left words by the places of their brackets, and where each stands among those.
fn families(lefts: &Lefts) -> (Vec<Vec<u32>>, Vec<u32>) {
    let mut families: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let mut member = Vec::with_capacity(lefts.words.len());
    for (number, word) in (0..).zip(&lefts.words) {
        let family = families.entry(word.edges).or_default();
        member.push(family.len() as u32);
        family.push(number);
    }
    (families.into_values().collect(), member)
}

/// The joins that change left words, by the block that they lead to.
fn outer(lefts: &Lefts) -> (Vec<u32>, Vec<Outer>) {
    let numbers = lefts.numbers();
    let mut joins: Vec<Vec<Outer>> = vec![Vec::new(); lefts.words.len()];
    for (block, (&word, &height)) in (0..).zip(lefts.words.iter().zip(&lefts.heights)) {
        for depth in 0..height.saturating_sub(1) {
            let closed = open_bracket(word, lefts.letters, depth).map(|place| word.with(place, 2));
            if let Some(target) = closed.and_then(|closed| numbers.get(&closed)) {
                joins[*target as usize].push(Outer { block, depth });
            }
        }
    }
    let mut first = vec![0];
    for joins in &joins {
        first.push(first[first.len() - 1] + joins.len() as u32);
    }
    (first, joins.into_iter().flatten().collect())
}
