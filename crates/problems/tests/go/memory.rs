//! The engine's part in a few lines: passes over a vector in a hash map, stage by stage.

use std::collections::HashMap;

use keima_model::{Board, Key, Layout, Problem, Successors, Window};
use keima_problems::go::Go;
use keima_problems::go::state::Word;

/// Go on `height` x `length` points.
pub(crate) fn go<K: Word>(height: u32, length: u32) -> Go<K> {
    Go::new(format!("{height}x{length}"), Board { height, length })
}

/// A vector of (key, count) pairs.
pub(crate) type Vector<K> = HashMap<K, u128>;

/// One pass. Counts are exact: boards of up to 80 points.
pub(crate) fn pass<K: Key>(problem: &dyn Problem<K>, pass: u32, window: Window, vector: &Vector<K>) -> Vector<K> {
    let (keys, counts): (Vec<K>, Vec<u128>) = vector.iter().unzip();
    let mut successors = Successors::default();
    problem.expand(pass, window, &keys, &mut successors);
    assert_eq!(successors.degrees.len(), keys.len());
    assert!(successors.shifts.is_empty());
    let mut after = Vector::new();
    let mut next = successors.keys.iter();
    for (&degree, &count) in successors.degrees.iter().zip(&counts) {
        for &key in next.by_ref().take(degree.into()) {
            *after.entry(key).or_default() += count;
        }
    }
    assert!(next.next().is_none(), "more successors than degrees say");
    after
}

/// Rewrites all keys with one batch call. States that become equal add up.
pub(crate) fn rekey<K: Key>(vector: Vector<K>, rewrite: impl FnOnce(&mut [K])) -> Vector<K> {
    let (mut keys, counts): (Vec<K>, Vec<u128>) = vector.into_iter().unzip();
    rewrite(&mut keys);
    let mut after = Vector::new();
    for (key, count) in keys.into_iter().zip(counts) {
        *after.entry(key).or_default() += count;
    }
    after
}

/// Sum of the functional read after a pass.
pub(crate) fn read<K: Key>(problem: &dyn Problem<K>, functional: usize, window: Window, vector: &Vector<K>) -> u128 {
    let (keys, counts): (Vec<K>, Vec<u128>) = vector.iter().unzip();
    let mut weights = vec![u32::MAX; keys.len()];
    problem.weigh(functional, window, &keys, &mut weights);
    weights.iter().zip(counts).map(|(&weight, count)| u128::from(weight) * count).sum()
}

/// Runs all passes in stages of `windows`, the windows of one column. Calls `inspect` with the pass to come, its window
/// and the vector in working form before each pass, and once more after the last. Returns the functionals' values.
pub(crate) fn run<K: Key>(
    problem: &dyn Problem<K>,
    windows: &[Window],
    mut inspect: impl FnMut(u32, Window, &Vector<K>),
) -> Vec<u128> {
    let board: Board = problem.board();
    let functionals = problem.functionals();
    let mut values = Vec::new();
    let mut vector: Vector<K> = problem.start().into_iter().map(|(key, count)| (key, count.into())).collect();
    let mut layout = Layout::Canonical;
    let last = windows[windows.len() - 1];
    for column in 0..board.length {
        for (place, &window) in windows.iter().enumerate() {
            vector = rekey(vector, |keys| problem.enter(layout, window, keys));
            for cell in window.first..window.end() {
                let number = column * board.height + cell;
                inspect(number, window, &vector);
                vector = pass(problem, number, window, &vector);
                for (index, functional) in functionals.iter().enumerate() {
                    if functional.after_pass == number {
                        values.push(read(problem, index, window, &vector));
                    }
                }
            }
            let following = windows[(place + 1) % windows.len()];
            let at_end = column + 1 == board.length && window == last;
            if at_end {
                inspect(board.passes(), window, &vector);
            }
            layout = if at_end { Layout::Canonical } else { Layout::Stage(following) };
            vector = rekey(vector, |keys| problem.leave(window, layout, keys));
        }
    }
    values
}
