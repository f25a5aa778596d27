//! Numbers of lanes that rows out of core may have: each is a kernel of its own, with all loops of known width.
//!
//! ```text
//!   lanes of a stage   2  4  6  8  10  12  16      as numbers grow
//!   at a time          all of them, or where memory is scarce a slice after the other: of 10 lanes 0..8 and 8..10
//! ```

use std::ops::Range;

/// Lanes that one kernel carries, ascending.
pub const LANES: [u32; 8] = [1, 2, 4, 6, 8, 10, 12, 16];

/// The last of them.
pub const MOST_LANES: u32 = LANES[LANES.len() - 1];

/// Cuts `lanes` into slices that a kernel carries. A slice has at most `fit` lanes, and at least one; the widest comes
/// first.
pub fn slices(lanes: u32, fit: u32) -> Vec<Range<u32>> {
    let (mut slices, mut first) = (Vec::new(), 0);
    while first < lanes {
        let most = fit.min(lanes - first);
        let width = LANES.into_iter().rev().find(|&width| width <= most).unwrap_or(1);
        slices.push(first..first + width);
        first += width;
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_cut_into_slices() {
        for (lanes, fit, expected) in [
            (1, 0, &[1][..]),
            (4, 0, &[1, 1, 1, 1]),
            (2, 99, &[2]),
            (6, 3, &[2, 2, 2]),
            (6, 5, &[4, 2]),
            (8, 7, &[6, 2]),
            (10, 8, &[8, 2]),
            (10, 4, &[4, 4, 2]),
            (12, 11, &[10, 2]),
            (12, 12, &[12]),
            (16, 15, &[12, 4]),
            (16, 16, &[16]),
        ] {
            let slices = slices(lanes, fit);
            let widths: Vec<u32> = slices.iter().map(|slice| slice.end - slice.start).collect();
            assert_eq!(widths, expected, "{lanes} lanes, of which {fit} fit");
            assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start), "{slices:?}");
        }
    }
}
