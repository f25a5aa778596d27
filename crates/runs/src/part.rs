//! Which records of a run are read, and which of their lanes.
//!
//! ```text
//!              lane 0   lane 1   lane 2   lane 3
//!   low  ->             +-----------------+
//!                       |   what is read  |          a block has each lane as a column with a checksum of its own,
//!   high ->             +-----------------+          so that the others need not be touched
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
