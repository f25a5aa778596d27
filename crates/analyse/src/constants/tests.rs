//! Limits of sequences that are known, and the constants of Go.

use rug::Integer;
use rug::ops::DivRounding as _;

use super::epsilon::Limit;
use super::{Constants, Counts, SCALE, TooFew, plot, product, theorem_3};
use crate::growth::ten_to;

const GO: &str = include_str!("../../../../tests/golden/go_legal_positions.csv");
const RATIOS: &str = include_str!("../../../../tests/golden/go_base_of_liberties.csv");

fn go(most: usize) -> Counts {
    let mut counts = Counts::default();
    for line in GO.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let fields: Vec<&str> = line.split(',').collect();
        let (m, n): (usize, usize) = (fields[0].parse().unwrap(), fields[1].parse().unwrap());
        let count = fields[2].parse::<Integer>().unwrap();
        if m == n && n <= most {
            counts.squares.push(count);
        } else if n == m + 1 && n <= most {
            counts.oblongs.push(count);
        }
    }
    counts
}

/// The limit of 1 + sum of c b^n over (c, b) is 1, for real bases and for a complex pair.
#[test]
fn geometric_errors_are_taken_off() {
    let unit = ten_to(SCALE);
    let term = |parts: &[(i64, i64)], n: u32| -> Integer {
        let part = |&(c, b): &(i64, i64)| {
            Integer::from(&unit * c) * Integer::from(b).pow_n(n) / Integer::from(Integer::u_pow_u(100, n))
        };
        parts.iter().map(part).fold(unit.clone(), |sum, part| sum + part)
    };
    for (parts, terms) in [(&[(3, 20)][..], 10), (&[(3, 20), (-7, -35)], 12), (&[(1, 10), (1, -30), (5, 45)], 14)] {
        let all: Vec<Integer> = (1..=terms).map(|n| term(parts, n)).collect();
        let limit = Limit::of(&all);
        let off = Integer::from(&limit.value - &unit).abs();
        assert!(off <= ten_to(SCALE - 40), "{parts:?}: off by 1e-{}", SCALE as usize - off.to_string().len());
    }
    // 2 Re (0.3 + 0.4 i)^n: t(n) = 0.6 t(n-1) - 0.25 t(n-2).
    let mut all = vec![Integer::from(&unit * 2_u32), Integer::from(&unit * 6_u32) / 10_u32];
    for at in 2..16 {
        let next = Integer::from(&all[at - 1] * 60_u32) - Integer::from(&all[at - 2] * 25_u32);
        all.push(next.div_floor(Integer::from(100)));
    }
    let limit = Limit::of(&all.iter().map(|t| Integer::from(t + &unit)).collect::<Vec<_>>());
    assert!(Integer::from(&limit.value - &unit).abs() <= ten_to(SCALE - 40), "{limit:?}");
}

trait Power {
    fn pow_n(self, n: u32) -> Integer;
}

impl Power for Integer {
    fn pow_n(self, n: u32) -> Integer {
        (0..n).fold(Self::from(1), |power, _| power * &self)
    }
}

#[test]
fn ratios_are_those_of_the_paper() {
    let constants = Constants::of(&go(19)).unwrap();
    let mut compared = 0;
    for line in RATIOS.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let (n, printed) = line.split_once(',').unwrap();
        let n: usize = n.parse().unwrap();
        let Some(ratio) = constants.ratios.get(n - 1) else { continue };
        let places = printed.split_once('.').map_or(0, |(_, part)| part.len()) as u32;
        let unit = ten_to(SCALE - places);
        let digits = printed.replace('.', "").parse::<Integer>().unwrap();
        let off = (ratio - digits * &unit).abs();
        // Printed digits may be rounded or cut. One is misprinted: the published counts give ...366 for n = 16, the table ...362.
        let most = if n == 16 { 5 } else { 1 };
        assert!(off <= unit * most, "{n}: {printed}");
        compared += 1;
    }
    assert!(compared >= 18, "{compared}");
}

/// The published limits lie within the bars, also from fewer counts.
#[test]
fn published_constants_are_within_the_bars() {
    let published = ["2.975734192043357249381", "0.96553505933837387", "0.8506399258457145"];
    for most in [10, 13, 16, 19] {
        let constants = Constants::of(&go(most)).unwrap();
        for (limit, printed) in [&constants.base, &constants.side, &constants.factor].into_iter().zip(published) {
            let places = printed.len() as u32 - 2;
            let unit = ten_to(SCALE - places);
            let value = printed.replace('.', "").parse::<Integer>().unwrap() * &unit;
            let off = Integer::from(&limit.value - &value).abs();
            assert!(off <= Integer::from(&limit.error + &unit), "{most}: {printed} is not {:?}", limit.decimal());
        }
    }
    let constants = Constants::of(&go(19)).unwrap();
    println!("{:?} {:?} {:?}", constants.base.decimal(), constants.side.decimal(), constants.factor.decimal());
    println!("{:?} {:?} {:?}", constants.base.trials, constants.side.trials, constants.factor.trials);
    // More digits than the 22 that were printed.
    assert!(constants.base.error < ten_to(SCALE - 22), "{:?}", constants.base.decimal());
    let (held, all) = constants.base.trials;
    assert!(held * 10 >= all * 8, "{held} of {all}");
}

#[test]
fn errors_shrink_and_are_plotted() {
    let constants = Constants::of(&go(19)).unwrap();
    for (n, expected) in [(5, -4.2), (9, -8.0), (13, -12.7)] {
        let got = plot::exponent(&constants.errors[n - 1].0).unwrap();
        assert!((got - expected).abs() < 0.5, "{n}: {got}");
    }
    let svg = plot::svg(&constants);
    assert!(
        svg.starts_with("<svg")
            && svg.trim_end().ends_with("</svg>")
            && svg.matches("<circle").count() == 19 + 18 + 2 * 2
    );
}

#[test]
fn theorem_3_holds_where_it_applies() {
    let counts = go(19);
    for n in [5_u32, 10, 15] {
        let (low, high) = theorem_3(n, n).unwrap();
        let count = &counts.squares[n as usize - 1];
        assert!(low <= *count && *count <= high, "{n}");
    }
    assert_eq!(theorem_3(5, 6), None);
}

#[test]
fn few_counts_are_refused() {
    assert_eq!(Constants::of(&go(5)).map(|_| ()), Err(TooFew { got: 5 }));
    assert_eq!(product(&ten_to(SCALE), &ten_to(SCALE)), ten_to(SCALE));
}
