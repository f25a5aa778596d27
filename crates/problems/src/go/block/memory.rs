//! Estimates of the memory and time of tables, without building them: formulas fitted to tables of 8 to 17 cells.
//!
//! ```text
//!   lists of a window of w cells        30 MB x 6.1^(w-7) at the top of the column, 90 MB x 6.1^(w-7) below it: below it
//!                                       there are more signatures
//!   blocks of a window, c cells outside 6385 x 4.7^(c-6), a quarter more if there are cells on both sides of the window
//!   each block                          190 bytes: bases and targets for each pass, its word, and its part of the exchange
//! ```
//!
//! While lists are built they take as much again, and hash maps. What the allocator keeps of these counts as one and a half
//! times the lists. The positions of the first column's states take 8 bytes each, one of each pair of colourings, and as
//! much again while their list grows.
//!
//! For parts:
//!
//! ```text
//!   a worker            100 bytes for each family of each window: 3^c / 2 of them, c cells outside
//!   a task              215 bytes for each of its blocks, which have 4.2^w / 7 x 0.91^(m-15) states with m cells in a column;
//!                       for each of its signatures and each code of its window 4 bytes for where states land. There are 2.2 x 5.2^w codes, and the largest
//!                       family has 1,440 x 1.6^(c-10) x 1.2^(w-5) signatures; at the top of the column and at its end
//!                       1.3 x 4.65^w and 19 w
//! ```
//!
//! Bounds: the tests hold estimates of whole tables to 0.8 to 1.8 times the memory that tables take. Those of folded tables
//! are never below it, since a count in memory sets the estimate aside.

use keima_model::{Directions, End, PartsBytes, Window};

use crate::go::automaton;

/// Bytes of the lists of a window of 7 cells at the top of the column, and below it.
const TOP_LIST_BYTES: f64 = 30e6;
const LIST_BYTES: f64 = 90e6;
/// Growth of the lists with each cell of the window.
const LIST_GROWTH: f64 = 6.1;
/// Number of blocks with 6 cells outside the window.
const BLOCKS: f64 = 6385.0;
/// Growth of their number with each cell outside.
const BLOCK_GROWTH: f64 = 4.7;
/// Factor for cells outside on both sides.
const BOTH_SIDES: f64 = 1.25;
/// Bytes of a block.
const BLOCK_BYTES: f64 = 190.0;

/// Bytes for the positions of the states of the first column.
pub(crate) fn start_bytes(height: u32) -> u64 {
    3_u64.saturating_pow(height).saturating_mul(8)
}

/// Bytes of lists, with what the allocator keeps after building them.
pub(crate) const fn with_left_over(list_bytes: u64) -> u64 {
    list_bytes * 5 / 2
}

/// Factors for tables of both directions, and for folded ones, over those for forward passes.
const BOTH: f64 = 2.0;
const FOLDED: f64 = 2.25;

/// Estimate of the bytes of the tables of all families.
pub(crate) fn table_bytes(height: u32, windows: &[Window], directions: Directions) -> u64 {
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

/// Estimate of the bytes of a window's lists.
fn list_bytes(window: Window) -> f64 {
    let bytes = if window.first == 0 { TOP_LIST_BYTES } else { LIST_BYTES };
    bytes * LIST_GROWTH.powf(f64::from(window.len) - 7.0)
}

/// Bytes of a family in the lists of all of them.
const FAMILY_BYTES: f64 = 100.0;
/// Signatures of the largest family of a window of 5 cells with 10 cells outside, on both sides; growth with each cell outside
/// and with each cell of the window.
const SIGNATURES: f64 = 1440.0;
const SIGNATURE_GROWTH: f64 = 1.6;
const SIGNATURE_WINDOW_GROWTH: f64 = 1.2;
/// The same for a window at an end of the column: so many for each cell of the window.
const SIGNATURES_AT_END: f64 = 19.0;
/// Signatures of many families over those of the largest one; and blocks of a signature, at least about so many.
const ALL_SIGNATURES: f64 = 2.5;
const BLOCKS_OF_SIGNATURE: f64 = 8.0;
/// Codes of a window and their reversals: the first, times the second for each cell; the same at an end of the column.
const CODES: [f64; 2] = [2.2, 5.2];
const CODES_AT_END: [f64; 2] = [1.32, 4.65];
/// Bytes for where a state of a code lands in a block of a signature, either way round.
const LANDING_BYTES: f64 = 4.0;
/// Bytes of an entry and pass in the tables of a new signature.
const ENTRY_BYTES: f64 = 10.0;
/// Factor for the memory while a part is built.
const BUILDING: f64 = 1.5;
/// Bytes of a block of the part's own window.
const OWN_BLOCK_BYTES: f64 = 215.0;

/// Estimate of the memory of parts.
pub(crate) fn parts_bytes(height: u32, windows: &[Window]) -> PartsBytes {
    let families = windows.iter().map(|window| 3_f64.powf(f64::from(height.saturating_sub(window.len))) / 2.0);
    let part = |window: &Window| {
        let blocks = automaton::largest_family(height, *window) as f64 / states_per_block(height, *window);
        blocks * OWN_BLOCK_BYTES + landing_bytes(height, *window, signatures(height, *window))
    };
    PartsBytes {
        worker_bytes: (families.sum::<f64>() * FAMILY_BYTES) as u64,
        largest_bytes: windows.iter().map(|window| part(window) as u64).collect(),
    }
}

fn is_at_end(height: u32, window: Window) -> bool {
    window.first == 0 || window.end() == height
}

/// Signatures of a window's largest family.
fn signatures(height: u32, window: Window) -> f64 {
    if is_at_end(height, window) {
        return SIGNATURES_AT_END * f64::from(window.len);
    }
    let outside = f64::from(height.saturating_sub(window.len));
    let growth = SIGNATURE_WINDOW_GROWTH.powf(f64::from(window.len) - 5.0);
    SIGNATURES * SIGNATURE_GROWTH.powf(outside - 10.0) * growth
}

/// Bytes for where states land in blocks of so many signatures.
fn landing_bytes(height: u32, window: Window, signatures: f64) -> f64 {
    let [codes, growth] = if is_at_end(height, window) { CODES_AT_END } else { CODES };
    LANDING_BYTES * signatures * codes * growth.powf(f64::from(window.len))
}

/// States of some families of a window.
#[derive(Clone, Copy)]
pub(crate) struct WindowStates {
    pub(crate) window: Window,
    pub(crate) states: u64,
}

/// Estimate of the bytes that building one part takes, in a column of `height` cells.
pub(crate) fn part_bytes(height: u32, own: WindowStates) -> u64 {
    let blocks = own.states as f64 / states_per_block(height, own.window);
    let lists = (own.states as f64 * f64::from(own.window.len) * ENTRY_BYTES).min(list_bytes(own.window));
    let signatures = (blocks / BLOCKS_OF_SIGNATURE).min(ALL_SIGNATURES * signatures(height, own.window));
    (BUILDING * (blocks * OWN_BLOCK_BYTES + lists + landing_bytes(height, own.window, signatures))) as u64
}

/// In large families: the more cells there are outside, the fewer codes inside fit them.
fn states_per_block(height: u32, window: Window) -> f64 {
    4.2_f64.powf(f64::from(window.len)) / 7.0 * 0.91_f64.powf(f64::from(height) - 15.0)
}

/// Nanoseconds to build a block of a part at a height of 12. They grow with each cell more, up to a height of 17, as tables
/// leave the caches.
const OWN_BLOCK_NANOS: f64 = 480.0;
const NANOS_HEIGHT: f64 = 12.0;
const NANOS_GROWTH: f64 = 1.2;
const MOST_NANOS_HEIGHT: f64 = 17.0;
/// Nanoseconds for a block of the window before to go by.
const SOURCE_NANOS: f64 = 50.0;
/// Share of the states that have the average state's rest, for rests of 5 cells; and the factor for each cell more.
const REST_SHARE: f64 = 0.0885;
const REST_SHRINK: f64 = 0.56;

/// Estimate of the seconds in which one thread builds the parts of a window once.
pub(crate) fn parts_seconds(height: u32, windows: &[Window], number: usize, states: u64, group_records: u64) -> f64 {
    let (window, before) = (windows[number], windows[End::First.neighbour(number, windows.len())]);
    let states = states as f64;
    let rest = f64::from(height.saturating_sub(window.len + before.len));
    let rest_states = states * (REST_SHARE * REST_SHRINK.powf(rest - 5.0)).min(1.0);
    // By each group go all blocks of its rests.
    let again = 1.0 + rest_states / group_records.max(1) as f64;
    let blocks = |window: Window| states / states_per_block(height, window);
    let (own, sources) = (blocks(window), again * blocks(before));
    let growth = NANOS_GROWTH.powf(f64::from(height).min(MOST_NANOS_HEIGHT) - NANOS_HEIGHT);
    (own * OWN_BLOCK_NANOS * growth + sources * SOURCE_NANOS) * 1e-9
}
