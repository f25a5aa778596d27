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
//! Made a part at a time, tables take
//!
//! ```text
//!   a worker            100 bytes for each family of each window: 3^c / 2 of them, c cells outside
//!   a task              57 bytes for each block of the window before that has one of its rests, 0.17 x 5.3^w x 4.25^r for
//!                       a window of w cells and the largest of the rests of r cells; 230 for each of its own blocks,
//!                       which have 4.2^w / 7 states
//! ```
//!
//! (Cuts of 13 to 17 cells into windows of 3 to 7; the largest parts have colours that alternate outside.) To make them
//! takes 0.5 to 2 us for each own block (heights 12 and 17) and 0.15 to 0.6 for each of the window before, of which a group
//! makes all that its rests have.
//!
//! Measured for 15 cuts of 8 to 15 cells into windows of 3 to 7 (for example 51 MB for 7,6; 133 MB for 7,7; 81 MB for
//! 4,4,4; 242 MB for 5,4,4; 1.86 GB for 5,5,5; 3.98 GB for 4,4,3,3). Against the eight cuts of the test, of 8 to 12 cells,
//! with what is left over: from 14 % below to 34 % above for forward passes, 6 to 56 % above for folded ones; against 8,7
//! and 8,8, which take 0.60 and 1.64 GB forward, 1.58 and 3.93 GB folded, 36 and 9 to 17 % above.

use keima_model::{Directions, End, FamilyBounds, PartedBytes, Window};

use super::super::automaton;

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

/// Heights 8 to 13, the largest families: buffers have 101 to 103 rows for a hundred states at the top of a column, and 129 to
/// 131 below it. Heights 8 to 15: mail of the largest family is 1.22 times its rows at most, of the second largest 0.39.
pub(super) const FAMILY_BOUNDS: FamilyBounds =
    FamilyBounds { codes: 4, block_percent: 125, buffer_percent: [105, 135], mail_percent: [125, 40] };

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
        let lists = list_bytes(*window);
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

/// Lists of a window.
fn list_bytes(window: Window) -> f64 {
    let bytes = if window.first == 0 { TOP_LIST_BYTES } else { LIST_BYTES };
    bytes * LIST_GROWTH.powf(f64::from(window.len) - 7.0)
}

/// Bytes of a family in the lists of all of them.
const FAMILY_BYTES: f64 = 100.0;
/// Blocks of the window before that a part meets at most: so many, times [`OWN_GROWTH`] for each cell of the part's
/// window and [`REST_GROWTH`] for each cell outside both.
const SOURCES: f64 = 0.17;
const OWN_GROWTH: f64 = 5.3;
const REST_GROWTH: f64 = 4.25;
/// Bytes of each.
const SOURCE_BYTES: f64 = 57.0;
/// Bytes of an entry and pass of the tables of a block's signature, until all signatures of the window have theirs.
const ENTRY_BYTES: f64 = 10.0;
/// What a part takes while it is made, beside what is left of it.
const MAKING: f64 = 1.5;
/// Bytes of a block of the part's own.
const OWN_BLOCK_BYTES: f64 = 230.0;

/// Estimate of the bytes of tables that are made a part at a time.
pub(super) fn parted_bytes(height: u32, windows: &[Window]) -> PartedBytes {
    let families = windows.iter().map(|window| 3_f64.powf(f64::from(height.saturating_sub(window.len))) / 2.0);
    let part = |(number, window): (usize, &Window)| {
        let before = windows[End::First.neighbour(number, windows.len())];
        let rest = height.saturating_sub(window.len + before.len);
        let sources = SOURCES * OWN_GROWTH.powf(f64::from(window.len)) * REST_GROWTH.powf(f64::from(rest));
        let own = automaton::largest_family(height, *window) as f64 / states_per_block(*window);
        sources * SOURCE_BYTES + own * OWN_BLOCK_BYTES
    };
    PartedBytes {
        worker_bytes: (families.sum::<f64>() * FAMILY_BYTES) as u64,
        task_bytes: windows.iter().enumerate().map(part).fold(0.0, f64::max) as u64,
    }
}

/// Estimate of the bytes that making one part takes, with so many states in its own families and in those of the window
/// before.
pub(super) fn part_bytes(own: (Window, u64), sources: (Window, u64)) -> u64 {
    let blocks = |(window, states): (Window, u64)| states as f64 / states_per_block(window);
    let lists = (own.1 as f64 * f64::from(own.0.len) * ENTRY_BYTES).min(list_bytes(own.0));
    (MAKING * (blocks(own) * OWN_BLOCK_BYTES + blocks(sources) * SOURCE_BYTES + lists)) as u64
}

fn states_per_block(window: Window) -> f64 {
    4.2_f64.powf(f64::from(window.len)) / 7.0
}

/// Nanoseconds of a block of a part's own, and of the window before, at a height of 12; and what each cell more makes of
/// them, up to 17: tables leave the caches.
const OWN_BLOCK_NANOS: f64 = 500.0;
const SOURCE_NANOS: f64 = 150.0;
const NANOS_HEIGHT: f64 = 12.0;
const NANOS_GROWTH: f64 = 1.32;
const MOST_NANOS_HEIGHT: f64 = 17.0;
/// Share of the states in the rest that the average state is in, for rests of 5 cells, and what each cell more leaves.
const REST_SHARE: f64 = 0.0885;
const REST_SHRINK: f64 = 0.56;

/// Estimate of the time in which one thread makes the parts of a window once.
pub(super) fn parted_seconds(height: u32, windows: &[Window], number: usize, states: u64, group_records: u64) -> f64 {
    let (window, before) = (windows[number], windows[End::First.neighbour(number, windows.len())]);
    let states = states as f64;
    let rest = f64::from(height.saturating_sub(window.len + before.len));
    let rest_states = states * (REST_SHARE * REST_SHRINK.powf(rest - 5.0)).min(1.0);
    // Each group makes the blocks of its rests.
    let again = 1.0 + rest_states / group_records.max(1) as f64;
    let (own, sources) = (states / states_per_block(window), again * states / states_per_block(before));
    let growth = NANOS_GROWTH.powf(f64::from(height).min(MOST_NANOS_HEIGHT) - NANOS_HEIGHT);
    (own * OWN_BLOCK_NANOS + sources * SOURCE_NANOS) * growth * 1e-9
}

#[cfg(test)]
mod tests {
    use super::super::{GoColumn, GoParts};
    use super::*;
    use keima_model::{BlockColumn, BlockParts};

    /// The part of the largest family, of cuts of 10 to 13 cells.
    #[test]
    fn estimates_of_parts_are_near() {
        for lengths in [&[4, 3, 3][..], &[3, 3, 4], &[4, 4, 3], &[4, 4, 4], &[5, 4, 4]] {
            let height: u32 = lengths.iter().sum();
            let windows = Window::of_lengths(lengths);
            let parts = GoParts::<u64>::new(height, &windows, 0).unwrap();
            let part = |window: usize| {
                let ends = parts.families(window).ends.iter().map(|ends| ends[0].max(ends[1]));
                let (_, largest) = ends.zip(0_u32..).max().unwrap();
                parts.part(window, largest..largest + 1, None).unwrap().column.bytes()
            };
            let expected = parted_bytes(height, &windows);
            let task_bytes = (0..windows.len()).map(part).max().unwrap();
            let worker = expected.worker_bytes as f64 / parts.bytes() as f64;
            let task = expected.task_bytes as f64 / task_bytes as f64;
            assert!((0.8..1.6).contains(&worker), "{lengths:?}: {} bytes, estimated {worker}", parts.bytes());
            assert!((0.8..3.0).contains(&task), "{lengths:?}: {task_bytes} bytes, estimated {task}");
        }
    }

    /// Parts of half a megabyte and more, of one family and of some, of cuts of 10 to 13 cells: rather too much.
    #[test]
    fn estimates_of_single_parts_are_enough() {
        for lengths in [&[4, 3, 3][..], &[3, 3, 4], &[5, 5], &[4, 4, 3], &[4, 4, 4], &[5, 4, 4]] {
            let windows = Window::of_lengths(lengths);
            let parts = GoParts::<u64>::new(lengths.iter().sum(), &windows, 0).unwrap();
            for window in 0..windows.len() {
                let count = parts.families(window).ends.len() as u32;
                for families in [0..1, count / 2..count / 2 + 1, count - 1..count, 0..count / 8, count / 3..count / 2] {
                    let bytes = parts.part(window, families.clone(), None).unwrap().column.bytes();
                    let ratio = parts.part_bytes(window, families.clone()) as f64 / bytes as f64;
                    let what = format!("{lengths:?}, window {window}, families {families:?}");
                    assert!(bytes < 1 << 19 || (1.0..6.0).contains(&ratio), "{what}: {bytes} bytes, estimated {ratio}");
                }
            }
        }
    }

    #[test]
    fn estimates_are_near() {
        for lengths in [&[4, 4][..], &[5, 4], &[5, 5], &[6, 5], &[4, 3, 3], &[3, 3, 3], &[4, 4, 4], &[6, 6]] {
            let height: u32 = lengths.iter().sum();
            let windows = Window::of_lengths(lengths);
            // A count in memory sets aside what folded tables are estimated at.
            for (directions, least) in [(Directions::Forward, 0.8), (Directions::Both, 1.0), (Directions::Folded, 1.0)]
            {
                if directions == Directions::Both && height > 10 {
                    continue;
                }
                let bytes = GoColumn::<u64>::new(height, &windows, directions).unwrap().bytes();
                let ratio = table_bytes(height, &windows, directions) as f64 / bytes as f64;
                assert!((least..1.8).contains(&ratio), "{lengths:?}, {directions:?}: {bytes} bytes, estimated {ratio}");
            }
        }
    }
}
