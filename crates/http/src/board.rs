//! A job's board as it fills: which cells are done, which are under way, and the kink between them and the others.

use keima_coordinator::{JobStatus, State};
use keima_model::Direction;

/// A cell of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The vector has passed it.
    Done,
    /// The stage under way adds it.
    Now,
    /// It comes later.
    ToCome,
}

/// The board of a job in its present sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// Cells of a column.
    pub height: u32,
    /// Columns.
    pub length: u32,
    /// Column by column, from the top.
    pub cells: Vec<Cell>,
    /// Cells before the kink, counted column by column: the vector's border lies behind them. `None` where nothing is under way.
    pub kink: Option<u32>,
}

impl Board {
    /// The board of a job; `None` without a plan.
    pub fn of(status: &JobStatus) -> Option<Self> {
        let plan = status.plan.as_ref()?;
        let board = plan.board;
        let begun = !matches!(status.state, State::Queued) || status.progress.states > 0;
        let all_swept = status.state == State::Done || status.position.stage >= plan.stages();
        // Columns that need no stage are there from the start.
        let mut cells = vec![if begun { Cell::Done } else { Cell::ToCome }; board.passes() as usize];
        for number in 0..plan.stages() {
            let stage = plan.stage(number);
            let cell = match number.cmp(&status.position.stage) {
                _ if all_swept => Cell::Done,
                std::cmp::Ordering::Less => Cell::Done,
                std::cmp::Ordering::Equal if begun => Cell::Now,
                _ => Cell::ToCome,
            };
            let range = stage.first_pass as usize..stage.end_pass() as usize;
            cells.get_mut(range).into_iter().flatten().for_each(|place| *place = cell);
        }
        let kink = (begun && !all_swept).then(|| {
            let stage = plan.stage(status.position.stage);
            match stage.direction {
                Direction::Forward => stage.first_pass,
                Direction::Transposed => stage.end_pass(),
            }
        });
        Some(Self { height: board.height.max(1), length: board.length, cells, kink })
    }

    /// A cell by row and column.
    pub fn cell(&self, row: u32, column: u32) -> Cell {
        let at = u64::from(column) * u64::from(self.height) + u64::from(row);
        usize::try_from(at).ok().and_then(|at| self.cells.get(at)).copied().unwrap_or(Cell::ToCome)
    }

    /// At most `most` columns, around the kink: first and end.
    pub fn shown(&self, most: u32) -> (u32, u32) {
        let middle = self.kink.map_or(0, |kink| kink / self.height);
        let first = middle.saturating_sub(most / 2).min(self.length.saturating_sub(most));
        (first, self.length.min(first.saturating_add(most)))
    }
}
