//! Rows of the buffer in which a group of families goes through a window. A row is a state with all lanes at a time.
//!
//! ```text
//!   buffer    | states of the group x 1.05 or 1.35 | a block for each pass | padding |
//! ```
//!
//! The plan estimates it here before there are tables. The engine computes it from the tables.

use keima_model::{MOST_ENTRIES, ProblemInfo, Window};

/// Rows of a buffer for a hundred states of its families: at the top of a column, and below it, where the first pass of a
/// window puts some aside. [`step_rows`] come on top. Go, heights 8 to 13: 101 to 103 and 129 to 131 for the largest
/// families.
const TOP_BUFFER_PERCENT: u64 = 105;
const BUFFER_PERCENT: u64 = 135;
/// Part of a buffer, in percent of its states, that is spared where groups are made to fit it.
const SPARE_PERCENT: u64 = 10;

/// Rows by which a buffer is longer than its states. The engine takes each block as if it were of the largest size, so
/// that every `u16` is an index of it. Nobody touches them, and they take no memory.
pub const PADDING: usize = MOST_ENTRIES;

/// An estimate of the rows that `states` states of one window take while they go through it in one buffer.
pub fn buffer_rows(window: Window, states: u64) -> u64 {
    let percent = if window.first == 0 { TOP_BUFFER_PERCENT } else { BUFFER_PERCENT };
    (states.saturating_mul(percent) / 100).saturating_add(step_rows(window))
}

/// The same for the largest family of any of `windows`: what a task needs for each lane.
pub fn largest_buffer_rows(info: &dyn ProblemInfo, windows: &[Window]) -> u64 {
    let rows = windows.iter().map(|&window| {
        let family = info.largest_family(window).unwrap_or(u128::MAX);
        buffer_rows(window, u64::try_from(family).unwrap_or(u64::MAX))
    });
    rows.max().unwrap_or(0)
}

/// States of a group that a buffer of `rows` rows has room for, with something to spare.
pub fn buffered_states(windows: &[Window], rows: u64) -> u64 {
    let steps = windows.iter().map(|&window| step_rows(window)).max().unwrap_or(0);
    rows.saturating_sub(steps) * 100 / (BUFFER_PERCENT + SPARE_PERCENT)
}

/// Rows by which states move on in a buffer while they go through a window: a block for each pass. Lists of w cells
/// have about 4^w entries, up to a quarter more where the window is the whole column (Go).
fn step_rows(window: Window) -> u64 {
    let entries = 4_u64.saturating_pow(window.len).saturating_mul(5) / 4;
    u64::from(window.len) * entries.min(MOST_ENTRIES as u64)
}
