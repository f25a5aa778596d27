//! What a failed check has put in doubt, until it is repeated.

use keima_orders::WorkerId;
use keima_runs::Tally;

use crate::store::records::{Committed, Shard};

/// The stages in doubt after a failed check: what each of their tasks read and wrote.
#[derive(Default)]
pub(crate) struct Doubts(pub(super) Vec<StageInDoubt>);

pub(super) struct StageInDoubt {
    pub(super) sweep: u32,
    pub(super) number: u32,
    pub(super) tasks: Vec<TaskInDoubt>,
}

pub(super) struct TaskInDoubt {
    /// Where it is known.
    pub(super) shard: Option<Shard>,
    pub(super) worker: WorkerId,
    pub(super) input: Tally,
    pub(super) output: Tally,
}

impl TaskInDoubt {
    pub(super) fn of(done: &Committed, shard: Option<Shard>) -> Self {
        let (input, output) = (done.manifest.input.clone(), done.manifest.output.clone());
        Self { shard, worker: done.writer.clone(), input, output }
    }
}
