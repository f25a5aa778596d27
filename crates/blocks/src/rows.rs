//! Rows of the buffer in which a group of families goes through a window. A row is a state with all lanes at a time.
//!
//! ```text
//!   buffer    | states of the group, and those that a pass puts aside | a block for each pass | padding |
//! ```
//!
//! The plan estimates it here before there are tables, with the problem's [`FamilyBounds`]. The engine computes it from the
//! tables.

use keima_model::{BlockProblem, Directions, FamilyBounds, MOST_ENTRIES, ProblemInfo, Window};

/// Part of a buffer, in percent of its states, that is spared where groups are made to fit it.
const SPARE_PERCENT: u64 = 10;

/// Rows by which a buffer is longer than its states. The engine takes each block as if it were of the largest size, so
/// that every `u16` is an index of it. Nobody touches them, and they take no memory.
pub const PADDING: usize = MOST_ENTRIES;

/// An estimate of the rows that `states` states of one window take while they go through it in one buffer.
pub fn buffer_rows(bounds: &FamilyBounds, directions: Directions, window: Window, states: u64) -> u64 {
    let [top, below] = buffer_percent(bounds, directions);
    let percent = if window.first == 0 { top } else { below };
    (states.saturating_mul(percent) / 100).saturating_add(step_rows(bounds, window))
}

/// Rows per hundred states in a window at the top and in one below it.
fn buffer_percent(bounds: &FamilyBounds, directions: Directions) -> [u64; 2] {
    let [top, below] = bounds.buffer_percent;
    [top, below + if directions.transposed() { bounds.transposed_percent } else { 0 }]
}

/// The same for the largest family of `window`: what a task needs for each lane.
pub fn largest_buffer_rows(
    info: &dyn ProblemInfo,
    blocks: &dyn BlockProblem,
    directions: Directions,
    window: Window,
) -> u64 {
    let family = info.largest_family(window).unwrap_or(u128::MAX);
    buffer_rows(&blocks.family_bounds(), directions, window, u64::try_from(family).unwrap_or(u64::MAX))
}

/// States of a group that a task's share has room for with `lanes` lanes, with something to spare.
pub fn buffered_states(
    bounds: &FamilyBounds,
    directions: Directions,
    windows: &[Window],
    share_bytes: u64,
    lanes: u32,
) -> u64 {
    let rows = share_bytes / (8 * u64::from(lanes));
    let steps = windows.iter().map(|&window| step_rows(bounds, window)).max().unwrap_or(0);
    let [_, below] = buffer_percent(bounds, directions);
    rows.saturating_sub(steps) * 100 / (below + SPARE_PERCENT)
}

/// Rows by which states move on in a buffer while they go through a window: a block for each pass.
fn step_rows(bounds: &FamilyBounds, window: Window) -> u64 {
    let entries = bounds.codes.saturating_pow(window.len).saturating_mul(bounds.block_percent) / 100;
    u64::from(window.len) * entries.min(MOST_ENTRIES as u64)
}
