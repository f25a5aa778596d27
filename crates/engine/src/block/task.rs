//! The block executor out of core: one task of one stage takes groups of families through a window.
//!
//! ```text
//!   runs --gather--> states of a group --for each family--> front | back --w passes--> --scatter--> sorted --> one run
//!                    sums, fingerprint          mass balance, functionals, fingerprint
//! ```
//!
//! The same passes over the same tables as in memory ([`super::sweep`]); what is between two windows is in runs instead
//! of in a vector, so that a task's memory is that of its largest group: the group's states before and after, and two
//! buffers of its largest family; where the group is one family, these two buffers are all.
//!
//! Laws: for every family the sum of what comes out is the sum over what goes in of value x ways; what was read is what
//! stands in the states; what is written is what came out. The coordinator holds sums and fingerprints of what is read
//! against those of what was written. The fingerprint is over a keyed sample of the states, one in 64: a state in a wrong
//! place shows with that chance, a section or a block that went wrong for certain. Runs that have fewer moduli than the
//! stage are widened on reading, and every row's spare lane is checked.

use std::sync::atomic::Ordering;
use std::time::Instant;

use keima_model::{BlockTables, End, Family, ProblemInfo, Window};
use keima_runs::{
    FunctionalSum, KeyOrder, PassTally, RunHeader, RunId, RunManifest, RunOptions, RunWriter, Split, Tally,
    TaskManifest, TaskTimes,
};

use super::gather::{Gather, stands};
use super::groups::{PLACE_BITS, ends};
use super::grow::Widen;
use super::kernel::PADDING;
use super::lanes::{Moduli, Row, Weighted};
use super::memory::Rows;
use super::prepared::Prepared;
use super::scatter::Scatter;
use super::sums::{Enter, Passes, Total, add_up, merge};
use crate::tally::EndTally;
use crate::{Task, TaskError, TaskOrder};

/// Records of a run's block, in bytes.
const RUN_BLOCK_BYTES: usize = 128 << 10;

/// Does one task: the groups whose numbers stand in the upper bits of the order's key range.
///
/// Blocking; uses one thread. On an error complete output runs may be left in the attempt's folder, for its owner to
/// delete.
pub fn run_block_task(prepared: &Prepared, info: &dyn ProblemInfo, task: &Task<'_>) -> Result<TaskManifest, TaskError> {
    match task.order.moduli.len() {
        1 => Stage::<1>::new(prepared, info, task)?.run(),
        2 => Stage::<2>::new(prepared, info, task)?.run(),
        4 => Stage::<4>::new(prepared, info, task)?.run(),
        8 => Stage::<8>::new(prepared, info, task)?.run(),
        other => Err(TaskError::Refused(format!("the block executor carries 1, 2, 4 or 8 residues, not {other}"))),
    }
}

struct Stage<'a, const K: usize> {
    prepared: &'a Prepared,
    task: &'a Task<'a>,
    window: usize,
    moduli: Moduli<K>,
    widen: Widen<K>,
    header_in: RunHeader,
    /// Functionals that fall on the window's last pass, and in the first stage on the first column.
    functionals: Vec<(u32, [u128; K])>,
    one_column: Option<u32>,
    input: EndTally,
    output: EndTally,
    states: Vec<u64>,
    runs: Vec<(RunManifest, Vec<Split>)>,
    bytes_read: u64,
    times: TaskTimes,
}

fn refuse<T>(text: String) -> Result<T, TaskError> {
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

impl<'a, const K: usize> Stage<'a, K> {
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
        let moduli: Row<K> = order.moduli.as_slice().try_into().unwrap_or([0; K]);
        let Some(moduli) = Moduli::new(moduli) else {
            return refuse(format!("moduli {:?} are not below 2^60", order.moduli));
        };
        let moduli_in = order.moduli_in();
        let Some(widen) = Widen::new(moduli_in, &moduli) else {
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
            functionals: functionals.map(|(number, _)| (number, [0; K])).collect(),
            one_column: before.map(|(number, _)| number).next(),
            input: EndTally::new(order.salt, K),
            output: EndTally::new(order.salt, K),
            states: vec![0; order.window.len as usize],
            runs: Vec::new(),
            bytes_read: 0,
            times: TaskTimes::default(),
            moduli,
        })
    }

    fn tables(&self) -> &'a BlockTables {
        self.prepared.column.tables(self.window)
    }

    fn run(mut self) -> Result<TaskManifest, TaskError> {
        let order = self.task.order;
        let groups = self.prepared.groups[self.window].groups.len() as u128;
        let (low, high) = (order.low >> PLACE_BITS, order.high.map_or(groups, |high| (high >> PLACE_BITS).min(groups)));
        let mut arena = self.prepared.arena(order.memory_bytes)?;
        for group in low..high {
            self.group(group as u32, &mut arena)?;
        }
        self.prepared.give_back(arena);
        Ok(self.finish())
    }

    fn group(&mut self, number: u32, arena: &mut Rows<1>) -> Result<(), TaskError> {
        let (prepared, tables) = (self.prepared, self.tables());
        let column = prepared.column();
        let group = &prepared.groups[self.window].groups[number as usize];
        let families = &tables.families[group.families.start as usize..group.families.end as usize];
        let next_window = (self.window + 1) % prepared.groups.len();
        let started = Instant::now();
        let mut scatter = Scatter::new(column, self.window, &prepared.groups[next_window], families);
        self.times.write_nanos += nanos(started);

        let (first, last) =
            families.iter().map(|family| ends(tables, family)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        let most = families.iter().flat_map(|family| &family.size).max().copied().unwrap_or(0) as usize + PADDING;
        let alone = families.len() == 1;
        let sizes = if alone { [most, most, 0, 0] } else { [most, most, first as usize, last as usize] };
        let Some([front, back, gathered, sorted]) = carve::<K>(arena, sizes) else {
            return refuse(format!(
                "group {number} of window {:?} needs {} bytes of memory, but a task has {}; use fewer threads, more memory, \
                 or a shorter --window",
                self.task.order.window,
                sizes.iter().sum::<usize>() * 8 * K,
                self.task.order.memory_bytes
            ));
        };
        let (mut front, mut back) = (front, back);
        {
            let states = if alone { &mut front[..first as usize] } else { &mut *gathered };
            self.gather(number, families, states)?;
        }
        let mut place = 0;
        for family in families {
            self.check_stop()?;
            let started = Instant::now();
            let (before, after) = ends(tables, family);
            if !alone {
                front[..before as usize].copy_from_slice(&gathered[place..place + before as usize]);
                place += before as usize;
            }
            let arch = pulp::Arch::new();
            let entered = Enter { tables, family, rows: &front[..before as usize], moduli: &self.moduli };
            let expected = arch.dispatch(entered);
            arch.dispatch(Passes { tables, family, front: &mut *front, back: &mut *back, moduli: &self.moduli });
            if tables.far.len() % 2 == 1 {
                std::mem::swap(&mut front, &mut back);
            }
            let rows = &front[..after as usize];
            let got = arch.dispatch(Total { rows, moduli: &self.moduli });
            self.balance(number, expected, got)?;
            self.count_states(family);
            self.read_off(family, rows);
            self.times.map_nanos += nanos(started);
            let started = Instant::now();
            self.sample(End::Last, family, rows);
            let target = if alone { &mut back[..] } else { &mut sorted[..] };
            scatter.family(family, rows, target)?;
            self.times.write_nanos += nanos(started);
        }
        let started = Instant::now();
        let rows = scatter.rows() as usize;
        let sorted = if alone { &back[..rows] } else { &sorted[..rows] };
        self.write(&scatter, sorted, group.place)?;
        self.times.write_nanos += nanos(started);
        Ok(())
    }

    fn check_stop(&self) -> Result<(), TaskError> {
        if self.task.stop.load(Ordering::Relaxed) { Err(TaskError::Stopped) } else { Ok(()) }
    }

    /// Fills in the group's states at the start of the window, and takes up the input's tally.
    fn gather(&mut self, number: u32, families: &[Family], states: &mut [Row<K>]) -> Result<(), TaskError> {
        let started = Instant::now();
        let (prepared, task) = (self.prepared, self.task);
        let column = prepared.column();
        let windows = prepared.groups.len();
        let mut expected = [0; K];
        let mut rows = 0;
        let start = families.first().map_or(0, |family| family.start[0]);
        if task.order.from_start {
            states.fill([0; K]);
            let all = prepared.start();
            let from = all.partition_point(|&position| position < start);
            let end = start + states.len() as u64;
            for position in all[from..].iter().take_while(|&&position| position < end) {
                states[(position - start) as usize] = [1; K];
            }
        } else {
            let (groups, sources) =
                (&prepared.groups[self.window], &prepared.groups[(self.window + windows - 1) % windows]);
            let mut gather = Gather::new(column, self.window, groups, sources, number);
            for run in &task.order.inputs {
                self.check_stop()?;
                let read = gather.read(run, &self.header_in, task, states, &self.widen, &self.moduli, &mut expected)?;
                rows += read.rows;
                self.bytes_read += read.bytes;
                task.states_done.fetch_add(read.rows, Ordering::Relaxed);
            }
        }
        // Of two entries for one key one was read.
        let (mut base, mut standing, mut got) = (0, 0, [0; K]);
        for family in families {
            let own = &mut states[base..base + family.size[0] as usize];
            base += own.len();
            let mut place = 0;
            for block in family.blocks.clone() {
                let twins = column.twins(self.window, End::First, block);
                for (entry, &twin) in twins.iter().enumerate() {
                    if usize::from(twin) != entry {
                        own[place + entry] = own[place + usize::from(twin)];
                    }
                }
                let entries = self.tables().signatures[self.tables().signature_of[block as usize] as usize].entries[0];
                place += entries as usize;
            }
            let twins = family.blocks.clone().next().map(|block| column.twins(self.window, End::First, block));
            match twins.filter(|twins| !twins.is_empty()) {
                None => {
                    standing += own.len() as u64;
                    let total = pulp::Arch::new().dispatch(Total { rows: own, moduli: &self.moduli });
                    merge(&mut got, total, &self.moduli);
                }
                Some(twins) => {
                    let mut sum = Weighted::ZERO;
                    for (_, row) in (0..=u16::MAX).zip(&*own).filter(|(entry, _)| stands(&twins, *entry)) {
                        standing += 1;
                        sum.add(1, row);
                    }
                    add_up(&mut got, &sum, &self.moduli);
                }
            }
            self.sample(End::First, family, own);
        }
        if !task.order.from_start {
            if rows != standing {
                return refuse(format!(
                    "group {number} has {standing} states, but its inputs have {rows}; they are not those of one boundary"
                ));
            }
            // What is made follows from what was read.
            let made = self.widen.made();
            expected[made.clone()].copy_from_slice(&got[made]);
            self.balance(number, expected, got)?;
        }
        self.input.states += standing;
        self.input.sums.add_reduced(&got.map(|sum| sum as u64), &self.moduli.values()[..]);
        self.times.read_nanos += nanos(started);
        Ok(())
    }

    /// The sampled states of a family into the fingerprint.
    fn sample(&mut self, end: End, family: &Family, rows: &[Row<K>]) {
        let (column, tables) = (self.prepared.column(), self.tables());
        let step = if end == End::First { 0 } else { tables.states.len() - 1 };
        let (mut entries, mut keys, mut sampled) = (Vec::new(), Vec::new(), Vec::new());
        let mut place = 0;
        let tally = if end == End::First { &mut self.input } else { &mut self.output };
        for block in family.blocks.clone() {
            column.sample(self.window, end, block, &mut entries);
            let twins = column.twins(self.window, end, block);
            entries.retain(|&entry| stands(&twins, entry));
            column.keys_of(self.window, end, block, &entries, &mut keys);
            sampled.clear();
            sampled.extend(entries.iter().flat_map(|&entry| rows[place + usize::from(entry)]));
            tally.add_sample(&keys, &sampled, self.moduli.values());
            place += tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        }
    }

    /// Two sums that must be the same.
    fn balance(&self, group: u32, expected: [u128; K], got: [u128; K]) -> Result<(), TaskError> {
        let order = self.task.order;
        for ((&expected, &got), &modulus) in expected.iter().zip(&got).zip(self.moduli.values()) {
            if expected != got {
                let detail = format!(
                    "group {group} of window {:?}, task {}: expected {expected}, got {got}; the machine or its memory may \
                     be faulty",
                    order.window, order.attempt
                );
                return Err(TaskError::Check { check: "mass balance", pass: order.first_pass, modulus, detail });
            }
        }
        Ok(())
    }

    /// States by their canonical keys before each pass.
    fn count_states(&mut self, family: &Family) {
        let single = self.prepared.column().weight(self.window, family.blocks.start) == 1;
        for (states, &size) in self.states.iter_mut().zip(&family.size) {
            *states += u64::from(if single { size.div_ceil(2) } else { size });
        }
    }

    /// Adds a family's part of the functionals at a column's end: accepting states, each with its weight.
    fn read_off(&mut self, family: &Family, rows: &[Row<K>]) {
        if self.functionals.is_empty() {
            return;
        }
        let (column, tables) = (self.prepared.column(), self.tables());
        let step = tables.states.len() - 1;
        let (mut place, mut total) = (0, [0; K]);
        for block in family.blocks.clone() {
            let mut sum = Weighted::ZERO;
            let weight = column.weight(self.window, block) as u32;
            for &entry in column.accepting(block) {
                sum.add(weight, &rows[place + usize::from(entry)]);
            }
            add_up(&mut total, &sum, &self.moduli);
            place += tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        }
        for (_, sums) in &mut self.functionals {
            merge(sums, total, &self.moduli);
        }
    }

    fn write(&mut self, scatter: &Scatter<'_>, sorted: &[Row<K>], place: u64) -> Result<(), TaskError> {
        let task = self.task;
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
        self.output.states += sorted.len() as u64;
        let total = pulp::Arch::new().dispatch(Total { rows: sorted, moduli: &self.moduli });
        self.output.sums.add_reduced(&total.map(|sum| sum as u64), self.moduli.values());
        self.runs.extend(scatter.write(sorted, place, writer)?);
        Ok(())
    }

    fn finish(self) -> TaskManifest {
        let order = self.task.order;
        let moduli = self.moduli.values();
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
        let own = |(functional, sums): (u32, [u128; K])| FunctionalSum {
            functional,
            lanes: sums.map(|sum| sum as u64).to_vec(),
        };
        let mut functionals: Vec<FunctionalSum> = self.functionals.iter().copied().map(own).collect();
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
fn carve<const K: usize>(arena: &mut [Row<1>], sizes: [usize; 4]) -> Option<[&mut [Row<K>]; 4]> {
    let mut rest = arena.as_flattened_mut().as_chunks_mut::<K>().0;
    let mut pieces = [(); 4].map(|()| &mut [][..]);
    for (piece, size) in pieces.iter_mut().zip(sizes) {
        let (own, later) = rest.split_at_mut_checked(size)?;
        (*piece, rest) = (own, later);
    }
    Some(pieces)
}

fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
