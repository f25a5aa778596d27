//! A group's slices of lanes, and the runs that are written of them.
//!
//! ```text
//!   all lanes at a time     states --> picked for each group of the window to come --> run
//!   some at a time          states --> picked --> put aside      lanes 0, 1
//!                           states --> picked --> put aside      lanes 2, 3
//!                                                 lanes 0 to 3 of a row --> run
//! ```
//!
//! Several threads write several runs, each for some of the groups to come.

use std::ops::Range;
use std::time::Instant;

use keima_runs::{RunError, RunId, RunManifest, RunOptions, RunWriter, Split, Spool};

use super::in_place::Memory;
use super::lanes::Row;
use super::scatter::{self, Picker, Scatter};
use super::slice::{Lanes, Work};
use super::sums::{Total, merge};
use super::task::{Stage, header, nanos};
use super::workers::crew;
use crate::TaskError;

/// Records of a run's block, in bytes.
const RUN_BLOCK_BYTES: usize = 128 << 10;

/// Runs for each of several threads, at most, and rows that are worth a run.
const RUNS: usize = 2;
const RUN_ROWS: u64 = 1 << 12;

/// A run that is to be written.
struct Part {
    /// The groups of the window to come that read it.
    groups: Range<usize>,
    number: usize,
    /// Lanes that wait for others.
    spool: Option<Spool>,
    written: Option<(RunManifest, Vec<Split>)>,
}

impl Stage<'_> {
    /// Takes a group through the window, `J` lanes at a time.
    pub(super) fn slices<const J: usize>(&mut self, work: &Work<'_>, mut memory: Memory<'_>) -> Result<(), TaskError> {
        let (task, lanes, view) = (self.task, self.task.order.moduli.len(), &work.view);
        let started = Instant::now();
        let scatter = Scatter::new(view.column(), self.window, self.prepared.targets(self.window), view.families());
        self.times.write_nanos += nanos(started);
        self.output.states += scatter.rows();
        let most = if work.threads == 1 { 1 } else { RUNS * work.threads };
        let count = usize::try_from(scatter.rows() / RUN_ROWS).unwrap_or(most).clamp(1, most);
        let part = |groups, number| Part { groups, number, spool: None, written: None };
        let mut parts: Vec<Part> = scatter
            .parts(count)
            .into_iter()
            .zip(self.next_run..)
            .map(|(groups, number)| part(groups, number))
            .collect();
        self.next_run += parts.len();
        if lanes == J {
            let lanes = self.lanes::<J>(0)?;
            let states = self.slice(work, &lanes, &mut memory)?;
            let started = Instant::now();
            let total = self.each_part(work, &mut parts, |part, total| {
                let mut picker = scatter.pick(states, &part.groups);
                let mut rows = |count: usize, batch: &mut Vec<u64>| {
                    pick(&mut picker, count, batch, &lanes, total);
                    Ok(())
                };
                self.write(work, &scatter, &mut rows, part)
            })?;
            self.add_output(&total, &lanes);
            self.times.write_nanos += nanos(started) * work.threads as u64;
            self.runs.extend(parts.into_iter().filter_map(|part| part.written));
            return Ok(());
        }
        for part in &mut parts {
            part.spool = Some(Spool::create(task.scratch, task.disk).map_err(TaskError::Output)?);
        }
        for first in (0..lanes).step_by(J) {
            let lanes = self.lanes::<J>(first)?;
            let states = self.slice(work, &lanes, &mut memory)?;
            let started = Instant::now();
            let total = self.each_part(work, &mut parts, |part, total| {
                put_aside(scatter.pick(states, &part.groups), part.spool.as_mut(), &lanes, total)
            })?;
            self.add_output(&total, &lanes);
            self.times.write_nanos += nanos(started) * work.threads as u64;
        }
        let started = Instant::now();
        self.bytes_spilled += parts.iter().filter_map(|part| part.spool.as_ref()).map(Spool::bytes).sum::<u64>();
        self.each_part::<J>(work, &mut parts, |part, _| {
            let (all, mut from, mut slice) = (scatter.rows_for(&part.groups), 0, Vec::new());
            let Some(mut spool) = part.spool.take() else { return Ok(()) };
            let mut rows = |count: usize, batch: &mut Vec<u64>| {
                let start = batch.len();
                batch.resize(start + count * lanes, 0);
                for (number, first) in (0..).zip((0..lanes).step_by(J)) {
                    slice.resize(count * J, 0);
                    spool.read((number * all + from) * J as u64, &mut slice)?;
                    let own = batch[start..].chunks_exact_mut(lanes).zip(slice.as_chunks::<J>().0);
                    own.for_each(|(row, lanes)| row[first..first + J].copy_from_slice(lanes));
                }
                from += count as u64;
                Ok::<_, RunError>(())
            };
            self.write(work, &scatter, &mut rows, part)
        })?;
        self.times.write_nanos += nanos(started) * work.threads as u64;
        self.runs.extend(parts.into_iter().filter_map(|part| part.written));
        Ok(())
    }

    /// Does something for each part, by all threads of the group; the sum of what they add up.
    fn each_part<const J: usize>(
        &self,
        work: &Work<'_>,
        parts: &mut [Part],
        act: impl Fn(&mut Part, &mut [u128; J]) -> Result<(), TaskError> + Sync,
    ) -> Result<Vec<[u128; J]>, TaskError> {
        let mut totals = vec![[0; J]; parts.len()];
        let tasks = parts.iter_mut().zip(&mut totals).collect();
        crew(
            work.threads,
            tasks,
            |(part, total)| {
                if self.is_to_stop() { Err(TaskError::Stopped) } else { act(part, total) }
            },
        )?;
        Ok(totals)
    }

    fn add_output<const J: usize>(&mut self, totals: &[[u128; J]], lanes: &Lanes<J>) {
        for total in totals {
            self.output.add_sums(total, lanes.first, lanes.moduli.values());
        }
    }

    fn write(
        &self,
        work: &Work<'_>,
        scatter: &Scatter,
        rows: &mut scatter::Rows<'_>,
        part: &mut Part,
    ) -> Result<(), TaskError> {
        let task = self.task;
        let windows = self.prepared.windows();
        let next = windows[(self.window + 1) % windows.len()];
        let header = header(task.order, &task.order.moduli, task.order.first_pass + task.order.window.len, next);
        let id = RunId(format!("{}/r{}", task.order.attempt, part.number));
        let options = RunOptions {
            durable: task.order.durable,
            block_bytes: RUN_BLOCK_BYTES,
            consecutive: true,
            ..RunOptions::default()
        };
        let writer = RunWriter::create(task.scratch, &id, &header, options, task.disk).map_err(TaskError::Output)?;
        part.written = scatter.write(rows, &part.groups, work.view.group.place, writer)?;
        Ok(())
    }
}

/// The next rows of a run into `batch`, and into their sum.
fn pick<const J: usize>(
    picker: &mut Picker<'_, J>,
    count: usize,
    batch: &mut Vec<u64>,
    lanes: &Lanes<J>,
    total: &mut [u128; J],
) {
    let at = batch.len();
    picker.next(count, batch);
    let rows: &[Row<J>] = batch[at..].as_chunks().0;
    let more = pulp::Arch::new().dispatch(Total { rows, moduli: &lanes.moduli });
    merge(total, more, &lanes.moduli);
}

/// Puts all rows of a part aside.
fn put_aside<const J: usize>(
    mut picker: Picker<'_, J>,
    spool: Option<&mut Spool>,
    lanes: &Lanes<J>,
    total: &mut [u128; J],
) -> Result<(), TaskError> {
    let (Some(spool), mut picked) = (spool, Vec::new()) else { return Ok(()) };
    loop {
        picked.clear();
        pick(&mut picker, scatter::ROWS, &mut picked, lanes, total);
        if picked.is_empty() {
            return Ok(());
        }
        spool.append(&picked).map_err(TaskError::Output)?;
    }
}
