//! Merge-and-add: k runs become one stream of ascending distinct keys. Values of equal keys are added, lane by lane,
//! modulo the lane's modulus. Records whose lanes are all zero are kept, so that state counts do not depend on the
//! primes.
//!
//! A loser tree (Knuth, TAOCP 3, section 5.4.1): the source with the smallest key is on top, and every inner node
//! holds the loser of its match. Cost: log2(k) comparisons a step. A source that stays on top is copied in bulk up to
//! the second smallest key. The last source left hands over its batches without a copy.

use std::fmt;
use std::hint::select_unpredictable;

use keima_residue::add_mod;

use crate::{Batch, MergeError, RunCursor, RunError, RunKey};

/// One run with its current batch; `position` is always below the batch's length.
struct Source<K: RunKey> {
    cursor: RunCursor<K>,
    batch: Batch<K>,
    position: usize,
}

/// Node 0 holds the overall winner, nodes 1 to k-1 the losers of their matches.
/// Source `i` enters below node `(k + i) / 2`.
struct Tree<K> {
    nodes: Vec<(K, u32)>,
}

impl<K: RunKey> Tree<K> {
    fn build(heads: &[K]) -> Self {
        let count = heads.len();
        let mut nodes = vec![(K::default(), 0); count];
        // winners[n] for inner nodes 1..count, then the leaves.
        let mut winners = nodes.clone();
        winners.extend(heads.iter().enumerate().map(|(source, &key)| (key, source as u32)));
        for n in (1..count).rev() {
            let (left, right) = (winners[2 * n], winners[2 * n + 1]);
            (winners[n], nodes[n]) = if right.0 < left.0 { (right, left) } else { (left, right) };
        }
        if let (Some(top), Some(&winner)) = (nodes.first_mut(), winners.get(1)) {
            *top = winner;
        }
        Self { nodes }
    }

    /// Replays the winner's matches after it has moved on to `key`. Returns the source that wins now.
    #[inline]
    fn replay(&mut self, source: usize, key: K) -> usize {
        let mut current = (key, source as u32);
        let mut n = usize::midpoint(self.nodes.len(), source);
        while n > 0 {
            let other = self.nodes[n];
            // The outcome cannot be predicted: a mispredicted branch would cost more than the match.
            let less = other.0 < current.0;
            self.nodes[n] = select_unpredictable(less, current, other);
            current = select_unpredictable(less, other, current);
            n /= 2;
        }
        self.nodes[0] = current;
        current.1 as usize
    }

    /// Smallest key of all sources but the winner. There must be two sources.
    fn runner_up(&self, winner: usize) -> K {
        let mut n = usize::midpoint(self.nodes.len(), winner);
        let mut smallest = self.nodes[n].0;
        while n > 1 {
            n /= 2;
            smallest = smallest.min(self.nodes[n].0);
        }
        smallest
    }
}

/// Merges runs and adds up values of equal keys.
pub struct Merger<K: RunKey> {
    /// Modulus of each lane.
    moduli: Vec<u64>,
    waiting: Vec<RunCursor<K>>,
    sources: Vec<Source<K>>,
    tree: Tree<K>,
    /// Bytes read by finished sources.
    bytes_read: u64,
    failed: Option<crate::RunId>,
}

impl<K: RunKey> fmt::Debug for Merger<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merger").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

impl<K: RunKey> Merger<K> {
    /// A merger of `cursors`, whose values all have `moduli.len() * coefficients` lanes. Reads nothing yet. Memory: per
    /// cursor one block, encoded and decoded.
    pub fn new(cursors: Vec<RunCursor<K>>, moduli: &[u64], coefficients: u32) -> Self {
        let lanes = moduli.len() * coefficients as usize;
        Self {
            moduli: moduli.iter().copied().cycle().take(lanes).collect(),
            waiting: cursors,
            sources: Vec::new(),
            tree: Tree { nodes: Vec::new() },
            bytes_read: 0,
            failed: None,
        }
    }

    /// Bytes of blocks read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read + self.sources.iter().map(|s| s.cursor.bytes_read()).sum::<u64>()
    }

    /// Replaces `out` by the next records, at most `max_records` (which is at least 1), with distinct keys above all
    /// earlier ones. At the end: `false`, and `out` is empty. After an error every call fails.
    pub fn next_batch(&mut self, out: &mut Batch<K>, max_records: usize) -> Result<bool, MergeError> {
        if let Some(run) = &self.failed {
            return Err(MergeError { run: run.clone(), source: RunError::Failed { place: run.0.clone() } });
        }
        out.clear();
        let result = self.start().and_then(|()| self.fill(out, max_records.max(1)));
        match result {
            Ok(()) => Ok(!out.is_empty()),
            Err(error) => {
                self.failed = Some(error.run.clone());
                out.clear();
                Err(error)
            }
        }
    }

    /// Reads the first batch of every cursor.
    fn start(&mut self) -> Result<(), MergeError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        for cursor in std::mem::take(&mut self.waiting) {
            let mut source = Source { cursor, batch: Batch::new(), position: 0 };
            if source.refill(self.moduli.len())? {
                self.sources.push(source);
            } else {
                self.bytes_read += source.cursor.bytes_read();
            }
        }
        self.rebuild();
        Ok(())
    }

    fn rebuild(&mut self) {
        let heads: Vec<K> = self.sources.iter().map(|s| s.batch.keys[s.position]).collect();
        self.tree = Tree::build(&heads);
    }

    fn fill(&mut self, out: &mut Batch<K>, max_records: usize) -> Result<(), MergeError> {
        let lanes = self.moduli.len();
        while self.sources.len() > 1 {
            let (key, winner) = self.tree.nodes[0];
            let winner = winner as usize;
            let source = &mut self.sources[winner];
            if out.keys.last() == Some(&key) {
                source.add_to(out, &self.moduli);
            } else if out.len() < max_records {
                out.keys.push(key);
                append_row(&mut out.rows, &source.batch.rows, source.position, lanes);
            } else {
                return Ok(());
            }
            source.position += 1;
            let Some(&next) = source.batch.keys.get(source.position) else {
                self.used_up(winner)?;
                continue;
            };
            if self.tree.replay(winner, next) == winner {
                // It stays on top: copy all its records below the second smallest key.
                let bound = self.tree.runner_up(winner);
                let room = max_records - out.len();
                let ahead = source.batch.keys[source.position..].iter().take(room).take_while(|&&k| k < bound);
                let count = ahead.count();
                source.copy_to(out, count, lanes);
                match source.batch.keys.get(source.position) {
                    Some(&next) => {
                        self.tree.replay(winner, next);
                    }
                    None => self.used_up(winner)?,
                }
            }
        }
        if let [source] = self.sources.as_mut_slice() {
            if out.keys.last() == Some(&source.batch.keys[source.position]) {
                source.add_to(out, &self.moduli);
                source.position += 1;
            } else if out.is_empty() && source.position == 0 && source.batch.len() <= max_records {
                std::mem::swap(out, &mut source.batch);
            }
            let left = source.batch.len().saturating_sub(source.position);
            source.copy_to(out, left.min(max_records - out.len()), lanes);
            if source.position >= source.batch.len() {
                self.used_up(0)?;
            }
        }
        Ok(())
    }

    /// Source `number` has used up its batch: reads the next one, or removes the source at its end.
    #[cold]
    fn used_up(&mut self, number: usize) -> Result<(), MergeError> {
        let source = &mut self.sources[number];
        if source.refill(self.moduli.len())? {
            let key = source.batch.keys[source.position];
            self.tree.replay(number, key);
        } else {
            self.bytes_read += source.cursor.bytes_read();
            self.sources.swap_remove(number);
            self.rebuild();
        }
        Ok(())
    }
}

impl<K: RunKey> Source<K> {
    /// Reads the next batch; `false` at the end.
    fn refill(&mut self, lanes: usize) -> Result<bool, MergeError> {
        self.position = 0;
        let more = self.cursor.next_batch(&mut self.batch);
        let error = |source| MergeError { run: self.cursor.id().clone(), source };
        let more = more.map_err(error)?;
        if more && self.batch.rows.len() != self.batch.len() * lanes {
            let (expected, got) = (self.batch.len() * lanes, self.batch.rows.len());
            return Err(error(RunError::RowLength { expected, got }));
        }
        Ok(more)
    }

    /// Adds the row at the position to the last row of `out`.
    fn add_to(&self, out: &mut Batch<K>, moduli: &[u64]) {
        let lanes = moduli.len();
        let from = self.position * lanes;
        let start = out.rows.len() - lanes;
        let row = &self.batch.rows[from..from + lanes];
        for ((target, &value), &modulus) in out.rows[start..].iter_mut().zip(row).zip(moduli) {
            *target = add_mod(*target, value, modulus);
        }
    }

    /// Moves the next `count` records to `out`.
    fn copy_to(&mut self, out: &mut Batch<K>, count: usize, lanes: usize) {
        let end = self.position + count;
        out.keys.extend_from_slice(&self.batch.keys[self.position..end]);
        out.rows.extend_from_slice(&self.batch.rows[self.position * lanes..end * lanes]);
        self.position = end;
    }
}

/// Appends row `at` of `source`; a copy of known width is a few moves, one of unknown width a call.
#[inline]
fn append_row(rows: &mut Vec<u64>, source: &[u64], at: usize, lanes: usize) {
    fn append<const W: usize>(rows: &mut Vec<u64>, source: &[u64], at: usize) {
        rows.extend_from_slice(&source.as_chunks::<W>().0[at]);
    }
    match lanes {
        1 => append::<1>(rows, source, at),
        2 => append::<2>(rows, source, at),
        3 => append::<3>(rows, source, at),
        4 => append::<4>(rows, source, at),
        5 => append::<5>(rows, source, at),
        6 => append::<6>(rows, source, at),
        7 => append::<7>(rows, source, at),
        8 => append::<8>(rows, source, at),
        _ => rows.extend_from_slice(&source[at * lanes..(at + 1) * lanes]),
    }
}
