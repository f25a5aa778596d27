//! The left words: how all words with the same first letters stand together in a vector.
//!
//! ```text
//!   vector   | words that begin with left word 0 | with left word 1 | ...      in the order none < ( < )
//! ```
//!
//! How many words begin with a left word, and how these are ordered, depends on the height that it leads to alone.
//!
//! Cost: memory of 20 bytes a left word, and a hash table while tables are made.

use keima_model::{BracketWord, WordCounts};
use rustc_hash::FxHashMap;

/// All left words of some length that words begin with.
#[derive(Debug)]
pub(crate) struct Lefts {
    /// In ascending order.
    pub(crate) words: Vec<BracketWord>,
    /// The height that each leads to.
    pub(crate) heights: Vec<u32>,
    /// Letters of each.
    pub(crate) letters: u32,
}

impl Lefts {
    /// Those of `letters` letters, in words of [`WordCounts::letters`].
    pub(crate) fn new(counts: &WordCounts, letters: u32) -> Self {
        let mut lefts = Self { words: vec![BracketWord::default()], heights: vec![counts.ends()], letters: 0 };
        for place in 0..letters {
            let (mut words, mut heights) = (Vec::new(), Vec::new());
            for (&word, &height) in lefts.words.iter().zip(&lefts.heights) {
                for (letter, after) in (0..).zip([Some(height), Some(height + 1), height.checked_sub(1)]) {
                    let Some(after) = after else { continue };
                    if counts.tails(counts.letters() - place - 1, after.cast_signed()) > 0 {
                        words.push(word.with(place, letter));
                        heights.push(after);
                    }
                }
            }
            lefts = Self { words, heights, letters: place + 1 };
        }
        lefts
    }

    /// How many words of a vector begin with each, when `letters` letters follow. Where a letter is missing from the words,
    /// some may have none.
    pub(crate) fn sizes(&self, counts: &WordCounts, letters: u32) -> Vec<usize> {
        self.heights.iter().map(|height| counts.tails(letters, height.cast_signed()) as usize).collect()
    }

    /// The number of each left word.
    pub(crate) fn numbers(&self) -> FxHashMap<BracketWord, u32> {
        self.words.iter().copied().zip(0..).collect()
    }
}

/// The words of one letter more, with two letters in place of the one at `place`.
pub(crate) fn opened(word: BracketWord, place: u32, [upper, lower]: [u32; 2]) -> BracketWord {
    let below = (1 << place) - 1;
    let spread = |bits: u64| bits & below | (bits >> (place + 1)) << (place + 2);
    let wider = BracketWord { edges: spread(word.edges), closing: spread(word.closing) };
    wider.with(place, upper).with(place + 1, lower)
}

/// The places of a word's brackets whose partners may be the cell's lower edge, an opening bracket: from `first` down,
/// opening brackets that no pair encloses. These are closing before the cell joins its edges. The second value is the
/// height gained up to `end`, if no bracket closes one from above `first` on the way.
pub(crate) fn partners_below(word: BracketWord, first: u32, end: u32) -> (Vec<u32>, Option<u32>) {
    let (mut places, mut height) = (Vec::new(), 0_u32);
    for place in first..end {
        match word.letter(place) {
            1 => {
                if height == 0 {
                    places.push(place);
                }
                height += 1;
            }
            2 => match height.checked_sub(1) {
                Some(less) => height = less,
                None => return (places, None),
            },
            _ => {}
        }
    }
    (places, Some(height))
}

/// The same for the partners of the cell's upper edge, a closing bracket: from `end` up, closing brackets that no pair
/// encloses. These are opening before.
pub(crate) fn partners_above(word: BracketWord, end: u32) -> Vec<u32> {
    let (mut places, mut height) = (Vec::new(), 0_u32);
    for place in (0..end).rev() {
        match word.letter(place) {
            2 => {
                if height == 0 {
                    places.push(place);
                }
                height += 1;
            }
            1 => match height.checked_sub(1) {
                Some(less) => height = less,
                None => break,
            },
            _ => {}
        }
    }
    places
}

/// The place of the opening bracket in the first `end` letters that is number `depth`, from 0, of those without a partner
/// there, from the last on.
pub(crate) fn open_bracket(word: BracketWord, end: u32, depth: u32) -> Option<u32> {
    let (mut closed, mut seen) = (0_u32, 0_u32);
    for place in (0..end).rev() {
        match word.letter(place) {
            2 => closed += 1,
            1 if closed > 0 => closed -= 1,
            1 if seen == depth => return Some(place),
            1 => seen += 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> BracketWord {
        let letters = text.chars().zip(0..);
        letters.fold(BracketWord::default(), |word, (c, place)| {
            word.with(place, u32::from(c == '(') + 2 * u32::from(c == ')'))
        })
    }

    #[test]
    fn partners_worked_by_hand() {
        for (text, first, below, gained, end, above) in [
            ("..(.)(", 2, vec![2, 5], Some(1), 2, vec![]),
            ("(.)..)", 2, vec![], None, 6, vec![5]),
            ("(())..(()", 4, vec![6], Some(1), 4, vec![3]),
            (").(.)", 5, vec![], Some(0), 5, vec![4, 0]),
        ] {
            let word = word(text);
            assert_eq!(partners_below(word, first, text.len() as u32), (below, gained), "{text}");
            assert_eq!(partners_above(word, end), above, "{text}");
        }
        assert_eq!(opened(word("()("), 1, [0, 1]), word("(.(("));
        for (depth, expected) in [(0, Some(4)), (1, Some(0)), (2, None)] {
            assert_eq!(open_bracket(word("(().(."), 6, depth), expected, "{depth}");
        }
    }
}
