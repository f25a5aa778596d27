//! The block executor out of core: one task of one stage takes groups of families through a window.
//!
//! ```text
//!   runs --gather--> states of a group --for each family: w passes in place--> states --scatter--> a run, or several
//!                    sums, fingerprint   mass balance, functionals, fingerprint       \--join--> inner product
//! ```
//!
//! A transposed vector goes through windows and columns the other way ([`crate::block::out_of_core::passes::transposed`]); where it comes to a forward
//! one that was kept, the two are multiplied ([`crate::block::out_of_core::task::kept_product`]).
//!
//! The same sums over the same tables as in memory ([`crate::block::in_memory::sweep`]); what is between two windows is in runs instead
//! of in a vector, so that a task's memory is that of its largest group, in one buffer ([`crate::block::out_of_core::passes::forward`]). A family
//! that is too large even so is taken through the window a few lanes at a time, down to one: lanes know nothing of each
//! other. Of its input these lanes are read (all, where lanes are made of those before), and these are written.
//!
//! A group that is a larger part of the stage than one of its threads takes as many tasks' memory and threads as it is
//! worth, so that nobody waits for it at the end. Threads share the reading of runs, the looks at states, the passes and
//! the writing, in which each writes a run.
//!
//! Laws: see [`crate::block::out_of_core::task::lane_slice`]. The coordinator holds sums and fingerprints of what is read against those of what was
//! written. Runs that have fewer moduli than the stage are widened on reading, and every row's spare lane is checked.

use std::sync::atomic::Ordering;

use keima_blocks::lanes::LANES;
use keima_blocks::limits::MODULUS_LIMIT;
use keima_model::{Direction, ProblemInfo};
use keima_runs::{RunHeader, RunManifest, Split, TaskTimes};

use crate::block::out_of_core::prepared::Prepared;
use crate::block::out_of_core::task::header::header;
use crate::block::out_of_core::task::kept_vector::Join;
use crate::block::out_of_core::task::work::Lanes;
use crate::block::rows::lanes::Moduli;
use crate::block::rows::widen::Widen;
use crate::tally::EndTally;
use crate::{Task, TaskError};

/// One task's part of a stage.
pub(crate) struct Stage<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) task: &'a Task<'a>,
    /// Number of the window.
    pub(crate) window: usize,
    pub(crate) direction: Direction,
    pub(crate) widen: Widen,
    /// Where the vector meets one that was kept.
    pub(crate) join: Option<Join>,
    pub(crate) header_in: RunHeader,
    /// Functionals that fall on the window's last pass, with the sums of each lane.
    pub(crate) functionals: Vec<(u32, Vec<u64>)>,
    /// In the first stage that of the first column.
    pub(crate) one_column: Option<u32>,
    pub(crate) input: EndTally,
    pub(crate) output: EndTally,
    /// States before each pass.
    pub(crate) states: Vec<u64>,
    pub(crate) runs: Vec<(RunManifest, Vec<Split>)>,
    /// Number of the next one.
    pub(crate) next_run: usize,
    pub(crate) bytes_read: u64,
    pub(crate) times: TaskTimes,
}

pub(crate) fn refuse<T>(text: String) -> Result<T, TaskError> {
    Err(TaskError::Refused(text))
}

impl<'a> Stage<'a> {
    pub(crate) fn new(
        prepared: &'a Prepared,
        info: &'a dyn ProblemInfo,
        task: &'a Task<'a>,
    ) -> Result<Self, TaskError> {
        let order = task.order;
        let windows = prepared.windows();
        let Some(window) = windows.iter().position(|&window| window == order.window) else {
            return refuse(format!("the column is cut into {windows:?}, not into {:?}", order.window));
        };
        let board = info.board();
        let end = order.first_pass.checked_add(order.window.len);
        if end.is_none_or(|end| end > board.passes()) || board.cell(order.first_pass) != order.window.first {
            return refuse(format!("passes {}.. are no stage of the {board} board", order.first_pass));
        }
        let lanes = order.moduli.len();
        if !LANES.iter().any(|&some| some as usize == lanes) {
            return refuse(format!("the block executor carries residues in rows of {LANES:?}, not of {lanes}"));
        }
        if order.moduli.iter().any(|modulus| !(2..MODULUS_LIMIT).contains(modulus)) {
            return refuse(format!("moduli {:?} are not below 2^60", order.moduli));
        }
        let moduli_in = order.moduli_in();
        let Some(widen) = Widen::new(moduli_in, &order.moduli) else {
            return refuse(format!("rows modulo {moduli_in:?} cannot be made rows modulo {:?}", order.moduli));
        };
        let direction = order.block.as_ref().map_or(Direction::Forward, |block| block.direction);
        let kept = order.block.as_ref().and_then(|block| block.kept.as_ref());
        let starts_at = match direction {
            Direction::Forward => (order.first_pass, board.height),
            Direction::Backward => (order.first_pass + order.window.len, board.passes()),
        };
        if order.from_start && starts_at.0 != starts_at.1 {
            return refuse(format!("no vector begins its way at pass {} of the {board} board", starts_at.0));
        }
        let join = kept.map(|kept| Join::new(order, kept)).transpose()?;
        let last = match (direction, kept) {
            (Direction::Forward, None) => Some(order.first_pass + order.window.len - 1),
            (Direction::Backward, Some(_)) => board.passes().checked_sub(1),
            (Direction::Backward, None) => None,
            (Direction::Forward, Some(_)) => return refuse("only a transposed vector meets one that was kept".into()),
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
            join,
            header_in: header(order, moduli_in, direction, (direction.enters(), order.window)),
            functionals: functionals.map(|(number, _)| (number, vec![0; lanes])).collect(),
            one_column: before.map(|(number, _)| number).next(),
            input: EndTally::new(order.salt, lanes),
            output: EndTally::new(order.salt, lanes),
            states: vec![0; order.window.len as usize],
            runs: Vec::new(),
            next_run: 0,
            bytes_read: 0,
            times: TaskTimes::default(),
        })
    }

    pub(crate) fn check_stop(&self) -> Result<(), TaskError> {
        if self.is_to_stop() { Err(TaskError::Stopped) } else { Ok(()) }
    }

    pub(crate) fn is_to_stop(&self) -> bool {
        self.task.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn lanes<const J: usize>(&self, first: usize) -> Result<Lanes<J>, TaskError> {
        let moduli = self.task.order.moduli.get(first..first + J);
        match moduli.and_then(|moduli| Moduli::new(moduli.try_into().ok()?)) {
            Some(moduli) => Ok(Lanes { first, moduli }),
            None => refuse(format!("lanes {first} to {} cannot be done", first + J)),
        }
    }
}
