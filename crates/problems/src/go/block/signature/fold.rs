//! Folding: of two borders that are mirror images of each other, top to bottom, one goes on into the next column.
//!
//! At the end of a column both have the same value, since the passes know up and down by their order alone. Let H be the
//! vector there, R the mirror, and A the passes of a column. The vector G enters the column, on one of each pair:
//!
//! ```text
//!   G(s) = H(s) + H(Rs)           s is kept, Rs is not
//!   G(s) = (H(s) + H(Rs)) / 2     both are kept: the colours below do not tell them apart
//!   G(s) = 0                      Rs is kept, s is not
//! ```
//!
//! Let f = (H + RH) / 2 be the true vector. G + RG = 2f, so H' = AG has (H' + RH') / 2 = Af. A sum over H' with symmetric
//! weights (accepting states, completions) is then the true sum. All values are integers, at most twice the true ones.
//! Transposed passes give the completions of the kept states; the others take those of their images.
//!
//! The colours of the cells next to the middle decide which state is kept, pair by pair outwards:
//!
//! ```text
//!   m = 7, cells   0 1 2 | 3 | 4 5 6       pair 0: cells 2 and 4, pair 1: cells 1 and 5, ...
//!
//!   equal                            the next pair decides
//!   one of them is empty             kept if it is the upper one
//!   black and white                  kept if the upper one has the colour of the first stone among the middle cell and
//!                                    all pairs that are equal; where there is none, the next pair decides
//! ```
//!
//! An exchange of black and white does not change the decision, and the mirror turns it around. Once a pass has changed
//! the upper cell of a pair, that pair decides no more; from the middle cell on all states are kept. The pair that decided
//! before is one of those left, so a pass never leads from a kept state to one that is not.
//!
//! Only pairs next to the middle count: each pair more makes a window's lists depend on more cells outside, so tables
//! grow. About a third of the states in the first half of a column are left out.
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), count both images; the choice by the middle cells is ours.
//! Cost: a few comparisons a state while tables are built.

use rustc_hash::FxHashMap;

use keima_model::Window;

use crate::go::block::cells::colours;
use crate::go::block::signature::lists::{SignatureLists, WindowSignatures};
use crate::go::state::Word;

/// Pairs that may decide.
const PAIRS: usize = 2;

/// Which of a state and its image is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The state alone.
    Kept,
    /// Both: no pair decides.
    Tied,
    /// The image alone.
    Dropped,
}

/// The cells of a column that decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    height: u32,
}

impl Fold {
    pub(crate) fn new(height: u32) -> Self {
        Self { height }
    }

    /// The pairs of cells that may decide before the pass over cell `kink`, from the middle outwards.
    fn pairs(self, kink: u32) -> impl Iterator<Item = (u32, u32)> {
        let upper = (0..self.height / 2).rev().take(PAIRS).take_while(move |&upper| upper >= kink);
        upper.map(move |upper| (upper, self.height - 1 - upper))
    }

    /// The low bit of the nibble of each cell that may decide then.
    fn cells<W: Word>(self, kink: u32) -> W {
        let pairs = self
            .pairs(kink)
            .fold(W::ZERO, |cells, (upper, lower)| cells | W::ONE << (4 * upper) | W::ONE << (4 * lower));
        // The middle cell lies between them.
        if self.height % 2 == 1 && pairs != W::ZERO { pairs | W::ONE << (4 * (self.height / 2)) } else { pairs }
    }

    /// The fate of a state before the pass over cell `kink`.
    pub(crate) fn fate<W: Word>(self, state: W, kink: u32) -> Fate {
        // 0 empty, 2 black, 3 white.
        let colours = colours(state, self.cells(kink));
        let of = |cell: u32| (colours >> (4 * cell)).low() & 3;
        let mut first = if self.height % 2 == 1 { of(self.height / 2) } else { 0 };
        // The upper one of the first pair of black and white.
        let mut unequal = 0;
        for (upper, lower) in self.pairs(kink) {
            match (of(upper), of(lower)) {
                (0, 0) => {}
                (0, _) => return Fate::Kept,
                (_, 0) => return Fate::Dropped,
                (above, below) if above == below => first = if first == 0 { above } else { first },
                (above, _) => unequal = if unequal == 0 { above } else { unequal },
            }
            if first != 0 && unequal != 0 {
                return if unequal == first { Fate::Kept } else { Fate::Dropped };
            }
        }
        Fate::Tied
    }

    /// The same lists without the dropped states. Each signature splits by the colours of the outside cells that may
    /// decide.
    pub(crate) fn refine<W: Word>(self, window: Window, inside: W, all: WindowSignatures<W>) -> WindowSignatures<W> {
        let cells: W = self.cells(window.first);
        if cells == W::ZERO {
            return all;
        }
        let outside = cells & !inside;
        let mut numbers: FxHashMap<(u32, W), u32> = FxHashMap::default();
        let mut refined = WindowSignatures { signatures: Vec::new(), outsides: Vec::with_capacity(all.outsides.len()) };
        for (word, signature) in all.outsides {
            let number = *numbers.entry((signature, colours(word, outside))).or_insert_with(|| {
                let lists = (window.first..).zip(&all.signatures[signature as usize].lists);
                let kept = |kink, list: &Vec<W>| {
                    let kept = |code: &&W| self.fate(word | **code, kink) != Fate::Dropped;
                    list.iter().filter(kept).copied().collect()
                };
                let lists = lists.map(|(kink, list)| kept(kink, list)).collect();
                refined.signatures.push(SignatureLists { lists, sample: word, known: None });
                refined.signatures.len() as u32 - 1
            });
            refined.outsides.push((word, number));
        }
        refined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::block::cells::mirror;
    use crate::go::state::{normalise, reverse};

    /// All states of a column at its end, one of each class.
    fn states(height: u32) -> Vec<u64> {
        let WindowSignatures { signatures, outsides } =
            WindowSignatures::new(height, Window { first: 0, len: height }).unwrap();
        assert_eq!(outsides.len(), 1);
        signatures[0].lists[0].clone()
    }

    #[test]
    fn of_each_pair_of_images_one_is_kept() {
        for height in 2..=7 {
            let fold = Fold::new(height);
            let all = states(height);
            let (mut tied, mut kept) = (0, 0);
            for &state in &all {
                let image = mirror(state, height);
                assert_eq!(mirror(image, height), state);
                assert!(all.binary_search(&image).is_ok(), "{height}: {state:x} has an image {image:x}");
                let expected = match fold.fate(state, 0) {
                    Fate::Kept => Fate::Dropped,
                    Fate::Tied => Fate::Tied,
                    Fate::Dropped => Fate::Kept,
                };
                assert_eq!(fold.fate(image, 0), expected, "{height}: {state:x}");
                assert_eq!(fold.fate(reverse(state), 0), fold.fate(state, 0), "{height}: {state:x}");
                tied += u32::from(expected == Fate::Tied);
                kept += u32::from(expected == Fate::Dropped);
                let symmetric = normalise(image, 0) == normalise(state, 0);
                assert!(!symmetric || expected == Fate::Tied, "{height}: {state:x}");
            }
            assert_eq!(2 * kept + tied, all.len() as u32);
            // Smaller heights have few pairs to tell images apart.
            assert!(height < 5 || 2 * tied < all.len() as u32, "{height}: {tied} tied of {}", all.len());
        }
    }
}
