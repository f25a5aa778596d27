//! A whole count in memory in one direction, some residues at a time: for boards of which two vectors fit, but not the
//! three of [`super::meet`].
//!
//! ```text
//!   sweep 0    residues 0 .. K-1     first column --> n-1 columns forward --> counts of all shorter boards on the way
//!   sweep 1    residues K .. 2K-1    ...
//! ```
//!
//! A lane is one residue of the job from end to end: nothing grows, no entry is held against a spare lane. What is checked
//! is mass balance of every family, and the spare prime, values and formula at the end, as out of core.
//!
//! Memory: two vectors of K residues and each thread's mail. Cost: for each sweep n-1 columns, at 2 (K = 1) to 10 ns (K = 8)
//! of one thread a state and pass.

use keima_model::End;

use super::BlockError;
use super::bytes::largest;
use super::inner::{self, Vector};
use super::lanes::{Moduli, Row};
use super::meet::{CountOrder, Counted};
use super::memory::{Pool, Rows};
use super::sweep::{Direction, Mails, Sweep};

/// Counts the board and all shorter ones, `lanes` residues at a time: 1, 2, 4 or 8.
pub fn count_forward(order: &CountOrder<'_>, lanes: usize) -> Result<Counted, BlockError> {
    let lanes = lanes.clamp(1, 8);
    let mut counter = Counter {
        order,
        mails: Mails::new(order.column)?,
        states: largest(order.column).0 as usize,
        lanes,
        memory: Pool::default(),
        done: 0,
        windows: (order.column.windows().len() * order.moduli.len().div_ceil(lanes)) as u32
            * order.length.saturating_sub(1),
        counted: Counted {
            boards: (1..=order.length).map(|columns| (columns, Vec::new())).collect(),
            ..Counted::default()
        },
    };
    for moduli in order.moduli.chunks(lanes) {
        match moduli.len() {
            1 => counter.sweep::<1>(moduli)?,
            2 => counter.sweep::<2>(moduli)?,
            3 | 4 => counter.sweep::<4>(moduli)?,
            _ => counter.sweep::<8>(moduli)?,
        }
    }
    counter.counted.middle = order.length;
    Ok(counter.counted)
}

struct Counter<'a> {
    order: &'a CountOrder<'a>,
    mails: Mails,
    states: usize,
    lanes: usize,
    memory: Pool,
    done: u32,
    windows: u32,
    counted: Counted,
}

impl Counter<'_> {
    /// All columns with the residues of `moduli`, at most K of them: lanes beyond do the first once more.
    fn sweep<const K: usize>(&mut self, moduli: &[u64]) -> Result<(), BlockError> {
        let order = self.order;
        let row: Row<K> = std::array::from_fn(|lane| moduli.get(lane).or(moduli.first()).copied().unwrap_or(0));
        let lanes = Moduli::new(row).ok_or(BlockError::Moduli)?;
        let (mut before, mut after) = (self.rows::<K>(self.states)?, self.rows::<K>(self.states)?);
        let len = self.mails.buffer_rows();
        let buffers = (0..order.threads.max(1)).map(|_| self.rows::<K>(len)).collect::<Result<_, _>>()?;
        let mut sweep = Sweep::with_buffers(order.column, lanes, self.mails.clone(), buffers, order.stop);
        before.fill([0; K]);
        let windows = order.column.windows().len();
        for position in order.column.start(windows - 1, End::Last) {
            before[position as usize] = [1; K];
        }
        for columns in 1..=order.length {
            if columns > 1 {
                for window in 0..windows {
                    (order.progress)(self.done, self.windows);
                    sweep.run(Direction::Forward, window, &before, &mut after, None)?;
                    std::mem::swap(&mut before, &mut after);
                    self.done += 1;
                    let states = &order.column.tables(window).states;
                    self.counted.state_passes += states.iter().take(states.len() - 1).sum::<u64>();
                }
            }
            let residues = inner::residues(order.column, &Vector { moduli: &lanes, rows: &before });
            self.counted.boards[columns as usize - 1].1.extend(&residues[..moduli.len()]);
        }
        for rows in sweep.into_buffers().into_iter().chain([before, after]) {
            self.memory.put_back(rows);
        }
        Ok(())
    }

    fn rows<const K: usize>(&mut self, len: usize) -> Result<Rows<K>, BlockError> {
        Ok(self.memory.take(len, len * 8 * self.lanes)?)
    }
}
