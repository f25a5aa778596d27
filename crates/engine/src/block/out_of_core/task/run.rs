//! The block executor out of core: one task of one stage takes groups of families through a window.

use std::time::Instant;

use keima_blocks::limits::PLACE_BITS;
use keima_model::{Direction, ProblemInfo, Sources};
use keima_runs::{FunctionalSum, PassTally, Split, Tally, TaskManifest};
use zerocopy::{FromBytes as _, IntoBytes as _};

use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::memory::pool::NoMemory;
use crate::block::out_of_core::passes::buffer::{Lines, Memory};
use crate::block::out_of_core::passes::transposed::arrivals;
use crate::block::out_of_core::prepared::Prepared;
use crate::block::out_of_core::task::share::Share;
use crate::block::out_of_core::task::stage::{Stage, refuse};
use crate::block::out_of_core::task::work::Work;
use crate::block::rows::tables::ends;
use crate::clock::nanos_since;
use crate::splits::merge_equal;
use crate::{Task, TaskError};

/// Does one task: the groups whose numbers stand in the upper bits of the order's key range.
///
/// Blocking; uses one thread, and for a group that is worth more than one task's memory and threads as many as that
/// memory would serve. On an error complete output runs may be left in the attempt's folder, for its owner to delete.
pub fn run_block_task(prepared: &Prepared, info: &dyn ProblemInfo, task: &Task<'_>) -> Result<TaskManifest, TaskError> {
    Stage::new(prepared, info, task)?.run()
}

impl Stage<'_> {
    fn run(mut self) -> Result<TaskManifest, TaskError> {
        let order = self.task.order;
        let groups = self.prepared.groups(self.window) as u128;
        let (low, high) = (order.low >> PLACE_BITS, order.high.map_or(groups, |high| (high >> PLACE_BITS).min(groups)));
        let mut last = None;
        for group in low..high {
            last = self.group(group as u32, last)?;
        }
        Ok(self.finish())
    }

    /// Takes a group through the window.
    ///
    /// `last` is what the tables for the group before have to offer; what these have is returned.
    fn group(&mut self, number: u32, last: Option<Sources>) -> Result<Option<Sources>, TaskError> {
        // Tables for the group before are nobody's memory any more: who has to wait lets them go.
        let (allowance, last) = if let Some(allowance) = self.prepared.may_make(self.window, number, || true) {
            (allowance, last)
        } else {
            drop(last);
            let allowance = self.prepared.may_make(self.window, number, || self.is_to_stop());
            (allowance.ok_or(TaskError::Stopped)?, None)
        };
        let started = Instant::now();
        let view = self.prepared.view((self.direction, self.window), number, last)?;
        let allowance = allowance.made(view.bytes());
        let lines = Lines::new(view.tables(), view.families());
        self.times.read_nanos += nanos_since(started);
        let Share { lines, slices, words, threads } = self.share(&view, lines)?;
        let mut arena = self.prepared.pool.take(words, || self.is_to_stop()).map_err(|error| match error {
            NoMemory::Stopped => TaskError::Stopped,
            NoMemory::System(error) => {
                TaskError::Refused(format!("no memory for a task of {} bytes: {error}", words.all * 8))
            }
        })?;
        drop(allowance);
        let (front, rest) = arena.words().split_at_mut(self.arrival_words(&view));
        let mut memory = Memory(rest);
        let arrivals = self.arrivals(&view, &lines, threads, &mut memory, front)?;
        let work = Work { view, lines, threads, arrivals };
        self.through(&work, memory, &slices)?;
        Ok(work.view.sources())
    }

    /// For transposed passes the ways that lead to each state of each family, in `words`.
    fn arrivals<'w>(
        &mut self,
        view: &View<'_>,
        lines: &Lines,
        threads: usize,
        memory: &mut Memory<'_>,
        words: &'w mut [u64],
    ) -> Result<Vec<&'w [u32]>, TaskError> {
        if self.direction == Direction::Forward {
            return Ok(Vec::new());
        }
        let started = Instant::now();
        let (Some((rows, aside)), Ok(mut left)) =
            (memory.rows::<1>(lines), <[u32]>::mut_from_bytes(words.as_mut_bytes()))
        else {
            return refuse(format!("there is no memory for a lane of group {}", view.number));
        };
        let mut all = Vec::with_capacity(lines.families.len());
        for (family, line) in view.families().iter().zip(&lines.families) {
            if self.is_to_stop() {
                return Err(TaskError::Stopped);
            }
            let (own, later) = left.split_at_mut(ends(view.tables(), family).1 as usize);
            arrivals(view.tables(), (family, line), rows, aside, threads, own)?;
            all.push(&*own);
            left = later;
        }
        self.times.map_nanos += nanos_since(started) * threads as u64;
        Ok(all)
    }

    fn finish(self) -> TaskManifest {
        let order = self.task.order;
        let moduli = order.moduli.as_slice();
        let narrow = |tally: Tally, kept: usize| {
            // Lanes of the runs that were read: the first ones, and the spare.
            let lanes = |row: Vec<u64>| row[..kept - 1].iter().chain(row.last()).copied().collect();
            Tally { states: tally.states, sums: lanes(tally.sums), fingerprint: lanes(tally.fingerprint) }
        };
        let (runs, mut splits): (Vec<_>, Vec<Split>) =
            self.runs.into_iter().fold((Vec::new(), Vec::new()), |(mut runs, mut splits), (run, own)| {
                runs.push(run);
                splits.extend(own);
                (runs, splits)
            });
        splits.sort_unstable_by_key(|split| split.key);
        let splits = crate::splits::join_splits(merge_equal(&splits));
        let own = |(functional, lanes)| FunctionalSum { functional, lanes };
        let mut functionals: Vec<FunctionalSum> = self.functionals.into_iter().map(own).collect();
        if let Some(functional) = self.one_column {
            // The whole first column, told by whoever does the first group.
            let count = if order.low == 0 { self.prepared.one_column() } else { 0 };
            functionals.push(FunctionalSum { functional, lanes: moduli.iter().map(|p| count % p).collect() });
        }
        let bytes_written = runs.iter().map(|run| run.bytes).sum();
        TaskManifest {
            runs,
            splits,
            input: narrow(self.input.finish(moduli), order.moduli_in().len()),
            output: match self.join {
                None => self.output.finish(moduli),
                // Nothing is written.
                Some(_) => Tally::zero(moduli.len()),
            },
            kept: self.join.map(|join| narrow(join.tally.finish(moduli), join.moduli.len())),
            passes: self.states.iter().map(|&states| PassTally { states, ..PassTally::default() }).collect(),
            functionals,
            bytes_read: self.bytes_read,
            bytes_written,
            bytes_spilled: 0,
            times: self.times,
        }
    }
}
