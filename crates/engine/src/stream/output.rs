//! The output of a task: a buffer that is sorted and written as a run when it is full, and at the end.
//!
//! Different families have no state in common after a stage, so usually all keys in the buffer differ. Where a family
//! was cut (windows of one cell) the values of equal keys are added up here, and again where the task's runs are
//! merged into one.
//!
//! Cost: a sort of (key, place) pairs, then one copy of each row in that order.

use keima_residue::add_row;
use keima_runs::{Batch, GapFinder, KeyGap, Merger, RunHeader, RunManifest, Split, common_gaps};

use crate::TaskError;
use crate::splits::join_splits;
use crate::stream::buffers::Set;
use crate::stream::spill::{EngineKey, Spiller, TemporaryRun};

/// Most output runs without common keys that need no merge. Readers of the next stage open all of them.
const MAX_OUTPUT_RUNS: usize = 4;
pub(crate) struct Output {
    header: RunHeader,
    capacity: usize,
    /// Whether a key may occur twice.
    may_repeat: bool,
    runs: Vec<OutputRun>,
}

/// A finished run of the output.
struct OutputRun {
    manifest: RunManifest,
    splits: Vec<Split>,
    gaps: GapFinder,
}

/// The output of a task.
pub(crate) struct Written {
    pub(crate) runs: Vec<RunManifest>,
    pub(crate) splits: Vec<Split>,
    pub(crate) gaps: Vec<KeyGap>,
    /// Distinct keys.
    pub(crate) states: u64,
}

impl Output {
    pub(crate) fn new(header: RunHeader, capacity: usize, may_repeat: bool) -> Self {
        Self { header, capacity, may_repeat, runs: Vec::new() }
    }

    /// Adds records with keys in the next stage's layout. All calls must pass the same buffers.
    pub(crate) fn push<K: EngineKey>(
        &mut self,
        keys: &[K],
        rows: &[u64],
        buffers: &mut Set<K>,
        spiller: &mut Spiller<'_>,
    ) -> Result<(), TaskError> {
        if buffers.order.len() + keys.len() > self.capacity {
            self.flush(buffers, spiller)?;
        }
        let base = buffers.order.len() as u32;
        buffers.order.extend(keys.iter().zip(base..).map(|(&key, place)| (key, place)));
        buffers.rows.extend_from_slice(rows);
        Ok(())
    }

    fn flush<K: EngineKey>(&mut self, buffers: &mut Set<K>, spiller: &mut Spiller<'_>) -> Result<(), TaskError> {
        let Set { order, rows, .. } = buffers;
        if order.is_empty() {
            return Ok(());
        }
        order.sort_unstable();
        let lanes = self.header.lanes();
        let mut writer = spiller.output_run::<K>(&self.header)?;
        let row_of = |place: u32| &rows[place as usize * lanes..(place as usize + 1) * lanes];
        if self.may_repeat {
            let mut sum = Vec::new();
            for equal in order.chunk_by(|a, b| a.0 == b.0) {
                sum.clear();
                sum.extend_from_slice(row_of(equal[0].1));
                for &(_, place) in &equal[1..] {
                    add_row(&mut sum, row_of(place), &self.header.moduli);
                }
                writer.push(equal[0].0, &sum).map_err(TaskError::Output)?;
            }
        } else {
            for &(key, place) in order.iter() {
                writer.push(key, row_of(place)).map_err(TaskError::Output)?;
            }
        }
        let mut gaps = GapFinder::default();
        gaps.push(order.iter().map(|&(key, _)| key));
        let written = writer.finish().map_err(TaskError::Output)?;
        order.clear();
        rows.clear();
        self.add(written, gaps, spiller);
        Ok(())
    }

    /// Writes the rest. Merges the task's runs if there are too many, or if they may have keys in common.
    pub(crate) fn finish<K: EngineKey>(
        mut self,
        buffers: &mut Set<K>,
        spiller: &mut Spiller<'_>,
        most_splits: u32,
    ) -> Result<Written, TaskError> {
        self.flush(buffers, spiller)?;
        let many = self.runs.len() > MAX_OUTPUT_RUNS || (self.may_repeat && self.runs.len() > 1);
        if many {
            self.merge_runs::<K>(spiller)?;
        }
        let states = self.runs.iter().map(|run| run.manifest.records).sum();
        let (mut runs, mut splits, mut finders) = (Vec::new(), Vec::new(), Vec::new());
        for run in self.runs {
            runs.push(run.manifest);
            splits.extend(run.splits);
            finders.push(run.gaps);
        }
        Ok(Written { runs, splits: join_splits(splits, most_splits), gaps: common_gaps(&finders), states })
    }

    fn add(&mut self, written: Option<(RunManifest, Vec<Split>)>, gaps: GapFinder, spiller: &mut Spiller<'_>) {
        if let Some((manifest, splits)) = written {
            spiller.bytes_written += manifest.bytes;
            self.runs.push(OutputRun { manifest, splits, gaps });
        }
    }

    fn merge_runs<K: EngineKey>(&mut self, spiller: &mut Spiller<'_>) -> Result<(), TaskError> {
        let parts: Vec<_> =
            self.runs.drain(..).map(|run| spiller.take_back(run.manifest, self.header.clone())).collect();
        spiller.bytes_spilled += parts.iter().map(TemporaryRun::bytes).sum::<u64>();
        let parts = spiller.reduce_fan_in::<K>(parts, &self.header)?;
        let mut merger: Merger<K> = Spiller::merge(&parts, &self.header)?;
        let mut writer = spiller.output_run::<K>(&self.header)?;
        let (mut batch, mut gaps) = (Batch::new(), GapFinder::default());
        while merger.next_batch(&mut batch, crate::stream::budget::BATCH).map_err(crate::stream::spill::input_error)? {
            spiller.check_stop()?;
            gaps.push(batch.keys.iter().copied());
            writer.push_batch(&batch).map_err(TaskError::Output)?;
        }
        let written = writer.finish().map_err(TaskError::Output)?;
        self.add(written, gaps, spiller);
        Ok(())
    }
}
