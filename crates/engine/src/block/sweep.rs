//! A whole vector through the windows of a column, in memory.
//!
//! ```text
//!   forward:      vector at the last step of window i-1  --exchange, w passes-->  at the last step of window i
//!   transposed:   vector at the first step of window i+1 --exchange, w passes-->  at the first step of window i
//! ```
//!
//! Families are done by threads, the largest first: each gathers its states out of the vector before, takes them through
//! all passes in two buffers, and writes them to its own part of the vector after. Mass balance is held for every family:
//! the sum of what comes out is the sum over what goes in of value x ways. Forward these are the ways on from a state
//! through the window, which its signature tells; transposed, the ways that lead to it, which a vector of ones tells that
//! is taken through the window once ([`Sweep::arrivals`]).
//!
//! Memory: two vectors, and two buffers of the largest family for each thread. Cost: the passes, and per window 3 to 5 ns
//! a state for the exchange.

use std::ops::Range;
use std::sync::Mutex;

use keima_model::{BlockColumn, BlockTables, End, Family};

use super::BlockError;
use super::kernel::{self, PADDING};
use super::lanes::{MOST_WAYS, Moduli, Row, Weighted};
use super::memory::Rows;

/// Rows whose weighted sum is taken without reducing it.
const WEIGHED_AT_A_TIME: usize = 256;

/// Which way a vector goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first column to the last.
    Forward,
    /// From the accepting states back: how many completions a state has.
    Backward,
}

impl Direction {
    /// At which end of a window its result stands.
    pub(super) fn result_end(self) -> End {
        match self {
            Self::Forward => End::Last,
            Self::Backward => End::First,
        }
    }
}

/// The step of a window at one of its ends.
pub(super) fn step_at(tables: &BlockTables, end: End) -> usize {
    match end {
        End::First => 0,
        End::Last => tables.states.len() - 1,
    }
}

/// What it takes to bring vectors through a column.
pub struct Sweep<'a, const K: usize> {
    column: &'a dyn BlockColumn,
    moduli: Moduli<K>,
    /// Two buffers for each thread.
    buffers: Vec<[Rows<K>; 2]>,
}

impl<'a, const K: usize> Sweep<'a, K> {
    /// Buffers for `threads` threads.
    pub fn new(column: &'a dyn BlockColumn, moduli: Moduli<K>, threads: usize) -> Result<Self, BlockError> {
        let buffer = || Rows::zeroed(Self::buffer_rows(column));
        let buffers = (0..threads.max(1)).map(|_| Ok([buffer()?, buffer()?])).collect::<std::io::Result<_>>()?;
        Ok(Self::with_buffers(column, moduli, buffers))
    }

    /// The same with memory that there is: two buffers of [`Sweep::buffer_rows`] for each thread.
    pub(super) fn with_buffers(column: &'a dyn BlockColumn, moduli: Moduli<K>, buffers: Vec<[Rows<K>; 2]>) -> Self {
        Self { column, moduli, buffers }
    }

    /// The buffers, for other uses.
    pub(super) fn into_buffers(self) -> Vec<[Rows<K>; 2]> {
        self.buffers
    }

    /// Rows of a buffer: the largest family, and padding.
    pub(super) fn buffer_rows(column: &dyn BlockColumn) -> usize {
        let windows = 0..column.windows().len();
        let families = windows.flat_map(|window| &column.tables(window).families);
        families.flat_map(|family| family.size.iter().copied()).max().unwrap_or(0) as usize + PADDING
    }

    /// The moduli.
    pub fn moduli(&self) -> &Moduli<K> {
        &self.moduli
    }

    /// Takes `before` through window number `window` into `after`. `arrivals` are those of the window, for the mass balance
    /// of a transposed vector; without them it is not held.
    pub fn run(
        &mut self,
        direction: Direction,
        window: usize,
        before: &[Row<K>],
        after: &mut [Row<K>],
        arrivals: Option<&[u32]>,
    ) -> Result<(), BlockError> {
        self.run_from(direction, window, Source::Vector(before), after, arrivals)
    }

    /// For each state at the last step of a window the number of ways through the window that lead to it.
    pub fn arrivals(&mut self, window: usize, rows: &mut [Row<K>]) -> Result<Vec<u32>, BlockError> {
        self.run_from(Direction::Forward, window, Source::Ones, rows, None)?;
        let tables = self.column.tables(window);
        let states = tables.states[step_at(tables, End::Last)] as usize;
        rows[..states]
            .iter()
            .map(|row| u32::try_from(row[0]).ok().filter(|ways| *ways < MOST_WAYS).ok_or(BlockError::Arrivals))
            .collect()
    }

    fn run_from(
        &mut self,
        direction: Direction,
        window: usize,
        before: Source<'_, K>,
        after: &mut [Row<K>],
        arrivals: Option<&[u32]>,
    ) -> Result<(), BlockError> {
        let tables = self.column.tables(window);
        let step = step_at(tables, direction.result_end());
        let mut rest = after;
        let mut tasks: Vec<(&Family, &mut [Row<K>])> = Vec::with_capacity(tables.families.len());
        for family in &tables.families {
            let (own, later) = rest.split_at_mut(family.size[step] as usize);
            tasks.push((family, own));
            rest = later;
        }
        // From the end of the list the largest are taken first.
        tasks.sort_by_key(|(family, _)| family.size[step]);
        let tasks = Mutex::new(tasks);
        let place = Place { column: self.column, window, direction, moduli: &self.moduli, before, arrivals };
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .buffers
                .iter_mut()
                .map(|buffers| {
                    let (tasks, place) = (&tasks, &place);
                    scope.spawn(move || {
                        loop {
                            let task = tasks.lock().map_err(|_| BlockError::Poisoned)?.pop();
                            let Some((family, own)) = task else { return Ok(()) };
                            pulp::Arch::new().dispatch(Work { place, family, own, buffers })?;
                        }
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(BlockError::Poisoned)))
        })
    }
}

/// A family's work, to be compiled once for each kind of vector instructions; the machine's widest are chosen at run time.
struct Work<'a, const K: usize> {
    place: &'a Place<'a, K>,
    family: &'a Family,
    own: &'a mut [Row<K>],
    buffers: &'a mut [Rows<K>; 2],
}

impl<const K: usize> pulp::WithSimd for Work<'_, K> {
    type Output = Result<(), BlockError>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        self.place.family(self.family, self.own, self.buffers)
    }
}

/// A stage: all that its families have in common.
struct Place<'a, const K: usize> {
    column: &'a dyn BlockColumn,
    window: usize,
    direction: Direction,
    moduli: &'a Moduli<K>,
    before: Source<'a, K>,
    arrivals: Option<&'a [u32]>,
}

/// What goes into a window.
#[derive(Clone, Copy)]
enum Source<'a, const K: usize> {
    /// A vector, by way of the exchange.
    Vector(&'a [Row<K>]),
    /// 1 for every state.
    Ones,
}

impl<const K: usize> Place<'_, K> {
    #[inline(always)]
    fn family(&self, family: &Family, own: &mut [Row<K>], buffers: &mut [Rows<K>; 2]) -> Result<(), BlockError> {
        let tables = self.column.tables(self.window);
        let passes = tables.far.len();
        let [front, back] = buffers;
        let (mut front, mut back): (&mut [Row<K>], &mut [Row<K>]) = (front, back);
        let taken = self.gather(family, front);
        for i in 0..passes {
            match self.direction {
                Direction::Forward => kernel::forward(tables, family, i, front, back, self.moduli),
                Direction::Backward => kernel::backward(tables, family, passes - 1 - i, front, back, self.moduli),
            }
            std::mem::swap(&mut front, &mut back);
        }
        let rows = &front[..own.len()];
        own.copy_from_slice(rows);
        if self.direction == Direction::Forward || self.arrivals.is_some() {
            self.balance(family.blocks.clone(), taken, rows)?;
        }
        Ok(())
    }

    /// Reads the family's states out of the vector before; the sum of value x ways.
    #[inline(always)]
    fn gather(&self, family: &Family, front: &mut [Row<K>]) -> [u128; K] {
        let tables = self.column.tables(self.window);
        let (mut positions, mut total) = (Vec::new(), [0; K]);
        let end = match self.direction {
            Direction::Forward => End::First,
            Direction::Backward => End::Last,
        };
        let (start, mut place) = (family.start[step_at(tables, end)] as usize, 0);
        for block in family.blocks.clone() {
            self.column.positions(self.window, end, block, &mut positions);
            let rows = &mut front[place..place + positions.len()];
            match self.before {
                Source::Vector(before) => {
                    for (row, &position) in rows.iter_mut().zip(&positions) {
                        *row = before[position as usize];
                    }
                }
                Source::Ones => rows.fill([1; K]),
            }
            let ways: &[u32] = match (self.direction, self.arrivals) {
                (Direction::Forward, _) => &tables.signatures[tables.signature_of[block as usize] as usize].descendants,
                (Direction::Backward, Some(arrivals)) => &arrivals[start + place..],
                (Direction::Backward, None) => &[],
            };
            for (rows, ways) in rows.chunks(WEIGHED_AT_A_TIME).zip(ways.chunks(WEIGHED_AT_A_TIME)) {
                let mut sum = Weighted::ZERO;
                for (row, &ways) in rows.iter().zip(ways) {
                    sum.add(ways, row);
                }
                self.accumulate(&mut total, &sum);
            }
            place += positions.len();
        }
        total
    }

    #[inline(always)]
    fn accumulate(&self, total: &mut [u128; K], sum: &Weighted<K>) {
        for ((total, sum), &modulus) in total.iter_mut().zip(sum.values()).zip(self.moduli.values()) {
            *total = (*total + sum) % u128::from(modulus);
        }
    }

    /// Mass balance: what came out is what went in, each state as often as there are ways through the window.
    #[inline(always)]
    fn balance(&self, blocks: Range<u32>, expected: [u128; K], rows: &[Row<K>]) -> Result<(), BlockError> {
        let mut got = [0; K];
        for rows in rows.chunks(1 << 16) {
            let mut sum = Weighted::ZERO;
            for row in rows {
                sum.add(1, row);
            }
            self.accumulate(&mut got, &sum);
        }
        for ((expected, got), &modulus) in expected.into_iter().zip(got).zip(self.moduli.values()) {
            if expected != got {
                let window = self.column.windows()[self.window];
                return Err(BlockError::Balance { window, blocks, modulus, expected, got });
            }
        }
        Ok(())
    }
}
