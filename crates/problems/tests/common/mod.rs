//! The engine's part in a few lines, for any problem: passes over a vector in a hash map, stage by stage; and the
//! checks that every problem must pass. Values are exact: every coefficient below 2^128.

#![allow(dead_code, reason = "no test needs all of this")]

use std::collections::HashMap;

use keima_model::{Key, Layout, Problem, Successors, Window};

/// A vector of (key, coefficients) pairs.
pub(crate) type Vector<K> = HashMap<K, Vec<u128>>;

/// One pass.
pub(crate) fn pass<K: Key>(problem: &dyn Problem<K>, pass: u32, window: Window, vector: &Vector<K>) -> Vector<K> {
    let (keys, values): (Vec<K>, Vec<&Vec<u128>>) = vector.iter().unzip();
    let mut made = Successors::default();
    problem.expand(pass, window, &keys, &mut made);
    assert_eq!(made.degrees.len(), keys.len());
    assert!(made.shifts.is_empty() || made.shifts.len() == made.keys.len());
    let mut after = Vector::new();
    let mut next = made.keys.iter().enumerate();
    for (&degree, value) in made.degrees.iter().zip(values) {
        for (place, &key) in next.by_ref().take(degree.into()) {
            let shift = made.shifts.get(place).copied().unwrap_or(0);
            let sum = after.entry(key).or_insert_with(|| vec![0; value.len()]);
            for (to, from) in sum.iter_mut().skip(shift.into()).zip(value) {
                *to += from;
            }
        }
    }
    assert!(next.next().is_none(), "more successors than degrees say");
    after
}

/// Rewrites all keys with one batch call. Values of states that become equal add up.
pub(crate) fn rekey<K: Key>(vector: Vector<K>, rewrite: impl FnOnce(&mut [K])) -> Vector<K> {
    let (mut keys, values): (Vec<K>, Vec<Vec<u128>>) = vector.into_iter().unzip();
    rewrite(&mut keys);
    let mut after = Vector::new();
    for (key, value) in keys.into_iter().zip(values) {
        let sum = after.entry(key).or_insert_with(|| vec![0; value.len()]);
        for (to, from) in sum.iter_mut().zip(value) {
            *to += from;
        }
    }
    after
}

/// The functional's coefficients, read after a pass.
pub(crate) fn read<K: Key>(
    problem: &dyn Problem<K>,
    functional: usize,
    window: Window,
    vector: &Vector<K>,
) -> Vec<u128> {
    let (keys, values): (Vec<K>, Vec<&Vec<u128>>) = vector.iter().unzip();
    let mut weights = vec![u32::MAX; keys.len()];
    problem.weigh(functional, window, &keys, &mut weights);
    let mut sum = vec![0; problem.coefficients() as usize];
    for (&weight, value) in weights.iter().zip(values) {
        for (to, from) in sum.iter_mut().zip(value) {
            *to += u128::from(weight) * from;
        }
    }
    sum
}

/// Runs all passes in stages of `windows`, the windows of one column. Calls `inspect` with the pass to come, its window
/// and the vector in working form before each pass, and once more after the last. Returns the coefficients of every
/// functional.
pub(crate) fn run<K: Key>(
    problem: &dyn Problem<K>,
    windows: &[Window],
    mut inspect: impl FnMut(u32, Window, &Vector<K>),
) -> Vec<Vec<u128>> {
    let board = problem.board();
    let functionals = problem.functionals();
    let mut values = vec![Vec::new(); functionals.len()];
    let coefficients = problem.coefficients() as usize;
    let first = |count: u64| {
        let mut value = vec![0; coefficients];
        value[0] = count.into();
        value
    };
    let start = problem.start();
    let mut vector: Vector<K> = start.iter().map(|&(key, count)| (key, first(count))).collect();
    assert_eq!(vector.len(), start.len(), "keys of the start are not distinct");
    let mut layout = Layout::Canonical;
    for number in 0..board.passes() {
        let cell = board.cell(number);
        let place = windows.iter().position(|w| (w.first..w.end()).contains(&cell)).unwrap();
        let window = windows[place];
        if cell == window.first {
            vector = rekey(vector, |keys| problem.enter(layout, window, keys));
        }
        inspect(number, window, &vector);
        vector = pass(problem, number, window, &vector);
        for (index, functional) in functionals.iter().enumerate() {
            if functional.after_pass == number {
                values[index] = read(problem, index, window, &vector);
            }
        }
        if number + 1 == board.passes() {
            inspect(number + 1, window, &vector);
        } else if cell + 1 == window.end() {
            // Column ends pass in canonical form, as they do where a plan may change.
            layout = if board.ends_column(number) && board.column(number).is_multiple_of(2) {
                Layout::Canonical
            } else {
                Layout::Stage(windows[(place + 1) % windows.len()])
            };
            vector = rekey(vector, |keys| problem.leave(window, layout, keys));
        }
    }
    values
}

/// The coefficients of all functionals, with the whole column as one window.
pub(crate) fn values<K: Key>(problem: &dyn Problem<K>) -> Vec<Vec<u128>> {
    run(problem, &whole(problem), |_, _, _| ())
}

/// The sum of all answers over all coefficients.
pub(crate) fn count<K: Key>(problem: &dyn Problem<K>) -> u128 {
    let values = values(problem);
    problem.functionals().iter().zip(&values).filter(|(f, _)| f.answer).flat_map(|(_, value)| value).sum()
}

/// Numbers of states before each pass and at the end.
pub(crate) fn states<K: Key>(problem: &dyn Problem<K>) -> Vec<usize> {
    let mut counts = Vec::new();
    run(problem, &whole(problem), |_, _, vector| counts.push(vector.len()));
    counts
}

fn whole<K: Key>(problem: &dyn Problem<K>) -> Vec<Window> {
    vec![Window { first: 0, len: problem.board().height }]
}

/// Windows of every length give the same values, and the same vectors in canonical form before every stage.
pub(crate) fn check_windows<K: Key>(problem: &dyn Problem<K>) {
    let height = problem.board().height;
    let canonical = |windows: &[Window]| {
        let mut vectors = Vec::new();
        let values = run(problem, windows, |_, window, vector| {
            vectors.push(rekey(vector.clone(), |keys| problem.leave(window, Layout::Canonical, keys)));
        });
        (values, vectors)
    };
    let expected = canonical(&Window::cut(height, height));
    for len in 1..height {
        assert!(canonical(&Window::cut(height, len)) == expected, "{} windows of {len}", problem.identity());
    }
}

/// Within a stage, for every window, keys in the stage's layout keep their family; entering undoes leaving; families
/// are no larger, and keys no wider, than the problem says. Returns the largest number of families seen.
pub(crate) fn check_families<K: Key>(problem: &dyn Problem<K>) -> usize {
    let height = problem.board().height;
    let mut most = 0;
    for window in (1..=height).flat_map(|len| (0..=height - len).map(move |first| Window { first, len })) {
        let layout = Layout::Stage(window);
        let bits = problem.family_bits(layout);
        let family = |key: &K| if bits >= K::BITS { 0 } else { key.widen() >> bits };
        run(problem, &cut_around(height, window), |pass, current, vector| {
            if current != window || pass == problem.board().passes() {
                return;
            }
            let working: Vec<K> = vector.keys().copied().collect();
            let mut keys = working.clone();
            problem.leave(window, layout, &mut keys);
            assert!(keys.iter().all(|key| key.widen() >> problem.key_bits() == 0), "{window:?} keys are too wide");
            let before: Vec<u128> = keys.iter().map(family).collect();
            problem.enter(layout, window, &mut keys);
            assert!(keys == working, "{window:?} entering is not leaving undone");
            let mut out = Successors::default();
            problem.expand(pass, window, &keys, &mut out);
            problem.leave(window, layout, &mut out.keys);
            let mut next = out.keys.iter();
            let mut sizes = HashMap::new();
            for (&own, &degree) in before.iter().zip(&out.degrees) {
                assert!(next.by_ref().take(degree.into()).all(|key| family(key) == own), "{window:?} pass {pass}");
                *sizes.entry(own).or_insert(0_u128) += 1;
            }
            let largest = sizes.values().copied().max().unwrap_or(0);
            assert!(problem.largest_family(window).is_none_or(|bound| largest <= bound), "{window:?} {largest}");
            most = most.max(sizes.len());
        });
    }
    most
}

/// The windows of a column with `window` among them.
fn cut_around(height: u32, window: Window) -> Vec<Window> {
    let before = Window { first: 0, len: window.first };
    let after = Window { first: window.end(), len: height - window.end() };
    [before, window, after].into_iter().filter(|window| window.len > 0).collect()
}

/// The forecast is exact.
pub(crate) fn check_forecast<K: Key>(problem: &dyn Problem<K>) {
    let counts: Vec<u128> = states(problem).iter().map(|&count| count as u128).collect();
    assert_eq!(problem.forecast().unwrap().states, counts, "{}", problem.identity());
}

/// No coefficient of a functional exceeds its bound, nor any known value differs.
pub(crate) fn check_bounds<K: Key>(problem: &dyn Problem<K>) {
    let product = |bound: Vec<(u32, u32)>| {
        bound.iter().map(|&(base, exponent)| f64::from(base).log2() * f64::from(exponent)).sum::<f64>() + 1e-9
    };
    let mut over_all = 0.0;
    for (functional, value) in problem.functionals().iter().zip(values(problem)) {
        let most = value.iter().copied().max().unwrap_or(0).max(1);
        let bits = product(problem.bound_after(functional.after_pass));
        assert!((most as f64).log2() <= bits, "{} {}: {most}", problem.identity(), functional.name);
        over_all = bits.max(over_all);
        let sum = value.iter().sum::<u128>().to_string();
        assert!(functional.known.as_ref().is_none_or(|known| *known == sum), "{}: {sum}", functional.name);
    }
    assert!(over_all <= product(problem.bound()) + 1e-6, "{}", problem.identity());
}

/// Any bit pattern goes through everything that takes keys.
pub(crate) fn check_any_keys<K: Key>(problem: &dyn Problem<K>) {
    let board = problem.board();
    let keys: Vec<K> = (0_u64..8)
        .map(|i| K::truncate(u128::from(i.mix(1)) | u128::from(i.mix(2)) << 64))
        .chain([K::default(), !K::default()])
        .collect();
    for pass in 0..board.passes() {
        let first = board.cell(pass);
        for window in [Window { first, len: 1 }, Window { first, len: board.height - first }] {
            let mut out = Successors::default();
            problem.expand(pass, window, &keys, &mut out);
            assert_eq!(out.degrees.len(), keys.len());
            assert_eq!(out.keys.len(), out.degrees.iter().map(|&degree| usize::from(degree)).sum::<usize>());
            for layout in [Layout::Canonical, Layout::Stage(window)] {
                let mut changed = keys.clone();
                problem.enter(layout, window, &mut changed);
                problem.leave(window, layout, &mut changed);
            }
            problem.weigh(0, window, &keys, &mut vec![0; keys.len()]);
        }
    }
}
