//! A group on its way through a window, and some of its lanes.

use std::time::Instant;

use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::passes::buffer::GroupLayout;
use crate::block::rows::lanes::Moduli;
use crate::clock::nanos_since;

/// Some lanes of a stage.
pub(crate) struct LaneSlice<const J: usize> {
    /// Number of the first lane.
    pub(crate) first: usize,
    pub(crate) moduli: Moduli<J>,
}

/// A group on its way through the window.
pub(crate) struct GroupWork<'a> {
    pub(crate) group_tables: GroupTables<'a>,
    pub(crate) layout: GroupLayout,
    pub(crate) threads: usize,
    /// For each family of a transposed vector the ways that lead to its states.
    pub(crate) arrivals: Vec<&'a [u32]>,
}

impl GroupWork<'_> {
    /// Time since `since`, times the number of threads.
    pub(crate) fn nanos(&self, since: Instant) -> u64 {
        nanos_since(since) * self.threads as u64
    }
}
