//! The part of a run to read: a range of keys and a range of lanes.
//!
//! ```text
//!              lane 0   lane 1   lane 2   lane 3
//!   low  ->             +-----------------+
//!                       |  the part read  |          each lane of a block is a column with its own checksum:
//!   high ->             +-----------------+          a reader skips the others
//! ```

use std::ops::Range;

use crate::RunHeader;

/// A range of keys and of lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPart {
    /// Smallest key.
    pub low: u128,
    /// Exclusive upper end; `None` for no end.
    pub high: Option<u128>,
    /// Lanes, at least one.
    pub lanes: Range<usize>,
}

impl RunPart {
    /// All of a run.
    pub fn all(header: &RunHeader) -> Self {
        Self::keys(header, 0, None)
    }

    /// All lanes of keys in `low .. high`.
    pub fn keys(header: &RunHeader, low: u128, high: Option<u128>) -> Self {
        Self { low, high, lanes: 0..header.lanes() }
    }

    /// The same keys with some of the lanes.
    #[must_use]
    pub fn with_lanes(self, lanes: Range<usize>) -> Self {
        Self { lanes, ..self }
    }

    /// Whether the range of keys holds none.
    pub(crate) fn has_no_keys(&self) -> bool {
        self.high.is_some_and(|high| high <= self.low)
    }
}
