//! A whole count in memory: forward to the middle, transposed from the end, and the inner product of the two.
//!
//! ```text
//!   columns   1        2 ...            a | a+1            ...     n
//!             start    forward  ------> f | b <------  transposed  accepting states
//!   lanes     2        2 4 4            4 | 4            4 4 2     2
//! ```
//!
//! Early vectors hold small numbers. Let a board have height m and `choices` ways to fill a cell. After t cells at
//! most choices^(t-m) ways lead to a state, since the state shows its last m cells. With c cells left at most
//! choices^c ways lead on. So a vector begins with one prime and the spare, and gets more lanes when the bound needs
//! them. Widening checks the spare lane of every entry. `plan::scheme` has the primes.
//!
//! Checks:
//!
//! - mass balance of every family and window, in both directions;
//! - each window reads what the window before wrote, modulo the spare;
//! - the spare lane of every entry, at each widening and at the middle;
//! - the inner product at a second boundary, modulo the spare: it compares both directions of the first window;
//! - the count of the shorter board, at each column end that the forward vector passes.
//!
//! Memory: at most 1 forward and 2 transposed vectors at a time. Cost: the passes of n-1 columns.

use keima_model::{Direction, End, Window};
use keima_residue::residue_of;
use keima_runs::Balance;

use crate::block::error::BlockError;
use crate::block::in_memory::count::order::{CountOrder, Counted, TwoCuts, WindowEvidence};
use crate::block::in_memory::count::widening::{AnyRows, widen, with_rows};
use crate::block::in_memory::family::sums::Masses;
use crate::block::in_memory::plan::scheme::Scheme;
use crate::block::in_memory::sweep::{ColumnMail, Sweep};
use crate::block::rows::inner_product::{self, CheckedCount, Vector};
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::tables::{each_block, largest, states_after};
use crate::block::rows::threads::crew;
use crate::block::rows::vector::{RowStore, Rows, Ways};

struct Counter<'a> {
    order: &'a CountOrder<'a>,
    scheme: Scheme,
    states: usize,
    windows: u32,
    done: u32,
    column_mail: ColumnMail,
    /// Free vectors and buffers.
    vectors: RowStore,
    buffers: RowStore,
    /// For each window the ways to each of its states. Empty where all columns are done forward.
    arrivals: Vec<Ways>,
    /// Sums of the forward and of the transposed vector, modulo the spare, once they have passed a window.
    masses_before: [Option<Masses>; 2],
    /// Windows that each vector has passed.
    windows_done: [u64; 2],
    /// The column that a vector passes, from 0.
    column: u32,
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
            column_mail: ColumnMail::new(order.column)?,
            vectors: RowStore::default(),
            buffers: RowStore::default(),
            arrivals: Vec::new(),
            masses_before: [None; 2],
            windows_done: [0; 2],
            column: 0,
            counted: Counted::default(),
        })
    }

    fn moduli<const K: usize>(&self) -> Result<Moduli<K>, BlockError> {
        self.scheme.moduli().ok_or(BlockError::Moduli)
    }

    fn lanes_for(&self, cells: u32) -> Result<usize, BlockError> {
        self.scheme.lanes_for(cells).ok_or(BlockError::TooLong { cells })
    }

    /// Counts the ways through all windows, if a transposed vector will need them. Done before there is any vector:
    /// the memory is used again at the middle.
    fn count_arrivals(&mut self) -> Result<(), BlockError> {
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
        self.count_arrivals()?;
        let middle = self.scheme.middle;
        self.counted.middle = middle;
        let mut forward = AnyRows::Two(self.start()?);
        self.read_column(1, &forward)?;
        for columns in 1..middle {
            self.column = columns;
            forward = self.advance(Direction::Forward, forward, 0..windows, height * (columns - 1))?;
            self.read_column(columns + 1, &forward)?;
        }
        if middle == length {
            return Ok(self.counted);
        }
        let mut transposed = AnyRows::Two(self.accepting()?);
        for left in 0..length - middle {
            let last = left + 1 == length - middle;
            let stop_at = usize::from(last);
            let cells = height * left;
            self.column = length - 1 - left;
            transposed = self.advance(Direction::Transposed, transposed, stop_at..windows, cells)?;
            if last {
                // The same count one window later, modulo the spare: the forward vector passes the window that the
                // transposed one has left.
                let after_window = column.windows()[0].len;
                let ahead = self.ahead(&forward)?;
                let other = self.spare_product(0, &ahead[self.states..], &transposed)?;
                self.vectors.put_back(ahead);
                transposed = self.advance(Direction::Transposed, transposed, 0..1, cells + height - after_window)?;
                let count = self.product(windows - 1, &forward, &transposed)?;
                let what = format!("after column {middle} and {after_window} cells later");
                if other != count.spare {
                    let (modulus, one) = (self.scheme.spare, count.spare);
                    return Err(BlockError::TwoCuts { what, modulus, one, other });
                }
                self.counted.cuts = Some(TwoCuts { modulus: self.scheme.spare, one: count.spare, other });
                self.counted.two_cuts =
                    format!("the inner products of both directions agree {what} modulo {}", self.scheme.spare);
                self.tell(length, &count);
            } else if series {
                let count = self.product(windows - 1, &forward, &transposed)?;
                self.tell(middle + left + 1, &count);
            }
        }
        self.counted.boards.sort();
        Ok(self.counted)
    }

    fn tell(&mut self, columns: u32, sum: &CheckedCount) {
        let others = self.order.moduli.iter().take(self.order.moduli.len() - 1);
        let residues = others.map(|&modulus| residue_of(&sum.count, modulus)).chain([sum.spare]).collect();
        self.counted.boards.push((columns, residues));
    }

    fn read_column(&mut self, columns: u32, forward: &AnyRows) -> Result<(), BlockError> {
        let sum = with_rows!(forward, rows => {
            let moduli = self.moduli()?;
            inner_product::accepted(self.order.column, &Vector { moduli: &moduli, rows })
        })?;
        self.tell(columns, &sum);
        Ok(())
    }

    fn product(&self, window: usize, forward: &AnyRows, transposed: &AnyRows) -> Result<CheckedCount, BlockError> {
        with_rows!(forward, f => with_rows!(transposed, b => {
            let (f_moduli, b_moduli) = (self.moduli()?, self.moduli()?);
            let (f, b) = (Vector { moduli: &f_moduli, rows: f }, Vector { moduli: &b_moduli, rows: b });
            inner_product::product(self.order.column, window, &f, &b, self.order.threads)
        }))
    }

    /// The product of the spare lanes alone.
    fn spare_product(&self, window: usize, forward: &[Row<1>], transposed: &AnyRows) -> Result<u64, BlockError> {
        let spare = self.moduli()?;
        let forward = Vector { moduli: &spare, rows: forward };
        with_rows!(transposed, rows => {
            let moduli = self.moduli()?;
            let transposed = Vector { moduli: &moduli, rows };
            Ok(inner_product::product(self.order.column, window, &forward, &transposed, self.order.threads)?.spare)
        })
    }

    /// Rows of zeros.
    fn zeros<const K: usize>(&mut self) -> Result<Rows<K>, BlockError> {
        let mut rows = self.rows::<K>()?;
        let piece = rows.len().div_ceil(self.order.threads.max(1)).max(1);
        crew(self.order.threads, rows.chunks_mut(piece), |piece| {
            piece.fill([0; K]);
            Ok::<_, BlockError>(())
        })?;
        Ok(rows)
    }

    /// The vector after the first column: each of its states once.
    fn start(&mut self) -> Result<Rows<2>, BlockError> {
        let mut rows = self.zeros()?;
        for position in self.order.column.start(self.order.column.windows().len() - 1, End::Last) {
            rows[position as usize] = [1; 2];
        }
        Ok(rows)
    }

    /// The vector with no cells left: each accepting state has one completion. It stands at the first step of the
    /// first window. Of two entries of one class only the one that the last window reads is set.
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

    /// Takes the spare lane of the forward vector one window beyond the middle. The result follows its source, the
    /// spare lane at the middle, in one mapping: reused memory is faster than new memory. The forward vector itself
    /// is kept.
    fn ahead(&mut self, forward: &AnyRows) -> Result<Rows<1>, BlockError> {
        let mut both = Rows::<1>::from(self.rows::<2>()?);
        let (spares, ahead) = both.split_at_mut(self.states);
        let piece = spares.len().div_ceil(self.order.threads.max(1)).max(1);
        with_rows!(forward, rows => {
            crew(self.order.threads, spares.chunks_mut(piece).zip(rows.chunks(piece)), |(spares, rows)| {
                spares.iter_mut().zip(rows).for_each(|(spare, row)| spare[0] = row[row.len() - 1]);
                Ok::<_, BlockError>(())
            })?;
        });
        let (masses, _) = self.through(Direction::Forward, 0, spares, ahead, self.moduli()?)?;
        masses.hold(self.masses_before[0], self.order.column.windows()[0], self.scheme.spare)?;
        Ok(both)
    }

    /// Takes a vector through windows of a column, forward in their order, transposed in reverse. Its values depend
    /// on `cells` cells. The vector gets more lanes where the next window needs them.
    fn advance(
        &mut self,
        direction: Direction,
        vector: AnyRows,
        windows: std::ops::Range<usize>,
        cells: u32,
    ) -> Result<AnyRows, BlockError> {
        let order: Vec<usize> = match direction {
            Direction::Forward => windows.collect(),
            Direction::Transposed => windows.rev().collect(),
        };
        let mut vector = vector;
        let mut cells = cells;
        for window in order {
            cells += self.order.column.windows()[window].len;
            let lanes = self.lanes_for(cells)?;
            let states = self.states_before(direction, window);
            if let Some(wider) = with_rows!(&vector, rows => self.widened(rows, states, lanes))? {
                self.put_back(std::mem::replace(&mut vector, wider));
            }
            let after = with_rows!(&vector, rows => self.window(direction, window, rows))?;
            self.put_back(std::mem::replace(&mut vector, after));
        }
        Ok(vector)
    }

    /// A vector of the largest size, with arbitrary contents.
    fn rows<const K: usize>(&mut self) -> Result<Rows<K>, BlockError> {
        Ok(self.vectors.take(self.states, self.states * 8 * self.scheme.most_lanes)?)
    }

    fn put_back(&mut self, vector: AnyRows) {
        with_rows!(vector, rows => self.vectors.put_back(rows));
    }

    /// Takes a vector through a window, and compares its sums with the vector before.
    fn window<const K: usize>(
        &mut self,
        direction: Direction,
        window: usize,
        before: &Rows<K>,
    ) -> Result<AnyRows, BlockError>
    where
        AnyRows: From<Rows<K>>,
    {
        let mut after = self.rows::<K>()?;
        let moduli = self.moduli()?;
        let lanes = moduli.values().to_vec();
        let (masses, balance) = self.through(direction, window, before, &mut after, moduli)?;
        let way = usize::from(direction == Direction::Transposed);
        masses.hold(self.masses_before[way], self.order.column.windows()[window], self.scheme.spare)?;
        self.masses_before[way] = Some(masses);
        self.windows_done[way] += 1;
        let Window { first, len } = self.order.column.windows()[window];
        let evidence = WindowEvidence {
            transposed: direction == Direction::Transposed,
            first_pass: self.column * self.order.height + first,
            cells: len,
            moduli: lanes,
            states: states_after(self.order.column, direction, window),
            masses,
            balance,
        };
        match self.counted.evidence.first_mut() {
            Some((_, windows)) => windows.push(evidence),
            None => self.counted.evidence.push((self.order.moduli.to_vec(), vec![evidence])),
        }
        Ok(after.into())
    }

    fn through<const K: usize>(
        &mut self,
        direction: Direction,
        window: usize,
        before: &[Row<K>],
        after: &mut [Row<K>],
        moduli: Moduli<K>,
    ) -> Result<(Masses, Balance), BlockError> {
        (self.order.progress)(self.done, self.windows);
        let windows_done = self.windows_done[usize::from(direction == Direction::Transposed)];
        let mut sweep = self.sweep(moduli)?.after_windows(self.order.salt, windows_done);
        let arrivals = self.arrivals.get(window).map(|ways| &**ways);
        if direction == Direction::Transposed && arrivals.is_none() {
            // There would be no mass balance.
            return Err(BlockError::Order);
        }
        let masses = sweep.run(direction, window, before, after, arrivals)?;
        self.counted.times.add(sweep.times());
        let balance = sweep.balance();
        self.put_back_buffers(sweep);
        self.done += 1;
        let states = &self.order.column.tables(window).states;
        self.counted.state_passes += states.iter().take(states.len() - 1).sum::<u64>();
        Ok((masses, balance))
    }

    fn sweep<const K: usize>(&mut self, moduli: Moduli<K>) -> Result<Sweep<'a, K>, BlockError> {
        let lengths = (0..self.order.threads.max(1)).map(|thread| self.column_mail.buffer_rows(thread));
        let take = |len| self.buffers.take(len, len * 8 * self.scheme.most_lanes);
        let buffers = lengths.map(take).collect::<Result<_, _>>()?;
        Ok(Sweep::with_buffers(self.order.column, moduli, self.column_mail.clone(), buffers, self.order.stop))
    }

    fn put_back_buffers<const K: usize>(&mut self, sweep: Sweep<'_, K>) {
        sweep.into_buffers().into_iter().for_each(|buffer| self.buffers.put_back(buffer));
    }

    /// States of the vector before a window.
    fn states_before(&self, direction: Direction, window: usize) -> usize {
        let (column, windows) = (self.order.column, self.order.column.windows().len());
        let states = match direction {
            Direction::Forward => column.tables((window + windows - 1) % windows).states.last(),
            Direction::Transposed => column.tables((window + 1) % windows).states.first(),
        };
        states.map_or(0, |&states| states as usize)
    }

    /// The vector widened to `lanes` lanes; `None` if it has as many. Rows after its `states` are arbitrary.
    fn widened<const K: usize>(
        &mut self,
        rows: &Rows<K>,
        states: usize,
        lanes: usize,
    ) -> Result<Option<AnyRows>, BlockError> {
        let rows = &rows[..states.min(rows.len())];
        Ok(match lanes {
            _ if lanes <= K => None,
            4 => Some(self.widen_to::<K, 4>(rows)?.into()),
            _ => Some(self.widen_to::<K, 8>(rows)?.into()),
        })
    }

    fn widen_to<const K: usize, const L: usize>(&mut self, rows: &[Row<K>]) -> Result<Rows<L>, BlockError> {
        let (moduli, wide_moduli) = (self.moduli::<K>()?, self.moduli::<L>()?);
        let mut wide = self.rows::<L>()?;
        widen(rows, &moduli, &mut wide, &wide_moduli, self.order.threads)?;
        Ok(wide)
    }
}
