//! The runs that a task writes into its attempt's folder: outputs, and temporary runs that are deleted once read.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use keima_model::Key;
use keima_orders::InputRun;
use keima_runs::{
    Batch, DiskBudget, LocalRun, MergeError, Merger, RunCursor, RunError, RunHeader, RunId, RunKey, RunManifest,
    RunOptions, RunPart, RunWriter, run_path, temporary_path,
};

use crate::stream::budget::{BATCH, Budget};
use crate::stream::table::Table;
use crate::{Task, TaskError};

/// A key type that problems, tables and runs all support.
pub(crate) trait EngineKey: Key + RunKey {}
impl EngineKey for u64 {}
impl EngineKey for u128 {}

pub(crate) fn input_error(error: MergeError) -> TaskError {
    TaskError::Input { run: error.run, source: error.source }
}

/// A temporary run. Dropping it deletes the file.
pub(crate) struct TemporaryRun {
    manifest: RunManifest,
    header: RunHeader,
    path: std::path::PathBuf,
    disk: Arc<DiskBudget>,
}

impl TemporaryRun {
    pub(crate) fn bytes(&self) -> u64 {
        self.manifest.bytes
    }
}

impl Drop for TemporaryRun {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            Ok(()) => self.disk.refund(self.manifest.bytes),
            Err(error) => {
                tracing::warn!(run = %self.manifest.id, path = %self.path.display(), %error, "cannot delete a temporary run");
            }
        }
    }
}

/// Names and writes the runs of one attempt, and reads them again.
pub(crate) struct Spiller<'a> {
    task: &'a Task<'a>,
    budget: Budget,
    outputs: u32,
    temporaries: u32,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) bytes_spilled: u64,
}

impl<'a> Spiller<'a> {
    pub(crate) fn new(task: &'a Task<'a>, budget: Budget) -> Self {
        Self { task, budget, outputs: 0, temporaries: 0, bytes_read: 0, bytes_written: 0, bytes_spilled: 0 }
    }

    pub(crate) fn check_stop(&self) -> Result<(), TaskError> {
        if self.task.is_to_stop() { Err(TaskError::Stopped) } else { Ok(()) }
    }

    fn scratch(&self) -> &'a Path {
        self.task.scratch
    }

    fn writer<K: EngineKey>(&self, name: &str, header: &RunHeader, durable: bool) -> Result<RunWriter<K>, TaskError> {
        let id = RunId(format!("{}/{name}", self.task.order.attempt));
        let options = RunOptions { block_bytes: self.budget.block_bytes, durable, ..RunOptions::default() };
        RunWriter::create(self.scratch(), &id, header, options, self.task.disk).map_err(TaskError::Output)
    }

    /// Creates a run of the task's output.
    pub(crate) fn output_run<K: EngineKey>(&mut self, header: &RunHeader) -> Result<RunWriter<K>, TaskError> {
        self.outputs += 1;
        self.writer(&format!("r{}", self.outputs), header, self.task.order.durable)
    }

    fn temporary_run<K: EngineKey>(&mut self, header: &RunHeader) -> Result<RunWriter<K>, TaskError> {
        self.temporaries += 1;
        self.writer(&format!("x{}", self.temporaries), header, false)
    }

    /// Turns a run of the task's output into a temporary one.
    pub(crate) fn take_back(&self, manifest: RunManifest, header: RunHeader) -> TemporaryRun {
        self.temporary(manifest, header, self.task.order.durable)
    }

    /// Takes charge of a run that was written with this value of `durable`.
    fn temporary(&self, manifest: RunManifest, header: RunHeader, durable: bool) -> TemporaryRun {
        let place = if durable { temporary_path } else { run_path };
        // This module made the id, so it is a valid path.
        let path = place(self.scratch(), &manifest.id).unwrap_or_default();
        TemporaryRun { manifest, header, path, disk: Arc::clone(self.task.disk) }
    }

    fn finish<K: EngineKey>(
        &mut self,
        writer: RunWriter<K>,
        header: &RunHeader,
        into: &mut Vec<TemporaryRun>,
    ) -> Result<(), TaskError> {
        if let Some((manifest, _)) = writer.finish().map_err(TaskError::Output)? {
            self.bytes_written += manifest.bytes;
            self.bytes_spilled += manifest.bytes;
            into.push(self.temporary(manifest, header.clone(), false));
        }
        Ok(())
    }

    /// Writes a table as a temporary run, sorted by its working keys. `order` is a buffer.
    pub(crate) fn spill<K: EngineKey>(
        &mut self,
        table: &Table<K>,
        order: &mut Vec<(K, u32)>,
        header: &RunHeader,
        into: &mut Vec<TemporaryRun>,
    ) -> Result<(), TaskError> {
        let (keys, rows) = table.columns();
        let lanes = header.lanes();
        order.clear();
        order.extend(keys.iter().copied().zip(0..));
        order.sort_unstable();
        let mut writer = self.temporary_run::<K>(header)?;
        for &(key, place) in order.iter() {
            let start = place as usize * lanes;
            writer.push(key, &rows[start..start + lanes]).map_err(TaskError::Output)?;
        }
        self.finish(writer, header, into)
    }

    /// Merges runs of the task's inputs until few enough are left to read at a time.
    pub(crate) fn reduce_cursors<K: EngineKey>(
        &mut self,
        mut open: impl FnMut(&RunManifest) -> Result<RunCursor<K>, TaskError>,
        inputs: &[InputRun],
        header: &RunHeader,
    ) -> Result<(Vec<RunCursor<K>>, Vec<TemporaryRun>), TaskError> {
        let mut merged = Vec::new();
        if inputs.len() > self.budget.fan_in {
            for group in inputs.chunks(self.budget.fan_in) {
                let cursors = group.iter().map(|input| open(&input.manifest)).collect::<Result<_, _>>()?;
                self.merge_to_run(cursors, header, &mut merged)?;
            }
            let merged = self.reduce_fan_in::<K>(merged, header)?;
            let cursors = merged.iter().map(Self::cursor).collect::<Result<_, _>>()?;
            return Ok((cursors, merged));
        }
        Ok((inputs.iter().map(|input| open(&input.manifest)).collect::<Result<_, _>>()?, merged))
    }

    /// Merges temporary runs until few enough are left to read at a time.
    pub(crate) fn reduce_fan_in<K: EngineKey>(
        &mut self,
        mut runs: Vec<TemporaryRun>,
        header: &RunHeader,
    ) -> Result<Vec<TemporaryRun>, TaskError> {
        while runs.len() > self.budget.fan_in {
            let mut merged = Vec::new();
            let mut rest = runs.into_iter().peekable();
            while rest.peek().is_some() {
                let group: Vec<_> = rest.by_ref().take(self.budget.fan_in).collect();
                let cursors = group.iter().map(Self::cursor).collect::<Result<_, _>>()?;
                self.merge_to_run::<K>(cursors, header, &mut merged)?;
            }
            runs = merged;
        }
        Ok(runs)
    }

    fn merge_to_run<K: EngineKey>(
        &mut self,
        cursors: Vec<RunCursor<K>>,
        header: &RunHeader,
        into: &mut Vec<TemporaryRun>,
    ) -> Result<(), TaskError> {
        let mut merger = Merger::new(cursors, &header.moduli, header.coefficients);
        let mut writer = self.temporary_run::<K>(header)?;
        let mut batch = Batch::new();
        while merger.next_batch(&mut batch, BATCH).map_err(input_error)? {
            self.check_stop()?;
            writer.push_batch(&batch).map_err(TaskError::Output)?;
        }
        self.bytes_read += merger.bytes_read();
        self.finish(writer, header, into)
    }

    fn cursor<K: EngineKey>(run: &TemporaryRun) -> Result<RunCursor<K>, TaskError> {
        let id = &run.manifest.id;
        let failed = |source: RunError| TaskError::Input { run: id.clone(), source };
        let local = LocalRun::open(&run.path, &run.manifest, &run.header).map_err(failed)?;
        let part = RunPart::all(&run.header);
        Ok(RunCursor::new(Box::new(local.feed(part.clone())), &run.header, id, part))
    }

    /// Reads a few temporary runs as one ascending sequence.
    pub(crate) fn merge<K: EngineKey>(runs: &[TemporaryRun], header: &RunHeader) -> Result<Merger<K>, TaskError> {
        let cursors = runs.iter().map(Self::cursor).collect::<Result<_, _>>()?;
        Ok(Merger::new(cursors, &header.moduli, header.coefficients))
    }
}
