//! What a count over bracket words takes in the memory of one process.
//!
//! ```text
//!   vector   8 bytes for each word and each new pair, times the residues of a sweep
//!   ways     4 bytes for each word
//!   tables   by left word and cell, and some for the words that may follow left words
//! ```

use keima_model::WordCounts;

/// Most letters to the right of the left words. Their numbers are `u16`, and a block of all such words fits the nearest
/// caches.
pub const RIGHT_LETTERS: u32 = 9;

/// Bytes of a vector that stays in the cache that all cores share. A vector beyond it costs two to three times as much a
/// residue.
const CACHE_BYTES: u64 = 24 << 20;

/// Most residues of a sweep.
const MOST_LANES: u32 = 8;
/// Tables of a left word for each cell, and beside these.
const LEFT_CELL_BYTES: u64 = 64;
const LEFT_BYTES: u64 = 600;
/// Tables of the words that may follow.
const RIGHT_BYTES: u64 = 8 << 20;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Words of a vector.
    pub words: u64,
    /// New pairs beside it.
    pub new_pairs: u64,
    /// Left words.
    left_words: u64,
    /// Cells left of the cut.
    left_cells: u64,
}

impl Count {
    /// Of a board whose words these are.
    pub fn new(counts: &WordCounts) -> Self {
        let left = counts.letters().saturating_sub(RIGHT_LETTERS);
        Self {
            words: counts.words(),
            new_pairs: counts.shorter_words(),
            left_words: counts.left_words(left),
            left_cells: left.into(),
        }
    }

    /// Memory beside the tables with `lanes` residues a sweep.
    pub fn rows_bytes(&self, lanes: u32) -> u64 {
        let rows = self.words.saturating_add(self.new_pairs);
        rows.saturating_mul(8 * u64::from(width(lanes))).saturating_add(self.words.saturating_mul(4))
    }

    /// An estimate of the tables' memory, on the high side.
    pub fn table_bytes(&self) -> u64 {
        self.left_words.saturating_mul(LEFT_CELL_BYTES * self.left_cells + LEFT_BYTES).saturating_add(RIGHT_BYTES)
    }
}

/// Lanes of the rows that hold `residues` residues.
pub fn width(residues: u32) -> u32 {
    [1, 2, 4, 6].into_iter().find(|&width| width >= residues).unwrap_or(MOST_LANES)
}

/// Residues of a sweep, the best choice first. A count needs `residues`, and a vector has `rows`. If all do not fit the
/// cache and 4 or 2 do, those come first. Then come the numbers that need the fewest sweeps.
pub fn lanes(residues: u32, rows: u64) -> impl Iterator<Item = u32> {
    let mut lanes: Vec<u32> = (1..=residues.max(1)).map(|sweeps| residues.max(1).div_ceil(sweeps)).collect();
    lanes.dedup();
    let cached = |lanes: u32| rows.saturating_mul(8 * u64::from(lanes)) <= CACHE_BYTES;
    let few = if cached(width(residues)) {
        None
    } else {
        [4, 2].into_iter().find(|&lanes| lanes < residues && cached(lanes))
    };
    few.into_iter().chain(lanes.into_iter().filter(|&lanes| lanes <= MOST_LANES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_are_as_few_as_possible() {
        for (residues, rows, expected) in [
            (1, 1, &[1][..]),
            (4, 1, &[4, 2, 1]),
            (5, 1, &[5, 3, 2, 1]),
            (9, 1, &[5, 3, 2, 1]),
            (17, 1, &[6, 5, 4, 3, 2, 1]),
            (5, 740_000, &[4, 5, 3, 2, 1]),
            (4, 1_500_000, &[2, 4, 2, 1]),
            (6, 5_700_000, &[6, 3, 2, 1]),
        ] {
            assert_eq!(lanes(residues, rows).collect::<Vec<_>>(), expected, "{residues}, {rows}");
        }
        assert_eq!([1, 3, 5, 6, 7, 8].map(width), [1, 4, 6, 6, 8, 8]);
    }
}
