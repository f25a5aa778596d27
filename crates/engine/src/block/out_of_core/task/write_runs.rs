//! A group's slices of lanes, and the runs that are written of them.
//!
//! ```text
//!   lanes 0 to 3   states --> picked for each group of the window to come --> columns of lanes 0 to 3 of the run
//!   lanes 4, 5     states --> picked --> columns of lanes 4 and 5
//!   at the end                           all else of the run
//! ```
//!
//! Several threads write several runs, each for some of the groups to come.

use std::ops::Range;
use std::time::Instant;

use keima_runs::{RunError, RunHeader, RunId, RunManifest, RunOptions, SlicedWriter, Split};

use crate::TaskError;
use crate::block::out_of_core::passes::buffer::Memory;
use crate::block::out_of_core::scatter::Scatter;
use crate::block::out_of_core::task::header::header;
use crate::block::out_of_core::task::stage::{Stage, refuse};
use crate::block::out_of_core::task::work::Work;
use crate::block::rows::lanes::of_width;
use crate::block::rows::threads::crew;
use crate::clock::nanos_since;

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

/// A run that was written, and where it can be cut.
type Written = (RunManifest, Vec<Split>);

impl Stage<'_> {
    /// Takes a group through the window, its lanes in slices.
    pub(crate) fn through(
        &mut self,
        work: &Work<'_>,
        mut memory: Memory<'_>,
        slices: &[Range<usize>],
    ) -> Result<(), TaskError> {
        let view = &work.view;
        if self.join.is_some() {
            return slices.iter().try_for_each(
                |slice| of_width!(slice.len(), J => self.meet::<J>(work, &mut memory, slice.start), _ => none(slice)),
            );
        }
        let started = Instant::now();
        let targets = self.prepared.beside(self.direction, self.direction.leaves(), self.window)?;
        let scatter = Scatter::new(view.column(), (self.direction, self.window), targets, view.families());
        self.times.write_nanos += nanos_since(started);
        let most = if work.threads == 1 { 1 } else { RUNS * work.threads };
        let count = usize::try_from(scatter.rows() / RUN_ROWS).unwrap_or(most).clamp(1, most);
        let part = |(groups, number)| Part { groups, number };
        let parts: Vec<Part> = scatter.parts(count).into_iter().zip(self.next_run..).map(part).collect();
        self.next_run += parts.len();
        let output = Output { scatter, parts };
        let written = self.in_slices(work, &output, &mut memory, slices);
        self.runs.extend(written?);
        Ok(())
    }

    /// A slice of the lanes after the other, each into its columns of all runs.
    fn in_slices(
        &mut self,
        work: &Work<'_>,
        output: &Output,
        memory: &mut Memory<'_>,
        slices: &[Range<usize>],
    ) -> Result<Vec<Written>, TaskError> {
        let mut writers = Vec::new();
        for slice in slices {
            of_width!(slice.len(), J => {
                self.write_slice::<J>(work, output, memory, slice.start, &mut writers)
            }, _ => none(slice))?;
        }
        let started = Instant::now();
        let written = self.each_part(work, output.parts.iter().zip(writers), |(part, writer)| {
            Ok((writer.finish()?, output.scatter.splits(&part.groups)))
        })?;
        self.times.write_nanos += work.nanos(started);
        Ok(written)
    }

    /// Writes `J` lanes from `first` on of all parts' rows; the first slice begins the runs.
    fn write_slice<const J: usize>(
        &mut self,
        work: &Work<'_>,
        Output { scatter, parts }: &Output,
        memory: &mut Memory<'_>,
        first: usize,
        writers: &mut Vec<SlicedWriter>,
    ) -> Result<(), TaskError> {
        let lanes = self.lanes::<J>(first)?;
        let states = self.slice(work, &lanes, memory)?;
        let started = Instant::now();
        if writers.is_empty() {
            let (task, place) = (self.task, work.view.group.place);
            for part in parts {
                let ((id, header, options), sections) = (self.run_of(part), scatter.sections(&part.groups, place));
                let writer = SlicedWriter::create(task.scratch, &id, &header, options, task.disk, sections);
                writers.push(writer.map_err(TaskError::Output)?);
            }
        }
        self.each_part(work, parts.iter().zip(writers), |(part, writer)| {
            let mut picker = scatter.pick(states, &part.groups);
            writer.write(first..first + J, |count, words| picker.next(count, words))
        })?;
        self.times.write_nanos += work.nanos(started);
        Ok(())
    }

    /// Writes something of each part, by all threads of the group; what came of each.
    fn each_part<P: Send, R: Send>(
        &self,
        work: &Work<'_>,
        parts: impl IntoIterator<Item = P>,
        act: impl Fn(P) -> Result<R, RunError> + Sync,
    ) -> Result<Vec<R>, TaskError> {
        crew(work.threads, parts, |part| {
            if self.is_to_stop() { Err(TaskError::Stopped) } else { act(part).map_err(TaskError::Output) }
        })
    }

    /// The run that a part becomes, and how it is written.
    fn run_of(&self, part: &Part) -> (RunId, RunHeader, RunOptions) {
        let order = self.task.order;
        let (windows, end) = (self.prepared.windows(), self.direction.leaves());
        let next = windows[end.neighbour(self.window, windows.len())];
        let header = header(order, &order.moduli, self.direction, (end, next));
        let id = RunId(format!("{}/r{}", order.attempt, part.number));
        let options = RunOptions {
            // A column for the keys, and one for each lane.
            block_bytes: RUN_BLOCK_BYTES.max(RUN_COLUMN_BYTES * (1 + order.moduli.len())),
            consecutive: true,
            durable: order.durable,
            ..RunOptions::default()
        };
        (id, header, options)
    }
}

fn none<T>(lanes: &Range<usize>) -> Result<T, TaskError> {
    refuse(format!("lanes {lanes:?} are not done at a time; this is a fault of the program, please report it"))
}
