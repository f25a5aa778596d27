//! A group's slices of lanes, and the runs that are written of them.
//!
//! ```text
//!   all lanes at a time     states --> picked for each group of the window to come --> run
//!   some at a time          states --> picked --> put aside      lanes 0 to 3
//!                           states --> picked --> put aside      lanes 4, 5
//!                                                 lanes 0 to 5 of a row --> run
//! ```
//!
//! Several threads write several runs, each for some of the groups to come.

use std::ops::Range;
use std::time::Instant;

use keima_runs::{RunError, RunId, RunManifest, RunOptions, RunWriter, Split, Spool};

use super::in_place::Memory;
use super::lanes::of_width;
use super::scatter::{self, Scatter};
use super::slice::Work;
use super::task::{Stage, header, nanos, refuse};
use super::workers::crew;
use crate::TaskError;

/// Records of a run's block: so many bytes at least, and of each lane so many, since lanes are read one by one where a
/// family is done a few lanes at a time.
const RUN_BLOCK_BYTES: usize = 128 << 10;
const RUN_COLUMN_BYTES: usize = 32 << 10;

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
    /// Takes a group through the window, its lanes in slices.
    pub(super) fn through(
        &mut self,
        work: &Work<'_>,
        mut memory: Memory<'_>,
        slices: &[Range<usize>],
    ) -> Result<(), TaskError> {
        let view = &work.view;
        let started = Instant::now();
        let scatter = Scatter::new(view.column(), self.window, self.prepared.targets(self.window), view.families());
        self.times.write_nanos += nanos(started);
        let most = if work.threads == 1 { 1 } else { RUNS * work.threads };
        let count = usize::try_from(scatter.rows() / RUN_ROWS).unwrap_or(most).clamp(1, most);
        let part = |(groups, number)| Part { groups, number };
        let parts: Vec<Part> = scatter.parts(count).into_iter().zip(self.next_run..).map(part).collect();
        self.next_run += parts.len();
        let output = Output { scatter, parts };
        let written = if let [all] = slices {
            of_width!(all.len(), J => self.all_at_a_time::<J>(work, &output, &mut memory), _ => none(all))
        } else {
            self.some_at_a_time(work, &output, &mut memory, slices)
        };
        self.runs.extend(written?.into_iter().flatten());
        Ok(())
    }

    /// All lanes, straight into runs.
    fn all_at_a_time<const J: usize>(
        &mut self,
        work: &Work<'_>,
        Output { scatter, parts }: &Output,
        memory: &mut Memory<'_>,
    ) -> Result<Vec<Written>, TaskError> {
        let lanes = self.lanes::<J>(0)?;
        let states = self.slice(work, &lanes, memory)?;
        let started = Instant::now();
        let written = self.each_part(work, parts, |part| {
            let mut picker = scatter.pick(states, &part.groups);
            let mut rows = |count: usize, batch: &mut Vec<u64>| {
                picker.next(count, batch);
                Ok(())
            };
            self.write(work, scatter, &mut rows, part)
        })?;
        self.times.write_nanos += work.nanos(started);
        Ok(written)
    }

    /// A slice after the other, which are put aside until all are there.
    fn some_at_a_time(
        &mut self,
        work: &Work<'_>,
        output: &Output,
        memory: &mut Memory<'_>,
        slices: &[Range<usize>],
    ) -> Result<Vec<Written>, TaskError> {
        let (task, lanes) = (self.task, self.task.order.moduli.len());
        let Output { scatter, parts } = output;
        let spool = |_| Spool::create(task.scratch, task.disk).map_err(TaskError::Output);
        let mut spools: Vec<Spool> = parts.iter().map(spool).collect::<Result<_, _>>()?;
        for slice in slices {
            of_width!(slice.len(), J => {
                self.put_aside::<J>(work, output, memory, slice.start, &mut spools)
            }, _ => none(slice))?;
        }
        let started = Instant::now();
        self.bytes_spilled += spools.iter().map(Spool::bytes).sum::<u64>();
        let written = self.each_part(work, parts.iter().zip(spools), |(part, mut spool)| {
            let (all, mut from, mut words) = (scatter.rows_for(&part.groups), 0, Vec::new());
            let mut rows = |count: usize, batch: &mut Vec<u64>| {
                let start = batch.len();
                batch.resize(start + count * lanes, 0);
                for slice in slices {
                    words.resize(count * slice.len(), 0);
                    // Behind those of the lanes before.
                    spool.read(slice.start as u64 * all + from * slice.len() as u64, &mut words)?;
                    let own = batch[start..].chunks_exact_mut(lanes).zip(words.chunks_exact(slice.len()));
                    own.for_each(|(row, lanes)| row[slice.clone()].copy_from_slice(lanes));
                }
                from += count as u64;
                Ok::<_, RunError>(())
            };
            self.write(work, scatter, &mut rows, part)
        })?;
        self.times.write_nanos += work.nanos(started);
        Ok(written)
    }

    /// Puts `J` lanes from `first` on of all parts' rows at the end of their spools.
    fn put_aside<const J: usize>(
        &mut self,
        work: &Work<'_>,
        Output { scatter, parts }: &Output,
        memory: &mut Memory<'_>,
        first: usize,
        spools: &mut [Spool],
    ) -> Result<(), TaskError> {
        let lanes = self.lanes::<J>(first)?;
        let states = self.slice(work, &lanes, memory)?;
        let started = Instant::now();
        self.each_part(work, parts.iter().zip(spools), |(part, spool)| {
            let (mut picker, mut picked) = (scatter.pick(states, &part.groups), Vec::new());
            loop {
                picked.clear();
                picker.next(scatter::ROWS, &mut picked);
                if picked.is_empty() {
                    return Ok(());
                }
                spool.append(&picked).map_err(TaskError::Output)?;
            }
        })?;
        self.times.write_nanos += work.nanos(started);
        Ok(())
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
            // A column for the keys, and one for each lane.
            block_bytes: RUN_BLOCK_BYTES.max(RUN_COLUMN_BYTES * (1 + task.order.moduli.len())),
            consecutive: true,
            ..RunOptions::default()
        };
        let writer = RunWriter::create(task.scratch, &id, &header, options, task.disk).map_err(TaskError::Output)?;
        scatter.write(rows, &part.groups, work.view.group.place, writer)
    }
}

fn none<T>(lanes: &Range<usize>) -> Result<T, TaskError> {
    refuse(format!("lanes {lanes:?} are not done at a time; this is a fault of the program, please report it"))
}
