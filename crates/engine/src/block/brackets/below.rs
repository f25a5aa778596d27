//! Tables of the cells in the lower part of a column: letters to the right of the left words change.
//!
//! A block is all words with the same left word. The letters that follow depend on the left word's height alone, so all
//! blocks of one height share their tables. One kind of join changes the left word: that of two closing brackets where the
//! partner of the upper one is a left letter. It leads to a block whose height is two lower.
//!
//! Cost: some bytes for each word that may follow, height and cell.

use keima_model::{BracketWord, WordCounts};
use rustc_hash::FxHashMap;

use super::lefts::{open_bracket, opened, partners_above, partners_below};

/// The words of some letters that may follow a left word of one height.
#[derive(Debug)]
pub(crate) struct Rights {
    pub(crate) letters: u32,
    /// In ascending order.
    pub(crate) words: Vec<BracketWord>,
    numbers: FxHashMap<BracketWord, u16>,
}

impl Rights {
    pub(crate) fn new(counts: &WordCounts, letters: u32, height: u32) -> Self {
        let mut begun = vec![(BracketWord::default(), height)];
        for place in 0..letters {
            let on = |&(word, height): &(BracketWord, u32)| {
                let after = [Some(height), Some(height + 1), height.checked_sub(1)];
                (0..).zip(after).filter_map(move |(letter, after)| Some((word.with(place, letter), after?)))
            };
            begun = begun.iter().flat_map(on).collect();
            begun.retain(|&(_, height)| counts.tails(letters - place - 1, height.cast_signed()) > 0);
        }
        let words: Vec<BracketWord> = begun
            .into_iter()
            .map(|(word, _)| word)
            .filter(|_| counts.tails(letters, height.cast_signed()) > 0)
            .collect();
        let numbers = words.iter().copied().zip(0..).collect();
        Self { letters, words, numbers }
    }

    pub(crate) fn number(&self, word: BracketWord) -> Option<u16> {
        self.numbers.get(&word).copied()
    }
}

/// Joins of so many words each.
#[derive(Debug, Default, Clone)]
pub(crate) struct Joins {
    /// For each join: the word without brackets at both places, the word with a pair there, the new pair, and the words that
    /// become the first.
    pub(crate) rows: Vec<u16>,
}

/// One cell, for blocks of one height.
#[derive(Debug, Default)]
pub(crate) struct BelowPass {
    /// A bracket that leads on: the word that has it at the upper place, the word that has it at the lower one, the new pair.
    pub(crate) carries: Vec<[u16; 3]>,
    /// By number of words that join.
    pub(crate) joins: Vec<Joins>,
    /// Joins of words of this block to those of a block two lower, by number of the left bracket that closes, from the last
    /// one without a partner on: (word here, word there).
    pub(crate) outer: Vec<Vec<[u16; 2]>>,
}

impl BelowPass {
    /// The cell whose places are `place` and the next, counted from the end of the left word. `all[height]` are the words
    /// that may follow, `short[height]` those of one letter less.
    pub(crate) fn new(all: &[Rights], short: &[Rights], height: u32, place: u32) -> Self {
        let mut pass = Self::default();
        let (Some(words), Some(pairs)) = (all.get(height as usize), short.get(height as usize)) else { return pass };
        let of = |word| words.number(word);
        for (number, &word) in (0_u16..).zip(&pairs.words) {
            let here = |letters| opened(word, place, letters);
            let letter = word.letter(place);
            if letter > 0 {
                if let (Some(upper), Some(lower)) = (of(here([letter, 0])), of(here([0, letter]))) {
                    pass.carries.push([upper, lower, number]);
                }
                continue;
            }
            let (Some(empty), Some(pair)) = (of(here([0, 0])), of(here([1, 2]))) else { continue };
            let below = partners_below(here([0, 0]), place + 2, words.letters).0;
            let opens = below.into_iter().map(|partner| here([1, 1]).with(partner, 2));
            let closes = partners_above(here([0, 0]), place).into_iter().map(|partner| here([2, 2]).with(partner, 1));
            let sources: Vec<u16> = std::iter::once(here([2, 1])).chain(opens).chain(closes).filter_map(of).collect();
            if pass.joins.len() <= sources.len() {
                pass.joins.resize(sources.len() + 1, Joins::default());
            }
            pass.joins[sources.len()].rows.extend([empty, pair, number].into_iter().chain(sources));
        }
        let Some(lower) = height.checked_sub(2).and_then(|lower| all.get(lower as usize)) else { return pass };
        for (number, &word) in (0_u16..).zip(&words.words) {
            if [word.letter(place), word.letter(place + 1)] != [2, 2] || open_bracket(word, place, 0).is_some() {
                continue;
            }
            let Some(target) = lower.number(word.with(place, 0).with(place + 1, 0)) else { continue };
            // The brackets above the cell that close left ones.
            let mut depth = 0_usize;
            let mut open = 0_u32;
            for upper in 0..place {
                match word.letter(upper) {
                    1 => open += 1,
                    2 if open > 0 => open -= 1,
                    2 => depth += 1,
                    _ => {}
                }
            }
            if pass.outer.len() <= depth {
                pass.outer.resize(depth + 1, Vec::new());
            }
            pass.outer[depth].push([number, target]);
        }
        pass
    }
}
