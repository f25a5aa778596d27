//! What a user allows and asks for.

use super::PlanError;

/// Most passes of a plan, those of a board of 4 x 1,048,576: whoever shows how far a job is goes through all of them.
pub(super) const MOST_PASSES: u32 = 1 << 22;

/// What a user allows and asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLimits {
    /// Memory of one task.
    pub task_memory_bytes: u64,
    /// Cap on the sum of all scratch folders; `None` for no cap.
    pub disk_bytes: Option<u64>,
    /// Residues carried at once; `None` lets the planner choose.
    pub residues_per_sweep: Option<u32>,
    /// Longest window, in cells; `None` lets the planner choose.
    pub window: Option<u32>,
    /// Tasks that run at a time on all workers together.
    pub slots: u32,
    /// Tasks that the worker with the fewest runs at a time; 0 for one.
    pub worker_slots: u32,
    /// Whether column ends get a second copy on another worker.
    pub second_copies: bool,
    /// Whether the counts of all shorter boards are wanted.
    pub series: bool,
}

impl PlanLimits {
    /// Options that must be at least 1.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        for (option, value) in [("residues-per-sweep", self.residues_per_sweep), ("window", self.window)] {
            if value == Some(0) {
                return Err(PlanError::Zero { option });
            }
        }
        Ok(())
    }
}
