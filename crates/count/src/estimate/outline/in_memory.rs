//! Outline of a count in the memory of one process: its windows, directions and lanes.
//!
//! It reads and writes nothing. All vectors have the states of a column in the middle of a board.

use keima_blocks::brackets::width;
use keima_coordinator::Executor;
use keima_engine::block::passages;
use keima_model::{AnyProblem, Direction, Window, WordCounts};

use super::{Offer, Outline, StageOutline, Way};
use crate::in_memory::InMemory;
use crate::in_memory::brackets::brackets;

impl Outline {
    /// The outline in memory; `None` if `keima count` would not count in memory.
    pub fn in_memory(problem: &AnyProblem, offer: &Offer) -> Option<Self> {
        let asked = offer.out_of_core || offer.disk_bytes.is_some();
        let asked = asked || offer.window.is_some() || offer.residues_per_sweep.is_some();
        if offer.workers > 1 || asked || offer.executor == Executor::Stream {
            return None;
        }
        let fit = InMemory::fit(problem, offer.threads, offer.memory_bytes)?;
        let words = brackets(problem.info()).map(|brackets| {
            let counts = WordCounts::new(problem.info().board().height, brackets.ends());
            counts.words()
        });
        let counter = InMemory::new(problem.clone(), offer.threads, offer.memory_bytes, offer.series).ok()?;
        let plan = counter.into_plan();
        let mut outline = Self {
            way: Way::InMemory,
            states: problem.info().forecast().map(|forecast| forecast.states),
            stages: Vec::new(),
            memory_bytes: Some(fit.memory_bytes),
            table_bytes: fit.table_bytes,
            parted: None,
            notes: Vec::new(),
            plan,
        };
        outline.stages = match (words, fit.lanes) {
            (Some(words), _) => outline.over_words(words),
            (None, None) => outline.both_ends(problem.info().blocks()?.choices())?,
            (None, Some(_)) => outline.forward_alone(),
        };
        Some(outline)
    }

    /// The stages of a count in memory that goes from both ends of the board to the middle.
    fn both_ends(&self, choices: u32) -> Option<Vec<StageOutline>> {
        let board = self.plan.board;
        // How many columns each direction has begun: backward, forward.
        let mut columns = [0_u32; 2];
        let mut stages = Vec::new();
        let passages = passages(&self.plan.windows, board.height, board.length, choices)?;
        // A vector of ones goes through a column before all others.
        for passage in passages.iter().filter(|passage| passage.arrivals) {
            let window = *self.plan.windows.get(passage.window as usize)?;
            stages.push(self.in_memory_stage(0, 0, window, Direction::Forward, 1));
        }
        for passage in passages {
            let window = *self.plan.windows.get(passage.window as usize)?;
            let from_first = passage.direction == Direction::Forward;
            // A column begins with its first window forward, with its last one backward.
            let begins =
                if from_first { passage.window == 0 } else { passage.window as usize + 1 == self.plan.windows.len() };
            let column = columns.get_mut(usize::from(from_first))?;
            *column += u32::from(begins);
            // The first column needs no passes forward.
            let number = if from_first { *column } else { *column - 1 };
            stages.push(self.in_memory_stage(0, number, window, passage.direction, passage.lanes));
        }
        Some(stages)
    }

    /// The stages of a count in memory that goes forward with some residues at a time.
    fn forward_alone(&self) -> Vec<StageOutline> {
        let mut stages = Vec::new();
        for (sweep, &(first, end)) in (0..).zip(&self.plan.sweeps) {
            let lanes = end.saturating_sub(first).next_power_of_two();
            for column in 1..self.plan.board.length {
                let windows = self.plan.windows.iter();
                stages.extend(
                    windows.map(|&window| self.in_memory_stage(sweep, column, window, Direction::Forward, lanes)),
                );
            }
        }
        stages
    }

    /// The stages of a count over bracket words: a column each, whose vector always has all words.
    fn over_words(&self, words: u64) -> Vec<StageOutline> {
        let mut stages = Vec::new();
        let height = self.plan.board.height;
        let window = Window { first: 0, len: height };
        for (sweep, &(first, end)) in (0..).zip(&self.plan.sweeps) {
            let lanes = width(end.saturating_sub(first));
            stages.extend((1..self.plan.board.length).map(|column| StageOutline {
                states_before: words,
                states_after: words,
                state_passes: words.saturating_mul(height.into()),
                ..self.in_memory_stage(sweep, column, window, Direction::Forward, lanes)
            }));
        }
        stages
    }

    /// One window in memory.
    fn in_memory_stage(
        &self,
        sweep: u32,
        column: u32,
        window: Window,
        direction: Direction,
        lanes: u32,
    ) -> StageOutline {
        let board = self.plan.board;
        let pass = board.height * board.length.saturating_sub(1) + window.first;
        let ends = [self.states_before(pass), self.states_before(pass + window.len)];
        let from_first = direction == Direction::Forward;
        StageOutline {
            sweep,
            column,
            window,
            direction,
            lanes,
            states_before: ends[usize::from(!from_first)],
            states_after: ends[usize::from(from_first)],
            state_passes: self.state_passes(pass, window.len),
            family_share: 0.0,
            family_threads: 1,
            family_makers: 1,
            waiting: 0.0,
            family_slices: 1,
            family_workers: 1,
            slices: 1.0,
            grows: false,
            bytes_before: 0,
            bytes_read: 0,
            bytes_written: 0,
            bytes_copied: 0,
            table_seconds: 0.0,
        }
    }
}
