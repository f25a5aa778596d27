//! A group that a task is at work on, and some of its lanes.

use std::time::Instant;

use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::passes::buffer::Lines;
use crate::block::rows::lanes::Moduli;
use crate::clock::nanos_since;

/// Some lanes of a stage.
pub(crate) struct Lanes<const J: usize> {
    /// The first of them.
    pub(crate) first: usize,
    pub(crate) moduli: Moduli<J>,
}

/// A group that is at work.
pub(crate) struct Work<'a> {
    pub(crate) view: View<'a>,
    pub(crate) lines: Lines,
    pub(crate) threads: usize,
    /// Of each family, for transposed passes: the ways that lead to its states.
    pub(crate) arrivals: Vec<&'a [u32]>,
}

impl Work<'_> {
    /// Time of all its threads since.
    pub(crate) fn nanos(&self, since: Instant) -> u64 {
        nanos_since(since) * self.threads as u64
    }
}
