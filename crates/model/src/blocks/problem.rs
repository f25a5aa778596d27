//! A problem with dense blocks: the tables that it can make, and estimates of their memory and time.
//!
//! Cost: the estimates build no table and take microseconds; tables take seconds and more.

use crate::{BlockColumn, BlockParts, Directions, FamilyBounds, FamilyKind, PartsBytes, ProblemInfo, Window};

/// A problem with dense blocks.
pub trait BlockProblem: ProblemInfo {
    /// Most ways to fill a cell. A state determines the last m cells of a board of height m. So at most `choices^(t - m)` ways
    /// lead to a state after t cells, and with c cells to go at most `choices^c` ways lead on.
    fn choices(&self) -> u32;
    /// An estimate of [`BlockColumn::bytes`] of a column cut into `windows`. [`u64::MAX`] where tables of all families
    /// cannot be made.
    fn table_bytes(&self, windows: &[Window], directions: Directions) -> u64;
    /// An estimate of the memory of parts.
    fn parts_bytes(&self, windows: &[Window]) -> PartsBytes;
    /// An estimate of the seconds in which one thread builds the parts of window number `window` once, for so many states
    /// in groups of `group_records`.
    fn parts_seconds(&self, windows: &[Window], window: usize, states: u64, group_records: u64) -> f64;
    /// Bounds of the memory of families on their way through a window.
    fn family_bounds(&self) -> FamilyBounds;
    /// The families of a window by size, the largest kind first, for forecasts. A rough distribution is enough: forecasts
    /// stop where the kinds have all states. By default all families are as large as the largest.
    fn family_kinds(&self, window: Window) -> Vec<FamilyKind> {
        let _ = window;
        vec![FamilyKind { relative_size: 1.0, families: f64::MAX }]
    }
    /// Builds the tables of a column cut into `windows`. `Err` says what is too large.
    fn column(&self, windows: &[Window], directions: Directions) -> Result<Box<dyn BlockColumn>, String>;
    /// Prepares a column cut into `windows`, two or more, for parts with forward passes. `kept_bytes` of what parts share
    /// stay in memory. The states are those of [`BlockProblem::column`], in the same order.
    fn parts(&self, windows: &[Window], kept_bytes: u64) -> Result<Box<dyn BlockParts>, String>;
}
