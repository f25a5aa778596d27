//! A recurrence as people and other programs read it: generating function, characteristic polynomial, PARI/GP, sympy.

use rug::{Integer, Rational};

use super::Lifted;

/// `3*x^2 - x + 1` from its coefficients, the constant first; the highest power first where `descending`.
fn polynomial(coefficients: &[Integer], descending: bool) -> String {
    let mut terms: Vec<(usize, &Integer)> = coefficients.iter().enumerate().filter(|(_, c)| !c.is_zero()).collect();
    if descending {
        terms.reverse();
    }
    let mut text = String::new();
    for (exponent, coefficient) in terms {
        let sign = match (text.is_empty(), coefficient.is_negative()) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let size = Integer::from(coefficient.abs_ref());
        let x = match exponent {
            0 => String::new(),
            1 => "x".to_owned(),
            more => format!("x^{more}"),
        };
        text += sign;
        match (x.is_empty(), size == 1) {
            (true, _) => text += &size.to_string(),
            (false, true) => text += &x,
            (false, false) => text += &format!("{size}*{x}"),
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

/// `[3, -1, 1]` from coefficients, the constant first.
fn descending(coefficients: &[Integer]) -> String {
    let all: Vec<String> = coefficients.iter().rev().map(ToString::to_string).collect();
    format!("[{}]", if all.is_empty() { "0".to_owned() } else { all.join(", ") })
}

impl Lifted {
    /// P(x) of the generating function sum L(n) x^n: shifted to the first index.
    fn numerator(&self) -> Vec<Integer> {
        std::iter::repeat_n(Integer::new(), self.first as usize).chain(self.p.iter().cloned()).collect()
    }
    /// Numerator and denominator of the sum of L(n) x^n over n from the first index on.
    pub fn generating_function(&self) -> (String, String) {
        (polynomial(&self.numerator(), false), polynomial(&self.q, false))
    }
    /// x^r - c1 x^(r-1) - ... - cr, times the common denominator of the coefficients.
    pub fn characteristic_polynomial(&self) -> String {
        let reversed: Vec<Integer> = self.q.iter().rev().cloned().collect();
        polynomial(&reversed, true)
    }
    /// The recurrence: `L(n) = 3 L(n-1) - L(n-2) + L(n-3)`. Where it reaches back less far than its order, so that the first n is
    /// not where a reader expects it, it says from where on it holds: `L(n) = 2 L(n-1), n >= 3`.
    pub fn equation(&self) -> String {
        let mut text = "L(n) =".to_owned();
        for (number, c) in (1..).zip(self.coefficients()).filter(|(_, c)| !c.is_zero()) {
            let is_first = text.ends_with('=');
            text += match (is_first, *c.numer() < 0) {
                (true, false) => " ",
                (true, true) => " -",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let size: Rational = c.abs();
            text += &if size == 1 { format!("L(n-{number})") } else { format!("{size} L(n-{number})") };
        }
        if text.ends_with('=') {
            text += " 0";
        }
        if self.order() > 0 && self.q.last().is_some_and(|q| *q == 0) {
            text += &format!(", n >= {}", self.holds_from());
        }
        text
    }
    /// PARI/GP: defines P, Q and L(n) by the generating function, and prints the first ten terms.
    pub fn gp(&self) -> String {
        format!(
            "P = {};\nQ = {};\nL(n) = polcoef(P/Q + O(x^(n+1)), n);\nprint(vector(10, k, L(k + {} - 1)));",
            polynomial(&self.numerator(), false),
            polynomial(&self.q, false),
            self.first,
        )
    }
    /// Python with sympy: P, Q and L(n) by the power series of P/Q, and prints the first ten terms. Polynomials are lists of
    /// coefficients, the highest first: Python refuses a sum of some thousands of terms.
    pub fn sympy(&self) -> String {
        let (open, close) = if self.denominator() == 1 { ("", "") } else { ("(", ") / q[0]") };
        format!(
            "from sympy import Poly, symbols\nx = symbols('x')\nP = Poly({}, x)\nQ = Poly({}, x)\n\n\
             def L(n):\n    p, q = P.all_coeffs()[::-1], Q.all_coeffs()[::-1]\n    a = []\n    for k in range(n + 1):\n        \
             a.append({open}(p[k] if k < len(p) else 0) - sum(q[i] * a[k - i] for i in range(1, min(k, len(q) - 1) + \
             1)){close})\n    return a[n]\n\nprint([L(n) for n in range({}, {})])",
            descending(&self.numerator()),
            descending(&self.q),
            self.first,
            self.first + 10,
        )
    }
    /// CSV: `i,coefficient` with L(n) = sum of coefficient times L(n-i).
    pub fn csv(&self) -> String {
        let rows = (1..).zip(self.coefficients()).map(|(i, c)| format!("{i},{c}"));
        std::iter::once("i,coefficient".to_owned()).chain(rows).collect::<Vec<_>>().join("\n")
    }
}
