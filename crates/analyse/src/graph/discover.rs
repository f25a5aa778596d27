//! Finds the states and transitions of a problem, column by column, until they repeat.
//!
//! All passes of a column run in the working form of one window over the whole column. Cost: per column a sort of
//! (key, index) pairs, one pair a transition.

use keima_model::{AnyProblem, Key, Layout, Problem, ProblemInfo, Successors, Window};

use super::{Column, Graph, GraphError, Level};

/// Most columns until the states must repeat.
const MOST_COLUMNS: u32 = 200;
/// Most transitions of a column: 2 GiB of indices, and twice as much while they are sorted.
const MOST_TRANSITIONS: usize = 1 << 29;
/// States that a call of the problem serves.
const BATCH: usize = 4096;

/// A column with the keys after each of its passes, in the order of their numbers.
#[derive(PartialEq, Eq)]
struct Keyed<K> {
    column: Column,
    keys: Vec<Vec<K>>,
}

impl Graph {
    /// The graph of a problem that has a functional for each number of columns. Open the problem on a long board: 40 columns
    /// more than its states need to settle, for go 2 to 4.
    pub fn discover(problem: &AnyProblem) -> Result<Self, GraphError> {
        match problem {
            AnyProblem::Narrow(problem) => discover(problem.as_ref()),
            AnyProblem::Wide(problem) => discover(problem.as_ref()),
        }
    }
}

fn discover<K: Key>(problem: &dyn Problem<K>) -> Result<Graph, GraphError> {
    check_series(problem)?;
    let window = Window { first: 0, len: problem.board().height };
    let (mut keys, start): (Vec<K>, Vec<u64>) = problem.start().into_iter().unzip();
    problem.enter(Layout::Canonical, window, &mut keys);
    let mut graph = Graph { start, columns: Vec::new(), first: 1 };
    let mut last: Option<Keyed<K>> = None;
    // The last column of a board may be special.
    let columns = problem.board().length - 1;
    for number in 0..columns.min(MOST_COLUMNS) {
        let keyed = column(problem, window, number, keys)?;
        if last.as_ref() == Some(&keyed) {
            // The states before the last column are those after it: it may follow itself. So it does up to the end of the board.
            for late in [number + 1, columns - 1] {
                let again = column(problem, window, late, before(problem, window, &keyed))?;
                if again != keyed {
                    return Err(GraphError::Aperiodic { column: late + 1, settled: number + 1 });
                }
            }
            return Ok(graph);
        }
        keys = before(problem, window, &keyed);
        graph.columns.push(keyed.column.clone());
        last = Some(keyed);
    }
    Err(GraphError::Unsettled { columns: columns.min(MOST_COLUMNS) })
}

/// The series must have one number after each column, the first after the first.
fn check_series(info: &dyn ProblemInfo) -> Result<(), GraphError> {
    let (board, functionals) = (info.board(), info.functionals());
    if info.coefficients() != 1 {
        return Err(GraphError::Polynomial { coefficients: info.coefficients() });
    }
    let is_series = functionals.len() > 1
        && functionals.len() == board.length as usize
        && (1..).zip(&functionals).all(|(n, f)| f.index == n && f.after_pass == board.height * n - 1);
    if is_series {
        return Ok(());
    }
    let names: Vec<&str> = functionals.iter().take(3).map(|functional| functional.name.as_str()).collect();
    Err(GraphError::NoSeries { got: format!("{} numbers: {} ...", functionals.len(), names.join(", ")) })
}

/// The keys before the column after this one, in its working form.
fn before<K: Key>(problem: &dyn Problem<K>, window: Window, column: &Keyed<K>) -> Vec<K> {
    let mut keys = column.keys.last().cloned().unwrap_or_default();
    let layout = Layout::Stage(window);
    problem.leave(window, layout, &mut keys);
    problem.enter(layout, window, &mut keys);
    keys
}

/// The transitions of column `number` (from 0) from the states `keys` before it.
fn column<K: Key>(problem: &dyn Problem<K>, window: Window, number: u32, keys: Vec<K>) -> Result<Keyed<K>, GraphError> {
    let height = problem.board().height;
    let (mut levels, mut all, mut transitions) = (Vec::new(), Vec::new(), 0);
    let mut keys = keys;
    let mut successors = Successors::default();
    for pass in number * height..(number + 1) * height {
        let mut pairs = Vec::new();
        let mut index = 0_u32;
        for batch in keys.chunks(BATCH) {
            successors.clear();
            problem.expand(pass, window, batch, &mut successors);
            if successors.shifts.iter().any(|&shift| shift != 0) {
                return Err(GraphError::Polynomial { coefficients: problem.coefficients() });
            }
            let mut next = successors.keys.iter();
            for &degree in &successors.degrees {
                pairs.extend(next.by_ref().take(degree.into()).map(|&key| (key, index)));
                index += 1;
            }
        }
        transitions += pairs.len();
        if transitions > MOST_TRANSITIONS {
            return Err(GraphError::TooLarge { most: MOST_TRANSITIONS });
        }
        let (level, after) = Level::of_pairs(pairs);
        levels.push(level);
        keys.clone_from(&after);
        all.push(after);
    }
    let mut weights = vec![0; keys.len()];
    problem.weigh(number as usize, window, &keys, &mut weights);
    Ok(Keyed { column: Column { levels, weights }, keys: all })
}
