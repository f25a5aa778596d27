//! The state of one task out of core, and the checks of its order.
//!
//! ```text
//!   runs --gather--> states of a group --for each family: w passes in place--> states --scatter--> a run, or several
//!                    sums, fingerprint   mass balance, functionals, fingerprint       \--multiply--> inner product
//! ```
//!
//! A transposed vector goes through windows and columns in reverse (`passes::transposed`). Where it reaches a forward
//! vector that was kept, the two are multiplied (`kept_product`).
//!
//! The sums and tables are those of a count in memory (`in_memory::sweep`). Between windows the vector is in runs
//! instead of an array, so a task needs memory for its largest group only, in one buffer (`passes::forward`). A
//! family that is still too large goes through the window a few lanes at a time, down to one. Lanes are independent:
//! only these lanes are read and written. Where rows are widened, all lanes are read.
//!
//! A large group gets several shares of memory and threads, so that the other tasks do not wait for it at the end.
//! Its threads share the reading, the scans, the passes and the writing, where each writes a run.
//!
//! Laws: see `lane_slice`. The coordinator compares the sums and fingerprints of the input with those that were
//! written. Input with fewer moduli than the stage is widened, which checks every row's spare lane.

use keima_blocks::lanes::LANES;
use keima_blocks::limits::MODULUS_LIMIT;
use keima_model::{Direction, ProblemInfo};
use keima_runs::{Balance, RunHeader, RunManifest, Split, TaskTimes};

use crate::block::out_of_core::prepared::Prepared;
use crate::block::out_of_core::task::header::header;
use crate::block::out_of_core::task::kept_vector::KeptVector;
use crate::block::out_of_core::task::work::LaneSlice;
use crate::block::rows::lanes::Moduli;
use crate::block::rows::widen::RowWidener;
use crate::tally::EndTally;
use crate::{Task, TaskError};

/// One task of a stage.
pub(crate) struct BlockTask<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) task: &'a Task<'a>,
    /// Number of the window.
    pub(crate) window: usize,
    pub(crate) direction: Direction,
    pub(crate) widen: RowWidener,
    /// The kept vector, if the task ends with a product.
    pub(crate) kept: Option<KeptVector>,
    pub(crate) header_in: RunHeader,
    pub(crate) totals: TaskTotals,
    pub(crate) runs: Vec<(RunManifest, Vec<Split>)>,
    /// Number of the next run.
    pub(crate) next_run: usize,
}

/// What a task adds up for its report.
pub(crate) struct TaskTotals {
    /// Functionals at the window's last pass, with the sum of each lane.
    pub(crate) functionals: Vec<(u32, Vec<u64>)>,
    /// In a job's first stage: the functional of the first column.
    pub(crate) one_column: Option<u32>,
    pub(crate) input: EndTally,
    pub(crate) output: EndTally,
    /// States before each pass.
    pub(crate) states: Vec<u64>,
    /// Both sides of the mass balance, over all families so far.
    pub(crate) balance: Balance,
    pub(crate) bytes_read: u64,
    pub(crate) times: TaskTimes,
}

pub(crate) fn refuse<T>(text: String) -> Result<T, TaskError> {
    Err(TaskError::Refused(text))
}

impl<'a> BlockTask<'a> {
    pub(crate) fn new(
        prepared: &'a Prepared,
        info: &'a dyn ProblemInfo,
        task: &'a Task<'a>,
    ) -> Result<Self, TaskError> {
        let order = task.order;
        let windows = prepared.windows();
        let Some(window) = windows.iter().position(|&window| window == order.window) else {
            return refuse(format!("the windows of the column are {windows:?}, without {:?}", order.window));
        };
        let board = info.board();
        let end = order.first_pass.checked_add(order.window.len);
        if end.is_none_or(|end| end > board.passes()) || board.cell(order.first_pass) != order.window.first {
            return refuse(format!("the passes from {} on are not a stage of the {board} board", order.first_pass));
        }
        let lanes = order.moduli.len();
        if !LANES.iter().any(|&some| some as usize == lanes) {
            return refuse(format!("rows of the block executor have {LANES:?} lanes, not {lanes}"));
        }
        if order.moduli.iter().any(|modulus| !(2..MODULUS_LIMIT).contains(modulus)) {
            return refuse(format!("the moduli {:?} must be at least 2 and below 2^60", order.moduli));
        }
        let own = order.lanes();
        let shares = own.len() < lanes;
        if own.is_empty() || own.end > lanes || shares && order.kept().is_some() {
            return refuse(format!(
                "lanes {own:?} of {lanes} cannot be done; a task takes some lanes of a stage, and all where vectors meet"
            ));
        }
        let moduli_in = order.moduli_in();
        let Some(widen) = RowWidener::new(moduli_in, &order.moduli) else {
            return refuse(format!("rows modulo {moduli_in:?} cannot be widened to rows modulo {:?}", order.moduli));
        };
        let direction = order.block.as_ref().map_or(Direction::Forward, |block| block.direction);
        let kept = order.block.as_ref().and_then(|block| block.kept.as_ref());
        let starts_at = match direction {
            Direction::Forward => (order.first_pass, board.height),
            Direction::Transposed => (order.first_pass + order.window.len, board.passes()),
        };
        if order.from_start && starts_at.0 != starts_at.1 {
            return refuse(format!("a vector cannot start at pass {} of the {board} board", starts_at.0));
        }
        let kept_vector = kept.map(|kept| KeptVector::new(order, kept)).transpose()?;
        let last = match (direction, kept) {
            (Direction::Forward, None) => Some(order.first_pass + order.window.len - 1),
            (Direction::Transposed, Some(_)) => board.passes().checked_sub(1),
            (Direction::Transposed, None) => None,
            (Direction::Forward, Some(_)) => {
                return refuse("only a transposed vector is multiplied with a kept vector".into());
            }
        };
        let functionals = (0..).zip(info.functionals()).filter(|(_, functional)| Some(functional.after_pass) == last);
        let starts = order.from_start && direction == Direction::Forward;
        let before =
            (0..).zip(info.functionals()).filter(|(_, functional)| starts && functional.after_pass < order.first_pass);
        Ok(Self {
            prepared,
            task,
            window,
            direction,
            widen,
            kept: kept_vector,
            header_in: header(order, moduli_in, direction, direction.enters(), order.window),
            totals: TaskTotals {
                functionals: functionals.map(|(number, _)| (number, vec![0; lanes])).collect(),
                one_column: before.map(|(number, _)| number).next(),
                input: EndTally::new(order.salt, lanes),
                output: EndTally::new(order.salt, lanes),
                states: vec![0; order.window.len as usize],
                balance: Balance { expected: vec![0; lanes], got: vec![0; lanes] },
                bytes_read: 0,
                times: TaskTimes::default(),
            },
            runs: Vec::new(),
            next_run: 0,
        })
    }

    pub(crate) fn check_stop(&self) -> Result<(), TaskError> {
        if self.is_to_stop() { Err(TaskError::Stopped) } else { Ok(()) }
    }

    pub(crate) fn is_to_stop(&self) -> bool {
        self.task.is_to_stop()
    }

    pub(crate) fn lanes<const J: usize>(&self, first: usize) -> Result<LaneSlice<J>, TaskError> {
        let moduli = self.task.order.moduli.get(first..first + J);
        match moduli.and_then(|moduli| Moduli::new(moduli.try_into().ok()?)) {
            Some(moduli) => Ok(LaneSlice { first, moduli }),
            None => refuse(format!("lanes {first} to {} cannot be done", first + J)),
        }
    }
}
