//! The input of a task: its shard of the vector, merged from runs, or the start vector, in key order.

use keima_model::{Layout, Problem};
use keima_runs::{Batch, Merger, RunCursor, RunHeader, RunPart};

use crate::stream::budget::BATCH;
use crate::stream::spill::{EngineKey, Spiller, TemporaryRun, input_error};
use crate::tally::EndTally;
use crate::{Task, TaskError};

pub(crate) struct Input<K: EngineKey> {
    merger: Option<Merger<K>>,
    /// Temporary runs that the merger reads. They are deleted with it.
    temporaries: Vec<TemporaryRun>,
    /// Records read ahead, with keys in the input layout. Those before `at` are consumed.
    batch: Batch<K>,
    at: usize,
    lanes: usize,
    layout: Layout,
    pub(crate) tally: EndTally,
    canonical: Vec<K>,
}

impl<K: EngineKey> Input<K> {
    pub(crate) fn open(
        problem: &dyn Problem<K>,
        task: &Task<'_>,
        header: &RunHeader,
        spiller: &mut Spiller<'_>,
    ) -> Result<Self, TaskError> {
        let order = task.order;
        let lanes = header.lanes();
        let mut input = Self {
            merger: None,
            temporaries: Vec::new(),
            batch: Batch::new(),
            at: 0,
            lanes,
            layout: if order.from_start { Layout::Canonical } else { order.layout_in },
            tally: EndTally::new(order.salt, lanes),
            canonical: Vec::new(),
        };
        if order.from_start {
            for (key, count) in problem.start() {
                input.batch.keys.push(key);
                input.batch.rows.extend(order.moduli.iter().map(|p| count % p));
                input.batch.rows.resize(input.batch.keys.len() * lanes, 0);
            }
            return Ok(input);
        }
        let (cursors, temporaries) = spiller.reduce_cursors(
            |run| {
                let failed = |source| TaskError::Input { run: run.id.clone(), source };
                let part = RunPart::keys(header, order.low, order.high);
                let feed = task.feeds.open(run, header, part.clone()).map_err(failed)?;
                Ok(RunCursor::new(feed, header, &run.id, part))
            },
            &order.inputs,
            header,
        )?;
        input.merger = Some(Merger::new(cursors, &header.moduli, header.coefficients));
        input.temporaries = temporaries;
        Ok(input)
    }

    /// The next record's key, in the input layout. Reads on where needed.
    pub(crate) fn peek(&mut self) -> Result<Option<K>, TaskError> {
        if self.at == self.batch.keys.len() {
            let Some(merger) = &mut self.merger else { return Ok(None) };
            self.at = 0;
            if !merger.next_batch(&mut self.batch, BATCH).map_err(input_error)? {
                return Ok(None);
            }
        }
        Ok(self.batch.keys.get(self.at).copied())
    }

    /// Keys of the records read ahead, in the input layout.
    pub(crate) fn ahead(&self) -> &[K] {
        &self.batch.keys[self.at..]
    }

    /// Consumes `count` of the records read ahead. Puts their working keys into `keys`, and returns their rows.
    pub(crate) fn take(
        &mut self,
        problem: &dyn Problem<K>,
        task: &Task<'_>,
        count: usize,
        keys: &mut Vec<K>,
    ) -> &[u64] {
        let order = task.order;
        let from = self.at;
        self.at += count;
        keys.clear();
        keys.extend_from_slice(&self.batch.keys[from..self.at]);
        problem.enter(self.layout, order.window, keys);
        let rows = &self.batch.rows[from * self.lanes..self.at * self.lanes];
        self.canonical.clear();
        self.canonical.extend_from_slice(keys);
        problem.leave(order.window, Layout::Canonical, &mut self.canonical);
        for (canonical, rows) in self.canonical.chunks(BATCH).zip(rows.chunks(BATCH * self.lanes)) {
            self.tally.add(canonical, rows, &order.moduli);
        }
        rows
    }

    /// Bytes read from runs so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.merger.as_ref().map_or(0, Merger::bytes_read)
    }
}
