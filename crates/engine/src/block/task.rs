//! The block executor out of core: one task of one stage takes groups of families through a window.
//!
//! ```text
//!   runs --gather--> states of a group --for each family--> front | back --w passes--> --scatter--> sorted --> one run
//!                    sums, fingerprint          mass balance, functionals, fingerprint
//! ```
//!
//! The same passes over the same tables as in memory ([`super::sweep`]); what is between two windows is in runs instead
//! of in a vector, so that a task's memory is that of its largest group: the group's states before and after, and two
//! buffers of its largest family; where the group is one family, these two buffers are all. A family that is too large
//! even so is taken through the window a few lanes at a time, down to one: lanes know nothing of each other. Its input is
//! read as often, and what comes out is put aside on disk until all lanes are there.
//!
//! Laws: see [`super::slice`]. The coordinator holds sums and fingerprints of what is read against those of what was
//! written. Runs that have fewer moduli than the stage are widened on reading, and every row's spare lane is checked.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use keima_model::{BlockTables, Family, ProblemInfo, Window};
use keima_runs::{
    FunctionalSum, KeyOrder, PassTally, RunHeader, RunId, RunManifest, RunOptions, RunWriter, Split, Spool, Tally,
    TaskManifest, TaskTimes,
};

use super::groups::{PLACE_BITS, ends};
use super::grow::Widen;
use super::kernel::PADDING;
use super::lanes::{MODULUS_LIMIT, Row};
use super::pool::NoMemory;
use super::prepared::Prepared;
use super::scatter::{self, Scatter};
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
        let windows = prepared.column.windows();
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
            times: TaskTimes::default(),
        })
    }

    pub(super) fn tables(&self) -> &'a BlockTables {
        self.prepared.column.tables(self.window)
    }

    /// Families of a group.
    pub(super) fn families(&self, group: u32) -> &'a [Family] {
        let families = &self.prepared.groups[self.window].groups[group as usize].families;
        &self.tables().families[families.start as usize..families.end as usize]
    }

    fn run(mut self) -> Result<TaskManifest, TaskError> {
        let order = self.task.order;
        let groups = self.prepared.groups[self.window].groups.len() as u128;
        let (low, high) = (order.low >> PLACE_BITS, order.high.map_or(groups, |high| (high >> PLACE_BITS).min(groups)));
        for group in low..high {
            self.group(group as u32)?;
        }
        Ok(self.finish())
    }

    /// Rows of memory that a group needs: two buffers of its largest family, and the states of all at both ends, which
    /// for a single family are in the buffers.
    pub(super) fn rows(&self, group: u32) -> [usize; 4] {
        let (tables, families) = (self.tables(), self.families(group));
        let (first, last) =
            families.iter().map(|family| ends(tables, family)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        let most = families.iter().flat_map(|family| &family.size).max().copied().unwrap_or(0) as usize + PADDING;
        if families.len() == 1 { [most, most, 0, 0] } else { [most, most, first as usize, last as usize] }
    }

    /// As many lanes at a time as a task's share of memory allows; one, where not even that fits and others have to wait.
    fn group(&mut self, number: u32) -> Result<(), TaskError> {
        let pool = &self.prepared.pool;
        let needed = self.rows(number).iter().sum::<usize>().max(1);
        let (share, all) = pool.words();
        if needed > all {
            return refuse(format!(
                "group {number} of window {:?} needs {} bytes of memory for each residue, but there are {} beside the \
                 tables; use more memory, or a shorter --window",
                self.task.order.window,
                needed * 8,
                all * 8
            ));
        }
        let lanes = (share / needed).clamp(1, self.task.order.moduli.len());
        let lanes = 1 << lanes.ilog2();
        let mut arena = pool.take(needed * lanes, || self.is_to_stop()).map_err(|error| match error {
            NoMemory::Stopped => TaskError::Stopped,
            NoMemory::System(error) => {
                TaskError::Refused(format!("no memory for a task of {} bytes: {error}", needed * lanes * 8))
            }
        })?;
        match lanes {
            1 => self.slices::<1>(number, arena.rows()),
            2 => self.slices::<2>(number, arena.rows()),
            4 => self.slices::<4>(number, arena.rows()),
            _ => self.slices::<8>(number, arena.rows()),
        }
    }

    pub(super) fn is_to_stop(&self) -> bool {
        self.task.stop.load(Ordering::Relaxed)
    }

    /// Takes a group through the window, `J` lanes at a time.
    fn slices<const J: usize>(&mut self, number: u32, arena: &mut [Row<1>]) -> Result<(), TaskError> {
        let (prepared, task, lanes) = (self.prepared, self.task, self.task.order.moduli.len());
        let started = Instant::now();
        let next_window = (self.window + 1) % prepared.groups.len();
        let targets = &prepared.groups[next_window];
        let mut scatter = Scatter::new(prepared.column(), self.window, targets, self.families(number));
        self.times.write_nanos += nanos(started);
        let place = prepared.groups[self.window].groups[number as usize].place;
        let rows = scatter.rows();
        if lanes == J {
            let sorted = self.slice::<J>(number, 0, &mut scatter, arena)?;
            let mut rows = |range: Range<usize>, batch: &mut Vec<u64>| {
                batch.extend_from_slice(sorted.get(range).unwrap_or_default().as_flattened());
                Ok(())
            };
            return self.write(&scatter, &mut rows, place);
        }
        let mut spool = Spool::create(task.scratch, task.disk).map_err(TaskError::Output)?;
        for first in (0..lanes).step_by(J) {
            let sorted = self.slice::<J>(number, first, &mut scatter, arena)?;
            let started = Instant::now();
            spool.append(sorted.as_flattened()).map_err(TaskError::Output)?;
            self.times.write_nanos += nanos(started);
        }
        let mut slice = Vec::new();
        let mut rows = |range: Range<usize>, batch: &mut Vec<u64>| {
            let start = batch.len();
            batch.resize(start + range.len() * lanes, 0);
            for (number, first) in (0..).zip((0..lanes).step_by(J)) {
                slice.resize(range.len() * J, 0);
                spool.read((number * rows + range.start as u64) * J as u64, &mut slice)?;
                let own = batch[start..].chunks_exact_mut(lanes).zip(slice.as_chunks::<J>().0);
                own.for_each(|(row, lanes)| row[first..first + J].copy_from_slice(lanes));
            }
            Ok(())
        };
        self.write(&scatter, &mut rows, place)
    }

    fn write(&mut self, scatter: &Scatter<'_>, rows: &mut scatter::Rows<'_>, place: u64) -> Result<(), TaskError> {
        let (task, started) = (self.task, Instant::now());
        let windows = self.prepared.column.windows();
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
            let count = if order.low == 0 { self.prepared.column().one_column() } else { 0 };
            functionals.push(FunctionalSum { functional, lanes: moduli.iter().map(|p| count % p).collect() });
        }
        let bytes_written = runs.iter().map(|run| run.bytes).sum();
        TaskManifest {
            runs,
            splits,
            input: narrow(self.input.finish(moduli)),
            output: self.output.finish(moduli),
            passes: self.states.iter().map(|&states| PassTally { states, ..PassTally::default() }).collect(),
            functionals,
            bytes_read: self.bytes_read,
            bytes_written,
            bytes_spilled: 0,
            times: self.times,
        }
    }
}

/// Splits at one key as one.
fn merge_equal(splits: &[Split]) -> Vec<Split> {
    let equal = splits.chunk_by(|a, b| a.key == b.key);
    equal.map(|same| Split { key: same[0].key, records: same.iter().map(|split| split.records).sum() }).collect()
}

/// Pieces of so many rows each; `None` if there is not enough.
pub(super) fn carve<const J: usize>(arena: &mut [Row<1>], sizes: [usize; 4]) -> Option<[&mut [Row<J>]; 4]> {
    let mut rest = arena.as_flattened_mut().as_chunks_mut::<J>().0;
    let mut pieces = [(); 4].map(|()| &mut [][..]);
    for (piece, size) in pieces.iter_mut().zip(sizes) {
        let (own, later) = rest.split_at_mut_checked(size)?;
        (*piece, rest) = (own, later);
    }
    Some(pieces)
}

pub(super) fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
