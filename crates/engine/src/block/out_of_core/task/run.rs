//! One task out of core: takes its groups through the window one after the other, and reports.

use std::sync::atomic::Ordering;
use std::time::Instant;

use keima_blocks::limits::PLACE_BITS;
use keima_model::{Direction, ProblemInfo};
use keima_runs::{FunctionalSum, PassTally, Split, Tally, TaskManifest};
use zerocopy::{FromBytes as _, IntoBytes as _};

use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::groups::GroupId;
use crate::block::out_of_core::passes::buffer::{GroupLayout, GroupMemory};
use crate::block::out_of_core::passes::transposed::arrivals;
use crate::block::out_of_core::prepared::Prepared;
use crate::block::out_of_core::task::share::Share;
use crate::block::out_of_core::task::stage::{BlockTask, refuse};
use crate::block::out_of_core::task::work::GroupWork;
use crate::block::rows::tables::family_ends;
use crate::clock::nanos_since;
use crate::splits::merge_equal;
use crate::{Task, TaskError};

/// Does one task: the groups whose numbers are in the upper bits of the order's key range.
///
/// Blocks the caller. Uses one thread; a group that gets the memory of several tasks also uses their threads. After
/// an error complete output runs may remain in the attempt's folder. Its owner deletes them.
pub fn run_block_task(prepared: &Prepared, info: &dyn ProblemInfo, task: &Task<'_>) -> Result<TaskManifest, TaskError> {
    BlockTask::new(prepared, info, task)?.run()
}

impl BlockTask<'_> {
    fn run(mut self) -> Result<TaskManifest, TaskError> {
        let order = self.task.order;
        let groups = self.prepared.groups(self.window) as u128;
        let (low, high) = (order.low >> PLACE_BITS, order.high.map_or(groups, |high| (high >> PLACE_BITS).min(groups)));
        for group in low..high {
            self.group(group as u32)?;
        }
        Ok(self.finish())
    }

    /// Takes a group through the window.
    fn group(&mut self, number: u32) -> Result<(), TaskError> {
        let id = GroupId { direction: self.direction, window: self.window, number };
        let prepared = self.prepared;
        let mut expected = self.expected(number);
        let (group_tables, Share { layout, slices, threads, .. }, mut grant) = loop {
            let stopped = || self.task.stop.load(Ordering::Relaxed);
            let reservation = prepared.pool.reserve(expected, stopped).ok_or(TaskError::Stopped)?;
            let started = Instant::now();
            // All threads whose tasks find no memory beside this one.
            let makers = prepared.pool.threads(expected.all);
            let group_tables = prepared.group_tables(id, makers)?;
            let layout = GroupLayout::new(group_tables.tables(), group_tables.families(), self.direction);
            self.totals.times.read_nanos += nanos_since(started) * makers as u64;
            let share = self.share(&group_tables, layout)?;
            if let Some(grant) = reservation.grant(share.words)? {
                break (group_tables, share, grant);
            }
            // More than expected, and others hold the rest. Tables that a task made are made again when there is room.
            expected = share.words;
        };
        let (front, rest) = grant.words().split_at_mut(self.arrival_words(&group_tables));
        let mut memory = GroupMemory(rest);
        let arrivals = self.arrivals(&group_tables, &layout, threads, &mut memory, front)?;
        let work = GroupWork { group_tables, layout, threads, arrivals };
        self.through(&work, memory, &slices)
    }

    /// Transposed: counts the ways that lead to each state of each family, in `words`.
    fn arrivals<'w>(
        &mut self,
        group_tables: &GroupTables<'_>,
        layout: &GroupLayout,
        threads: usize,
        memory: &mut GroupMemory<'_>,
        words: &'w mut [u64],
    ) -> Result<Vec<&'w [u32]>, TaskError> {
        if self.direction == Direction::Forward {
            return Ok(Vec::new());
        }
        let started = Instant::now();
        let (Some((rows, aside)), Ok(mut left)) =
            (memory.rows::<1>(layout), <[u32]>::mut_from_bytes(words.as_mut_bytes()))
        else {
            return refuse(format!("there is no memory for a lane of group {}", group_tables.number));
        };
        let mut all = Vec::with_capacity(layout.families.len());
        for (family, layout) in group_tables.families().iter().zip(&layout.families) {
            if self.is_to_stop() {
                return Err(TaskError::Stopped);
            }
            let (own, later) = left.split_at_mut(family_ends(group_tables.tables(), family).1 as usize);
            arrivals(group_tables.tables(), family, layout, rows, aside, threads, own)?;
            all.push(&*own);
            left = later;
        }
        self.totals.times.map_nanos += nanos_since(started) * threads as u64;
        Ok(all)
    }

    fn finish(self) -> TaskManifest {
        let order = self.task.order;
        let moduli = order.moduli.as_slice();
        let narrow = |tally: Tally, kept: usize| {
            // Lanes of the input runs: the first ones, and the spare.
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
        let splits = crate::splits::join_splits(merge_equal(&splits), order.most_splits);
        let own = |(functional, lanes)| FunctionalSum { functional, lanes };
        let mut functionals: Vec<FunctionalSum> = self.totals.functionals.into_iter().map(own).collect();
        if let Some(functional) = self.totals.one_column {
            // The task with the first group reports the whole first column.
            let count = if order.low == 0 { self.prepared.one_column() } else { 0 };
            let lanes = order.lanes();
            let lane = |(lane, p): (usize, &u64)| if lanes.contains(&lane) { count % p } else { 0 };
            functionals.push(FunctionalSum { functional, lanes: moduli.iter().enumerate().map(lane).collect() });
        }
        let bytes_written = runs.iter().map(|run| run.bytes).sum();
        TaskManifest {
            runs,
            first_lane: order.lanes().start as u32,
            splits,
            // A run has sections for many groups.
            gaps: Vec::new(),
            input: narrow(self.totals.input.finish(moduli), order.moduli_in().len()),
            output: match self.kept {
                None => self.totals.output.finish(moduli),
                // Nothing is written.
                Some(_) => Tally::zero(moduli.len()),
            },
            kept: self.kept.map(|kept_vector| narrow(kept_vector.tally.finish(moduli), kept_vector.moduli.len())),
            passes: self.totals.states.iter().map(|&states| PassTally { states, ..PassTally::default() }).collect(),
            functionals,
            balance: Some(self.totals.balance),
            bytes_read: self.totals.bytes_read,
            bytes_written,
            bytes_spilled: 0,
            times: self.totals.times,
        }
    }
}
