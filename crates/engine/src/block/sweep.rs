//! A whole vector through the windows of a column, in memory.
//!
//! ```text
//!   forward:      vector at the last step of window i-1  --exchange, w passes-->  at the last step of window i
//!   transposed:   vector at the first step of window i+1 --exchange, w passes-->  at the first step of window i
//! ```
//!
//! Families are done by threads, the largest first. Each block is gathered out of the vector before, taken through all
//! passes at once ([`super::fused`]), and written to its place in the vector after. Mass balance is held for every family:
//! the sum of what comes out is the sum over what goes in of value x ways. Forward these are the ways on from a state
//! through the window, which its signature tells; transposed, the ways that lead to it, which a vector of ones tells that
//! is taken through the window once ([`Sweep::arrivals`]).
//!
//! Memory: two vectors, and for each thread the mail of the largest family, 2 to 3.5 times its rows. Cost: the passes, and
//! per window 3 to 5 ns a state for the exchange.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use keima_model::{BlockColumn, BlockTables, End, Family, MOST_ENTRIES};

use super::BlockError;
use super::fused::{Block, Fused};
use super::lanes::{MOST_WAYS, Moduli, Row, Weighted};
use super::mail::Mail;
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

/// Where the mail of each window of a column lies, for sweeps of any number of lanes.
#[derive(Clone, Debug)]
pub(super) struct Mails(Arc<[Mail]>);

impl Mails {
    pub(super) fn new(column: &dyn BlockColumn) -> Result<Self, BlockError> {
        let mails: Result<Vec<Mail>, _> =
            (0..column.windows().len()).map(|window| Mail::new(column.tables(window))).collect();
        Ok(Self(mails?.into()))
    }

    /// Rows of a thread's buffer: two blocks, and the largest mail.
    pub(super) fn buffer_rows(&self) -> usize {
        2 * MOST_ENTRIES + self.0.iter().map(Mail::most_rows).max().unwrap_or(0)
    }
}

/// What it takes to bring vectors through a column.
pub struct Sweep<'a, const K: usize> {
    column: &'a dyn BlockColumn,
    moduli: Moduli<K>,
    mails: Mails,
    /// One for each thread.
    buffers: Vec<Rows<K>>,
    stop: &'a AtomicBool,
}

impl<'a, const K: usize> Sweep<'a, K> {
    /// Buffers for `threads` threads.
    pub fn new(column: &'a dyn BlockColumn, moduli: Moduli<K>, threads: usize) -> Result<Self, BlockError> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let mails = Mails::new(column)?;
        let rows = mails.buffer_rows();
        let buffers = (0..threads.max(1)).map(|_| Rows::zeroed(rows)).collect::<std::io::Result<_>>()?;
        Ok(Self { column, moduli, mails, buffers, stop: &NEVER })
    }

    /// The same with memory that there is: one buffer of [`Mails::buffer_rows`] for each thread; `stop` is looked at
    /// before each block.
    pub(super) fn with_buffers(
        column: &'a dyn BlockColumn,
        moduli: Moduli<K>,
        mails: Mails,
        buffers: Vec<Rows<K>>,
        stop: &'a AtomicBool,
    ) -> Self {
        Self { column, moduli, mails, buffers, stop }
    }

    /// The buffers, for other uses.
    pub(super) fn into_buffers(self) -> Vec<Rows<K>> {
        self.buffers
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
        let fused = Fused { tables, mail: &self.mails.0[window], moduli: &self.moduli };
        let place = Place { column: self.column, window, direction, fused, before, arrivals, stop: self.stop };
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .buffers
                .iter_mut()
                .map(|buffer| {
                    let (tasks, place) = (&tasks, &place);
                    scope.spawn(move || {
                        loop {
                            let task = tasks.lock().map_err(|_| BlockError::Poisoned)?.pop();
                            let Some((family, own)) = task else { return Ok(()) };
                            pulp::Arch::new().dispatch(Work { place, family, own, buffer })?;
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
    buffer: &'a mut [Row<K>],
}

impl<const K: usize> pulp::WithSimd for Work<'_, K> {
    type Output = Result<(), BlockError>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        self.place.family(self.family, self.own, self.buffer)
    }
}

/// A stage: all that its families have in common.
struct Place<'a, const K: usize> {
    column: &'a dyn BlockColumn,
    window: usize,
    direction: Direction,
    fused: Fused<'a, K>,
    before: Source<'a, K>,
    arrivals: Option<&'a [u32]>,
    stop: &'a AtomicBool,
}

/// What goes into a window.
#[derive(Clone, Copy)]
enum Source<'a, const K: usize> {
    /// A vector, by way of the exchange.
    Vector(&'a [Row<K>]),
    /// 1 for every state.
    Ones,
}

impl<const K: usize> Source<'_, K> {
    #[inline(always)]
    fn row(&self, position: u64) -> Row<K> {
        match self {
            Self::Vector(before) => before[position as usize],
            Self::Ones => [1; K],
        }
    }
}

/// What went into a family and what came out, modulo each prime.
struct Sums<const K: usize> {
    taken: [u128; K],
    given: [u128; K],
}

impl<const K: usize> Place<'_, K> {
    #[inline(always)]
    fn family(&self, family: &Family, own: &mut [Row<K>], buffer: &mut [Row<K>]) -> Result<(), BlockError> {
        let Some((x, rest)) = buffer.split_first_chunk_mut::<MOST_ENTRIES>() else { return Err(BlockError::Order) };
        let Some((y, mail)) = rest.split_first_chunk_mut::<MOST_ENTRIES>() else { return Err(BlockError::Order) };
        let mut sums = Sums { taken: [0; K], given: [0; K] };
        let mut positions = Vec::new();
        match self.direction {
            Direction::Forward => {
                self.fill_early(family, &mut positions, mail);
                for block in family.blocks.clone().rev() {
                    self.gather(family, block, &mut positions, x, &mut sums)?;
                    let rows = self.fused.forward(block, x, y, mail);
                    self.give(block, rows, own, &mut sums);
                }
            }
            Direction::Backward => {
                for block in family.blocks.clone() {
                    self.gather(family, block, &mut positions, x, &mut sums)?;
                    let rows = self.fused.backward(block, x, y, mail);
                    self.give(block, rows, own, &mut sums);
                }
                self.add_early(family, mail, own, &mut sums);
            }
        }
        if self.direction == Direction::Forward || self.arrivals.is_some() {
            self.balance(family.blocks.clone(), &sums)?;
        }
        Ok(())
    }

    /// The end of the window at which the vector before is read.
    fn end(&self) -> End {
        match self.direction {
            Direction::Forward => End::First,
            Direction::Backward => End::Last,
        }
    }

    /// Reads the block's states out of the vector before, and takes up the sum of value x ways.
    #[inline(always)]
    fn gather(
        &self,
        family: &Family,
        block: u32,
        positions: &mut Vec<u64>,
        rows: &mut Block<K>,
        sums: &mut Sums<K>,
    ) -> Result<(), BlockError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BlockError::Stopped);
        }
        let tables = self.fused.tables;
        let signature = &tables.signatures[tables.signature_of[block as usize] as usize];
        let step = step_at(tables, self.end());
        let rows = &mut rows[..signature.entries[step] as usize];
        match self.before {
            Source::Vector(before) => {
                self.column.positions(self.window, self.end(), block, positions);
                if positions.len() != rows.len() {
                    return Err(BlockError::Order);
                }
                for (row, &position) in rows.iter_mut().zip(&*positions) {
                    *row = before[position as usize];
                }
            }
            Source::Ones => rows.fill([1; K]),
        }
        let ways: &[u32] = match (self.direction, self.arrivals) {
            (Direction::Forward, _) => &signature.descendants,
            (Direction::Backward, Some(arrivals)) => {
                &arrivals[family.start[step] as usize + tables.base[step][block as usize] as usize..]
            }
            (Direction::Backward, None) => &[],
        };
        for (rows, ways) in rows.chunks(WEIGHED_AT_A_TIME).zip(ways.chunks(WEIGHED_AT_A_TIME)) {
            let mut sum = Weighted::ZERO;
            for (row, &ways) in rows.iter().zip(ways) {
                sum.add(ways, row);
            }
            self.accumulate(&mut sums.taken, &sum);
        }
        Ok(())
    }

    /// Puts the block's rows where they belong in the vector after.
    #[inline(always)]
    fn give(&self, block: u32, rows: &Block<K>, own: &mut [Row<K>], sums: &mut Sums<K>) {
        let tables = self.fused.tables;
        let step = step_at(tables, self.direction.result_end());
        let entries = tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        let rows = &rows[..entries];
        own[tables.base[step][block as usize] as usize..][..entries].copy_from_slice(rows);
        let mut sum = Weighted::ZERO;
        for row in rows {
            sum.add(1, row);
        }
        self.accumulate(&mut sums.given, &sum);
    }

    /// The mail of the early operations, out of the vector before.
    #[inline(always)]
    fn fill_early(&self, family: &Family, positions: &mut Vec<u64>, mail: &mut [Row<K>]) {
        let mut entries = Vec::new();
        for &block in self.fused.mail.early(family) {
            for (place, far) in self.fused.early(block) {
                entries.clear();
                entries.extend(far.pairs.iter().map(|&(from, _)| from));
                self.column.positions_of(self.window, End::First, block, &entries, positions);
                for (row, &position) in mail[place..].iter_mut().zip(&*positions) {
                    *row = self.before.row(position);
                }
            }
        }
    }

    /// The mail of the early operations into the vector after.
    #[inline(always)]
    fn add_early(&self, family: &Family, mail: &[Row<K>], own: &mut [Row<K>], sums: &mut Sums<K>) {
        for &block in self.fused.mail.early(family) {
            let own = &mut own[self.fused.tables.base[0][block as usize] as usize..];
            for (place, far) in self.fused.early(block) {
                let mut sum = Weighted::ZERO;
                for (&(from, _), value) in far.pairs.iter().zip(&mail[place..]) {
                    self.fused.put(&mut own[usize::from(from)], value);
                    sum.add(1, value);
                }
                self.accumulate(&mut sums.given, &sum);
            }
        }
    }

    #[inline(always)]
    fn accumulate(&self, total: &mut [u128; K], sum: &Weighted<K>) {
        for ((total, sum), &modulus) in total.iter_mut().zip(sum.values()).zip(self.fused.moduli.values()) {
            *total = (*total + sum) % u128::from(modulus);
        }
    }

    /// Mass balance: what came out is what went in, each state as often as there are ways through the window.
    fn balance(&self, blocks: Range<u32>, sums: &Sums<K>) -> Result<(), BlockError> {
        for ((&expected, &got), &modulus) in sums.taken.iter().zip(&sums.given).zip(self.fused.moduli.values()) {
            if expected != got {
                let window = self.column.windows()[self.window];
                return Err(BlockError::Balance { window, blocks, modulus, expected, got });
            }
        }
        Ok(())
    }
}
