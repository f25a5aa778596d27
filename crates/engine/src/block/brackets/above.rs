//! Tables of the cells in the upper part of a column: whole left words change, and what follows them stays.
//!
//! The cell's two places are among the first q+1 letters. A vector's block is all words with the same q+1 letters, and a
//! block of new pairs all with the same q. Blocks of one height are alike, so each operation is a sum of whole blocks:
//!
//! ```text
//!   c 0 -> c 0, 0 c, and a new pair beside c          0 0 -> 0 0, and a new pair
//!   a new pair beside c -> c 0                        a new pair beside nothing -> ( )
//!   ) (, ( ( and ) ) -> 0 0                           where the partner that changes is a left letter
//!   ( ( -> 0 0                                        else: some words of one block to some of another
//! ```
//!
//! Cost: some 40 bytes a left word and cell.

use keima_model::BracketWord;

use super::below::Rights;
use super::lefts::{Lefts, opened, partners_above, partners_below};

/// What becomes of one block of new pairs, and of the blocks that belong to it.
#[derive(Debug)]
pub(crate) enum Move {
    /// A bracket leads on.
    Carry {
        /// The block whose cell has the bracket at its upper place.
        upper: u32,
        /// The block with the bracket at the lower place.
        lower: u32,
    },
    /// No bracket leaves the cell.
    Join {
        /// The block without brackets at both places.
        empty: u32,
        /// The block with a pair at both places.
        pair: u32,
        /// The blocks whose words all join to those of `empty`: a range of [`AbovePass::sources`].
        sources: [u32; 2],
        /// The block whose words join to some of `empty`, with the height gained since the cell.
        inner: Option<(u32, u32)>,
    },
    /// There are no words.
    Nothing,
}

/// One cell.
#[derive(Debug)]
pub(crate) struct AbovePass {
    /// One for each block of new pairs.
    pub(crate) moves: Vec<Move>,
    /// Blocks that others' moves name.
    pub(crate) sources: Vec<u32>,
    /// Which blocks of the vector are only read.
    pub(crate) read_only: Vec<bool>,
}

impl AbovePass {
    /// The cell whose places are `place` and the next. `short` are the left words of new pairs, `long` those of the vector,
    /// of one letter more.
    pub(crate) fn new(short: &Lefts, long: &Lefts, place: u32) -> Self {
        let numbers = long.numbers();
        let of = |word| numbers.get(&word).copied();
        let mut pass =
            Self { moves: Vec::with_capacity(short.words.len()), sources: Vec::new(), read_only: Vec::new() };
        for &word in &short.words {
            let here = |letters| opened(word, place, letters);
            let made = match word.letter(place) {
                0 => of(here([0, 0])).zip(of(here([1, 2]))).map(|(empty, pair)| {
                    let first = pass.sources.len() as u32;
                    let (below, gained) = partners_below(here([0, 0]), place + 2, long.letters);
                    let above = partners_above(here([0, 0]), place);
                    let opens = below.into_iter().map(|partner| here([1, 1]).with(partner, 2));
                    let closes = above.into_iter().map(|partner| here([2, 2]).with(partner, 1));
                    let meets = std::iter::once(here([2, 1]));
                    pass.sources.extend(meets.chain(opens).chain(closes).filter_map(of));
                    let inner = of(here([1, 1])).zip(gained);
                    Move::Join { empty, pair, sources: [first, pass.sources.len() as u32], inner }
                }),
                letter => {
                    of(here([letter, 0])).zip(of(here([0, letter]))).map(|(upper, lower)| Move::Carry { upper, lower })
                }
            };
            pass.moves.push(made.unwrap_or(Move::Nothing));
        }
        let only_read =
            |word: &BracketWord| !matches!([word.letter(place), word.letter(place + 1)], [0, _] | [_, 0] | [1, 2]);
        pass.read_only = long.words.iter().map(only_read).collect();
        pass
    }
}

/// For the words that follow a left word: where the first bracket that leads `depth + 1` below the start is opened instead,
/// from a start that is two lower. `targets[i]` is the number of the word that the i-th becomes.
pub(crate) fn opened_within(words: &Rights, lower: &Rights, depth: u32) -> Vec<u16> {
    let of = |&word: &BracketWord| {
        let mut height = depth;
        for place in 0..words.letters {
            match word.letter(place) {
                1 => height += 1,
                2 if height == 0 => return lower.number(word.with(place, 1)).unwrap_or(0),
                2 => height -= 1,
                _ => {}
            }
        }
        0
    };
    words.words.iter().map(of).collect()
}
