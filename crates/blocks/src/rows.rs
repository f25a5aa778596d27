//! Rows of the buffer in which a group of families goes through a window. A row is a state with all lanes at a time.
//!
//! ```text
//!   buffer    | states of the group, and those that a pass puts aside | a block for each pass | padding |
//! ```
//!
//! The plan estimates it here before there are tables, with the problem's [`FamilyBounds`]. The engine computes it from the
//! tables.

use keima_model::{BlockProblem, FamilyBounds, MOST_ENTRIES, ProblemInfo, Window};

/// Part of a buffer, in percent of its states, that is spared where groups are made to fit it.
const SPARE_PERCENT: u64 = 10;

/// Rows by which a buffer is longer than its states. The engine takes each block as if it were of the largest size, so
/// that every `u16` is an index of it. Nobody touches them, and they take no memory.
pub const PADDING: usize = MOST_ENTRIES;

/// An estimate of the rows that `states` states of one window take while they go through it in one buffer.
pub fn buffer_rows(bounds: &FamilyBounds, window: Window, states: u64) -> u64 {
    let [top, below] = bounds.buffer_percent;
    let percent = if window.first == 0 { top } else { below };
    (states.saturating_mul(percent) / 100).saturating_add(step_rows(bounds, window))
}

/// The same for the largest family of any of `windows`: what a task needs for each lane.
pub fn largest_buffer_rows(info: &dyn ProblemInfo, blocks: &dyn BlockProblem, windows: &[Window]) -> u64 {
    let bounds = blocks.family_bounds();
    let rows = windows.iter().map(|&window| {
        let family = info.largest_family(window).unwrap_or(u128::MAX);
        buffer_rows(&bounds, window, u64::try_from(family).unwrap_or(u64::MAX))
    });
    rows.max().unwrap_or(0)
}

/// States of a group that a task's share has room for with `lanes` lanes, with something to spare.
pub fn buffered_states(bounds: &FamilyBounds, windows: &[Window], share_bytes: u64, lanes: u32) -> u64 {
    let rows = share_bytes / (8 * u64::from(lanes));
    let steps = windows.iter().map(|&window| step_rows(bounds, window)).max().unwrap_or(0);
    rows.saturating_sub(steps) * 100 / (bounds.buffer_percent[1] + SPARE_PERCENT)
}

/// Rows by which states move on in a buffer while they go through a window: a block for each pass.
fn step_rows(bounds: &FamilyBounds, window: Window) -> u64 {
    let entries = bounds.codes.saturating_pow(window.len).saturating_mul(bounds.block_percent) / 100;
    u64::from(window.len) * entries.min(MOST_ENTRIES as u64)
}
