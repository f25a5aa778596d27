//! A board's count by tasks out of core, one after the other, with chosen cuts and memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use keima_blocks::limits::PLACE_BITS;
use keima_engine::block::{GroupId, Prepared, run_block_task};
use keima_engine::{Buffers, Task, TaskError};
use keima_model::{AnyProblem, Board, Direction, Directions, Layout, ProblemRequest, Window};
use keima_orders::{AttemptId, BlockOrder, InputRun, JobId, KeptOrder, Lanes, TaskOrder};
use keima_runs::{
    BlockCut, DiskBudget, KeyOrder, RunCursor, RunHeader, RunManifest, RunPart, Tally, TaskManifest, publish_durably,
    run_path,
};

use crate::blocks;
use crate::common::Local;
use crate::states::{SALT, add, empty, go, moduli, times};

/// Settings that must not change the result.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) lengths: Vec<u32>,
    pub(crate) group_records: u64,
    /// Groups of a task.
    pub(crate) groups: usize,
    /// Lanes of the stages of each column from the second on. The last number holds for all later columns.
    pub(crate) lanes: Vec<usize>,
    /// Memory of a task, if it does not take that of others.
    pub(crate) memory_bytes: u64,
    /// Tasks that fit the memory: each group has all of it, and as many threads.
    pub(crate) threads: u32,
    /// Which tasks make only the tables of their groups.
    pub(crate) parted: Parted,
    /// Columns after which a transposed vector meets the forward one.
    pub(crate) middle: Option<u32>,
    /// Most tasks that share the lanes of a group: one, two, ... in the stages one after the other.
    pub(crate) sharers: usize,
}

/// Which tasks make partial tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parted {
    Nobody,
    Every,
    /// Every second task: both kinds write what it reads, and both read what it writes.
    Second,
}

/// Enough for all lanes at a time.
pub(crate) const MEMORY_BYTES: u64 = 64 << 20;

pub(crate) struct Run {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) disk: Arc<DiskBudget>,
    problem: AnyProblem,
    pub(crate) board: Board,
    pub(crate) prepared: Prepared,
    pub(crate) parted: Option<Prepared>,
    pub(crate) windows: Vec<Window>,
    pub(crate) cut: Cut,
}

/// Place of a stage in the count.
pub(crate) struct Place {
    pub(crate) direction: Direction,
    /// Columns before its own.
    pub(crate) column: u32,
    /// Number of its window.
    pub(crate) window: usize,
    /// Whether it is the first, and the last, of its direction.
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl Run {
    pub(crate) fn new(height: u32, length: u32, cut: &Cut) -> Self {
        let problem = go(height, length);
        let windows = Window::of_lengths(&cut.lengths);
        // Tasks have the memory beside the tables.
        let directions = if cut.middle.is_some() { Directions::Both } else { Directions::Forward };
        let column = blocks::column(height, &cut.lengths, directions);
        let bytes = column.bytes();
        Self {
            folder: tempfile::tempdir().unwrap(),
            disk: Arc::new(DiskBudget::new(u64::MAX)),
            board: problem.info().board(),
            prepared: Prepared::new(
                column,
                cut.group_records,
                cut.memory_bytes * u64::from(cut.threads) + bytes,
                cut.threads,
            ),
            parted: (cut.parted != Parted::Nobody).then(|| {
                let parts = blocks::parts(height, &cut.lengths);
                let bytes = parts.bytes();
                let memory_bytes = cut.memory_bytes * u64::from(cut.threads) + bytes;
                Prepared::by_part(parts, cut.group_records, memory_bytes, cut.threads)
            }),
            problem,
            windows,
            cut: cut.clone(),
        }
    }

    /// Lanes of a stage: all where two vectors meet.
    pub(crate) fn lanes(&self, stage: usize) -> usize {
        let place = self.place(stage);
        let column = match place.direction {
            Direction::Forward => place.column - 1,
            Direction::Transposed if place.last => self.board.length,
            Direction::Transposed => self.board.length - 1 - place.column,
        };
        *self.cut.lanes.get(column as usize).or(self.cut.lanes.last()).unwrap()
    }

    pub(crate) fn stages(&self) -> usize {
        (self.board.length as usize - 1) * self.windows.len()
    }

    /// Number of forward stages.
    pub(crate) fn forward(&self) -> usize {
        self.cut.middle.map_or(self.stages(), |middle| (middle as usize - 1) * self.windows.len())
    }

    pub(crate) fn place(&self, stage: usize) -> Place {
        let (count, forward) = (self.windows.len(), self.forward());
        if stage < forward || self.cut.middle.is_none() {
            let (column, window) = (1 + (stage / count) as u32, stage % count);
            return Place {
                direction: Direction::Forward,
                column,
                window,
                first: stage == 0,
                last: stage + 1 == forward,
            };
        }
        let back = stage - forward;
        let (column, window) = (self.board.length - 1 - (back / count) as u32, count - 1 - back % count);
        let last = stage + 1 == self.stages();
        Place { direction: Direction::Transposed, column, window, first: back == 0, last }
    }

    /// Lanes of a stage's input.
    fn lanes_in(&self, stage: usize) -> usize {
        if self.place(stage).first { self.lanes(stage) } else { self.lanes(stage - 1) }
    }

    pub(crate) fn order(&self, stage: usize, vector: &[TaskManifest]) -> TaskOrder {
        let place = self.place(stage);
        let window = self.windows[place.window];
        let next = place.direction.leaves().neighbour(place.window, self.windows.len());
        let attempt = AttemptId { job: JobId(1), sweep: 0, generation: stage as u32, task: 0, attempt: 0 };
        let problem = ProblemRequest { name: "go".to_owned(), size: self.board.to_string(), options: Vec::new() };
        TaskOrder {
            job_tag: 77,
            salt: SALT,
            moduli: moduli(self.lanes(stage)),
            first_pass: place.column * self.board.height + window.first,
            layout_out: Layout::Stage(self.windows[next]),
            from_start: place.first,
            inputs: inputs(vector),
            durable: stage % 2 == 1,
            block: Some(BlockOrder {
                windows: self.windows.clone(),
                group_records: self.cut.group_records,
                moduli_in: moduli(self.lanes_in(stage)),
                parted: self.parted.is_some(),
                slots: if self.cut.threads == 1 { 1 } else { u32::MAX },
                both_ways: false,
                direction: place.direction,
                lanes: None,
                kept: None,
            }),
            ..TaskOrder::of(attempt, problem, window)
        }
    }

    /// The same for the stage that multiplies a transposed vector with the kept one.
    pub(crate) fn meeting(&self, vector: &[TaskManifest], kept: &[TaskManifest]) -> TaskOrder {
        let mut order = self.order(self.stages() - 1, vector);
        let inputs = inputs(kept);
        let moduli = moduli(self.lanes(self.forward() - 1));
        order.block.as_mut().unwrap().kept = Some(KeptOrder { inputs, moduli });
        order
    }

    pub(crate) fn task(&self, order: &TaskOrder) -> Result<TaskManifest, TaskError> {
        let is_second = (u128::from(order.first_pass) + (order.low >> PLACE_BITS)) % 2 == 1;
        let parted = self.parted.as_ref().filter(|_| self.cut.parted == Parted::Every || is_second);
        let manifest = run_block_task(
            parted.unwrap_or(&self.prepared),
            self.problem.info(),
            &Task {
                order,
                feeds: &Local(self.folder.path()),
                scratch: self.folder.path(),
                disk: &self.disk,
                stop: &AtomicBool::new(false),
                states_done: &AtomicU64::new(0),
                pulse: &AtomicU64::new(0),
                buffers: &Buffers::default(),
            },
        )?;
        if order.durable {
            publish_durably(self.folder.path(), manifest.runs.iter().map(|run| &run.id)).unwrap();
        }
        Ok(manifest)
    }

    /// Runs all tasks of a stage, one after the other. They read what the stage before wrote, and it is deleted.
    pub(crate) fn stage(&self, stage: usize, vector: &[TaskManifest]) -> Vec<TaskManifest> {
        let made = self.tasks(stage, &self.order(stage, vector));
        if !self.place(stage).first {
            let moduli = moduli(self.lanes(stage - 1));
            let (read, written) = (total(&made, |m| &m.input, &moduli), total(vector, |m| &m.output, &moduli));
            assert_eq!(read, written, "stage {stage}");
        }
        self.delete(vector);
        made
    }

    /// The tasks of a stage. `order` is the order for all keys.
    pub(crate) fn tasks(&self, stage: usize, order: &TaskOrder) -> Vec<TaskManifest> {
        let groups = self.prepared.groups(self.place(stage).window);
        let mut made = Vec::new();
        for (task, low) in (0..groups).step_by(self.cut.groups).enumerate() {
            let high = (low + self.cut.groups < groups).then_some(((low + self.cut.groups) as u128) << PLACE_BITS);
            for (part, lanes) in self.shared_lanes(stage).into_iter().enumerate() {
                let attempt = AttemptId { task: task as u32, attempt: part as u32, ..order.attempt };
                let block = order.block.clone().map(|block| BlockOrder { lanes, ..block });
                let order = TaskOrder { attempt, low: (low as u128) << PLACE_BITS, high, block, ..order.clone() };
                made.push(self.task(&order).unwrap());
            }
        }
        made
    }

    /// The lanes of each of the tasks that share a group. Rows that are widened next, and vectors that meet, have all.
    fn shared_lanes(&self, stage: usize) -> Vec<Option<Lanes>> {
        let (sharers, lanes) = (1 + stage % self.cut.sharers, self.lanes(stage));
        let ends = stage + 1 == self.stages() || self.lanes(stage + 1) != lanes;
        if sharers == 1 || ends || self.cut.middle.is_some() {
            return vec![None];
        }
        let each = lanes.div_ceil(sharers);
        let part = |first| Some(Lanes { first: first as u32, end: lanes.min(first + each) as u32 });
        (0..lanes).step_by(each).map(part).collect()
    }

    pub(crate) fn delete(&self, vector: &[TaskManifest]) {
        for run in vector.iter().flat_map(|m| &m.runs) {
            std::fs::remove_file(run_path(self.folder.path(), &run.id).unwrap()).unwrap();
        }
    }

    /// Passes before the boundary at which a stage reads.
    pub(crate) fn boundary(&self, stage: usize) -> u32 {
        let place = self.place(stage);
        let Window { first, len } = self.windows[place.window];
        place.column * self.board.height + first + if place.direction == Direction::Forward { 0 } else { len }
    }

    /// For each canonical key before a stage the number of single states that it stands for.
    pub(crate) fn times(&self, stage: usize) -> BTreeMap<u128, u64> {
        let place = self.place(stage);
        let column = blocks::column(self.board.height, &self.cut.lengths, Directions::Forward);
        times(column.as_ref(), (place.window, place.direction.enters()))
    }

    /// The vector before a stage, in canonical form, as the stream executor has it.
    pub(crate) fn canonical(&self, stage: usize, vector: &[TaskManifest]) -> Tally {
        let moduli = moduli(self.lanes_in(stage));
        let times = self.times(stage);
        let mut tally = empty(moduli.len());
        for (key, row) in self.listed(stage, vector) {
            add(&mut tally, key, &row, times[&key], &moduli);
        }
        tally
    }

    /// The vector before a stage: canonical keys and their rows.
    pub(crate) fn listed(&self, stage: usize, vector: &[TaskManifest]) -> Vec<(u128, Vec<u64>)> {
        let (order, place) = (self.order(stage, vector), self.place(stage));
        let Window { first, len } = order.window;
        let header = RunHeader {
            job_tag: 77,
            definition: order.definition(),
            build: order.begun_by(),
            subject: order.subject(),
            boundary: self.boundary(stage),
            key_order: match place.direction {
                Direction::Forward => KeyOrder::Blocks { first, len },
                Direction::Transposed => KeyOrder::Transposed { first, len },
            },
            cut: Some(BlockCut {
                windows: self.windows.iter().map(|window| window.len as u8).collect(),
                group_records: self.cut.group_records,
            }),
            key_bytes: 8,
            moduli: order.block.as_ref().unwrap().moduli_in.clone(),
            coefficients: 1,
        };
        let lanes = header.moduli.len();
        let mut listed: BTreeMap<u64, (u128, Vec<u64>)> = BTreeMap::new();
        for input in inputs(vector) {
            let (run, own) = (&input.manifest, input.lanes());
            let header = RunHeader { moduli: header.moduli[own.clone()].to_vec(), ..header.clone() };
            let of = |number| GroupId { direction: place.direction, window: place.window, number };
            let keys = |prepared: &Prepared| -> Vec<u128> {
                let readers = prepared.readers(place.window, run);
                readers.flat_map(|number| prepared.keys(of(number), run).unwrap().1).collect()
            };
            let (keys, parted) = (keys(&self.prepared), self.parted.as_ref().map(keys));
            assert_eq!(parted.as_ref().unwrap_or(&keys), &keys);
            let part = RunPart::all(&header);
            let feed = keima_engine::FeedOpener::open(&Local(self.folder.path()), run, &header, part.clone()).unwrap();
            let mut cursor = RunCursor::<u64>::new(feed, &header, &run.id, part);
            let (mut batch, mut places, mut rows) = (keima_runs::Batch::new(), Vec::new(), Vec::new());
            while cursor.next_batch(&mut batch).unwrap() {
                places.extend_from_slice(&batch.keys);
                rows.extend_from_slice(&batch.rows);
            }
            assert_eq!(places.len(), keys.len(), "a key for each row of {}", run.id);
            for ((place, key), row) in places.into_iter().zip(keys).zip(rows.chunks(own.len())) {
                // No residue, in lanes that nobody has written.
                let (known, all) = listed.entry(place).or_insert_with(|| (key, vec![u64::MAX; lanes]));
                assert_eq!(*known, key, "place {place} of {}", run.id);
                all[own.clone()].copy_from_slice(row);
            }
        }
        listed.into_values().collect()
    }
}

pub(crate) fn total(of: &[TaskManifest], pick: fn(&TaskManifest) -> &Tally, moduli: &[u64]) -> Tally {
    let mut sum = Tally::zero(moduli.len());
    for manifest in of {
        sum.add(pick(manifest), moduli);
    }
    sum
}

pub(crate) fn cut(lengths: &[u32], group_records: u64, groups: usize, lanes: &[usize]) -> Cut {
    let (lengths, lanes) = (lengths.to_vec(), lanes.to_vec());
    let (memory_bytes, parted) = (MEMORY_BYTES, Parted::Nobody);
    Cut { lengths, group_records, groups, lanes, memory_bytes, threads: 1, parted, middle: None, sharers: 1 }
}

/// The runs of some tasks, as another task reads them.
fn inputs(vector: &[TaskManifest]) -> Vec<InputRun> {
    let of = |m: &TaskManifest| {
        let first_lane = m.first_lane;
        let input = move |run: &RunManifest| InputRun { first_lane, ..InputRun::here(run.clone()) };
        m.runs.iter().map(input).collect::<Vec<InputRun>>()
    };
    vector.iter().flat_map(of).collect()
}
