//! The constants of L(m,n) ~ A B^(m+n) L^(mn), from counts of squares and of boards one longer.
//!
//! ```text
//!   L_n = s(n) s(n+1) / o(n)^2               s(n) = L(n,n), o(n) = L(n,n+1)
//!   B_n = o(n) / (s(n) L^n)
//!   A_n = s(n) / (B^(2n) L^(n^2))
//! ```
//!
//! Source: Tromp & Farnebäck 2016, sections 5.10 and 5.11, table 6. The ratios converge like a few geometric sequences with
//! complex bases, so Wynn's epsilon algorithm (see [`epsilon`]) gains digits. B is made with the L so found, and A with both.
//!
//! The bars are honest, not proved: an error of L by e moves `A_n` by n^2 e, which is added. [`Limit::trials`] tells how often the same
//! method on fewer counts had the final value within its bar. Cost: some thousand multiplications of 100 digits.

pub mod epsilon;
pub mod plot;
#[cfg(test)]
mod tests;

use rug::Integer;
use rug::ops::DivRounding as _;

use self::epsilon::Limit;
use crate::growth::ten_to;

/// Digits after the point of all numbers here.
pub const SCALE: u32 = 100;
/// Fewest squares from which constants are made.
pub const LEAST: usize = 6;

/// Counts of squares and of boards one longer.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// s(1), s(2), ...
    pub squares: Vec<Integer>,
    /// o(1), o(2), ...; one fewer, or as many.
    pub oblongs: Vec<Integer>,
}

/// What the counts say.
#[derive(Clone, Debug)]
pub struct Constants {
    /// `L_n` of the paper, n from 1, times 10^[`SCALE`].
    pub ratios: Vec<Integer>,
    /// L.
    pub base: Limit,
    /// B.
    pub side: Limit,
    /// A.
    pub factor: Limit,
    /// For n from 1.
    pub errors: Vec<Errors>,
}

/// The relative errors of the formula with these constants, times 10^[`SCALE`]: at n x n, and at n x (n+1) if that is known.
pub type Errors = (Integer, Option<Integer>);

/// Too few counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the constants need the counts of {LEAST} squares and of the boards between them, got {got}")]
pub struct TooFew {
    /// The squares with their oblongs.
    pub got: usize,
}

/// a / b, times 10^[`SCALE`].
pub(crate) fn ratio(a: &Integer, b: &Integer) -> Integer {
    (a * ten_to(SCALE)).div_floor(b)
}

/// Product of two numbers of this scale.
pub(crate) fn product(a: &Integer, b: &Integer) -> Integer {
    Integer::from(a * b).div_floor(ten_to(SCALE))
}

/// a^n.
pub(crate) fn power(a: &Integer, n: u32) -> Integer {
    let mut result = ten_to(SCALE);
    for bit in (0..u32::BITS - n.leading_zeros()).rev() {
        result = product(&result, &result);
        if n >> bit & 1 == 1 {
            result = product(&result, a);
        }
    }
    result
}

impl Constants {
    /// The constants of some counts.
    pub fn of(counts: &Counts) -> Result<Self, TooFew> {
        let (squares, oblongs) = (&counts.squares, &counts.oblongs);
        let pairs = oblongs.len().min(squares.len().saturating_sub(1));
        if pairs + 1 < LEAST {
            return Err(TooFew { got: pairs + 1 });
        }
        let between = |n: usize| {
            let product = Integer::from(squares.get(n)? * squares.get(n + 1)?);
            let oblong = oblongs.get(n)?;
            Some(ratio(&product, &Integer::from(oblong * oblong)))
        };
        let ratios: Vec<Integer> = (0..pairs).map_while(between).collect();
        let base = Limit::of(&ratios);
        let steps = (1..).zip(squares.iter().zip(oblongs));
        let sides: Vec<Integer> =
            steps.map(|(n, (square, oblong))| ratio(&ratio(oblong, square), &power(&base.value, n))).collect();
        let longest = pairs as u32 + 1;
        let side = Limit::of(&sides).with_error(&(Integer::from(&base.error * longest)));
        let whole = (1..).zip(squares).map(|(n, square): (u32, &Integer)| {
            let powers = product(&power(&side.value, 2 * n), &power(&base.value, n * n));
            (square * ten_to(2 * SCALE)).div_floor(&powers)
        });
        let factors: Vec<Integer> = whole.collect();
        let moved = Integer::from(&base.error * (longest * longest)) + Integer::from(&side.error * (2 * longest));
        let factor = Limit::of(&factors).with_error(&moved);
        let error = |count: &Integer, m: u32, n: u32| {
            let powers = product(&power(&side.value, m + n), &power(&base.value, m * n));
            let formula = product(&factor.value, &powers);
            (count * ten_to(2 * SCALE)).div_floor(&formula) - ten_to(SCALE)
        };
        let errors = (1..).zip(squares).map(|(n, square)| {
            let oblong = oblongs.get(n as usize - 1);
            (error(square, n, n), oblong.map(|oblong| error(oblong, n, n + 1)))
        });
        let errors = errors.collect();
        Ok(Self { ratios, base, side, factor, errors })
    }
}

/// Lower and upper bound of the number of legal positions by theorem 3, for sides that 5 divides: products of powers of 3, 79/81
/// and 241/243. `None` for other sides.
pub fn theorem_3(m: u32, n: u32) -> Option<(Integer, Integer)> {
    if m == 0 || n == 0 || !m.is_multiple_of(5) || !n.is_multiple_of(5) {
        return None;
    }
    let (sides, cells) = (2 * (m + n) / 5, m * n);
    let three = |exponent: u32| Integer::from(Integer::u_pow_u(3, exponent));
    let edge = |count: Integer| {
        (count * Integer::from(Integer::u_pow_u(79, sides))).div_floor(Integer::from(Integer::u_pow_u(81, sides)))
    };
    let inner = (cells - 2 * (m + n)) / 5;
    let low = edge(three(4 * cells / 5));
    let high = three(cells) * Integer::from(Integer::u_pow_u(241, inner));
    let high = edge(high).div_ceil(Integer::from(Integer::u_pow_u(243, inner))) + 1;
    Some((low, high))
}
