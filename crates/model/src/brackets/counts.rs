//! How many words there are: the numbers behind every rank.
//!
//! A word is a Motzkin path. An opening bracket leads up, a closing one down, and a word with e closing brackets without
//! partners leads from height e to 0:
//!
//! ```text
//!   tails(n, h) = tails(n-1, h) + tails(n-1, h+1) + tails(n-1, h-1)      tails(0, 0) = 1
//! ```
//!
//! Words are ranked in the order none < ( < ), the top letter first. So the words that begin alike are neighbours, and how
//! many these are depends on the letters that are left and on the height alone.
//!
//! Cost: n^2 additions.

use super::problem::BracketWord;

/// The numbers of tails of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordCounts {
    letters: u32,
    ends: u32,
    /// `tails[n][h]`, saturating.
    tails: Vec<Vec<u64>>,
}

impl WordCounts {
    /// For words of so many letters, with so many closing brackets that have no partner.
    pub fn new(letters: u32, ends: u32) -> Self {
        let most = (letters + ends) as usize + 1;
        let mut tails = vec![vec![0_u64; most + 1]];
        tails[0][0] = 1;
        for n in 0..letters as usize {
            let at = |height: usize| tails[n].get(height).copied().unwrap_or(0);
            let sum = |height: usize| {
                let lower = height.checked_sub(1).map_or(0, at);
                at(height).saturating_add(at(height + 1)).saturating_add(lower)
            };
            let next = (0..=most).map(sum).collect();
            tails.push(next);
        }
        Self { letters, ends, tails }
    }

    /// Letters of a word.
    pub const fn letters(&self) -> u32 {
        self.letters
    }

    /// Closing brackets without a partner in each word.
    pub const fn ends(&self) -> u32 {
        self.ends
    }

    /// Number of tails of `letters` letters that lead down from a height; none from below 0.
    pub fn tails(&self, letters: u32, height: i32) -> u64 {
        let tails = self.tails.get(letters as usize);
        let of = |height: usize| tails.and_then(|tails| tails.get(height)).copied().unwrap_or(0);
        usize::try_from(height).map_or(0, of)
    }

    /// The number of words.
    pub fn words(&self) -> u64 {
        self.tails(self.letters, self.ends.cast_signed())
    }

    /// The number of words of one letter less.
    pub fn shorter_words(&self) -> u64 {
        self.letters.checked_sub(1).map_or(0, |letters| self.tails(letters, self.ends.cast_signed()))
    }

    /// The number of left words: the beginnings of so many letters.
    pub fn left_words(&self, letters: u32) -> u64 {
        let mut begun = vec![0_u64; (self.ends + letters) as usize + 2];
        begun[self.ends as usize] = 1;
        for place in 0..letters {
            let at = |height: usize| begun.get(height).copied().unwrap_or(0);
            let into = |height: usize| {
                let lower = height.checked_sub(1).map_or(0, at);
                let ends = self.tails(self.letters.saturating_sub(place + 1), height as i32) > 0;
                if ends { at(height).saturating_add(at(height + 1)).saturating_add(lower) } else { 0 }
            };
            begun = (0..begun.len()).map(into).collect();
        }
        begun.into_iter().fold(0, u64::saturating_add)
    }

    /// Rank of the first `letters` letters of a word among all tails of so many letters from `height` on. `None` if it is
    /// not one of them.
    pub fn rank(&self, word: BracketWord, letters: u32, height: u32) -> Option<u64> {
        let (mut rank, mut height) = (0_u64, height.cast_signed());
        for place in 0..letters {
            let left = letters - place - 1;
            let (smaller, after) = match word.letter(place) {
                0 => (0, height),
                1 => (self.tails(left, height), height + 1),
                _ => (self.tails(left, height).saturating_add(self.tails(left, height + 1)), height - 1),
            };
            rank = rank.saturating_add(smaller);
            height = after;
            if height < 0 {
                return None;
            }
        }
        (height == 0).then_some(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Motzkin numbers, and those of words with one end (OEIS A001006, A002026) and two (A005322).
    #[test]
    fn words_are_counted() {
        for (ends, expected) in
            [(0, [1, 1, 2, 4, 9, 21, 51]), (1, [0, 1, 2, 5, 12, 30, 76]), (2, [0, 0, 1, 3, 9, 25, 69])]
        {
            let counts: Vec<u64> = (0..7).map(|letters| WordCounts::new(letters, ends).words()).collect();
            assert_eq!(counts, expected, "{ends} ends");
        }
        let counts = WordCounts::new(17, 1);
        assert_eq!((counts.words(), counts.shorter_words()), (6_536_382 - 2_356_779, 2_356_779 - 853_467));
        assert_eq!((counts.letters(), counts.ends()), (17, 1));
    }

    /// Every word has its own rank, and the ranks have no gaps.
    #[test]
    fn ranks_are_a_numbering() {
        for (letters, ends) in [(0, 0), (1, 0), (1, 1), (5, 0), (6, 1), (6, 2)] {
            let counts = WordCounts::new(letters, ends);
            let all = (0..3_u32.pow(letters)).map(|code| {
                let letter = |place: u32| code / 3_u32.pow(letters - place - 1) % 3;
                (0..letters).fold(BracketWord::default(), |word, place| word.with(place, letter(place)))
            });
            let ranks: Vec<u64> = all.filter_map(|word| counts.rank(word, letters, ends)).collect();
            assert_eq!(ranks, (0..counts.words()).collect::<Vec<_>>(), "{letters} letters, {ends} ends");
        }
    }
}
