//! A positive number between two bounds, and the decimal digits on which both agree. Cost: some divisions.

use rug::Integer;
use rug::ops::DivRounding;

/// Two bounds of a positive number, times 10^scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Lower bound, rounded down.
    pub low: Integer,
    /// Upper bound, rounded up.
    pub high: Integer,
    /// Decimal digits after the point.
    pub scale: u32,
}

/// A number in decimal, with the largest error that it can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The rounded number: `2.7692923542386314`.
    pub digits: String,
    /// A bound on the difference: `1e-16`.
    pub error: String,
}

/// 10^exponent.
pub(crate) fn ten_to(exponent: u32) -> Integer {
    Integer::from(Integer::u_pow_u(10, exponent))
}

impl Bounds {
    /// The m-th root, with the same scale.
    #[must_use]
    pub fn root(&self, m: u32) -> Self {
        let shift = ten_to(self.scale * (m - 1));
        let root = |x: &Integer| Integer::from(x * &shift).root(m);
        Self { low: root(&self.low), high: root(&self.high) + 1, scale: self.scale }
    }

    /// At most `most` significant digits, fewer where the bounds differ in them; `None` if they differ in all.
    pub fn decimal(&self, most: u32) -> Option<Decimal> {
        let length = self.high.to_string().len() as u32;
        (1..=most.min(length)).rev().find_map(|digits| {
            let cut = length - digits;
            let unit = ten_to(cut);
            let half = Integer::from(&unit / 2_u32);
            let rounded = |x: &Integer| Integer::from(x + &half).div_floor(&unit);
            let shown = rounded(&self.low);
            if shown != rounded(&self.high) {
                return None;
            }
            let value = Integer::from(&shown * &unit);
            let below = Integer::from(&value - &self.low).abs();
            let above = Integer::from(&self.high - &value).abs();
            let error = below.max(above);
            // The next power of ten.
            let exponent = error.to_string().len() as i64 - i64::from(self.scale);
            Some(Decimal { digits: written(&value, self.scale, cut), error: format!("1e{exponent}") })
        })
    }
}

/// `value` / 10^scale without the last `cut` digits.
fn written(value: &Integer, scale: u32, cut: u32) -> String {
    let text = value.to_string();
    let width = scale as usize + 1;
    let text = format!("{text:0>width$}");
    let (whole, fraction) = text.split_at(text.len() - scale as usize);
    let fraction = &fraction[..fraction.len().saturating_sub(cut as usize)];
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_on_which_both_bounds_agree() {
        for (low, high, scale, most, expected) in [
            (314_159, 314_160, 5, 50, Some(("3.1416", "1e-4"))),
            (314_159, 314_159, 5, 3, Some(("3.14", "1e-2"))),
            (12_345, 12_345, 0, 2, Some(("12000", "1e3"))),
            (7, 7, 4, 9, Some(("0.0007", "1e-3"))),
            (999_999, 1_000_001, 5, 50, Some(("10.0000", "1e-4"))),
            (2, 9, 0, 50, None),
        ] {
            let bounds = Bounds { low: low.into(), high: high.into(), scale };
            let got = bounds.decimal(most);
            let got = got.as_ref().map(|decimal| (decimal.digits.as_str(), decimal.error.as_str()));
            assert_eq!(got, expected, "{low} to {high} / 10^{scale}");
        }
    }

    #[test]
    fn roots_are_bracketed() {
        let root = Bounds { low: ten_to(30) * 8_u32, high: ten_to(30) * 8_u32, scale: 30 }.root(3);
        assert!(root.low <= ten_to(30) * 2_u32 && root.high >= ten_to(30) * 2_u32);
        assert!(root.high - root.low <= 2);
    }
}
