//! Forward vectors equal the stream executor's and published values, for any windows, groups, shards and lanes.
//! Damaged inputs get clear errors.

use std::path::Path;

use keima_engine::TaskError;
use keima_model::{Directions, Window};
use keima_orders::{AttemptId, BlockOrder, Lanes, TaskOrder};
use keima_problems::go::published;
use keima_residue::{Integer, add_row, residue_of};
use keima_runs::{TaskManifest, run_path};
use proptest::prelude::*;

use crate::blocks;
use crate::common::{Settings, sweep_with};
use crate::run::{Cut, MEMORY_BYTES, Parted, Run, cut};
use crate::states::{go, moduli};

/// Counts a board, and compares every column's value with the published one. With `stream` compares each column end
/// with the stream executor.
fn check(height: u32, length: u32, cut: &Cut, stream: bool) {
    let run = Run::new(height, length, cut);
    let count = run.windows.len();
    let lanes = *cut.lanes.last().unwrap();
    let found = stream.then(|| {
        let settings = Settings { window: 3, shards: 2, memory_bytes: 8 << 20, moduli: moduli(lanes) };
        // The last vector of a board is never written, so a longer board writes it here.
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
            let own = run.canonical(stage + 1, &vector);
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
        // More lanes than the values need, so that each kind of row is widened.
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

/// Blocks of the longest windows.
#[test]
fn every_column_end_is_the_stream_executors_with_windows_of_eight_cells() {
    check(9, 9, &cut(&[8, 1], 20_000, 2, &[2, 4]), true);
    check(9, 9, &cut(&[1, 8], 20_000, 2, &[2, 8]), true);
}

#[test]
fn every_column_end_is_the_stream_executors_at_10x10() {
    check(10, 10, &cut(&[5, 5], 20_000, 2, &[2, 4, 8]), true);
}

/// Boards that are longer than high.
#[test]
fn every_column_end_of_long_boards_is_the_stream_executors() {
    for (height, lengths) in
        [(2, &[1, 1][..]), (3, &[2, 1]), (4, &[4]), (5, &[2, 3]), (6, &[3, 3]), (7, &[4, 3]), (8, &[4, 4])]
    {
        check(height, 10, &cut(lengths, 1000, 2, &[2, 4, 8]), true);
    }
}

/// Groups large enough for several threads: each writes several runs, and nothing else changes.
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

/// Memory for so many lanes of a small board's largest family.
fn few_lanes_bytes(lanes: u64) -> u64 {
    lanes * 8 * 6000
}

/// A task has room for a twentieth of the vector, whatever the size of the largest family.
#[test]
fn a_twentieth_of_the_vector_is_enough() {
    for lengths in [&[5, 4][..], &[3, 3, 3]] {
        let states =
            |window| *blocks::column(9, lengths, Directions::Forward).tables(window).states.iter().max().unwrap();
        let vector = (0..lengths.len()).map(states).max().unwrap() * 8 * 8;
        check(9, 9, &Cut { memory_bytes: vector / 20, ..cut(lengths, 5000, 2, &[2, 4, 8]) }, true);
    }
}

/// With little memory, lanes go a few at a time. Each lane is read once, and the heads of blocks once for each slice.
/// Where rows are widened, all lanes are read for each slice. What is written does not change.
#[test]
fn lanes_are_done_a_few_at_a_time() {
    lanes_of_rows_are_done_a_few_at_a_time(8, &[4, 2, 1]);
    lanes_of_rows_are_done_a_few_at_a_time(12, &[8, 4, 2, 1]);
    lanes_of_rows_are_done_a_few_at_a_time(10, &[6, 4, 2]);
}

fn lanes_of_rows_are_done_a_few_at_a_time(lanes: u64, few: &[u64]) {
    let whole = cut(&[4, 3], 2000, 2, &[2, lanes as usize]);
    // Bytes read: of the stage that widens rows of two lanes, and of the same window a column later.
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

/// Several tasks share the lanes of each group, in every stage so many others. Each writes runs with its lanes alone, and the next
/// one reads each lane where it is, alone or a few at a time.
#[test]
fn tasks_share_the_lanes_of_a_group() {
    for (height, length, cut) in [
        (4, 5, cut(&[2, 2], 10, 2, &[2])),
        (5, 5, cut(&[3, 2], 50, 2, &[2, 4])),
        (6, 6, cut(&[2, 2, 2], 100, 3, &[2, 6])),
        (7, 7, cut(&[3, 2, 2], 1000, 7, &[2, 4, 8])),
        (7, 7, cut(&[4, 3], 2000, 2, &[2, 12])),
    ] {
        for sharers in [2, 4] {
            let all = Cut { sharers, ..cut.clone() };
            check(height, length, &all, true);
            check(height, length, &Cut { parted: Parted::Second, threads: 3, ..all.clone() }, false);
            let few = few_lanes_bytes(if cut.lengths.len() == 2 { 3 } else { 1 });
            check(height, length, &Cut { memory_bytes: few, ..all }, true);
        }
    }
    // What tasks that share lanes write is what one writes, lane by lane, and as many bytes but for heads.
    let one = Run::new(7, 7, &cut(&[4, 3], 2000, 2, &[8]));
    let three = Run::new(7, 7, &Cut { sharers: 3, ..one.cut.clone() });
    let stages = |run: &Run| (0..3).fold(Vec::new(), |vector, stage| run.stage(stage, &vector));
    let (whole, shared) = (stages(&one), stages(&three));
    assert_eq!(shared.len(), 3 * whole.len(), "stage 2 has three sharers");
    assert_eq!(one.listed(3, &whole), three.listed(3, &shared));
    let lanes: Vec<Vec<u32>> = shared.iter().map(|m| vec![m.first_lane, m.runs[0].sums.len() as u32]).collect();
    assert_eq!(lanes[..3], [[0, 3], [3, 3], [6, 2]]);
    let records = |of: &[TaskManifest]| of.iter().flat_map(|m| &m.splits).map(|split| split.records).sum::<u64>();
    assert_eq!(records(&whole), records(&shared), "records are counted once");
}

/// A task does not take lanes that are not there, and refuses rows that lack some of their lanes.
#[test]
fn lanes_that_cannot_be_are_refused() {
    let run = Run::new(5, 5, &Cut { sharers: 2, ..cut(&[3, 2], 50, 2, &[4]) });
    let first = run.stage(0, &[]);
    let vector = run.stage(1, &first);
    assert!(vector.iter().any(|m| m.first_lane == 2), "{vector:?}");
    let order = run.order(2, &vector);
    let with =
        |lanes| TaskOrder { block: order.block.clone().map(|block| BlockOrder { lanes, ..block }), ..order.clone() };
    let check = |order: &TaskOrder, expected: &str| {
        let text = run.task(order).unwrap_err().to_string();
        assert!(text.contains(expected), "expected {expected:?}, got {text:?}");
    };
    check(&with(Some(Lanes { first: 2, end: 5 })), "lanes 2..5 of 4 cannot be done");
    check(&with(Some(Lanes { first: 2, end: 2 })), "lanes 2..2 of 4 cannot be done");
    let mut lacking = with(None);
    lacking.inputs.retain(|input| input.first_lane == 0);
    check(&lacking, "its inputs have 0; the runs are not those of one boundary");
    for (more, expected) in [(1, "list of moduli"), (3, "of a vector that has 4")] {
        let mut others = with(None);
        others.inputs.iter_mut().for_each(|input| input.first_lane += more);
        check(&others, expected);
    }
    // Rows of four lanes are to become rows of eight.
    let mut wider = with(None);
    wider.moduli = moduli(8);
    check(&wider, "its rows are to be widened, which takes all");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn nothing_that_must_not_matter_matters(
        lengths in prop::collection::vec(1_u32..5, 1..4).prop_filter("2 to 7", |l| (2..8).contains(&l.iter().sum::<u32>())),
        group_records in 1_u64..3000, groups in 1_usize..40, grows in 1_usize..4, memory_bytes in few_lanes_bytes(1)..MEMORY_BYTES,
        parted in prop::sample::select(vec![Parted::Nobody, Parted::Every, Parted::Second]), threads in 1_u32..4,
        sharers in 1_usize..4,
    ) {
        let height: u32 = lengths.iter().sum();
        let lanes: Vec<usize> = std::iter::repeat_n(2, grows.min(2)).chain([4]).collect();
        // A single window has no partial tables; those of several count as their task's memory.
        let parted = if lengths.len() == 1 { Parted::Nobody } else { parted };
        let memory_bytes = if parted == Parted::Nobody { memory_bytes } else { memory_bytes + MEMORY_BYTES };
        let cut = Cut { lengths, group_records, groups, lanes, memory_bytes, threads, parted, middle: None, sharers };
        check(height, height, &cut, false);
    }
}

/// The error names what is wrong with the inputs, and which input.
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
    assert!(text.contains("have [1, 2, 4, 6, 8, 10, 12, 16] lanes, not 3"), "{text}");
    let small = Run::new(5, 5, &Cut { memory_bytes: 1 << 9, ..cut.clone() });
    match small.task(&small.order(0, &[])) {
        Err(TaskError::Refused(text)) => assert!(text.contains("for each residue"), "{text}"),
        other => panic!("{other:?}"),
    }
    let text = refused(&TaskOrder { window: Window { first: 0, len: 2 }, ..order.clone() });
    assert!(text.contains("windows of the column"), "{text}");
    // What another attempt at the stage before may mend is no reason to give the worker up.
    let lacking = run.task(&TaskOrder { inputs: order.inputs[1..].to_vec(), ..order.clone() });
    let is_check = |error: &TaskError| matches!(error, TaskError::Check { check: "rows of a group", .. });
    assert!(lacking.as_ref().is_err_and(is_check), "{lacking:?}");
    let mut strangers = order.clone();
    strangers.inputs[0].manifest.first_key += 1;
    let strange = run.task(&strangers);
    let is_input = |error: &TaskError| matches!(error, TaskError::Input { run, source } if *run == order.inputs[0].manifest.id && source.is_damage());
    assert!(strange.as_ref().is_err_and(is_input), "{strange:?}");
    let mut stage = order.block.clone().unwrap();
    stage.moduli_in = moduli(8);
    let text = refused(&TaskOrder { block: Some(stage), ..order });
    assert!(text.contains("cannot be widened"), "{text}");
}

/// A flipped bit in a run is found on reading.
#[test]
fn damage_is_found() {
    let cut = cut(&[3, 2], 50, 2, &[2]);
    let run = Run::new(5, 5, &cut);
    let vector = run.stage(0, &[]);
    let order = run.order(1, &vector);
    let path: &Path = &run_path(run.folder.path(), &order.inputs[0].manifest.id).unwrap();
    let whole = std::fs::read(path).unwrap();
    for at in (200..whole.len()).step_by(whole.len() / 50) {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(path, &bytes).unwrap();
        let error = run
            .task(&TaskOrder { attempt: AttemptId { attempt: at as u32, ..order.attempt }, ..order.clone() })
            .unwrap_err();
        assert!(
            matches!(&error, TaskError::Input { run, .. } if *run == order.inputs[0].manifest.id),
            "byte {at}: {error}"
        );
    }
}
