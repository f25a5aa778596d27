//! Passes of the block executor in memory, in this process, forward and transposed.
//!
//! Measured is what a vector needs to go through columns: the exchange between windows and, forward, the mass balance are
//! included. Tables, set-up and the meeting in the middle are not.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use keima_engine::block::{Moduli, Rows, Sweep};
use keima_model::{BlockColumn, Direction, Directions, End, Window};
use keima_residue::primes_below;

use crate::board;
use crate::process::{available_bytes, cpu_seconds, forget_peak, peak_bytes};
use crate::sample::{Kind, Label, Line, Sample};

/// Columns run until this much time has gone by.
const MIN_SECONDS: f64 = 0.25;
/// Largest share of the available memory that a vector and the one after it may take.
const MEMORY_SHARE: f64 = 0.9;

/// A sample for each number of residues, each number of threads and both directions, or a note where memory does not
/// suffice. Windows have so many cells each; without any, they are the planner's.
pub(crate) fn samples(height: u32, windows: &[u32], lanes: &[u32], threads: &[u32]) -> Result<Vec<Line>> {
    let windows = if windows.is_empty() { board::windows(height)? } else { Window::of_lengths(windows) };
    let column = column(height, &windows)?;
    let mut found = Vec::new();
    for &residues in lanes {
        for &threads in threads {
            found.extend(match residues {
                1 => both::<1>(column.as_ref(), height, threads)?,
                2 => both::<2>(column.as_ref(), height, threads)?,
                4 => both::<4>(column.as_ref(), height, threads)?,
                8 => both::<8>(column.as_ref(), height, threads)?,
                _ => bail!("1, 2, 4 or 8 residues, not {residues}"),
            });
        }
    }
    Ok(found)
}

/// The same work on every machine and in every run: so many columns on one thread. Returns the state-passes.
pub(crate) fn fixed_work(height: u32, lanes: u32, direction: Direction, columns: u32) -> Result<f64> {
    fn work<const K: usize>(column: &dyn BlockColumn, direction: Direction, columns: u32) -> Result<f64> {
        let mut vector = Vector::<K>::new(column, 1)?;
        (0..columns).try_for_each(|_| vector.column(direction))?;
        Ok(vector.state_passes * f64::from(columns))
    }
    let column = column(height, &board::windows(height)?)?;
    match lanes {
        1 => work::<1>(column.as_ref(), direction, columns),
        2 => work::<2>(column.as_ref(), direction, columns),
        4 => work::<4>(column.as_ref(), direction, columns),
        8 => work::<8>(column.as_ref(), direction, columns),
        _ => bail!("1, 2, 4 or 8 residues, not {lanes}"),
    }
}

fn column(height: u32, windows: &[Window]) -> Result<Box<dyn BlockColumn>> {
    let problem = board::go(height)?;
    let blocks = problem.info().blocks().context("no blocks of this height")?;
    blocks.column(windows, Directions::Both).map_err(anyhow::Error::msg)
}

/// A vector, and the sweep that takes it through columns.
struct Vector<'a, const K: usize> {
    sweep: Sweep<'a, K>,
    windows: usize,
    now: Rows<K>,
    next: Rows<K>,
    /// State-passes of one column.
    state_passes: f64,
    state_boundaries: f64,
}

/// States of the largest vector.
fn most_states(column: &dyn BlockColumn) -> u64 {
    (0..column.windows().len()).flat_map(|window| &column.tables(window).states).max().copied().unwrap_or(0)
}

impl<'a, const K: usize> Vector<'a, K> {
    fn new(column: &'a dyn BlockColumn, threads: u32) -> Result<Self> {
        let windows = column.windows().len();
        let most = most_states(column) as usize;
        let primes: Vec<u64> = primes_below(1 << 60).take(K).collect();
        let moduli = <[u64; K]>::try_from(primes).ok().and_then(Moduli::new).context("no such moduli")?;
        let mut now = Rows::<K>::zeroed(most)?;
        for position in column.start(windows - 1, End::Last) {
            now[position as usize] = [1; K];
        }
        let steps = || (0..windows).map(|window| column.tables(window).states.as_slice());
        Ok(Self {
            sweep: Sweep::new(column, moduli, threads as usize)?,
            windows,
            now,
            next: Rows::zeroed(most)?,
            state_passes: steps().flat_map(|states| states.iter().rev().skip(1)).sum::<u64>() as f64,
            state_boundaries: steps().filter_map(<[u64]>::last).sum::<u64>() as f64,
        })
    }

    /// Through one column, forward with the mass balance.
    fn column(&mut self, direction: Direction) -> Result<()> {
        for window in 0..self.windows {
            let window = if direction == Direction::Forward { window } else { self.windows - 1 - window };
            self.sweep.run(direction, window, &self.now, &mut self.next, None)?;
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Ok(())
    }
}

fn both<const K: usize>(column: &dyn BlockColumn, height: u32, threads: u32) -> Result<Vec<Line>> {
    let needed_bytes = 2.0 * most_states(column) as f64 * 8.0 * K as f64;
    if needed_bytes > MEMORY_SHARE * available_bytes() {
        // The same text in every run, so that one note is enough.
        return Ok(vec![Line::Note(format!(
            "K={K} needs {:.1} GB for a vector and the one after it, more than {:.0} % of the available memory",
            needed_bytes / 1e9,
            100.0 * MEMORY_SHARE,
        ))]);
    }
    forget_peak();
    let mut vector = Vector::<K>::new(column, threads)?;
    let mut found = Vec::new();
    for (kind, direction) in [(Kind::BlockForward, Direction::Forward), (Kind::BlockBackward, Direction::Transposed)] {
        // Before that, once: memory is handed out when it is touched, and the vector fills up.
        vector.column(direction)?;
        let (started, before, mut columns) = (Instant::now(), cpu_seconds().0, 0.0);
        let times_before = vector.sweep.times();
        while columns < 1.0 || started.elapsed().as_secs_f64() < MIN_SECONDS {
            vector.column(direction)?;
            columns += 1.0;
        }
        let times = vector.sweep.times();
        let sample = Sample {
            seconds: started.elapsed().as_secs_f64(),
            cpu_seconds: cpu_seconds().0 - before,
            state_passes: columns * vector.state_passes,
            state_boundaries: columns * vector.state_boundaries,
            peak_bytes: peak_bytes(None),
            read_seconds: (times.read_nanos - times_before.read_nanos) as f64 / 1e9,
            map_seconds: (times.map_nanos - times_before.map_nanos) as f64 / 1e9,
            ..Sample::default()
        };
        found.push(Line::Sample(Label { kind, height, residues: K as u32, threads }, sample));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_measured() {
        let found = samples(4, &[], &[1, 4], &[1, 2]).unwrap();
        assert_eq!(found.len(), 8);
        for line in found {
            let Line::Sample(label, sample) = line else { panic!("{line:?}") };
            assert!(sample.seconds >= MIN_SECONDS && sample.state_passes > 0.0, "{label:?} {sample:?}");
            assert!(sample.read_seconds > 0.0 && sample.map_seconds > 0.0, "{label:?} {sample:?}");
        }
        assert!(samples(4, &[], &[3], &[1]).is_err());
        assert_eq!(samples(4, &[1, 3], &[1], &[1]).unwrap().len(), 2);
        assert!(samples(4, &[3], &[1], &[1]).is_err(), "no cut of the column");
    }

    #[test]
    fn the_fixed_work_is_always_the_same() {
        let work = |columns| fixed_work(5, 4, Direction::Transposed, columns).unwrap();
        assert!(work(0).abs() < 0.5 && work(1) > 1000.0 && (work(3) - 3.0 * work(1)).abs() < 0.5);
        assert!(fixed_work(5, 3, Direction::Forward, 1).is_err());
    }
}
