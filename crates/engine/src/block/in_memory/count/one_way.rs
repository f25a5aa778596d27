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
use crate::block::in_memory::count::order::{CountOrder, Counted, WindowEvidence};
use crate::block::in_memory::count::residues::{ResidueStore, Residues};
use crate::block::in_memory::sweep::{ColumnMail, Sweep};
use crate::block::rows::inner_product::{self, Vector};
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::tables::{largest, states_after};
use crate::block::rows::vector::{RowStore, Rows};

/// Counts the board and all shorter ones, `lanes` residues at a time: 1, 2, 4 or 8. Does not count residues that are
/// in `kept`.
pub fn count_forward(order: &CountOrder<'_>, lanes: usize, kept: &mut dyn ResidueStore) -> Result<Counted, BlockError> {
    let lanes = lanes.clamp(1, 8);
    let mut residues = Residues::new(order.moduli, order.length, kept);
    let windows = |residues: usize| {
        order.column.windows().len() as u32 * residues.div_ceil(lanes) as u32 * order.length.saturating_sub(1)
    };
    let done = windows(residues.known());
    let mut counter = Counter {
        order,
        column_mail: ColumnMail::new(order.column)?,
        states: largest(order.column).0 as usize,
        lanes,
        memory: RowStore::default(),
        done,
        windows: done + windows(residues.missing()),
        state_passes: 0,
        times: TaskTimes::default(),
        evidence: Vec::new(),
    };
    residues.sweep(lanes, |moduli| {
        let boards = match moduli.len() {
            1 => counter.sweep::<1>(moduli)?,
            2 => counter.sweep::<2>(moduli)?,
            3 | 4 => counter.sweep::<4>(moduli)?,
            _ => counter.sweep::<8>(moduli)?,
        };
        Ok((boards, std::mem::take(&mut counter.evidence)))
    })?;
    Ok(residues.counted(counter.state_passes, counter.times))
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
