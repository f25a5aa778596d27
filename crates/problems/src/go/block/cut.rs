//! What columns and parts have in common: the check of a cut, threads that build tables, and the first column.
//!
//! Cost: [`one_column`] runs the plain recurrence over one column.

use std::sync::Mutex;

use keima_model::Window;

use crate::go::border;

/// Number of legal positions of a single column.
pub(crate) fn one_column(height: u32) -> u64 {
    border::series(1, height as usize).last().copied().unwrap_or(0)
}

/// Most cells in a window. Lists of eight cells have up to 59,608 codes at an end of the column. With two cells on each
/// side, or for a whole column, they have more than 2^16 codes and are refused; lists of nine cells are four times as long.
const MOST_CELLS: u32 = 8;

/// `Err` unless `windows` cut a column of `height` cells.
pub(crate) fn check_cut(height: u32, windows: &[Window]) -> Result<(), String> {
    let mut next = 0;
    let fits = windows.iter().all(|window| {
        let fits = window.first == next && window.len > 0;
        next = window.end();
        fits
    });
    if !fits || next != height {
        return Err(format!("windows {windows:?} do not cut a column of {height} cells"));
    }
    match windows.iter().find(|window| window.len > MOST_CELLS) {
        None => Ok(()),
        // Refused before its lists are built: they would take too much memory before they turn out too long.
        Some(window) => Err(format!("a window of {} cells is too long; use at most {MOST_CELLS} cells", window.len)),
    }
}

/// Runs `make` on each task, with `threads` threads, the caller's among them, as far as the system gives them. Results keep the
/// order of the tasks.
pub(crate) fn in_parallel<T: Send, R: Send>(
    threads: usize,
    tasks: impl IntoIterator<Item = T, IntoIter: Send>,
    make: impl Fn(T) -> R + Sync,
) -> Result<Vec<R>, String> {
    let left = Mutex::new(tasks.into_iter().enumerate());
    let next = || left.lock().ok().and_then(|mut left| left.next());
    let work = || std::iter::from_fn(next).map(|(number, task)| (number, make(task))).collect::<Vec<_>>();
    let mut results = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut results = work();
        for other in others {
            results.extend(other.join().map_err(|_| "a thread failed while tables were built")?);
        }
        Ok::<_, String>(results)
    })?;
    results.sort_unstable_by_key(|&(number, _)| number);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Blocks that a thread takes at a time, at least: fewer are not worth it.
pub(crate) const LEAST_PIECE: usize = 1 << 12;

/// Length of the pieces into which so many blocks are cut for `threads` threads. There are some for each, since pieces take different
/// times.
pub(crate) fn piece(blocks: usize, threads: usize) -> usize {
    blocks.div_ceil(4 * threads.max(1)).max(LEAST_PIECE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_tasks() {
        for (threads, tasks) in [(0, 3), (1, 0), (1, 5), (3, 2), (4, 100)] {
            let squares = in_parallel(threads, 0..tasks, |task| task * task).unwrap();
            assert_eq!(squares, (0..tasks).map(|task| task * task).collect::<Vec<u32>>(), "{threads} threads");
        }
    }
}
