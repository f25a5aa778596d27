//! What a coordinator knows of a job and does not store: it begins anew in each life.

use crate::api::Millis;
use crate::fleet::Offer;

/// The bytes of a job's runs on all workers, as they were added up last.
#[derive(Default)]
pub(crate) struct DiskSeen {
    at: Option<Millis>,
    bytes: u64,
}

impl DiskSeen {
    pub(crate) const fn new(now: Millis, bytes: u64) -> Self {
        Self { at: Some(now), bytes }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it is older than this, or was never added up.
    pub(crate) fn is_older_than(&self, age: Millis, now: Millis) -> bool {
        self.at.is_none_or(|at| now.saturating_sub(at) >= age)
    }
}

/// For which workers a queued job was planned, and whether it gets another plan.
#[derive(Default)]
pub(crate) struct Replanning {
    /// What they offered, if the job's limits follow them.
    pub(crate) planned_for: Option<Offer>,
    /// Whether somebody makes the other plan now.
    pub(crate) is_under_way: bool,
}
