//! A whole count over bracket words, some residues at a time.
//!
//! ```text
//!   sweep 0    residues 0 .. K-1     first column --> n-1 columns --> counts of all shorter boards on the way
//!   sweep 1    residues K .. 2K-1    ...
//! ```
//!
//! The checks: mass balance of each column, each column reads what the one before wrote, and at the end the spare prime
//! and known values.
//!
//! Memory: a vector of K residues with its new pairs, and the ways. Cost: the cells of n-1 columns for each sweep.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use keima_blocks::brackets::width;
use keima_model::{FirstColumn, Key, Reading, Window};
use keima_runs::{Balance, TaskTimes};

use super::column::{Vector, Way};
use super::laws::totals;
use super::tables::BracketTables;
use super::ways::ways;
use crate::block::error::BlockError;
use crate::block::in_memory::count::order::{Counted, WindowEvidence};
use crate::block::in_memory::count::residues::{ResidueStore, Residues};
use crate::block::in_memory::family::sums::Masses;
use crate::block::rows::lanes::{Moduli, Row, of_width};
use crate::block::rows::vector::{RowStore, Ways};

/// What to count, and how.
pub struct BracketOrder<'a> {
    /// The tables.
    pub tables: &'a BracketTables,
    /// The words after the first column.
    pub first_column: &'a FirstColumn,
    /// Columns of the board.
    pub length: u32,
    /// Primes between 2^59 and 2^60. The last and largest is the spare.
    pub moduli: &'a [u64],
    /// Key of the fingerprints, any number.
    pub salt: u64,
    /// Threads.
    pub threads: usize,
    /// Set by the caller to stop the count.
    pub stop: &'a AtomicBool,
    /// Called at the start and before each column, with the number of columns done and the number in all.
    pub progress: &'a (dyn Fn(u32, u32) + Sync),
}

/// Counts the board and all shorter ones, `lanes` residues at a time, 1 to 8. Does not count residues that are in
/// `kept`.
pub fn count_brackets(
    order: &BracketOrder<'_>,
    lanes: usize,
    kept: &mut dyn ResidueStore,
) -> Result<Counted, BlockError> {
    let mut residues = Residues::new(order.moduli, order.length, kept);
    let columns = |residues: usize| residues.div_ceil(lanes) as u32 * order.length.saturating_sub(1);
    let done = columns(residues.known());
    let mut memory = RowStore::default();
    let (words, pairs) = (order.tables.words(), order.tables.new_pairs());
    let mut rows = memory.take::<1>(words, row_bytes(words, lanes))?;
    let mut new_pairs = memory.take::<1>(pairs, row_bytes(pairs, lanes))?;
    let ways = ways(order.tables, &mut rows, &mut new_pairs)?;
    memory.put_back(rows);
    memory.put_back(new_pairs);
    let mut counter = Counter {
        order,
        ways,
        memory,
        lanes,
        done,
        columns: done + columns(residues.missing()),
        cells: 0,
        times: TaskTimes::default(),
        evidence: Vec::new(),
    };
    residues.sweep(lanes, |moduli| {
        let width = width(moduli.len() as u32);
        let boards = of_width!(width, K => counter.sweep::<K>(moduli)?, _ => return Err(BlockError::Moduli));
        Ok((boards, std::mem::take(&mut counter.evidence)))
    })?;
    let state_passes = counter.cells * order.tables.words() as u64;
    Ok(residues.counted(state_passes, counter.times))
}

/// Bytes of rows that hold `residues` residues.
fn row_bytes(rows: usize, residues: usize) -> usize {
    rows * 8 * width(residues as u32) as usize
}

struct Counter<'a> {
    order: &'a BracketOrder<'a>,
    ways: Ways,
    memory: RowStore,
    lanes: usize,
    done: u32,
    columns: u32,
    cells: u64,
    times: TaskTimes,
    /// Of the columns of the present sweep.
    evidence: Vec<WindowEvidence>,
}

impl Counter<'_> {
    /// Counts all columns modulo `moduli`, at most K of them. Unused lanes repeat the first modulus. Returns for each prime
    /// the residues of all boards.
    fn sweep<const K: usize>(&mut self, moduli: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, BlockError> {
        let BracketOrder { tables, first_column, length, salt, threads, .. } = *self.order;
        let row: Row<K> = std::array::from_fn(|lane| moduli.get(lane).or(moduli.first()).copied().unwrap_or(0));
        let lanes = Moduli::new(row).ok_or(BlockError::Moduli)?;
        let most_bytes = |rows: usize| row_bytes(rows, self.lanes);
        let mut vector = Vector {
            rows: self.memory.take(tables.words(), most_bytes(tables.words()))?,
            new_pairs: self.memory.take(tables.new_pairs(), most_bytes(tables.new_pairs()))?,
            complete: [first_column.complete; K],
        };
        vector.rows.fill([0; K]);
        for &word in &first_column.words {
            let position = tables.position(word).ok_or(BlockError::Order)?;
            *vector.rows.get_mut(position).ok_or(BlockError::Order)? = [1; K];
        }
        let way = Way { tables, moduli: lanes, threads: threads.max(1), stop: self.order.stop };
        let mut found: Vec<(u64, Vec<u64>)> = moduli.iter().map(|&modulus| (modulus, Vec::new())).collect();
        let height = tables.counts.letters();
        let window = Window { first: 0, len: height };
        self.read(&vector, &mut found)?;
        let mut before: Option<Masses> = None;
        for column in 1..length {
            (self.order.progress)(self.done, self.columns);
            let started = Instant::now();
            // The boundary's own salt: the sample changes from one to the next.
            let salt_of = |column: u32| u64::from(column).mix(salt);
            let entering = totals(&vector.rows, Some((&self.ways, height)), &lanes, salt_of(column - 1), way.threads)?;
            let read = started.elapsed();
            way.column(&mut vector)?;
            let mapped = started.elapsed();
            let leaving = totals(&vector.rows, None, &lanes, salt_of(column), way.threads)?;
            let masses = Masses {
                read: entering.values[K - 1],
                written: leaving.values[K - 1],
                read_fingerprint: entering.fingerprint,
                written_fingerprint: leaving.fingerprint,
            };
            masses.hold(before, window, row[K - 1])?;
            before = Some(masses);
            self.balance(window, &lanes, entering.ways, leaving.values)?;
            self.evidence.push(WindowEvidence {
                transposed: false,
                first_pass: column * height,
                cells: height,
                moduli: row.to_vec(),
                states: tables.words() as u64,
                masses,
                balance: Balance { expected: entering.ways.to_vec(), got: leaving.values.to_vec() },
            });
            let nanos = |time: std::time::Duration| (time.as_nanos() as u64).saturating_mul(way.threads as u64);
            let write = started.elapsed().saturating_sub(mapped);
            self.times.add(TaskTimes {
                read_nanos: nanos(read),
                map_nanos: nanos(mapped.saturating_sub(read)),
                write_nanos: nanos(write),
            });
            self.done += 1;
            self.cells += u64::from(height);
            self.read(&vector, &mut found)?;
        }
        self.memory.put_back(vector.rows);
        self.memory.put_back(vector.new_pairs);
        Ok(found)
    }

    /// Mass balance of a column.
    fn balance<const K: usize>(
        &self,
        window: Window,
        moduli: &Moduli<K>,
        expected: Row<K>,
        got: Row<K>,
    ) -> Result<(), BlockError> {
        let blocks = 0..self.order.tables.blocks.len() as u32;
        match (0..K).find(|&lane| expected[lane] != got[lane]) {
            None => Ok(()),
            Some(lane) => Err(BlockError::Balance {
                window,
                blocks,
                modulus: moduli.values()[lane],
                expected: expected[lane].into(),
                got: got[lane].into(),
            }),
        }
    }

    /// Reads off the number of the board that ends here.
    fn read<const K: usize>(&self, vector: &Vector<K>, found: &mut [(u64, Vec<u64>)]) -> Result<(), BlockError> {
        let value = match self.order.tables.reading {
            Reading::Complete => &vector.complete,
            Reading::Word(word) => {
                let position = self.order.tables.position(word).ok_or(BlockError::Order)?;
                vector.rows.get(position).ok_or(BlockError::Order)?
            }
        };
        found.iter_mut().zip(value).for_each(|((_, boards), &residue)| boards.push(residue));
        Ok(())
    }
}
