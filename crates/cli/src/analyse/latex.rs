//! An analysis for papers: paragraphs of formulas that LaTeX takes without any package and breaks at signs and between groups
//! of digits.
//!
//! ```text
//!   L(n) = 3 L(n-1) - L(n-2)  becomes  $L(n) = 3\,L(n-1) - L(n-2)$
//!   1 - 3*x + x^12            becomes  $1 - 3x + x^{12}$
//! ```

use keima_analyse::Lifted;
use keima_analyse::growth::{Bounds, DIGITS};

use super::find::Analysis;
use super::input::Input;
use crate::result::latex;

pub(super) fn latex(input: &Input, analysis: &Analysis, lifted: &Lifted) -> String {
    let (p, q) = lifted.generating_function();
    let mut paragraphs = vec![
        format!("% {}", input.subject.replace(['\n', '\r'], " ")),
        format!("\\noindent ${}$", math(&lifted.equation())),
        format!("\\noindent $\\sum_n L(n)x^n = P(x)/Q(x)$, where\n$P(x) = {}$ and\n$Q(x) = {}$", math(&p), math(&q)),
    ];
    if let Ok(growth) = &analysis.growth {
        let constant = |name: &str, bounds: &Bounds| {
            let decimal = bounds.decimal(DIGITS)?;
            Some(format!("${name} = {} \\pm {}$", decimal.digits, scientific(&decimal.error)))
        };
        let constants = [("a", &growth.a), ("\\lambda", &growth.lambda)];
        let constants: Vec<String> =
            constants.into_iter().filter_map(|(name, bounds)| constant(name, bounds)).collect();
        let constants = constants.join(" and\n");
        paragraphs.push(format!("\\noindent $L(n) \\sim a \\lambda^n$, where\n{constants}"));
    }
    paragraphs.join("\n\n")
}

/// A formula of [`Lifted`] as LaTeX writes it.
fn math(formula: &str) -> String {
    let mut text = String::new();
    let mut rest = formula;
    let mut depth = 0_u32;
    while let Some(c) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            let (number, after) = rest.split_at(digits);
            // An index is no large number.
            text += &match (text.ends_with('^'), depth) {
                (true, _) => format!("{{{number}}}"),
                (false, 0) => latex::digits(number),
                (false, _) => number.to_owned(),
            };
            rest = after;
            // The thin space stands between a coefficient and L(n-1).
            if let Some(after) = rest.strip_prefix(" L") {
                text += "\\,L";
                rest = after;
            }
            continue;
        }
        if let Some(after) = rest.strip_prefix(">=") {
            text += "\\ge";
            rest = after;
            continue;
        }
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c != '*' {
            text.push(c);
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    text
}

/// `10^{-51}` of 1e-51.
fn scientific(error: &str) -> String {
    match error.split_once('e') {
        Some(("1", exponent)) => format!("10^{{{exponent}}}"),
        Some((digits, exponent)) => format!("{digits} \\cdot 10^{{{exponent}}}"),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathematics() {
        for (formula, expected) in [
            ("L(n) = 3 L(n-1) - L(n-12)", "L(n) = 3\\,L(n-1) - L(n-12)"),
            ("L(n) = -1234 L(n-1)", "L(n) = -1\\allowbreak\\,234\\,L(n-1)"),
            ("L(n) = L(n-1234)", "L(n) = L(n-1234)"),
            ("1 - 3*x + x^12", "1 - 3x + x^{12}"),
            ("L(n) = 0", "L(n) = 0"),
            ("L(n) = 2 L(n-1), n >= 3", "L(n) = 2\\,L(n-1), n \\ge 3"),
            ("0", "0"),
        ] {
            assert_eq!(math(formula), expected, "{formula}");
        }
        assert_eq!(scientific("1e-51"), "10^{-51}");
        assert_eq!(scientific("3e-9"), "3 \\cdot 10^{-9}");
    }
}
