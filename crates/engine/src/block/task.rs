//! The block executor out of core: one task of one stage takes groups of families through a window.
//!
//! ```text
//!   runs --gather--> states of a group --for each family: w passes in place--> states --scatter--> one run
//!                    sums, fingerprint   mass balance, functionals, fingerprint
//! ```
//!
//! The same sums over the same tables as in memory ([`super::sweep`]); what is between two windows is in runs instead
//! of in a vector, so that a task's memory is that of its largest group, in one buffer ([`super::in_place`]). A family
//! that is too large even so is taken through the window a few lanes at a time, down to one: lanes know nothing of each
//! other. Its input is read as often, and what comes out is put aside on disk until all lanes are there.
//!
//! Laws: see [`super::slice`]. The coordinator holds sums and fingerprints of what is read against those of what was
//! written. Runs that have fewer moduli than the stage are widened on reading, and every row's spare lane is checked.

use std::sync::atomic::Ordering;
use std::time::Instant;

use keima_model::{PLACE_BITS, ProblemInfo, Sources, Window};
use keima_runs::{
    FunctionalSum, KeyOrder, PassTally, RunHeader, RunId, RunManifest, RunOptions, RunWriter, Split, Spool, Tally,
    TaskManifest, TaskTimes,
};

use super::grow::Widen;
use super::in_place::{Lines, Memory};
use super::lanes::{MODULUS_LIMIT, Moduli};
use super::pool::NoMemory;
use super::prepared::Prepared;
use super::scatter::{self, Scatter};
use super::slice::Lanes;
use super::sums::{Total, merge};
use super::view::View;
use crate::tally::EndTally;
use crate::{Task, TaskError, TaskOrder};

/// Records of a run's block, in bytes.
const RUN_BLOCK_BYTES: usize = 128 << 10;

/// Does one task: the groups whose numbers stand in the upper bits of the order's key range.
///
/// Blocking; uses one thread. On an error complete output runs may be left in the attempt's folder, for its owner to
/// delete.
pub fn run_block_task(prepared: &Prepared, info: &dyn ProblemInfo, task: &Task<'_>) -> Result<TaskManifest, TaskError> {
    Stage::new(prepared, info, task)?.run()
}

/// One task's part of a stage.
pub(super) struct Stage<'a> {
    pub(super) prepared: &'a Prepared,
    pub(super) task: &'a Task<'a>,
    /// Number of the window.
    pub(super) window: usize,
    pub(super) widen: Widen,
    pub(super) header_in: RunHeader,
    /// Functionals that fall on the window's last pass, with the sums of each lane.
    pub(super) functionals: Vec<(u32, Vec<u64>)>,
    /// In the first stage that of the first column.
    one_column: Option<u32>,
    pub(super) input: EndTally,
    pub(super) output: EndTally,
    /// States before each pass.
    pub(super) states: Vec<u64>,
    runs: Vec<(RunManifest, Vec<Split>)>,
    pub(super) bytes_read: u64,
    /// Of lanes that waited for others.
    bytes_spilled: u64,
    pub(super) times: TaskTimes,
}

pub(super) fn refuse<T>(text: String) -> Result<T, TaskError> {
    Err(TaskError::Refused(text))
}

fn header(order: &TaskOrder, moduli: &[u64], boundary: u32, window: Window) -> RunHeader {
    RunHeader {
        job_tag: order.job_tag,
        boundary,
        key_order: KeyOrder::Blocks { first: window.first, len: window.len },
        key_bytes: 8,
        moduli: moduli.to_vec(),
        coefficients: 1,
    }
}

impl<'a> Stage<'a> {
    fn new(prepared: &'a Prepared, info: &'a dyn ProblemInfo, task: &'a Task<'a>) -> Result<Self, TaskError> {
        let order = task.order;
        let windows = prepared.windows();
        let Some(window) = windows.iter().position(|&window| window == order.window) else {
            return refuse(format!("the column is cut into {windows:?}, not into {:?}", order.window));
        };
        let board = info.board();
        let end = order.first_pass.checked_add(order.window.len);
        if end.is_none_or(|end| end > board.passes()) || board.cell(order.first_pass) != order.window.first {
            return refuse(format!("passes {}.. are no stage of the {board} board", order.first_pass));
        }
        let lanes = order.moduli.len();
        if !matches!(lanes, 1 | 2 | 4 | 8) {
            return refuse(format!("the block executor carries 1, 2, 4 or 8 residues, not {lanes}"));
        }
        if order.moduli.iter().any(|modulus| !(2..MODULUS_LIMIT).contains(modulus)) {
            return refuse(format!("moduli {:?} are not below 2^60", order.moduli));
        }
        let moduli_in = order.moduli_in();
        let Some(widen) = Widen::new(moduli_in, &order.moduli) else {
            return refuse(format!("rows modulo {moduli_in:?} cannot be made rows modulo {:?}", order.moduli));
        };
        let last = order.first_pass + order.window.len - 1;
        let functionals = (0..).zip(info.functionals()).filter(|(_, functional)| functional.after_pass == last);
        let before = (0..)
            .zip(info.functionals())
            .filter(|(_, functional)| order.from_start && functional.after_pass < order.first_pass);
        Ok(Self {
            prepared,
            task,
            window,
            widen,
            header_in: header(order, moduli_in, order.first_pass, order.window),
            functionals: functionals.map(|(number, _)| (number, vec![0; lanes])).collect(),
            one_column: before.map(|(number, _)| number).next(),
            input: EndTally::new(order.salt, lanes),
            output: EndTally::new(order.salt, lanes),
            states: vec![0; order.window.len as usize],
            runs: Vec::new(),
            bytes_read: 0,
            bytes_spilled: 0,
            times: TaskTimes::default(),
        })
    }

    fn run(mut self) -> Result<TaskManifest, TaskError> {
        let order = self.task.order;
        let groups = self.prepared.groups[self.window].groups.len() as u128;
        let (low, high) = (order.low >> PLACE_BITS, order.high.map_or(groups, |high| (high >> PLACE_BITS).min(groups)));
        let mut last = None;
        for group in low..high {
            last = self.group(group as u32, last)?;
        }
        Ok(self.finish())
    }

    /// As many lanes at a time as a task's share of memory allows; one, where not even that fits and others have to
    /// wait.
    ///
    /// `last` is what the tables for the group before have to offer; what these have is returned.
    fn group(&mut self, number: u32, last: Option<Sources>) -> Result<Option<Sources>, TaskError> {
        let pool = &self.prepared.pool;
        let started = Instant::now();
        let view = self.prepared.view(self.window, number, last.as_ref())?;
        drop(last);
        let lines = Lines::new(view.tables(), view.families());
        self.times.read_nanos += nanos(started);
        let needed = lines.rows().max(1);
        // Tables that are made for this group count as its memory.
        let tables = (view.bytes() / 8) as usize;
        let (share, all) = pool.words();
        if needed + tables > all {
            return refuse(format!(
                "group {number} of window {:?} needs {} bytes of memory for each residue, but there are {} beside the \
                 tables; use more memory, or a shorter --window",
                self.task.order.window,
                (needed + tables) * 8,
                all * 8
            ));
        }
        let lanes = (share.saturating_sub(tables) / needed).clamp(1, self.task.order.moduli.len());
        let lanes = 1 << lanes.ilog2();
        let mut arena = pool.take(needed * lanes + tables, || self.is_to_stop()).map_err(|error| match error {
            NoMemory::Stopped => TaskError::Stopped,
            NoMemory::System(error) => {
                TaskError::Refused(format!("no memory for a task of {} bytes: {error}", needed * lanes * 8))
            }
        })?;
        let memory = Memory(arena.words());
        match lanes {
            1 => self.slices::<1>(&view, &lines, memory)?,
            2 => self.slices::<2>(&view, &lines, memory)?,
            4 => self.slices::<4>(&view, &lines, memory)?,
            _ => self.slices::<8>(&view, &lines, memory)?,
        }
        Ok(view.sources())
    }

    pub(super) fn is_to_stop(&self) -> bool {
        self.task.stop.load(Ordering::Relaxed)
    }

    fn lanes<const J: usize>(&self, first: usize) -> Result<Lanes<J>, TaskError> {
        let moduli = self.task.order.moduli.get(first..first + J);
        match moduli.and_then(|moduli| Moduli::new(moduli.try_into().ok()?)) {
            Some(moduli) => Ok(Lanes { first, moduli }),
            None => refuse(format!("lanes {first} to {} cannot be done", first + J)),
        }
    }

    /// Takes a group through the window, `J` lanes at a time.
    fn slices<const J: usize>(
        &mut self,
        view: &View<'_>,
        lines: &Lines,
        mut memory: Memory<'_>,
    ) -> Result<(), TaskError> {
        let (prepared, task, lanes) = (self.prepared, self.task, self.task.order.moduli.len());
        let started = Instant::now();
        let scatter = Scatter::new(view.column(), self.window, prepared.targets(self.window), view.families());
        self.times.write_nanos += nanos(started);
        self.output.states += scatter.rows();
        let place = view.group.place;
        if lanes == J {
            let lanes = self.lanes::<J>(0)?;
            let states = self.slice(view, lines, &lanes, &mut memory)?;
            let (mut picker, mut total) = (scatter.pick(states), [0; J]);
            let mut rows = |count: usize, batch: &mut Vec<u64>| {
                let at = batch.len();
                picker.next(count, batch);
                sum_up(&mut total, &batch[at..], &lanes);
                Ok(())
            };
            self.write(&scatter, &mut rows, place)?;
            self.output.add_sums(&total, 0, lanes.moduli.values());
            return Ok(());
        }
        let mut spool = Spool::create(task.scratch, task.disk).map_err(TaskError::Output)?;
        for first in (0..lanes).step_by(J) {
            let lanes = self.lanes::<J>(first)?;
            let states = self.slice(view, lines, &lanes, &mut memory)?;
            let (started, mut picker, mut total) = (Instant::now(), scatter.pick(states), [0; J]);
            let mut picked = Vec::new();
            loop {
                picked.clear();
                picker.next(scatter::ROWS, &mut picked);
                if picked.is_empty() {
                    break;
                }
                sum_up(&mut total, &picked, &lanes);
                spool.append(&picked).map_err(TaskError::Output)?;
            }
            self.output.add_sums(&total, first, lanes.moduli.values());
            self.times.write_nanos += nanos(started);
        }
        self.bytes_spilled += spool.bytes();
        let (all, mut from, mut slice) = (scatter.rows(), 0, Vec::new());
        let mut rows = |count: usize, batch: &mut Vec<u64>| {
            let start = batch.len();
            batch.resize(start + count * lanes, 0);
            for (number, first) in (0..).zip((0..lanes).step_by(J)) {
                slice.resize(count * J, 0);
                spool.read((number * all + from) * J as u64, &mut slice)?;
                let own = batch[start..].chunks_exact_mut(lanes).zip(slice.as_chunks::<J>().0);
                own.for_each(|(row, lanes)| row[first..first + J].copy_from_slice(lanes));
            }
            from += count as u64;
            Ok(())
        };
        self.write(&scatter, &mut rows, place)
    }

    fn write(&mut self, scatter: &Scatter, rows: &mut scatter::Rows<'_>, place: u64) -> Result<(), TaskError> {
        let (task, started) = (self.task, Instant::now());
        let windows = self.prepared.windows();
        let next = windows[(self.window + 1) % windows.len()];
        let header = header(task.order, &task.order.moduli, task.order.first_pass + task.order.window.len, next);
        let id = RunId(format!("{}/r{}", task.order.attempt, self.runs.len()));
        let options = RunOptions {
            durable: task.order.durable,
            block_bytes: RUN_BLOCK_BYTES,
            consecutive: true,
            ..RunOptions::default()
        };
        let writer = RunWriter::create(task.scratch, &id, &header, options, task.disk).map_err(TaskError::Output)?;
        self.runs.extend(scatter.write(rows, place, writer)?);
        self.times.write_nanos += nanos(started);
        Ok(())
    }

    fn finish(self) -> TaskManifest {
        let order = self.task.order;
        let moduli = order.moduli.as_slice();
        let narrow = |tally: Tally| {
            // Lanes of the runs that were read: the first ones, and the spare.
            let kept = order.moduli_in().len();
            let lanes = |row: Vec<u64>| row[..kept - 1].iter().chain(row.last()).copied().collect();
            Tally { states: tally.states, sums: lanes(tally.sums), fingerprint: lanes(tally.fingerprint) }
        };
        let (runs, mut splits): (Vec<_>, Vec<Split>) =
            self.runs.into_iter().fold((Vec::new(), Vec::new()), |(mut runs, mut splits), (run, own)| {
                runs.push(run);
                splits.extend(own);
                (runs, splits)
            });
        splits.sort_unstable_by_key(|split| split.key);
        let splits = crate::output::join_splits(merge_equal(&splits));
        let own = |(functional, lanes)| FunctionalSum { functional, lanes };
        let mut functionals: Vec<FunctionalSum> = self.functionals.into_iter().map(own).collect();
        if let Some(functional) = self.one_column {
            // The whole first column, told by whoever does the first group.
            let count = if order.low == 0 { self.prepared.one_column() } else { 0 };
            functionals.push(FunctionalSum { functional, lanes: moduli.iter().map(|p| count % p).collect() });
        }
        let bytes_written = runs.iter().map(|run| run.bytes).sum::<u64>() + self.bytes_spilled;
        TaskManifest {
            runs,
            splits,
            input: narrow(self.input.finish(moduli)),
            output: self.output.finish(moduli),
            passes: self.states.iter().map(|&states| PassTally { states, ..PassTally::default() }).collect(),
            functionals,
            bytes_read: self.bytes_read,
            bytes_written,
            bytes_spilled: self.bytes_spilled,
            times: self.times,
        }
    }
}

/// Splits at one key as one.
fn merge_equal(splits: &[Split]) -> Vec<Split> {
    let equal = splits.chunk_by(|a, b| a.key == b.key);
    equal.map(|same| Split { key: same[0].key, records: same.iter().map(|split| split.records).sum() }).collect()
}

/// Adds rows that are written to their sum.
fn sum_up<const J: usize>(total: &mut [u128; J], words: &[u64], lanes: &Lanes<J>) {
    let more = pulp::Arch::new().dispatch(Total { rows: words.as_chunks().0, moduli: &lanes.moduli });
    merge(total, more, &lanes.moduli);
}

pub(super) fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
