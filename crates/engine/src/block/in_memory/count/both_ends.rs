//! A whole count in memory: forward to the middle, transposed from the end, and the inner product of the two.
//!
//! ```text
//!   columns   1        2 ...            a | a+1            ...     n
//!             start    forward  ------> f | b <------  transposed  accepting states
//!   lanes     2        2 4 4            4 | 4            4 4 2     2
//! ```
//!
//! Early vectors hold small numbers: after t cells a state has been reached in at most 3^(t-m) ways (for Go: the
//! colours of its own m cells are known), and with c cells to go there are at most 3^c ways on. So a vector begins with
//! one prime and the spare, and gets more lanes when the bound asks for them; every entry is held against its spare
//! lane then. The bound is the problem's, per cell ([`crate::block::in_memory::plan::scheme`]).
//!
//! Checks: mass balance of every family and window, in both directions; that each window reads what the one before
//! wrote, modulo the spare; the spare lane of every entry, at each growth and at the middle; the inner product once more
//! at a second boundary, modulo the spare, which holds the first window's two directions against each other; and at each
//! column end that the forward vector passes, the count of the shorter board.
//!
//! Memory: at most 1 forward and 2 transposed vectors at a time. Cost: n-1 columns at 2 to 6 ns a state and pass.

use keima_model::{Direction, End};
use keima_residue::residue_of;

use crate::block::error::BlockError;
use crate::block::in_memory::count::order::{CountOrder, Counted};
use crate::block::in_memory::count::widening::{Lanes, widen, with_rows};
use crate::block::in_memory::family::sums::Masses;
use crate::block::in_memory::plan::scheme::Scheme;
use crate::block::in_memory::sweep::{Mails, Sweep};
use crate::block::rows::inner_product::{self, Sum, Vector};
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::tables::each_block;
use crate::block::rows::tables::largest;
use crate::block::rows::vector::{Pool, Rows, Ways};

struct Counter<'a> {
    order: &'a CountOrder<'a>,
    scheme: Scheme,
    states: usize,
    windows: u32,
    done: u32,
    mails: Mails,
    /// Vectors and buffers that are free.
    vectors: Pool,
    buffers: Pool,
    /// For each window the ways that lead to each of its states; none where all columns are done forward.
    arrivals: Vec<Ways>,
    /// Of the forward and of the transposed vector, once they have been through a window: what their states add up to,
    /// modulo the spare.
    standing: [Option<Masses>; 2],
    /// Windows that each has gone through.
    turns: [u64; 2],
    counted: Counted,
}

/// Counts the board.
pub fn count(order: &CountOrder<'_>) -> Result<Counted, BlockError> {
    Counter::new(order)?.run()
}

impl<'a> Counter<'a> {
    fn new(order: &'a CountOrder<'a>) -> Result<Self, BlockError> {
        let CountOrder { choices, height, length, moduli, .. } = *order;
        let too_long = || BlockError::TooLong { cells: height * (length / 2) };
        let scheme = Scheme::new(moduli, choices, height, length)?.ok_or_else(too_long)?;
        let (states, _) = largest(order.column);
        let windows = order.column.windows().len() as u32 * order.length.saturating_sub(1);
        let states = states as usize;
        Ok(Self {
            order,
            scheme,
            states,
            windows,
            done: 0,
            mails: Mails::new(order.column)?,
            vectors: Pool::default(),
            buffers: Pool::default(),
            arrivals: Vec::new(),
            standing: [None; 2],
            turns: [0; 2],
            counted: Counted::default(),
        })
    }

    fn moduli<const K: usize>(&self) -> Result<Moduli<K>, BlockError> {
        self.scheme.moduli().ok_or(BlockError::Moduli)
    }

    fn lanes_for(&self, cells: u32) -> Result<usize, BlockError> {
        self.scheme.lanes_for(cells).ok_or(BlockError::TooLong { cells })
    }

    /// The ways through all windows, if a transposed vector will go through them. In one place, before there is any vector;
    /// what they take is taken at the middle, too.
    fn look_ahead(&mut self) -> Result<(), BlockError> {
        if self.scheme.middle == self.order.length {
            return Ok(());
        }
        (self.order.progress)(self.done, self.windows);
        for window in 0..self.order.column.windows().len() {
            let mut rows = self.rows::<1>()?;
            let mut sweep = self.sweep(self.moduli()?)?;
            self.arrivals.push(sweep.arrivals(window, &mut rows)?);
            self.put_back_buffers(sweep);
            self.vectors.put_back(rows);
        }
        Ok(())
    }

    fn run(mut self) -> Result<Counted, BlockError> {
        let CountOrder { column, height, length, series, .. } = *self.order;
        let windows = column.windows().len();
        self.look_ahead()?;
        let middle = self.scheme.middle;
        self.counted.middle = middle;
        let mut forward = Lanes::Two(self.start()?);
        self.read_column(1, &forward)?;
        for columns in 1..middle {
            forward = self.advance(Direction::Forward, forward, 0..windows, height * (columns - 1))?;
            self.read_column(columns + 1, &forward)?;
        }
        if middle == length {
            return Ok(self.counted);
        }
        let mut backward = Lanes::Two(self.accepting()?);
        for left in 0..length - middle {
            let last = left + 1 == length - middle;
            let stop_at = usize::from(last);
            let cells = height * left;
            backward = self.advance(Direction::Backward, backward, stop_at..windows, cells)?;
            if last {
                // The same count one window on, modulo the spare: the forward vector through the window that the
                // transposed one has left.
                let after_window = column.windows()[0].len;
                let ahead = self.ahead(&forward)?;
                let other = self.spare_product(0, &ahead[self.states..], &backward)?;
                self.vectors.put_back(ahead);
                backward = self.advance(Direction::Backward, backward, 0..1, cells + height - after_window)?;
                let count = self.product(windows - 1, &forward, &backward)?;
                let what = format!("after column {middle} and {after_window} cells later");
                if other != count.spare {
                    let (modulus, one) = (self.scheme.spare, count.spare);
                    return Err(BlockError::TwoCuts { what, modulus, one, other });
                }
                self.counted.two_cuts =
                    format!("the inner products of both directions agree {what} modulo {}", self.scheme.spare);
                self.tell(length, &count);
            } else if series {
                let count = self.product(windows - 1, &forward, &backward)?;
                self.tell(middle + left + 1, &count);
            }
        }
        self.counted.boards.sort();
        Ok(self.counted)
    }

    fn tell(&mut self, columns: u32, sum: &Sum) {
        let others = self.order.moduli.iter().take(self.order.moduli.len() - 1);
        let residues = others.map(|&modulus| residue_of(&sum.count, modulus)).chain([sum.spare]).collect();
        self.counted.boards.push((columns, residues));
    }

    fn read_column(&mut self, columns: u32, forward: &Lanes) -> Result<(), BlockError> {
        let sum = with_rows!(forward, rows => {
            let moduli = self.moduli()?;
            inner_product::accepted(self.order.column, &Vector { moduli: &moduli, rows })
        })?;
        self.tell(columns, &sum);
        Ok(())
    }

    fn product(&self, window: usize, forward: &Lanes, backward: &Lanes) -> Result<Sum, BlockError> {
        with_rows!(forward, f => with_rows!(backward, b => {
            let (f_moduli, b_moduli) = (self.moduli()?, self.moduli()?);
            let (f, b) = (Vector { moduli: &f_moduli, rows: f }, Vector { moduli: &b_moduli, rows: b });
            inner_product::product(self.order.column, window, &f, &b, self.order.threads)
        }))
    }

    /// The same of the spare lanes alone.
    fn spare_product(&self, window: usize, forward: &[Row<1>], backward: &Lanes) -> Result<u64, BlockError> {
        let spare = self.moduli()?;
        let forward = Vector { moduli: &spare, rows: forward };
        with_rows!(backward, rows => {
            let moduli = self.moduli()?;
            let backward = Vector { moduli: &moduli, rows };
            Ok(inner_product::product(self.order.column, window, &forward, &backward, self.order.threads)?.spare)
        })
    }

    /// Rows of zeros.
    fn zeros<const K: usize>(&mut self) -> Result<Rows<K>, BlockError> {
        let mut rows = self.rows::<K>()?;
        let piece = rows.len().div_ceil(self.order.threads.max(1)).max(1);
        std::thread::scope(|scope| rows.chunks_mut(piece).for_each(|piece| drop(scope.spawn(|| piece.fill([0; K])))));
        Ok(rows)
    }

    /// After the first column: each colour pattern once.
    fn start(&mut self) -> Result<Rows<2>, BlockError> {
        let mut rows = self.zeros()?;
        for position in self.order.column.start(self.order.column.windows().len() - 1, End::Last) {
            rows[position as usize] = [1; 2];
        }
        Ok(rows)
    }

    /// With nothing to go: each accepting state is completed in one way. Stands at the first step of the first window;
    /// of two entries of one class there only the one that the last window looks at is set.
    fn accepting(&mut self) -> Result<Rows<2>, BlockError> {
        let column = self.order.column;
        let window = column.windows().len() - 1;
        let mut rows = self.zeros()?;
        let mut positions = Vec::new();
        each_block(column.tables(window), |block, _| {
            if !column.accepting(block).is_empty() {
                column.positions(window, End::Last, block, &mut positions);
                for &entry in column.accepting(block) {
                    rows[positions[usize::from(entry)] as usize] = [1; 2];
                }
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// The spare lane of the forward vector, which is kept, one window beyond the middle.
    /// In one piece of memory behind what it is made from, that lane at the middle: to touch memory for the first time
    /// takes longer than all that is done in it.
    fn ahead(&mut self, forward: &Lanes) -> Result<Rows<1>, BlockError> {
        let mut both = Rows::<1>::from(self.rows::<2>()?);
        let (spares, ahead) = both.split_at_mut(self.states);
        let piece = spares.len().div_ceil(self.order.threads.max(1)).max(1);
        with_rows!(forward, rows => std::thread::scope(|scope| {
            for (spares, rows) in spares.chunks_mut(piece).zip(rows.chunks(piece)) {
                scope.spawn(move || spares.iter_mut().zip(rows).for_each(|(spare, row)| spare[0] = row[row.len() - 1]));
            }
        }));
        let masses = self.through(Direction::Forward, 0, spares, ahead, self.moduli()?)?;
        masses.hold(self.standing[0], self.order.column.windows()[0], self.scheme.spare)?;
        Ok(both)
    }

    /// Takes a vector through the windows of a column, forward in their order, transposed in the opposite one. Its
    /// numbers are those of `cells` cells so far; more lanes are given where the next window asks for them.
    fn advance(
        &mut self,
        direction: Direction,
        vector: Lanes,
        windows: std::ops::Range<usize>,
        cells: u32,
    ) -> Result<Lanes, BlockError> {
        let order: Vec<usize> = match direction {
            Direction::Forward => windows.collect(),
            Direction::Backward => windows.rev().collect(),
        };
        let mut vector = vector;
        let mut cells = cells;
        for window in order {
            cells += self.order.column.windows()[window].len;
            let lanes = self.lanes_for(cells)?;
            let states = self.states_before(direction, window);
            if let Some(grown) = with_rows!(&vector, rows => self.grown(rows, states, lanes))? {
                self.put_back(std::mem::replace(&mut vector, grown));
            }
            let after = with_rows!(&vector, rows => self.window(direction, window, rows))?;
            self.put_back(std::mem::replace(&mut vector, after));
        }
        Ok(vector)
    }

    /// A vector of the largest size, with anything in it.
    fn rows<const K: usize>(&mut self) -> Result<Rows<K>, BlockError> {
        Ok(self.vectors.take(self.states, self.states * 8 * self.scheme.most_lanes)?)
    }

    fn put_back(&mut self, vector: Lanes) {
        with_rows!(vector, rows => self.vectors.put_back(rows));
    }

    /// A vector through a window.
    fn window<const K: usize>(
        &mut self,
        direction: Direction,
        window: usize,
        before: &Rows<K>,
    ) -> Result<Lanes, BlockError>
    where
        Lanes: From<Rows<K>>,
    {
        let mut after = self.rows::<K>()?;
        let moduli = self.moduli()?;
        let masses = self.through(direction, window, before, &mut after, moduli)?;
        let way = usize::from(direction == Direction::Backward);
        masses.hold(self.standing[way], self.order.column.windows()[window], self.scheme.spare)?;
        self.standing[way] = Some(masses);
        self.turns[way] += 1;
        Ok(after.into())
    }

    fn through<const K: usize>(
        &mut self,
        direction: Direction,
        window: usize,
        before: &[Row<K>],
        after: &mut [Row<K>],
        moduli: Moduli<K>,
    ) -> Result<Masses, BlockError> {
        (self.order.progress)(self.done, self.windows);
        let turn = self.turns[usize::from(direction == Direction::Backward)];
        let mut sweep = self.sweep(moduli)?.at_turn(self.order.salt, turn);
        let arrivals = self.arrivals.get(window).map(|ways| &**ways);
        if direction == Direction::Backward && arrivals.is_none() {
            // There would be no mass balance.
            return Err(BlockError::Order);
        }
        let masses = sweep.run(direction, window, before, after, arrivals)?;
        self.counted.times.add(sweep.times());
        self.put_back_buffers(sweep);
        self.done += 1;
        let states = &self.order.column.tables(window).states;
        self.counted.state_passes += states.iter().take(states.len() - 1).sum::<u64>();
        Ok(masses)
    }

    fn sweep<const K: usize>(&mut self, moduli: Moduli<K>) -> Result<Sweep<'a, K>, BlockError> {
        let lengths = (0..self.order.threads.max(1)).map(|thread| self.mails.buffer_rows(thread));
        let take = |len| self.buffers.take(len, len * 8 * self.scheme.most_lanes);
        let buffers = lengths.map(take).collect::<std::io::Result<_>>()?;
        Ok(Sweep::with_buffers(self.order.column, moduli, self.mails.clone(), buffers, self.order.stop))
    }

    fn put_back_buffers<const K: usize>(&mut self, sweep: Sweep<'_, K>) {
        sweep.into_buffers().into_iter().for_each(|buffer| self.buffers.put_back(buffer));
    }

    /// States of the vector that goes into a window.
    fn states_before(&self, direction: Direction, window: usize) -> usize {
        let (column, windows) = (self.order.column, self.order.column.windows().len());
        let states = match direction {
            Direction::Forward => column.tables((window + windows - 1) % windows).states.last(),
            Direction::Backward => column.tables((window + 1) % windows).states.first(),
        };
        states.map_or(0, |&states| states as usize)
    }

    /// The vector with `lanes` lanes; `None` if it has as many. Beyond its `states` there may be anything.
    fn grown<const K: usize>(
        &mut self,
        rows: &Rows<K>,
        states: usize,
        lanes: usize,
    ) -> Result<Option<Lanes>, BlockError> {
        let rows = &rows[..states.min(rows.len())];
        Ok(match lanes {
            _ if lanes <= K => None,
            4 => Some(self.grow::<K, 4>(rows)?.into()),
            _ => Some(self.grow::<K, 8>(rows)?.into()),
        })
    }

    fn grow<const K: usize, const L: usize>(&mut self, rows: &[Row<K>]) -> Result<Rows<L>, BlockError> {
        let (moduli, wider) = (self.moduli::<K>()?, self.moduli::<L>()?);
        let mut grown = self.rows::<L>()?;
        widen(rows, &moduli, &mut grown, &wider, self.order.threads)?;
        Ok(grown)
    }
}
