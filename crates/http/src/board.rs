//! A job's board as it fills: which cells are done, which are under way, and the kink between them and the others.
//!
//! Cost: no more for a large board than for a small one. What is said of a job may come from a damaged file or another program.

use std::ops::Range;

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

/// The board of a job in its present sweep. Cells are counted column by column, from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// Cells of a column.
    pub height: u32,
    /// Columns.
    pub length: u32,
    /// Cells before the kink: the vector's border lies behind them. `None` where nothing is under way.
    pub kink: Option<u32>,
    /// Cells under way.
    now: Range<u32>,
    /// Cells to come.
    to_come: Range<u32>,
}

impl Board {
    /// The board of a job; `None` without a plan.
    pub fn of(status: &JobStatus) -> Option<Self> {
        let plan = status.plan.as_ref()?;
        let passes = plan.board.passes();
        let begun = !matches!(status.state, State::Queued) || status.progress.states > 0;
        let all_swept = status.state == State::Done || status.position.stage >= plan.stages();
        let (height, length) = (plan.board.height.max(1), plan.board.length);
        let board = |kink, now, to_come| Some(Self { height, length, kink, now, to_come });
        if !begun || all_swept {
            // Columns that need no stage are there from the start, but not before it.
            return board(None, 0..0, if all_swept { 0..0 } else { 0..passes });
        }
        let stage = plan.stage(status.position.stage);
        let (first, end) = (stage.first_pass.min(passes), stage.end_pass().min(passes));
        match stage.direction {
            Direction::Forward => {
                // The transposed vector comes later, from the end.
                board(Some(stage.first_pass), first..end, end..passes)
            }
            Direction::Transposed => {
                let kept = plan.middle().unwrap_or(0).saturating_mul(height).min(first);
                board(Some(stage.end_pass()), first..end, kept..first)
            }
        }
    }

    /// Cells.
    pub fn cells(&self) -> u64 {
        u64::from(self.height) * u64::from(self.length)
    }

    /// Cells that the vector has passed, and cells under way.
    pub fn done_and_now(&self) -> (u64, u64) {
        let (now, to_come) = (self.now.len() as u64, self.to_come.len() as u64);
        (self.cells().saturating_sub(now + to_come), now)
    }

    /// A cell by row and column.
    pub fn cell(&self, row: u32, column: u32) -> Cell {
        let at = u64::from(column) * u64::from(self.height) + u64::from(row);
        match u32::try_from(at) {
            Ok(at) if self.now.contains(&at) => Cell::Now,
            Ok(at) if at < self.height * self.length && !self.to_come.contains(&at) => Cell::Done,
            _ => Cell::ToCome,
        }
    }

    /// At most `most` columns, around the kink: first and end.
    pub fn shown(&self, most: u32) -> (u32, u32) {
        let middle = self.kink.map_or(0, |kink| kink / self.height);
        let first = middle.saturating_sub(most / 2).min(self.length.saturating_sub(most));
        (first, self.length.min(first.saturating_add(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_without_a_list_of_them() {
        let check = |now: Range<u32>, to_come: Range<u32>, cells: &str| {
            let board = Board { height: 2, length: 3, kink: None, now, to_come };
            let letter = |at: u32| match board.cell(at % 2, at / 2) {
                Cell::Done => 'd',
                Cell::Now => 'n',
                Cell::ToCome => 't',
            };
            let shown: String = (0..6).map(letter).collect();
            let count = |letter| cells.matches(letter).count() as u64;
            assert_eq!((shown.as_str(), board.done_and_now()), (cells, (count('d'), count('n'))));
            assert_eq!((board.cell(0, 3), board.cell(0, u32::MAX)), (Cell::ToCome, Cell::ToCome));
        };
        check(0..0, 0..0, "dddddd");
        check(0..0, 0..6, "tttttt");
        check(2..3, 3..6, "ddnttt");
        check(4..6, 2..4, "ddttnn");
    }
}
