//! A group that a task is at work on, and some of its lanes.

use std::time::Instant;

use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::passes::buffer::GroupLayout;
use crate::block::rows::lanes::Moduli;
use crate::clock::nanos_since;

/// Some lanes of a stage.
pub(crate) struct LaneSlice<const J: usize> {
    /// The first of them.
    pub(crate) first: usize,
    pub(crate) moduli: Moduli<J>,
}

/// A group that is at work.
pub(crate) struct GroupWork<'a> {
    pub(crate) group_tables: GroupTables<'a>,
    pub(crate) layout: GroupLayout,
    pub(crate) threads: usize,
    /// Of each family, for transposed passes: the ways that lead to its states.
    pub(crate) arrivals: Vec<&'a [u32]>,
}

impl GroupWork<'_> {
    /// Time of all its threads since.
    pub(crate) fn nanos(&self, since: Instant) -> u64 {
        nanos_since(since) * self.threads as u64
    }
}
