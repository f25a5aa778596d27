//! The block executor out of core against the stream executor and against published values, whatever the windows, the
//! groups, the shards and the lanes; and what it says of damaged inputs.

#[path = "common/column.rs"]
mod blocks;
mod common;
#[path = "common/states.rs"]
mod states;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use common::{Local, Settings, sweep_with};
use keima_engine::block::{Prepared, run_block_task};
use keima_engine::{BlockStage, Buffers, Task, TaskError, TaskOrder};
use keima_model::{AnyProblem, Board, Directions, Layout, PLACE_BITS, Window};
use keima_problems::go::published;
use keima_residue::{Integer, add_row, residue_of};
use keima_runs::{DiskBudget, RunCursor, RunHeader, RunPart, Tally, TaskManifest, run_path};
use proptest::prelude::*;
use states::{SALT, add, empty, go, moduli, times};

/// What must not change the result.
#[derive(Clone, Debug)]
struct Cut {
    lengths: Vec<u32>,
    group_records: u64,
    /// Groups of a task.
    groups: usize,
    /// Lanes of the stages of each column from the second on; the last one goes on.
    lanes: Vec<usize>,
    /// Memory of a task, where it does not take others'.
    memory_bytes: u64,
    /// Tasks that there is memory for: each group has all of it, and as many threads.
    threads: u32,
    /// Which tasks make the tables of their groups only.
    parted: Parted,
}

/// Whose tables are made a part at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parted {
    Nobody,
    Every,
    /// Every second task: what it reads was written by both kinds, and both read what it writes.
    Second,
}

/// Enough for all lanes at a time.
const MEMORY_BYTES: u64 = 64 << 20;

struct Run {
    folder: tempfile::TempDir,
    disk: Arc<DiskBudget>,
    problem: AnyProblem,
    board: Board,
    prepared: Prepared,
    parted: Option<Prepared>,
    windows: Vec<Window>,
    cut: Cut,
}

impl Run {
    fn new(height: u32, length: u32, cut: &Cut) -> Self {
        let problem = go(height, length);
        let windows = Window::of_lengths(&cut.lengths);
        // Tasks have what the tables leave.
        let column = blocks::column(height, &cut.lengths, Directions::Forward);
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
                Prepared::parted(
                    parts,
                    cut.group_records,
                    cut.memory_bytes * u64::from(cut.threads) + bytes,
                    cut.threads,
                )
            }),
            problem,
            windows,
            cut: cut.clone(),
        }
    }

    fn lanes(&self, stage: usize) -> usize {
        let column = stage / self.windows.len();
        *self.cut.lanes.get(column).or(self.cut.lanes.last()).unwrap()
    }

    fn stages(&self) -> usize {
        (self.board.length as usize - 1) * self.windows.len()
    }

    fn order(&self, stage: usize, vector: &[TaskManifest]) -> TaskOrder {
        let count = self.windows.len();
        let window = self.windows[stage % count];
        TaskOrder {
            attempt: format!("j1/s0/g{stage}/t0/a0"),
            job_tag: 77,
            subject: "go".to_owned(),
            salt: SALT,
            moduli: moduli(self.lanes(stage)),
            first_pass: (1 + (stage / count) as u32) * self.board.height + window.first,
            window,
            layout_in: Layout::Stage(window),
            layout_out: Layout::Stage(self.windows[(stage + 1) % count]),
            from_start: stage == 0,
            low: 0,
            high: None,
            inputs: vector.iter().flat_map(|m| m.runs.clone()).collect(),
            memory_bytes: 0,
            durable: false,
            block: Some(BlockStage {
                windows: self.windows.clone(),
                group_records: self.cut.group_records,
                moduli_in: moduli(self.lanes(stage.saturating_sub(1))),
                slots: if self.cut.threads == 1 { 1 } else { u32::MAX },
            }),
        }
    }

    fn task(&self, order: &TaskOrder) -> Result<TaskManifest, TaskError> {
        let is_second = (u128::from(order.first_pass) + (order.low >> PLACE_BITS)) % 2 == 1;
        let parted = self.parted.as_ref().filter(|_| self.cut.parted == Parted::Every || is_second);
        run_block_task(
            parted.unwrap_or(&self.prepared),
            self.problem.info(),
            &Task {
                order,
                feeds: &Local(self.folder.path()),
                scratch: self.folder.path(),
                disk: &self.disk,
                stop: &AtomicBool::new(false),
                states_done: &AtomicU64::new(0),
                buffers: &Buffers::default(),
            },
        )
    }

    /// All tasks of a stage, one after the other; what they read is what the stage before wrote.
    fn stage(&self, stage: usize, vector: &[TaskManifest]) -> Vec<TaskManifest> {
        let groups = self.prepared.groups(stage % self.windows.len());
        let mut made = Vec::new();
        for (task, low) in (0..groups).step_by(self.cut.groups).enumerate() {
            let high = (low + self.cut.groups < groups).then_some(((low + self.cut.groups) as u128) << PLACE_BITS);
            let attempt = format!("j1/s0/g{stage}/t{task}/a0");
            let order = TaskOrder { attempt, low: (low as u128) << PLACE_BITS, high, ..self.order(stage, vector) };
            made.push(self.task(&order).unwrap());
        }
        if stage > 0 {
            let moduli = moduli(self.lanes(stage - 1));
            let (read, written) = (total(&made, |m| &m.input, &moduli), total(vector, |m| &m.output, &moduli));
            assert_eq!(read, written, "stage {stage}");
        }
        for run in vector.iter().flat_map(|m| &m.runs) {
            std::fs::remove_file(run_path(self.folder.path(), &run.id).unwrap()).unwrap();
        }
        made
    }

    /// The vector at a column's end in canonical form, as the stream executor tells it.
    fn canonical(&self, stage: usize, vector: &[TaskManifest]) -> Tally {
        let order = self.order(stage + 1, vector);
        let (next, last) = (order.window, self.windows.len() - 1);
        let header = RunHeader {
            job_tag: 77,
            subject: "go".to_owned(),
            boundary: order.first_pass,
            key_order: keima_runs::KeyOrder::Blocks { first: next.first, len: next.len },
            cut: Some(keima_runs::BlockCut {
                windows: self.windows.iter().map(|window| window.len as u8).collect(),
                group_records: self.cut.group_records,
            }),
            key_bytes: 8,
            moduli: order.block.as_ref().unwrap().moduli_in.clone(),
            coefficients: 1,
        };
        let times = times(blocks::column(self.board.height, &self.cut.lengths, Directions::Forward).as_ref(), last);
        let moduli = &header.moduli;
        let mut tally = empty(moduli.len());
        for run in vector.iter().flat_map(|m| &m.runs) {
            let keys = |prepared: &Prepared| -> Vec<u128> {
                prepared.readers(0, run).flat_map(|number| prepared.keys(0, number, run).unwrap().1).collect()
            };
            let (keys, parted) = (keys(&self.prepared), self.parted.as_ref().map(keys));
            assert_eq!(parted.as_ref().unwrap_or(&keys), &keys);
            let part = RunPart::all(&header);
            let feed = keima_engine::FeedOpener::open(&Local(self.folder.path()), run, &header, part.clone()).unwrap();
            let mut cursor = RunCursor::<u64>::new(feed, &header, &run.id, part);
            let (mut batch, mut rows) = (keima_runs::Batch::new(), Vec::new());
            while cursor.next_batch(&mut batch).unwrap() {
                rows.extend_from_slice(&batch.rows);
            }
            assert_eq!(rows.len(), keys.len() * moduli.len(), "a key for each row of {}", run.id);
            for (&key, row) in keys.iter().zip(rows.chunks(moduli.len())) {
                add(&mut tally, key, row, times[&key], moduli);
            }
        }
        tally
    }
}

fn total(of: &[TaskManifest], pick: fn(&TaskManifest) -> &Tally, moduli: &[u64]) -> Tally {
    let mut sum = Tally::zero(moduli.len());
    for manifest in of {
        sum.add(pick(manifest), moduli);
    }
    sum
}

/// Counts a board, and holds every column's value against the published one; with `stream`, each column's end against
/// the stream executor's.
fn check(height: u32, length: u32, cut: &Cut, stream: bool) {
    let run = Run::new(height, length, cut);
    let count = run.windows.len();
    let lanes = *cut.lanes.last().unwrap();
    let found = stream.then(|| {
        let settings = Settings { window: 3, shards: 2, memory_bytes: 8 << 20, moduli: moduli(lanes) };
        // The last vector of a board is never written: a longer one has those of this.
        sweep_with(&go(height, length + 1), &settings, &mut |_| {}).unwrap()
    });
    let mut vector = Vec::new();
    for stage in 0..run.stages() {
        vector = run.stage(stage, &vector);
        if stage == 0 {
            let last = |m: &TaskManifest| m.functionals.last().filter(|f| f.functional == 0).map(|f| f.lanes[0]);
            let one_column: u64 = vector.iter().filter_map(last).sum();
            // OEIS A102620.
            let known = [1, 5, 15, 41, 113, 313, 867, 2401, 6649, 18413];
            assert_eq!(one_column, known[height as usize - 1], "the first column is told once");
        }
        if (stage + 1) % count > 0 {
            continue;
        }
        let columns = 2 + (stage / count) as u32;
        let moduli = moduli(run.lanes(stage));
        let functional = &vector[0].functionals[0];
        let mut value = vec![0; moduli.len()];
        for manifest in &vector {
            add_row(&mut value, &manifest.functionals[0].lanes, &moduli);
        }
        assert_eq!(functional.functional, columns - 1);
        if let Some(known) = published::known(height, columns) {
            let known: Integer = known.parse().unwrap();
            let expected: Vec<u64> = moduli.iter().map(|&p| residue_of(&known, p)).collect();
            assert_eq!(value, expected, "{height}x{columns} {cut:?}");
        }
        if let Some(found) = &found {
            let own = run.canonical(stage, &vector);
            let theirs = &found.columns[columns as usize - 1];
            let kept = moduli.len();
            let theirs_value = &found.functionals[&(columns - 1)];
            let narrow = |row: &[u64]| row[..kept - 1].iter().chain(row.last()).copied().collect::<Vec<_>>();
            assert_eq!((own.sums, own.fingerprint), (narrow(&theirs.sums), narrow(&theirs.fingerprint)), "{cut:?}");
            assert_eq!(value, narrow(theirs_value), "{height}x{columns} {cut:?}");
            assert_eq!(own.states, theirs.states, "{height}x{columns} {cut:?}");
        }
    }
}

fn cut(lengths: &[u32], group_records: u64, groups: usize, lanes: &[usize]) -> Cut {
    let (lengths, lanes) = (lengths.to_vec(), lanes.to_vec());
    Cut { lengths, group_records, groups, lanes, memory_bytes: MEMORY_BYTES, threads: 1, parted: Parted::Nobody }
}

#[test]
fn every_column_end_is_the_stream_executors() {
    for (height, length, cut) in [
        (2, 3, cut(&[2], 1, 1, &[2])),
        (3, 4, cut(&[3], 100, 1, &[1])),
        (4, 4, cut(&[2, 2], 10, 2, &[2])),
        (5, 5, cut(&[3, 2], 50, 1, &[2, 4])),
        (6, 6, cut(&[2, 2, 2], 100, 3, &[2, 4])),
        (6, 6, cut(&[6], 1, 1, &[4])),
        (7, 7, cut(&[4, 3], 300, 2, &[2, 4])),
        (7, 7, cut(&[3, 2, 2], 1000, 7, &[2, 4, 4, 8])),
        (8, 8, cut(&[3, 3, 2], 1 << 40, 1, &[2, 8])),
        // More lanes than the numbers need, which widens each kind of row.
        (6, 6, cut(&[3, 3], 100, 2, &[8, 12, 16])),
        (5, 6, cut(&[3, 2], 50, 2, &[2, 6, 10, 12])),
        (7, 7, cut(&[3, 2, 2], 1000, 7, &[4, 16])),
    ] {
        check(height, length, &cut, true);
    }
}

/// Tables of the families of one group at a time.
#[test]
fn every_column_end_is_the_stream_executors_with_tables_made_in_parts() {
    for (height, length, cut) in [
        (2, 4, cut(&[1, 1], 1, 1, &[2])),
        (4, 4, cut(&[2, 2], 10, 2, &[2])),
        (5, 5, cut(&[1, 3, 1], 50, 1, &[2, 4])),
        (6, 6, cut(&[2, 2, 2], 100, 3, &[2, 4])),
        (7, 7, cut(&[3, 2, 2], 1000, 7, &[2, 4, 4, 8])),
        (7, 7, cut(&[2, 2, 2, 1], 300, 7, &[2, 4])),
        (8, 8, cut(&[3, 3, 2], 5000, 1, &[2, 8])),
    ] {
        for parted in [Parted::Every, Parted::Second] {
            check(height, length, &Cut { parted, ..cut.clone() }, true);
        }
    }
}

#[test]
fn every_column_end_is_the_stream_executors_at_9x10() {
    check(9, 10, &cut(&[5, 4], 5000, 2, &[2, 4]), true);
    check(9, 9, &cut(&[3, 3, 3], 5000, 3, &[4]), true);
}

#[test]
fn every_column_end_is_the_stream_executors_at_10x10() {
    check(10, 10, &cut(&[5, 5], 20_000, 2, &[2, 4, 8]), true);
}

/// Longer boards than they are high.
#[test]
fn every_column_end_of_long_boards_is_the_stream_executors() {
    for (height, lengths) in
        [(2, &[1, 1][..]), (3, &[2, 1]), (4, &[4]), (5, &[2, 3]), (6, &[3, 3]), (7, &[4, 3]), (8, &[4, 4])]
    {
        check(height, 10, &cut(lengths, 1000, 2, &[2, 4, 8]), true);
    }
}

/// Groups that are worth several threads: each writes several runs, and nothing else changes.
#[test]
fn threads_do_a_group_together() {
    for (height, length, cut) in [
        (2, 3, cut(&[1, 1], 1, 1, &[2])),
        (5, 5, cut(&[5], 50, 1, &[2, 4])),
        (7, 7, cut(&[3, 2, 2], 1000, 7, &[2, 4, 4, 8])),
        (9, 9, cut(&[5, 4], 40_000, 2, &[2, 4, 8])),
    ] {
        for (threads, parted) in [(2, Parted::Nobody), (3, Parted::Second)] {
            let parted = if cut.lengths.len() == 1 { Parted::Nobody } else { parted };
            check(height, length, &Cut { threads, parted, ..cut.clone() }, true);
        }
    }
    // Memory for a few lanes of a group.
    let few = Cut { threads: 3, memory_bytes: 2 * 8 * 40_000, ..cut(&[5, 4], 40_000, 1, &[8]) };
    let run = Run::new(9, 9, &few);
    let made = run.stage(1, &run.stage(0, &[]));
    let most = made.iter().map(|m| m.runs.len()).max().unwrap();
    assert!(most > 2, "{most} runs of a group at most");
    let read = made.iter().map(|m| m.bytes_read).sum::<u64>();
    let whole = Run::new(9, 9, &Cut { memory_bytes: MEMORY_BYTES, ..few.clone() });
    let once = whole.stage(1, &whole.stage(0, &[])).iter().map(|m| m.bytes_read).sum::<u64>();
    assert!(read > once, "{read} and {once} bytes read: some heads are read for each slice");
    check(9, 9, &few, true);
}

/// Memory in which so many lanes of the largest family of a small board fit at a time.
fn few_lanes_bytes(lanes: u64) -> u64 {
    lanes * 8 * 6000
}

/// With little memory, lanes are done a few at a time. Each is read once, with the heads of blocks as often, but where
/// lanes are made of others: then all of these are. Nothing else changes, neither what is written nor how much.
#[test]
fn lanes_are_done_a_few_at_a_time() {
    lanes_of_rows_are_done_a_few_at_a_time(8, &[4, 2, 1]);
    lanes_of_rows_are_done_a_few_at_a_time(12, &[8, 4, 2, 1]);
    lanes_of_rows_are_done_a_few_at_a_time(10, &[6, 4, 2]);
}

fn lanes_of_rows_are_done_a_few_at_a_time(lanes: u64, few: &[u64]) {
    let whole = cut(&[4, 3], 2000, 2, &[2, lanes as usize]);
    // Of the stage whose lanes are made of two, and of the same window a column on: bytes read.
    let read = |cut: &Cut| {
        let run = Run::new(7, 7, cut);
        let (mut vector, mut written, mut read) = (Vec::new(), 0, Vec::new());
        for stage in 0..5 {
            vector = run.stage(stage, &vector);
            let sum = |of: fn(&TaskManifest) -> u64| vector.iter().map(of).sum::<u64>();
            written += sum(|m| m.bytes_written);
            read.push(sum(|m| m.bytes_read));
        }
        assert_eq!((run.disk.used(), run.disk.peak()), (written, written), "runs and nothing else");
        (read[2], read[4], written)
    };
    let (grows, same, written) = read(&whole);
    let mut before = (grows, same);
    for &some in few {
        let cut = Cut { memory_bytes: few_lanes_bytes(some), ..whole.clone() };
        let (more, heads, got) = read(&cut);
        let case = format!("{some} of {lanes} at a time: {grows}, {same}; {before:?}; {more}, {heads}");
        assert_eq!(got, written, "{case}");
        assert!(before.0 < more && more <= grows * lanes.div_ceil(some), "{case}");
        assert!(before.1 < heads && heads < same * 5 / 4, "{case}");
        before = (more, heads);
        check(7, 7, &cut, true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn nothing_that_must_not_matter_matters(
        lengths in prop::collection::vec(1_u32..5, 1..4).prop_filter("2 to 7", |l| (2..8).contains(&l.iter().sum::<u32>())),
        group_records in 1_u64..3000, groups in 1_usize..40, grows in 1_usize..4, memory_bytes in few_lanes_bytes(1)..MEMORY_BYTES,
        parted in prop::sample::select(vec![Parted::Nobody, Parted::Every, Parted::Second]), threads in 1_u32..4,
    ) {
        let height: u32 = lengths.iter().sum();
        let lanes: Vec<usize> = std::iter::repeat_n(2, grows.min(2)).chain([4]).collect();
        // There are no parts of a single window; a part's tables are a part of its task's memory.
        let parted = if lengths.len() == 1 { Parted::Nobody } else { parted };
        let memory_bytes = if parted == Parted::Nobody { memory_bytes } else { memory_bytes + MEMORY_BYTES };
        check(height, height, &Cut { lengths, group_records, groups, lanes, memory_bytes, threads, parted }, false);
    }
}

/// What is wrong with the inputs is said, and by whom.
#[test]
fn wrong_inputs_are_refused() {
    let cut = cut(&[3, 2], 50, 2, &[4]);
    let run = Run::new(5, 5, &cut);
    let vector = run.stage(1, &run.stage(0, &[]));
    let refused = |order: &TaskOrder| match run.task(order) {
        Err(TaskError::Refused(text)) => text,
        other => panic!("{other:?}"),
    };
    let order = run.order(2, &vector);
    let text = refused(&TaskOrder { moduli: moduli(4)[1..].to_vec(), ..order.clone() });
    assert!(text.contains("in rows of [1, 2, 4, 6, 8, 10, 12, 16], not of 3"), "{text}");
    let small = Run::new(5, 5, &Cut { memory_bytes: 1 << 9, ..cut.clone() });
    match small.task(&small.order(0, &[])) {
        Err(TaskError::Refused(text)) => assert!(text.contains("bytes of memory"), "{text}"),
        other => panic!("{other:?}"),
    }
    let text = refused(&TaskOrder { window: Window { first: 0, len: 2 }, ..order.clone() });
    assert!(text.contains("cut into"), "{text}");
    let text = refused(&TaskOrder { inputs: order.inputs[1..].to_vec(), ..order.clone() });
    assert!(text.contains("not those of one boundary"), "{text}");
    let mut strangers = order.clone();
    strangers.inputs[0].first_key += 1;
    let text = refused(&strangers);
    assert!(text.contains("other tables"), "{text}");
    let mut stage = order.block.clone().unwrap();
    stage.moduli_in = moduli(8);
    let text = refused(&TaskOrder { block: Some(stage), ..order });
    assert!(text.contains("cannot be made"), "{text}");
}

/// A flipped bit in a run is found when it is read.
#[test]
fn damage_is_found() {
    let cut = cut(&[3, 2], 50, 2, &[2]);
    let run = Run::new(5, 5, &cut);
    let vector = run.stage(0, &[]);
    let order = run.order(1, &vector);
    let path: &Path = &run_path(run.folder.path(), &order.inputs[0].id).unwrap();
    let whole = std::fs::read(path).unwrap();
    for at in (200..whole.len()).step_by(whole.len() / 50) {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(path, &bytes).unwrap();
        let error = run.task(&TaskOrder { attempt: format!("j1/s0/g1/t0/a{at}"), ..order.clone() }).unwrap_err();
        assert!(matches!(&error, TaskError::Input { run, .. } if *run == order.inputs[0].id), "byte {at}: {error}");
    }
}
