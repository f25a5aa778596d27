//! The blocks of a family in their order, from the halves of their outsides.
//!
//! An outside is an upper half, the cells above its window, and a lower one. Blocks of a family stand in the order of
//! (potential, word). The potentials of the halves add up, and the lower half is the upper part of the word:
//!
//! ```text
//!   for each potential p, ascending                       uppers by potential     0: u0 u3    32: u1 u2 u4
//!     for each lower half l, ascending, potential q       lowers                  l0 (0)  l1 (32)  l2 (0)  ...
//!       for each upper half of potential p - q
//!         a block, if an inside code fits between         p = 32:  u1 l0   u2 l0   u4 l0   u0 l1   u3 l1   u1 l2 ...
//! ```
//!
//! So halves are sorted, and blocks are not.
//!
//! Cost: a step for each pair of halves. Memory: the halves.

use std::hash::Hash;
use std::ops::Range;

use super::numbering::Numbering;
use super::signature::scan::{Scan, ScanRules, scan};
use crate::go::state::Word;

/// A half of an outside.
#[derive(Clone, Copy)]
pub(crate) struct Half<W> {
    pub(crate) word: W,
    /// Number of its signature.
    pub(crate) signature: u32,
    /// See [`potential`](super::cells::potential).
    potential: u32,
}

/// All halves in `cells` that `rules` allow, in the order of (potential, word). Numbers their signatures.
pub(crate) fn halves<W: Word, S: Copy + Eq + Hash>(
    cells: &Range<u32>,
    rules: &ScanRules<W>,
    signatures: &mut Numbering<S>,
    signature: impl Fn(&Scan<W>) -> S,
) -> Vec<Half<W>> {
    let mut halves = Vec::new();
    scan(cells.clone(), rules, Scan::default(), &mut |scan| {
        let signature = signatures.number(signature(scan));
        halves.push(Half { word: scan.word, signature, potential: scan.potential() });
    });
    // A word has at most 84 bits.
    halves.sort_unstable_by_key(|half| u128::from(half.potential) << 96 | half.word.widen());
    halves
}

/// Halves of one family, and the signatures among them.
pub(crate) struct Met<W> {
    /// With the number of the signature in `samples`.
    pub(crate) halves: Vec<Half<W>>,
    /// Each signature, and a half that has it.
    pub(crate) samples: Vec<(u32, W)>,
}

impl<W: Word> Met<W> {
    /// For halves with the numbers of `count` signatures.
    pub(crate) fn new(mut halves: Vec<Half<W>>, count: usize) -> Self {
        let (mut numbers, mut samples) = (vec![None; count], Vec::new());
        for half in &mut halves {
            let number = numbers[half.signature as usize].get_or_insert_with(|| {
                samples.push((half.signature, half.word));
                samples.len() as u32 - 1
            });
            half.signature = *number;
        }
        Self { halves, samples }
    }
}

/// Halves of one potential: their places in the list of all.
struct Level {
    potential: u32,
    halves: Range<usize>,
}

/// The levels of halves in the order of their potential.
fn levels<W>(halves: &[Half<W>]) -> Vec<Level> {
    let (mut levels, mut start) = (Vec::new(), 0);
    for same in halves.chunk_by(|one, other| one.potential == other.potential) {
        let end = start + same.len();
        levels.extend(same.first().map(|half| Level { potential: half.potential, halves: start..end }));
        start = end;
    }
    levels
}

/// The pairs of halves of one family, and how far they were taken.
#[derive(Default)]
pub(crate) struct HalfOrder<W> {
    uppers: Vec<Half<W>>,
    lowers: Vec<Half<W>>,
    upper_levels: Vec<Level>,
    lower_levels: Vec<Level>,
    /// Potentials that are left, the last one first.
    potentials: Vec<u32>,
    /// For each lower half of the present potential, in the order of their words: its place, and the level of its upper halves.
    line: Vec<(u32, u32)>,
    /// The next place in `line`.
    next_lower: usize,
    /// The present lower half, and the upper halves that are left for it.
    lower: u32,
    left: Range<usize>,
}

impl<W: Word> HalfOrder<W> {
    /// For halves in the order of [`halves`].
    pub(crate) fn new(uppers: Vec<Half<W>>, lowers: Vec<Half<W>>) -> Self {
        let [upper_levels, lower_levels] = [&uppers, &lowers].map(|halves| levels(halves));
        let sums = |upper: &Level| {
            let upper = upper.potential;
            lower_levels.iter().map(move |lower| upper + lower.potential)
        };
        let mut potentials: Vec<u32> = upper_levels.iter().flat_map(sums).collect();
        potentials.sort_unstable_by(|one, other| other.cmp(one));
        potentials.dedup();
        Self { uppers, lowers, upper_levels, lower_levels, potentials, ..Self::default() }
    }

    /// The next pair, upper and lower.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(Half<W>, Half<W>)> {
        loop {
            if let Some(upper) = self.left.next() {
                return Some((self.uppers[upper], self.lowers[self.lower as usize]));
            }
            let Some(&(lower, level)) = self.line.get(self.next_lower) else {
                let potential = self.potentials.pop()?;
                self.begin(potential);
                continue;
            };
            self.next_lower += 1;
            (self.lower, self.left) = (lower, self.upper_levels[level as usize].halves.clone());
        }
    }

    /// Lists the lower halves that make this potential with others.
    fn begin(&mut self, potential: u32) {
        self.line.clear();
        self.next_lower = 0;
        let mut levels = 0;
        for (upper, number) in self.upper_levels.iter().zip(0..) {
            let Some(lower) = potential.checked_sub(upper.potential) else { break };
            if let Ok(level) = self.lower_levels.binary_search_by_key(&lower, |level| level.potential) {
                levels += 1;
                self.line.extend(self.lower_levels[level].halves.clone().map(|lower| (lower as u32, number)));
            }
        }
        // The halves of one level are in this order already.
        if levels > 1 {
            let lowers = &self.lowers;
            self.line.sort_unstable_by_key(|&(lower, _)| lowers[lower as usize].word);
        }
    }
}
