//! Writing the runs of a group, a slice of its lanes at a time.
//!
//! ```text
//!   lanes 0 to 3   states --> rows for each group of the next window --> columns of lanes 0 to 3 of the run
//!   lanes 4, 5     states --> rows --> columns of lanes 4 and 5
//!   at the end                         the rest of the run
//! ```
//!
//! Several threads write several runs, each for some of the target groups.

use std::ops::Range;
use std::time::Instant;

use keima_runs::{RunError, RunHeader, RunId, RunManifest, RunOptions, SlicedWriter, Split};

use crate::TaskError;
use crate::block::out_of_core::passes::buffer::GroupMemory;
use crate::block::out_of_core::scatter::Scatter;
use crate::block::out_of_core::task::header::header;
use crate::block::out_of_core::task::stage::{BlockTask, refuse};
use crate::block::out_of_core::task::work::GroupWork;
use crate::block::rows::lanes::of_width;
use crate::block::rows::threads::crew;
use crate::clock::nanos_since;

/// Least bytes of a run's block, and of each lane in it. Lanes are read one by one where a family goes through a few
/// lanes at a time.
const RUN_BLOCK_BYTES: usize = 128 << 10;
const RUN_COLUMN_BYTES: usize = 32 << 10;

/// Most runs for each of several threads, and fewest rows of a run.
const RUNS: usize = 2;
const RUN_ROWS: u64 = 1 << 12;

/// A run to write.
struct RunPlan {
    /// The groups of the next window that read it.
    groups: Range<usize>,
    number: usize,
}

/// The output of a group.
struct GroupOutput {
    scatter: Scatter,
    parts: Vec<RunPlan>,
}

/// A finished run with its split points.
type WrittenRun = (RunManifest, Vec<Split>);

impl BlockTask<'_> {
    /// Takes a group through the window, its lanes in slices.
    pub(crate) fn through(
        &mut self,
        work: &GroupWork<'_>,
        mut memory: GroupMemory<'_>,
        slices: &[Range<usize>],
    ) -> Result<(), TaskError> {
        let group_tables = &work.group_tables;
        if self.kept.is_some() {
            return slices.iter().try_for_each(
                |slice| of_width!(slice.len(), J => self.multiply_with_kept::<J>(work, &mut memory, slice.start), _ => none(slice)),
            );
        }
        let started = Instant::now();
        let targets = self.prepared.beside(self.direction, self.direction.leaves(), self.window)?;
        let scatter =
            Scatter::new(group_tables.column(), self.window, self.direction.leaves(), targets, group_tables.families());
        self.totals.times.write_nanos += nanos_since(started);
        let most = if work.threads == 1 { 1 } else { RUNS * work.threads };
        let count = usize::try_from(scatter.rows() / RUN_ROWS).unwrap_or(most).clamp(1, most);
        let part = |(groups, number)| RunPlan { groups, number };
        let parts: Vec<RunPlan> = scatter.parts(count).into_iter().zip(self.next_run..).map(part).collect();
        self.next_run += parts.len();
        let output = GroupOutput { scatter, parts };
        let written = self.in_slices(work, &output, &mut memory, slices);
        self.runs.extend(written?);
        Ok(())
    }

    /// Writes one slice of lanes after the other into the columns of all runs.
    fn in_slices(
        &mut self,
        work: &GroupWork<'_>,
        output: &GroupOutput,
        memory: &mut GroupMemory<'_>,
        slices: &[Range<usize>],
    ) -> Result<Vec<WrittenRun>, TaskError> {
        let mut writers = Vec::new();
        for slice in slices {
            of_width!(slice.len(), J => {
                self.write_slice::<J>(work, output, memory, slice.start, &mut writers)
            }, _ => none(slice))?;
        }
        let started = Instant::now();
        // Where several tasks share the lanes, the one with the first lane counts the records.
        let counts = self.task.order.lanes().start == 0;
        let written = self.each_part(work, output.parts.iter().zip(writers), |(part, writer)| {
            let splits = if counts { output.scatter.splits(&part.groups) } else { Vec::new() };
            Ok((writer.finish()?, splits))
        })?;
        self.totals.times.write_nanos += work.nanos(started);
        Ok(written)
    }

    /// Writes `J` lanes from `first` on of all runs. The first slice creates the runs.
    fn write_slice<const J: usize>(
        &mut self,
        work: &GroupWork<'_>,
        GroupOutput { scatter, parts }: &GroupOutput,
        memory: &mut GroupMemory<'_>,
        first: usize,
        writers: &mut Vec<SlicedWriter>,
    ) -> Result<(), TaskError> {
        let lanes = self.lanes::<J>(first)?;
        let states = self.lane_slice(work, &lanes, memory)?;
        let started = Instant::now();
        if writers.is_empty() {
            let (task, place) = (self.task, work.group_tables.group.place);
            for part in parts {
                let ((id, header, options), sections) = (self.run_of(part), scatter.sections(&part.groups, place));
                let writer = SlicedWriter::create(task.scratch, &id, &header, options, task.disk, sections);
                writers.push(writer.map_err(TaskError::Output)?);
            }
        }
        self.each_part(work, parts.iter().zip(writers), |(part, writer)| {
            let mut picker = scatter.pick(states, &part.groups);
            let own = first - self.task.order.lanes().start;
            writer.write(own..own + J, |count, words| picker.next(count, words))
        })?;
        self.totals.times.write_nanos += work.nanos(started);
        Ok(())
    }

    /// Runs `act` on each run by all threads of the group.
    fn each_part<P: Send, R: Send>(
        &self,
        work: &GroupWork<'_>,
        parts: impl IntoIterator<Item = P>,
        act: impl Fn(P) -> Result<R, RunError> + Sync,
    ) -> Result<Vec<R>, TaskError> {
        crew(work.threads, parts, |part| {
            if self.is_to_stop() { Err(TaskError::Stopped) } else { act(part).map_err(TaskError::Output) }
        })
    }

    /// The id, header and options of a run.
    fn run_of(&self, part: &RunPlan) -> (RunId, RunHeader, RunOptions) {
        let order = self.task.order;
        let (windows, end) = (self.prepared.windows(), self.direction.leaves());
        let next = windows[end.neighbour(self.window, windows.len())];
        let moduli = &order.moduli[order.lanes()];
        let header = header(order, moduli, self.direction, end, next);
        let id = RunId(format!("{}/r{}", order.attempt, part.number));
        let options = RunOptions {
            // One column for the keys, and one for each lane.
            block_bytes: RUN_BLOCK_BYTES.max(RUN_COLUMN_BYTES * (1 + moduli.len())),
            consecutive: true,
            durable: order.durable,
            ..RunOptions::default()
        };
        (id, header, options)
    }
}

fn none<T>(lanes: &Range<usize>) -> Result<T, TaskError> {
    refuse(format!("there is no code for lanes {lanes:?} at a time; this is a fault of the program, please report it"))
}
