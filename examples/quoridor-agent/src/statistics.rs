//! How far results are from chance: intervals of 95 %, and whether two results differ.
//!
//! ```text
//!   share of wins   Wilson's interval; two shares: Fisher's exact test, two-sided
//!   mean            normal interval; against a printed mean: the normal test, with our spread for his games
//! ```

/// The normal distribution's two-sided 95 %.
const Z: f64 = 1.959_964;

/// Wilson's 95 % interval of a share, in percent; `None` without games.
pub(crate) fn wilson(wins: u32, games: u32) -> Option<[f64; 2]> {
    if games == 0 {
        return None;
    }
    let (wins, games) = (f64::from(wins), f64::from(games));
    let share = wins / games;
    let middle = share + Z * Z / (2.0 * games);
    let half = Z * (share * (1.0 - share) / games + Z * Z / (4.0 * games * games)).sqrt();
    let scale = 100.0 / (1.0 + Z * Z / games);
    Some([((middle - half) * scale).max(0.0), ((middle + half) * scale).min(100.0)])
}

/// What is known of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Their mean.
    pub(crate) mean: f64,
    /// Standard deviation of one number.
    pub(crate) deviation: f64,
    pub(crate) count: usize,
}

impl Sample {
    /// `None` for fewer than two numbers.
    pub(crate) fn of(numbers: &[u32]) -> Option<Self> {
        if numbers.len() < 2 {
            return None;
        }
        let count = numbers.len() as f64;
        let mean = numbers.iter().copied().map(f64::from).sum::<f64>() / count;
        let squares = numbers.iter().map(|&number| (f64::from(number) - mean).powi(2)).sum::<f64>();
        Some(Self { mean, deviation: (squares / (count - 1.0)).sqrt(), count: numbers.len() })
    }

    /// Half the width of the 95 % interval.
    pub(crate) fn half_width(&self) -> f64 {
        Z * self.deviation / (self.count as f64).sqrt()
    }

    /// The probability of a difference as large between this mean and that of `count` other numbers with the same spread.
    pub(crate) fn p_against(&self, mean: f64, count: u32) -> f64 {
        let error = self.deviation * (1.0 / self.count as f64 + 1.0 / f64::from(count)).sqrt();
        let difference = (self.mean - mean).abs();
        // Nothing over nothing: they are equal.
        if difference > 0.0 { two_sided(difference / error) } else { 1.0 }
    }
}

/// The probability that a normal number is at least `z` deviations from its mean. Abramowitz and Stegun 7.1.26, to 1.5e-7.
fn two_sided(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let factors = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    factors.iter().fold(0.0, |sum, factor| (sum + factor) * t) * (-x * x).exp()
}

/// Fisher's exact test: the probability that two shares of wins, (wins, games), differ as much by chance.
pub(crate) fn fisher(one: (u32, u32), other: (u32, u32)) -> f64 {
    let (wins, games) = (one.0 + other.0, one.1 + other.1);
    let log = |wins_of_one: u32| {
        ln_choose(one.1, wins_of_one) + ln_choose(other.1, wins - wins_of_one) - ln_choose(games, wins)
    };
    let seen = log(one.0);
    let possible = wins.saturating_sub(other.1)..=wins.min(one.1);
    // As rare or rarer, with room for rounding.
    possible.map(log).filter(|&rare| rare <= seen + 1e-9).map(f64::exp).sum::<f64>().min(1.0)
}

fn ln_choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| (f64::from(n - i) / f64::from(k - i)).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(got: f64, expected: f64, what: &str) {
        assert!((got - expected).abs() < 1e-3 * expected.abs().max(1e-3), "{what}: {got}, expected {expected}");
    }

    /// Values by textbooks' formulas in another language.
    #[test]
    fn intervals_and_tests() {
        for (wins, games, low, high) in [(27, 50, 40.3969, 67.0305), (49, 50, 89.5041, 99.6462), (0, 10, 0.0, 27.7533)]
        {
            let [got_low, got_high] = wilson(wins, games).unwrap();
            check(got_low, low, "low");
            check(got_high, high, "high");
        }
        assert_eq!(wilson(0, 0), None);
        for (one, other, expected) in [
            ((1, 10), (11, 14), 0.002_759),
            ((27, 50), (27, 50), 1.0),
            ((3, 4), (1, 4), 0.485_714),
            ((49, 50), (500, 500), 0.090_909),
            ((0, 5), (5, 5), 0.007_936_5),
        ] {
            check(fisher(one, other), expected, "fisher");
            check(fisher(other, one), expected, "fisher, exchanged");
        }
        for (z, expected) in [(0.0, 1.0), (1.0, 0.317_311), (1.959_964, 0.05), (3.0, 0.002_699_8)] {
            check(two_sided(z), expected, "two-sided");
        }
    }

    #[test]
    fn means() {
        let mean = Sample::of(&[2, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        check(mean.mean, 5.0, "mean");
        check(mean.deviation, 2.138_09, "deviation");
        check(mean.half_width(), 1.481_59, "half width");
        // An error of 2.13809 * sqrt(1/8 + 1/8) = 1.06904.
        check(mean.p_against(5.0 + 1.069_045, 8), 0.317_311, "p");
        assert_eq!((Sample::of(&[3]), Sample::of(&[])), (None, None));
        let constant = Sample::of(&[3, 3]).unwrap();
        assert_eq!((constant.p_against(3.0, 5), constant.p_against(4.0, 5)), (1.0, 0.0));
    }
}
