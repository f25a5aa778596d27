//! Hard squares in the engine's terms against the lower rungs and the published values.

mod common;

use keima_model::{Board, Problem, ProblemInfo, ProblemRequest, Registry, Successors, Window};
use keima_problems::Problems;
use keima_problems::hard_squares::{HardSquares, border, brute};

fn problem(height: u32, length: u32) -> HardSquares {
    HardSquares { board: Board { height, length } }
}

fn series(height: u32, length: u32) -> Vec<u128> {
    common::values(&problem(height, length)).iter().map(|value| value[0]).collect()
}

#[test]
fn counts_are_those_of_every_set() {
    for height in 1..=16 {
        for (length, count) in (1..).zip(series(height, 16 / height)) {
            assert_eq!(brute::count(height, length).map(u128::from), Some(count), "{height}x{length}");
        }
    }
}

#[test]
fn vectors_are_those_of_the_plain_recurrence() {
    for (height, length) in [(1, 6), (3, 4), (6, 4), (10, 3)] {
        let mut vector = border::start(height as usize);
        common::run(&problem(height, length), &Window::cut(height, height), |pass, _, states| {
            let key = |border: &Vec<bool>| border.iter().rev().fold(0_u64, |key, &taken| key << 1 | u64::from(taken));
            let expected: common::Vector<u64> = vector.iter().map(|(b, &count)| (key(b), vec![count])).collect();
            assert!(*states == expected, "{height}x{length} before pass {pass}");
            vector = border::pass(&vector, (pass % height) as usize);
        });
    }
}

#[test]
fn counts_are_the_published_ones() {
    // A006506 (squares) and A089934 (others).
    for (height, length, known) in [
        (1, 7, 34),
        (2, 7, 577),
        (3, 7, 10_897),
        (4, 6, 36_787),
        (5, 7, 3_729_091),
        (6, 7, 69_050_253),
        (7, 7, 1_280_128_950),
        (8, 8, 660_647_962_955),
        (10, 10, 2_030_049_051_145_980_050),
        (12, 12, 162_481_813_349_792_588_536_582_997),
    ] {
        assert_eq!(common::count(&problem(height, length)), known, "{height}x{length}");
    }
    let answer = problem(15, 15).functionals().pop().unwrap();
    assert!(answer.answer && answer.known.is_some_and(|known| known.len() == 41));
}

#[test]
fn a_board_has_as_many_sets_as_its_transpose() {
    for (m, n) in [(1, 9), (2, 7), (3, 8), (4, 10), (5, 7)] {
        assert_eq!(series(m, n).last(), series(n, m).last(), "{m}x{n}");
    }
}

#[test]
fn what_every_problem_must_hold_to() {
    for (height, length) in [(1, 1), (1, 5), (2, 3), (5, 3), (7, 2)] {
        let problem = problem(height, length);
        common::check_windows(&problem);
        assert!(common::check_families(&problem) > 1 || height < 2);
        common::check_forecast(&problem);
        common::check_bounds(&problem);
        common::check_any_keys(&problem);
    }
    let dynamic: &dyn Problem<u64> = &problem(8, 8);
    common::check_forecast(dynamic);
}

/// The same problem with nothing said that has a default.
struct Bare(HardSquares);

impl ProblemInfo for Bare {
    fn name(&self) -> &'static str {
        "bare"
    }
    fn board(&self) -> Board {
        self.0.board
    }
    fn key_bits(&self) -> u32 {
        self.0.key_bits()
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        self.0.bound()
    }
}

impl Problem<u64> for Bare {
    fn expand(&self, pass: u32, window: Window, keys: &[u64], out: &mut Successors<u64>) {
        self.0.expand(pass, window, keys, out);
    }
}

#[test]
fn defaults_are_a_plain_count() {
    for (height, length) in [(1, 1), (1, 5), (3, 4), (5, 3)] {
        let bare = Bare(problem(height, length));
        let counts = series(height, length);
        assert_eq!(common::values(&bare), [[counts[length as usize - 1]]]);
        common::check_windows(&bare);
        assert_eq!(common::check_families(&bare), 1);
        common::check_bounds(&bare);
        let answer = &bare.functionals()[0];
        let size = format!("{height}x{length}");
        assert_eq!((answer.name.as_str(), answer.answer), (format!("bare({height},{length})").as_str(), true));
        assert_eq!((bare.size(), bare.identity()), (size.clone(), format!("bare: board {size}")));
        assert_eq!((bare.forecast(), bare.largest_family(Window { first: 0, len: 1 })), (None, None));
    }
}

fn request(size: &str, options: &[(&str, &str)]) -> ProblemRequest {
    let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    ProblemRequest { name: "hard-squares".to_owned(), size: size.to_owned(), options }
}

#[test]
fn requests() {
    let problem = Problems.open(&request("9x5", &[])).unwrap();
    assert_eq!(problem.info().board(), Board { height: 5, length: 9 });
    assert_eq!((problem.info().name(), problem.info().size().as_str()), ("hard-squares", "5x9"));
    for (size, options, expected) in [
        ("57x57", &[][..], "at most 56, it is 57"),
        ("9", &[][..], "say 9x9"),
        ("9x9", &[("torus", "")][..], "has no options"),
    ] {
        let error = Problems.open(&request(size, options)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
