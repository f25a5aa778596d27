//! How much memory tables take, without building them: a fit.
//!
//! ```text
//!   lists of a window of w cells        30 MB x 6.1^(w-7) at the top of the column, 90 MB x 6.1^(w-7) below it: below it
//!                                       there are more signatures
//!   blocks of a window, c cells outside 6385 x 4.7^(c-6), a quarter more if there are cells on both sides of the window
//!   each block                          190 bytes: bases and targets for each pass, its word, and its part of the exchange
//! ```
//!
//! Building the lists takes as much again, and hash maps, for a while; what the allocator keeps of them is counted as one
//! and a half times the lists (13x13 out of core in a budget of 412 MiB: 410 MiB at most, 11 of them the program's file).
//!
//! The positions of the states of the first column, one of each pair of colourings, take 8 bytes each, and as much again
//! while their list grows.
//!
//! Measured for 15 cuts of 8 to 15 cells into windows of 3 to 7 (for example 51 MB for 7,6; 133 MB for 7,7; 81 MB for
//! 4,4,4; 242 MB for 5,4,4; 1.86 GB for 5,5,5; 3.98 GB for 4,4,3,3). Against the eight cuts of the test, of 8 to 12 cells,
//! with what is left over: from 14 % below to 34 % above for forward passes, 6 to 56 % above for folded ones.

use keima_model::{Directions, Window};

/// Bytes of the lists of a window of 7 cells at the top of the column, and below it.
const TOP_LIST_BYTES: f64 = 30e6;
const LIST_BYTES: f64 = 90e6;
/// Growth of the lists with each cell inside.
const LIST_GROWTH: f64 = 6.1;
/// Blocks with 6 cells outside.
const BLOCKS: f64 = 6385.0;
/// Growth of their number with each cell outside.
const BLOCK_GROWTH: f64 = 4.7;
/// Cells outside on both sides.
const BOTH_SIDES: f64 = 1.25;
/// Bytes of a block.
const BLOCK_BYTES: f64 = 190.0;

/// Bytes that finding the states of the first column takes.
pub(super) fn start_bytes(height: u32) -> u64 {
    3_u64.saturating_pow(height).saturating_mul(8)
}

/// What lists take with what building them leaves behind.
pub(super) const fn with_left_over(list_bytes: u64) -> u64 {
    list_bytes * 5 / 2
}

/// Tables for both directions, and folded ones, against those for forward passes.
const BOTH: f64 = 2.0;
const FOLDED: f64 = 2.25;

/// Estimate of the bytes of tables.
pub(super) fn table_bytes(height: u32, windows: &[Window], directions: Directions) -> u64 {
    let window = |window: &Window| {
        let list_bytes = if window.first == 0 { TOP_LIST_BYTES } else { LIST_BYTES };
        let lists = list_bytes * LIST_GROWTH.powf(f64::from(window.len) - 7.0);
        let sides = if window.first > 0 && window.end() < height { BOTH_SIDES } else { 1.0 };
        let outside = f64::from(height.saturating_sub(window.len));
        2.5 * lists + BLOCK_BYTES * sides * BLOCKS * BLOCK_GROWTH.powf(outside - 6.0)
    };
    let directions = match directions {
        Directions::Forward => 1.0,
        Directions::Both => BOTH,
        Directions::Folded => FOLDED,
    };
    // Saturates, as float casts do.
    ((windows.iter().map(window).sum::<f64>() * directions) as u64).saturating_add(start_bytes(height))
}

#[cfg(test)]
mod tests {
    use super::super::GoColumn;
    use super::*;
    use keima_model::BlockColumn;

    #[test]
    fn estimates_are_near() {
        for lengths in [&[4, 4][..], &[5, 4], &[5, 5], &[6, 5], &[4, 3, 3], &[3, 3, 3], &[4, 4, 4], &[6, 6]] {
            let height: u32 = lengths.iter().sum();
            let mut first = 0;
            let windows = lengths.iter().map(|&len| {
                let window = Window { first, len };
                first += len;
                window
            });
            let windows: Vec<Window> = windows.collect();
            // A count in memory sets aside what folded tables are estimated at.
            for (directions, least) in [(Directions::Forward, 0.8), (Directions::Both, 1.0), (Directions::Folded, 1.0)]
            {
                if directions == Directions::Both && height > 10 {
                    continue;
                }
                let bytes = GoColumn::new(height, &windows, directions).unwrap().bytes();
                let ratio = table_bytes(height, &windows, directions) as f64 / bytes as f64;
                assert!((least..1.8).contains(&ratio), "{lengths:?}, {directions:?}: {bytes} bytes, estimated {ratio}");
            }
        }
    }
}
