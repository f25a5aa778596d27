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
}

/// What a group writes.
struct Output {
    scatter: Scatter,
    parts: Vec<Part>,
}

/// A run that was written, and where it can be cut; none of no rows.
type Written = Option<(RunManifest, Vec<Split>)>;

impl Stage<'_> {
    /// Takes a group through the window, `J` lanes at a time.
    pub(super) fn slices<const J: usize>(&mut self, work: &Work<'_>, memory: Memory<'_>) -> Result<(), TaskError> {
        let view = &work.view;
        let started = Instant::now();
        let scatter = Scatter::new(view.column(), self.window, self.prepared.targets(self.window), view.families());
        self.times.write_nanos += nanos(started);
        self.output.states += scatter.rows();
        let most = if work.threads == 1 { 1 } else { RUNS * work.threads };
        let count = usize::try_from(scatter.rows() / RUN_ROWS).unwrap_or(most).clamp(1, most);
        let part = |(groups, number)| Part { groups, number };
        let parts: Vec<Part> = scatter.parts(count).into_iter().zip(self.next_run..).map(part).collect();
        self.next_run += parts.len();
        let output = Output { scatter, parts };
        let written = if self.task.order.moduli.len() == J {
            self.all_at_a_time::<J>(work, &output, memory)?
        } else {
            self.some_at_a_time::<J>(work, &output, memory)?
        };
        self.runs.extend(written.into_iter().flatten());
        Ok(())
    }

    /// All lanes, straight into runs.
    fn all_at_a_time<const J: usize>(
        &mut self,
        work: &Work<'_>,
        Output { scatter, parts }: &Output,
        mut memory: Memory<'_>,
    ) -> Result<Vec<Written>, TaskError> {
        let lanes = self.lanes::<J>(0)?;
        let states = self.slice(work, &lanes, &mut memory)?;
        let started = Instant::now();
        let done = self.each_part(work, parts, |part| {
            let (mut picker, mut total) = (scatter.pick(states, &part.groups), [0; J]);
            let mut rows = |count: usize, batch: &mut Vec<u64>| {
                pick(&mut picker, count, batch, &lanes, &mut total);
                Ok(())
            };
            let written = self.write(work, scatter, &mut rows, part)?;
            Ok((written, total))
        })?;
        let (written, totals): (_, Vec<_>) = done.into_iter().unzip();
        self.add_output(&totals, &lanes);
        self.times.write_nanos += work.nanos(started);
        Ok(written)
    }

    /// `J` lanes at a time, which are put aside until all are there.
    fn some_at_a_time<const J: usize>(
        &mut self,
        work: &Work<'_>,
        Output { scatter, parts }: &Output,
        mut memory: Memory<'_>,
    ) -> Result<Vec<Written>, TaskError> {
        let (task, lanes) = (self.task, self.task.order.moduli.len());
        let spool = |_| Spool::create(task.scratch, task.disk).map_err(TaskError::Output);
        let mut spools: Vec<Spool> = parts.iter().map(spool).collect::<Result<_, _>>()?;
        for first in (0..lanes).step_by(J) {
            let lanes = self.lanes::<J>(first)?;
            let states = self.slice(work, &lanes, &mut memory)?;
            let started = Instant::now();
            let totals = self.each_part(work, parts.iter().zip(&mut spools), |(part, spool)| {
                put_aside(scatter.pick(states, &part.groups), spool, &lanes)
            })?;
            self.add_output(&totals, &lanes);
            self.times.write_nanos += work.nanos(started);
        }
        let started = Instant::now();
        self.bytes_spilled += spools.iter().map(Spool::bytes).sum::<u64>();
        let written = self.each_part(work, parts.iter().zip(spools), |(part, mut spool)| {
            let (all, mut from, mut slice) = (scatter.rows_for(&part.groups), 0, Vec::new());
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
            self.write(work, scatter, &mut rows, part)
        })?;
        self.times.write_nanos += work.nanos(started);
        Ok(written)
    }

    /// Does something for each part, by all threads of the group; what came of each.
    fn each_part<P: Send, R: Send>(
        &self,
        work: &Work<'_>,
        parts: impl IntoIterator<Item = P>,
        act: impl Fn(P) -> Result<R, TaskError> + Sync,
    ) -> Result<Vec<R>, TaskError> {
        crew(work.threads, parts, |part| if self.is_to_stop() { Err(TaskError::Stopped) } else { act(part) })
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
        part: &Part,
    ) -> Result<Written, TaskError> {
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
        scatter.write(rows, &part.groups, work.view.group.place, writer)
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

/// Puts all rows of a part aside; their sum.
fn put_aside<const J: usize>(
    mut picker: Picker<'_, J>,
    spool: &mut Spool,
    lanes: &Lanes<J>,
) -> Result<[u128; J], TaskError> {
    let (mut picked, mut total) = (Vec::new(), [0; J]);
    loop {
        picked.clear();
        pick(&mut picker, scatter::ROWS, &mut picked, lanes, &mut total);
        if picked.is_empty() {
            return Ok(total);
        }
        spool.append(&picked).map_err(TaskError::Output)?;
    }
}
