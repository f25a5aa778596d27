//! Numbers with 100 digits after the point, as integers.
//!
//! Cost: a multiplication or division of some hundred digits each.

use rug::Integer;
use rug::ops::DivRounding as _;

use crate::growth::ten_to;

/// Digits after the point of all numbers here.
pub const SCALE: u32 = 100;

/// a / b, times 10^[`SCALE`]; `None` for b = 0.
pub(crate) fn quotient(a: &Integer, b: &Integer) -> Option<Integer> {
    (*b != 0).then(|| (a * ten_to(SCALE)).div_floor(b))
}

/// Product of two numbers of this scale.
pub(crate) fn product(a: &Integer, b: &Integer) -> Integer {
    Integer::from(a * b).div_floor(ten_to(SCALE))
}

/// A positive number of this scale with so many places after the point, at most [`SCALE`]; the last one is rounded.
pub fn decimal(value: &Integer, places: u32) -> String {
    let unit = ten_to(SCALE.saturating_sub(places));
    let text = (value + Integer::from(&unit / 2_u32)).div_floor(&unit).to_string();
    let places = places.min(SCALE) as usize;
    let text = format!("{text:0>width$}", width = places + 1);
    let (whole, part) = text.split_at(text.len() - places);
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
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
