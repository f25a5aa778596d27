//! One task of the stream executor: its group of families, pass by pass.

use std::mem;
use std::sync::atomic::Ordering;
use std::time::Instant;

use keima_model::{Layout, Problem, Successors, Window};
use keima_runs::{Batch, FunctionalSum, KeyOrder, Merger, RunHeader, TaskManifest, TaskTimes};

use crate::clock::nanos_since;
use crate::stream::budget::{BATCH, Budget};
use crate::stream::buffers::Set;
use crate::stream::input::Input;
use crate::stream::laws;
use crate::stream::output::{Output, Written};
use crate::stream::rows::{RowModuli, Sources};
use crate::stream::spill::{EngineKey, Spiller, TemporaryRun, input_error};
use crate::stream::table::Table;
use crate::tally::{EndTally, LaneSums, PassSums};
use crate::{Task, TaskError};

fn key_order(layout: Layout) -> KeyOrder {
    match layout {
        Layout::Canonical => KeyOrder::Canonical,
        Layout::Stage(Window { first, len }) => KeyOrder::Window { first, len },
    }
}

/// Where a group's states are between two passes.
enum GroupStates<K: EngineKey> {
    /// In the front table.
    Memory,
    /// In sorted temporary runs.
    Runs(Merger<K>, Vec<TemporaryRun>),
}

pub(crate) struct StreamTask<'a, K: EngineKey> {
    problem: &'a dyn Problem<K>,
    task: &'a Task<'a>,
    budget: Budget,
    lanes: usize,
    moduli: RowModuli,
    spiller: Spiller<'a>,
    /// `front` holds the group's states before the present step, `back` those after it.
    set: Set<K>,
    successors: Successors<K>,
    passes: Vec<PassSums>,
    /// Indices of the functionals after each pass of the stage, with their sums.
    functionals: Vec<Vec<(usize, LaneSums)>>,
    weights: Vec<u32>,
    output: EndTally,
    out: Option<Output>,
    keys: Vec<K>,
    times: TaskTimes,
}

impl<'a, K: EngineKey> StreamTask<'a, K> {
    pub(crate) fn new(problem: &'a dyn Problem<K>, task: &'a Task<'a>) -> Result<Self, TaskError> {
        let order = task.order;
        let lanes = order.moduli.len() * problem.coefficients() as usize;
        let budget = Budget::new::<K>(order.task_memory_bytes, lanes);
        let after = |pass: u32| {
            let all = problem.functionals().into_iter().enumerate();
            all.filter(|(_, f)| f.after_pass == pass).map(|(i, _)| (i, LaneSums::new(lanes))).collect()
        };
        Ok(Self {
            problem,
            task,
            budget,
            lanes,
            moduli: RowModuli::new(&order.moduli, lanes),
            spiller: Spiller::new(task, budget),
            set: task.buffers.take(budget, lanes)?,
            successors: Successors::default(),
            passes: (0..order.window.len).map(|_| PassSums::new(lanes)).collect(),
            functionals: (0..order.window.len).map(|i| after(order.first_pass + i)).collect(),
            weights: Vec::new(),
            output: EndTally::new(order.salt, lanes),
            out: None,
            keys: Vec::new(),
            times: TaskTimes::default(),
        })
    }

    fn header(&self, boundary: u32, key_order: KeyOrder) -> RunHeader {
        RunHeader {
            job_tag: self.task.order.job_tag,
            definition: self.task.order.definition(),
            build: self.task.order.begun_by(),
            subject: self.task.order.subject(),
            boundary,
            key_order,
            cut: None,
            key_bytes: K::BYTES,
            moduli: self.task.order.moduli.clone(),
            coefficients: self.problem.coefficients(),
        }
    }

    pub(crate) fn run(mut self) -> Result<TaskManifest, TaskError> {
        let order = self.task.order;
        let end = order.first_pass + order.window.len;
        let family_bits = if order.from_start { K::BITS } else { self.problem.family_bits(order.layout_in) };
        // A single pass needs no families. Several passes need whole ones.
        let whole_families = order.window.len > 1;
        let closed = family_bits < K::BITS.min(self.problem.key_bits());
        self.out = Some(Output::new(
            self.header(end, key_order(order.layout_out)),
            self.budget.output_records,
            !(closed && whole_families),
        ));

        let started = Instant::now();
        let header = self.header(order.first_pass, key_order(order.layout_in));
        let mut input = Input::open(self.problem, self.task, &header, &mut self.spiller)?;
        self.times.read_nanos += nanos_since(started);
        while let Some(first) = input.peek()? {
            let mut family = family_of(first, family_bits);
            let started = Instant::now();
            self.set.front.reset(0);
            while let Some(next) = input.peek()? {
                let room = self.budget.group_records.saturating_sub(self.set.front.len());
                let ahead = input.ahead();
                // Up to a group's size all records fit. Beyond it, only records of the group's last family are taken.
                let count = if room > 0 {
                    let count = room.min(ahead.len());
                    family = family_of(ahead[count - 1], family_bits);
                    count
                } else if whole_families && family_of(next, family_bits) == family {
                    let left = self.budget.table_records - self.set.front.len();
                    ahead.iter().take_while(|&&k| family_of(k, family_bits) == family).count().min(left)
                } else {
                    0
                };
                if count == 0 {
                    break;
                }
                let rows = input.take(self.problem, self.task, count, &mut self.keys);
                self.set.front.append(&self.keys, rows);
                self.task.states_done.fetch_add(count as u64, Ordering::Relaxed);
            }
            self.times.read_nanos += nanos_since(started);
            self.group(&mut input, family, family_bits, whole_families)?;
        }
        self.finish(&input)
    }

    /// Takes the group in the front table through all passes, with the unread rest of its last family.
    fn group(
        &mut self,
        input: &mut Input<K>,
        family: u128,
        family_bits: u32,
        whole_families: bool,
    ) -> Result<(), TaskError> {
        let mut held = GroupStates::Memory;
        for step in 0..self.task.order.window.len as usize {
            let spill_header = self
                .header(self.task.order.first_pass + step as u32 + 1, key_order(Layout::Stage(self.task.order.window)));
            let mut spills = Vec::new();
            let front = mem::replace(&mut self.set.front, Table::none());
            self.set.back.reset(front.len() + front.len() / 4);
            match held {
                GroupStates::Memory => {
                    let (keys, rows) = front.columns();
                    for (keys, rows) in keys.chunks(BATCH).zip(rows.chunks(BATCH * self.lanes)) {
                        self.step(step, keys, rows, &spill_header, &mut spills)?;
                    }
                }
                GroupStates::Runs(mut merger, _runs) => {
                    let mut batch = Batch::new();
                    while merger.next_batch(&mut batch, BATCH).map_err(input_error)? {
                        self.step(step, &batch.keys, &batch.rows, &spill_header, &mut spills)?;
                    }
                    self.spiller.bytes_read += merger.bytes_read();
                }
            }
            if step == 0 && whole_families {
                self.rest_of_family(input, family, family_bits, &spill_header, &mut spills)?;
            }
            if spills.is_empty() {
                self.set.front = mem::replace(&mut self.set.back, front);
                held = GroupStates::Memory;
            } else {
                self.spill_back(&spill_header, &mut spills)?;
                self.set.front = front;
                let runs = self.spiller.reduce_fan_in::<K>(spills, &spill_header)?;
                held = GroupStates::Runs(Spiller::merge(&runs, &spill_header)?, runs);
            }
        }
        self.emit(held)
    }

    /// Reads the rest of a family that is larger than a table, straight into the first pass.
    fn rest_of_family(
        &mut self,
        input: &mut Input<K>,
        family: u128,
        family_bits: u32,
        spill_header: &RunHeader,
        spills: &mut Vec<TemporaryRun>,
    ) -> Result<(), TaskError> {
        while let Some(next) = input.peek()? {
            if family_of(next, family_bits) != family {
                break;
            }
            let count = input.ahead().iter().take_while(|&&k| family_of(k, family_bits) == family).count().min(BATCH);
            let mut keys = mem::take(&mut self.keys);
            let rows = input.take(self.problem, self.task, count, &mut keys);
            self.task.states_done.fetch_add(count as u64, Ordering::Relaxed);
            self.step(0, &keys, rows, spill_header, spills)?;
            self.keys = keys;
        }
        Ok(())
    }

    /// Takes a batch through one pass into the back table. Spills the table when it is full.
    fn step(
        &mut self,
        step: usize,
        keys: &[K],
        rows: &[u64],
        spill_header: &RunHeader,
        spills: &mut Vec<TemporaryRun>,
    ) -> Result<(), TaskError> {
        self.spiller.check_stop()?;
        let order = self.task.order;
        if step > 0 {
            self.read_off(step - 1, keys, rows);
        }
        let started = Instant::now();
        self.successors.clear();
        self.problem.expand(order.first_pass + step as u32, order.window, keys, &mut self.successors);
        let made = &self.successors;
        let total: usize = made.degrees.iter().map(|&d| usize::from(d)).sum();
        if made.degrees.len() != keys.len()
            || total != made.keys.len()
            || !(made.shifts.is_empty() || made.shifts.len() == total)
        {
            return Err(TaskError::Refused(format!(
                "problem {} returned {} degrees for {} states and {} keys for {total} successors",
                self.problem.name(),
                made.degrees.len(),
                keys.len(),
                made.keys.len()
            )));
        }
        self.passes[step].add(&made.degrees, &made.shifts, rows, &order.moduli);
        if self.set.back.len() + total > self.budget.table_records && self.set.back.len() > 0 {
            self.times.map_nanos += nanos_since(started);
            self.spill_back(spill_header, spills)?;
            self.set.back.reset(self.budget.table_records);
            self.combine(rows);
            return Ok(());
        }
        self.combine(rows);
        self.times.map_nanos += nanos_since(started);
        Ok(())
    }

    fn combine(&mut self, rows: &[u64]) {
        let Successors { keys, degrees, shifts } = &self.successors;
        self.set.back.combine(keys, &Sources { degrees, shifts, rows }, &self.moduli);
    }

    fn spill_back(&mut self, header: &RunHeader, spills: &mut Vec<TemporaryRun>) -> Result<(), TaskError> {
        let started = Instant::now();
        let Set { back, spill_order, .. } = &mut self.set;
        self.spiller.spill(back, spill_order, header, spills)?;
        self.times.write_nanos += nanos_since(started);
        Ok(())
    }

    /// Adds a batch after a pass to the functionals of that boundary.
    fn read_off(&mut self, step: usize, keys: &[K], rows: &[u64]) {
        for (index, sums) in &mut self.functionals[step] {
            self.weights.clear();
            self.weights.resize(keys.len(), 0);
            self.problem.weigh(*index, self.task.order.window, keys, &mut self.weights);
            for (&weight, row) in self.weights.iter().zip(rows.chunks_exact(self.lanes)) {
                if weight > 0 {
                    sums.add(weight.into(), row);
                }
            }
            sums.fold(&self.task.order.moduli);
        }
    }

    /// Passes the group's final states to the output.
    fn emit(&mut self, held: GroupStates<K>) -> Result<(), TaskError> {
        match held {
            GroupStates::Memory => {
                let front = mem::replace(&mut self.set.front, Table::none());
                let (keys, rows) = front.columns();
                for (keys, rows) in keys.chunks(BATCH).zip(rows.chunks(BATCH * self.lanes)) {
                    self.emit_batch(keys, rows)?;
                }
                self.set.front = front;
            }
            GroupStates::Runs(mut merger, _runs) => {
                let mut batch = Batch::new();
                while merger.next_batch(&mut batch, BATCH).map_err(input_error)? {
                    self.emit_batch(&batch.keys, &batch.rows)?;
                }
                self.spiller.bytes_read += merger.bytes_read();
            }
        }
        Ok(())
    }

    fn emit_batch(&mut self, keys: &[K], rows: &[u64]) -> Result<(), TaskError> {
        self.spiller.check_stop()?;
        let order = self.task.order;
        self.read_off(order.window.len as usize - 1, keys, rows);
        let started = Instant::now();
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.problem.leave(order.window, Layout::Canonical, &mut self.keys);
        self.output.add(&self.keys, rows, &order.moduli);
        if order.layout_out != Layout::Canonical {
            self.keys.clear();
            self.keys.extend_from_slice(keys);
            self.problem.leave(order.window, order.layout_out, &mut self.keys);
        }
        if let Some(out) = &mut self.out {
            out.push(&self.keys, rows, &mut self.set, &mut self.spiller)?;
        }
        self.times.write_nanos += nanos_since(started);
        Ok(())
    }

    fn finish(mut self, input: &Input<K>) -> Result<TaskManifest, TaskError> {
        let started = Instant::now();
        let moduli = &self.task.order.moduli;
        let mut written = Written { runs: Vec::new(), splits: Vec::new(), gaps: Vec::new(), states: 0 };
        if let Some(out) = self.out.take() {
            written = out.finish(&mut self.set, &mut self.spiller, self.task.order.most_splits)?;
        }
        self.times.write_nanos += nanos_since(started);
        let mut output = self.output.finish(moduli);
        output.states = written.states;
        let passes = laws::check(
            self.problem,
            self.task.order,
            &self.passes,
            &input.tally.finish(moduli).sums,
            &output.sums,
            &written.runs,
        )?;
        self.task.buffers.give_back(self.set);
        Ok(TaskManifest {
            runs: written.runs,
            first_lane: 0,
            splits: written.splits,
            gaps: written.gaps,
            input: input.tally.finish(moduli),
            output,
            kept: None,
            passes,
            functionals: self
                .functionals
                .iter()
                .flatten()
                .map(|(i, sums)| FunctionalSum { functional: *i as u32, lanes: sums.values(moduli) })
                .collect(),
            balance: None,
            bytes_read: self.spiller.bytes_read + input.bytes_read(),
            bytes_written: self.spiller.bytes_written,
            bytes_spilled: self.spiller.bytes_spilled,
            times: self.times,
        })
    }
}

fn family_of<K: EngineKey>(key: K, family_bits: u32) -> u128 {
    if family_bits >= K::BITS { 0 } else { keima_model::Key::widen(key) >> family_bits }
}
