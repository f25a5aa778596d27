//! A worker's time-limited right to do a task.

use keima_orders::WorkerId;

use crate::api::Millis;

/// Tasks that a worker may have for each of its slots: one at work, and one whose runs are on their way to stable
/// storage.
pub(crate) const LEASES_PER_SLOT: usize = 2;

/// A living grant.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) nonce: u64,
    pub(crate) worker: WorkerId,
    pub(crate) granted: Millis,
    pub(crate) deadline: Millis,
    pub(crate) states_done: u64,
    /// Whether it is a second copy rather than a task of a stage.
    pub(crate) copy: bool,
}
