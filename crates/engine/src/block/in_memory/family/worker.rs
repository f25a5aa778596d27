//! A thread's own memory and sums.

use keima_model::MOST_ENTRIES;
use keima_runs::TaskTimes;

use crate::block::in_memory::family::exchange::Positions;
use crate::block::in_memory::family::sums::{Masses, Sums};
use crate::block::rows::kernel::BlockRows;
use crate::block::rows::lanes::Row;

/// What a thread has to itself.
pub(crate) struct Worker<'m, const K: usize> {
    /// Blocks that were read together and have [`MOST_ENTRIES`] rows at most, or a single one; and as many rows again, so
    /// that a block and what follows is room for any block.
    pub(crate) x: &'m mut [Row<K>],
    /// A block after a pass, or before it.
    pub(crate) y: &'m mut BlockRows<K>,
    /// Room for a family's mail.
    pub(crate) mail: &'m mut [Row<K>],
    pub(crate) positions: Positions,
    /// Of the family that is at work.
    pub(crate) sums: Sums<K>,
    /// Of all families so far.
    pub(crate) masses: Masses,
    /// States before the window of families that were done pass by pass.
    pub(crate) by_pass_states: u64,
    /// Spent with reading vectors, and with passes.
    pub(crate) times: TaskTimes,
}

impl<'m, const K: usize> Worker<'m, K> {
    /// With `rows` for memory, if they suffice for blocks.
    pub(crate) fn new(rows: &'m mut [Row<K>]) -> Option<Self> {
        let (x, rest) = rows.split_at_mut_checked(2 * MOST_ENTRIES)?;
        let (y, mail) = rest.split_first_chunk_mut::<MOST_ENTRIES>()?;
        Some(Self {
            x,
            y,
            mail,
            positions: Positions::default(),
            sums: Sums::default(),
            masses: Masses::default(),
            by_pass_states: 0,
            times: TaskTimes::default(),
        })
    }
}
