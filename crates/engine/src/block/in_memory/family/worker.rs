//! A thread's own memory and sums.

use keima_model::MOST_ENTRIES;
use keima_runs::TaskTimes;

use crate::block::in_memory::family::exchange::Positions;
use crate::block::in_memory::family::sums::{FamilySums, WindowSums};
use crate::block::rows::kernel::BlockRows;
use crate::block::rows::lanes::Row;

/// A thread's memory and sums.
pub(crate) struct Worker<'m, const K: usize> {
    /// Blocks that are read together: at most [`MOST_ENTRIES`] rows, or one block. As many rows follow, so that each
    /// block starts room for the largest.
    pub(crate) x: &'m mut [Row<K>],
    /// A block after a pass, or before it.
    pub(crate) y: &'m mut BlockRows<K>,
    /// Room for a family's mail.
    pub(crate) mail: &'m mut [Row<K>],
    pub(crate) positions: Positions,
    /// Sums of the present family.
    pub(crate) sums: FamilySums<K>,
    /// Sums of all families so far.
    pub(crate) window: WindowSums<K>,
    /// States before the window of families that went pass by pass.
    pub(crate) by_pass_states: u64,
    /// Time for reading vectors and for passes.
    pub(crate) times: TaskTimes,
}

impl<'m, const K: usize> Worker<'m, K> {
    /// A worker on the memory `rows`, if there is enough for blocks.
    pub(crate) fn new(rows: &'m mut [Row<K>]) -> Option<Self> {
        let (x, rest) = rows.split_at_mut_checked(2 * MOST_ENTRIES)?;
        let (y, mail) = rest.split_first_chunk_mut::<MOST_ENTRIES>()?;
        Some(Self {
            x,
            y,
            mail,
            positions: Positions::default(),
            sums: FamilySums::default(),
            window: WindowSums::default(),
            by_pass_states: 0,
            times: TaskTimes::default(),
        })
    }
}
