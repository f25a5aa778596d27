//! Round values along an axis, at most about ten, with what stands beside them.
//!
//! ```text
//!   linear        steps of 1, 2 or 5 times a power of ten
//!   logarithmic   whole powers of ten; where there are fewer than two, their multiples of 1, 2 and 5
//! ```

/// Values from `low` to `high` and their labels. On a logarithmic axis the values are log10 of what the labels say.
pub(super) fn ticks(low: f64, high: f64, is_logarithmic: bool) -> Vec<(f64, String)> {
    if !(low < high && low.is_finite() && high.is_finite()) {
        return Vec::new();
    }
    if !is_logarithmic {
        let step = step(high - low);
        return multiples(low, high, step).map(|value| (value, plain(value, step))).collect();
    }
    let whole: Vec<(f64, String)> =
        multiples(low, high, step(high - low).max(1.0)).map(|value| (value, power(1, value as i64))).collect();
    if whole.len() > 1 {
        return whole;
    }
    let (first, last) = (low.floor() as i64, high.floor() as i64);
    let all = (first..=last).flat_map(|exponent| [1, 2, 5].map(|digit| (digit, exponent)));
    let all = all.map(|(digit, exponent)| (f64::from(digit).log10() + exponent as f64, power(digit, exponent)));
    all.filter(|(value, _)| (low..=high).contains(value)).collect()
}

/// A step that goes about eight times into `length`.
fn step(length: f64) -> f64 {
    let exact = length / 8.0;
    let unit = 10_f64.powf(exact.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * unit >= exact * 0.999).unwrap_or(10.0);
    digit * unit
}

fn multiples(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(move |number| number as f64 * step)
}

/// A value with as many places as its step has; large ones as powers.
fn plain(value: f64, step: f64) -> String {
    if value.abs() >= 1e6 {
        return format!("{value:.2e}").replace(".00e", "e");
    }
    let places = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.places$}")
}

/// `2e5`; small powers are written out.
fn power(digit: u32, exponent: i64) -> String {
    match usize::try_from(exponent) {
        Ok(zeros @ 0..=3) => format!("{digit}{}", "0".repeat(zeros)),
        _ => format!("{digit}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        for (low, high, is_logarithmic, expected) in [
            (1.0, 9.0, false, "1 2 3 4 5 6 7 8 9"),
            (0.0, 361.0, false, "0 50 100 150 200 250 300 350"),
            (0.0, 0.5, false, "0.0 0.1 0.2 0.3 0.4 0.5"),
            (0.0, 4_000_000.0, false, "0 500000 1e6 1.50e6 2e6 2.50e6 3e6 3.50e6 4e6"),
            (0.0, 8.5, true, "1 100 1e4 1e6 1e8"),
            (-20.0, -1.0, true, "1e-20 1e-15 1e-10 1e-5"),
            (4.1, 4.9, true, "2e4 5e4"),
            (0.0, 170.0, true, "1 1e50 1e100 1e150"),
            (1.0, 1.0, false, ""),
            (f64::NAN, 1.0, false, ""),
        ] {
            let labels: Vec<String> = ticks(low, high, is_logarithmic).into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels.join(" "), expected, "{low} to {high}");
        }
        assert!(ticks(4.1, 4.9, true).iter().all(|(value, _)| (4.1..=4.9).contains(value)));
    }
}
