//! A whole count in memory in one direction, some residues at a time. It needs memory for two vectors; `both_ends`
//! needs three.
//!
//! ```text
//!   sweep 0    residues 0 .. K-1     first column --> n-1 columns forward --> counts of all shorter boards on the way
//!   sweep 1    residues K .. 2K-1    ...
//! ```
//!
//! Each lane holds one residue of the job from end to end. Nothing is widened, no entry is checked against a spare
//! lane, and there is no second direction. The checks are those of a count out of core: mass balance of every family,
//! each window reads what the window before wrote, and at the end the spare prime, known values and the formula.
//!
//! Memory: two vectors of K residues, and each thread's mail. Cost: the passes of n-1 columns for each sweep.

use keima_model::{Direction, End, Window};
use keima_runs::TaskTimes;

use crate::block::error::BlockError;
use crate::block::in_memory::count::order::{CountOrder, Counted, SweepEvidence, WindowEvidence};
use crate::block::in_memory::sweep::{ColumnMail, Sweep};
use crate::block::rows::inner_product::{self, Vector};
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::tables::{largest, states_after};
use crate::block::rows::vector::{RowStore, Rows};

/// Keeps the residues of finished sweeps, so that an interrupted count can go on.
pub trait ResidueStore {
    /// The residues modulo `modulus` of all boards, from one column on, if they are known.
    fn find(&self, modulus: u64) -> Option<Vec<u64>>;
    /// Keeps the residues that a sweep has found, for each of its primes, and what its windows have shown.
    fn keep(&mut self, found: &[(u64, Vec<u64>)], evidence: &[WindowEvidence]);
    /// What the windows of kept sweeps have shown, each sweep with its primes.
    fn evidence(&self) -> Vec<SweepEvidence> {
        Vec::new()
    }
}

/// Keeps nothing.
impl ResidueStore for () {
    fn find(&self, _: u64) -> Option<Vec<u64>> {
        None
    }
    fn keep(&mut self, _: &[(u64, Vec<u64>)], _: &[WindowEvidence]) {}
}

/// Counts the board and all shorter ones, `lanes` residues at a time: 1, 2, 4 or 8. Does not count residues that are
/// in `kept`.
pub fn count_forward(order: &CountOrder<'_>, lanes: usize, kept: &mut dyn ResidueStore) -> Result<Counted, BlockError> {
    let lanes = lanes.clamp(1, 8);
    let find = |&modulus: &u64| kept.find(modulus).filter(|boards| boards.len() == order.length as usize);
    let mut found: Vec<Option<Vec<u64>>> = order.moduli.iter().map(find).collect();
    let missing: Vec<usize> = (0..found.len()).filter(|&i| found[i].is_none()).collect();
    let windows = |residues: usize| {
        order.column.windows().len() as u32 * residues.div_ceil(lanes) as u32 * order.length.saturating_sub(1)
    };
    let done = windows(found.len() - missing.len());
    let mut counter = Counter {
        order,
        column_mail: ColumnMail::new(order.column)?,
        states: largest(order.column).0 as usize,
        lanes,
        memory: RowStore::default(),
        done,
        windows: done + windows(missing.len()),
        state_passes: 0,
        times: TaskTimes::default(),
        evidence: Vec::new(),
    };
    let is_wanted = |(moduli, _): &SweepEvidence| {
        moduli.iter().all(|modulus| order.moduli.iter().zip(&found).any(|(m, kept)| m == modulus && kept.is_some()))
    };
    let mut sweeps: Vec<SweepEvidence> = kept.evidence().into_iter().filter(is_wanted).collect();
    for missing in missing.chunks(lanes) {
        let moduli: Vec<u64> = missing.iter().map(|&i| order.moduli[i]).collect();
        let boards = match moduli.len() {
            1 => counter.sweep::<1>(&moduli)?,
            2 => counter.sweep::<2>(&moduli)?,
            3 | 4 => counter.sweep::<4>(&moduli)?,
            _ => counter.sweep::<8>(&moduli)?,
        };
        let evidence = std::mem::take(&mut counter.evidence);
        kept.keep(&boards, &evidence);
        sweeps.push((boards.iter().map(|(modulus, _)| *modulus).collect(), evidence));
        for (&i, (_, boards)) in missing.iter().zip(boards) {
            found[i] = Some(boards);
        }
    }
    let found: Vec<Vec<u64>> = found.into_iter().flatten().collect();
    let board = |columns: u32| (columns, found.iter().map(|boards| boards[columns as usize - 1]).collect());
    Ok(Counted {
        boards: (1..=order.length).map(board).collect(),
        state_passes: counter.state_passes,
        times: counter.times,
        middle: order.length,
        evidence: sweeps,
        cuts: None,
        two_cuts: String::new(),
    })
}

struct Counter<'a> {
    order: &'a CountOrder<'a>,
    column_mail: ColumnMail,
    states: usize,
    lanes: usize,
    memory: RowStore,
    done: u32,
    windows: u32,
    state_passes: u64,
    times: TaskTimes,
    /// Of the windows of the present sweep.
    evidence: Vec<WindowEvidence>,
}

impl Counter<'_> {
    /// Counts all columns modulo `moduli`, at most K of them. Unused lanes repeat the first modulus. Returns for each
    /// prime the residues of all boards.
    fn sweep<const K: usize>(&mut self, moduli: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, BlockError> {
        let order = self.order;
        let row: Row<K> = std::array::from_fn(|lane| moduli.get(lane).or(moduli.first()).copied().unwrap_or(0));
        let lanes = Moduli::new(row).ok_or(BlockError::Moduli)?;
        let (mut before, mut after) = (self.rows::<K>(self.states)?, self.rows::<K>(self.states)?);
        let lengths: Vec<usize> =
            (0..order.threads.max(1)).map(|thread| self.column_mail.buffer_rows(thread)).collect();
        let buffers = lengths.into_iter().map(|len| self.rows::<K>(len)).collect::<Result<_, _>>()?;
        let sweep = Sweep::with_buffers(order.column, lanes, self.column_mail.clone(), buffers, order.stop);
        let mut sweep = sweep.after_windows(order.salt, 0);
        before.fill([0; K]);
        let windows = order.column.windows().len();
        for position in order.column.start(windows - 1, End::Last) {
            before[position as usize] = [1; K];
        }
        let mut found: Vec<(u64, Vec<u64>)> = moduli.iter().map(|&modulus| (modulus, Vec::new())).collect();
        let mut read = |rows: &[Row<K>]| {
            let residues = inner_product::residues(order.column, &Vector { moduli: &lanes, rows });
            found.iter_mut().zip(residues).for_each(|((_, boards), residue)| boards.push(residue));
        };
        read(&before);
        let mut masses_before = None;
        for (column, window) in (1..order.length).flat_map(|column| (0..windows).map(move |window| (column, window))) {
            (order.progress)(self.done, self.windows);
            let masses = sweep.run(Direction::Forward, window, &before, &mut after, None)?;
            masses.hold(masses_before, order.column.windows()[window], row[K - 1])?;
            masses_before = Some(masses);
            let Window { first, len } = order.column.windows()[window];
            self.evidence.push(WindowEvidence {
                transposed: false,
                first_pass: column * order.height + first,
                cells: len,
                moduli: row.to_vec(),
                states: states_after(order.column, Direction::Forward, window),
                masses,
                balance: sweep.balance(),
            });
            std::mem::swap(&mut before, &mut after);
            self.done += 1;
            let states = &order.column.tables(window).states;
            self.state_passes += states.iter().take(states.len() - 1).sum::<u64>();
            if window + 1 == windows {
                read(&before);
            }
        }
        self.times.add(sweep.times());
        for rows in sweep.into_buffers().into_iter().chain([before, after]) {
            self.memory.put_back(rows);
        }
        Ok(found)
    }

    fn rows<const K: usize>(&mut self, len: usize) -> Result<Rows<K>, BlockError> {
        Ok(self.memory.take(len, len * 8 * self.lanes)?)
    }
}
