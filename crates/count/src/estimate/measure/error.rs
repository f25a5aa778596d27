//! Why the speeds are unknown.

use keima_cluster::LinkError;
use keima_coordinator::PlanError;
use keima_engine::block::BlockError;

use crate::in_memory::InMemoryError;
use crate::local::LocalError;
use crate::stages::StageError;

/// Why the speeds are unknown.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The problem has no small board.
    #[error("no smaller board of {0} could be measured: its time is not forecast")]
    NoBoard(String),
    /// Even a small board takes too long.
    #[error(
        "the board {0} could not be counted in time: the time of larger ones is not forecast; other programs may have kept the machine busy"
    )]
    TooSlow(String),
    /// A small board could not be planned.
    #[error("cannot plan the small board to be measured: {0}")]
    Plan(#[from] PlanError),
    /// The block executor in memory.
    #[error("cannot measure the block executor: {0}")]
    Block(String),
    /// The small count.
    #[error("cannot count the small board to be measured: {0}")]
    Count(String),
    /// Stages of the block executor.
    #[error(
        "cannot measure the block executor's stages, which write some 1.5 GB: {0}; choose another folder with --scratch"
    )]
    Stage(#[from] StageError),
    /// The scratch folder.
    #[error(
        "cannot measure the disk of the scratch folder: {0}; choose another folder with --scratch, or give --disk-bandwidth"
    )]
    Disk(#[from] std::io::Error),
}

impl From<BlockError> for MeasureError {
    fn from(error: BlockError) -> Self {
        Self::Block(error.to_string())
    }
}
impl From<InMemoryError> for MeasureError {
    fn from(error: InMemoryError) -> Self {
        Self::Block(error.to_string())
    }
}
impl From<LocalError> for MeasureError {
    fn from(error: LocalError) -> Self {
        Self::Count(error.to_string())
    }
}
impl From<LinkError> for MeasureError {
    fn from(error: LinkError) -> Self {
        Self::Count(error.to_string())
    }
}
