//! What columns and parts have in common: the check of a cut, the threads that build windows, and the first column.
//!
//! Cost: [`one_column`] runs the plain recurrence over one column.

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

/// Runs `make` on each item, with a thread for each as far as the system gives them. Building tables takes seconds, and
/// there are few windows.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Result<Vec<R>, String> {
    std::thread::scope(|scope| {
        let make = &make;
        let start = |item| std::thread::Builder::new().spawn_scoped(scope, move || make(item)).map_err(|_| item);
        let threads: Vec<_> = items.iter().map(start).collect();
        let failed = |_| "a thread failed while tables were built".to_owned();
        let results = threads.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().map_err(failed),
            Err(item) => Ok(make(item)),
        });
        results.collect()
    })
}
