//! An analysis for people.

use std::fmt::Write;

use keima_analyse::growth::{DIGITS, Proof};

use super::find::{Analysis, broken, late};
use super::input::Input;
use crate::terminal::wrap::{WIDTH, wrapped_at};

/// Largest order whose recurrence is written out.
const WRITTEN_ORDER: usize = 60;
/// Longest text of a polynomial.
const MOST_CHARACTERS: usize = 6000;

pub(super) fn text(input: &Input, analysis: &Analysis) -> String {
    let mut text = input.subject.clone();
    let found = &analysis.found;
    let primes: Vec<String> = found.primes.iter().map(ToString::to_string).collect();
    let _ = write!(text, "\n  order              {}", found.order);
    let _ = write!(text, "\n  terms used         {}", found.terms_used);
    let _ = write!(text, "\n  terms verified     {} more", found.terms_verified);
    let _ = write!(text, "\n  modulo the primes  {}", primes.join(", "));
    if let Some(graph) = &input.graph {
        let _ = write!(text, "\n  border states      {}", graph.states());
    }
    let proved = if found.is_proved {
        "for every n, modulo the last prime: order and number of states bound the terms that can tell"
    } else {
        "nothing beyond the terms: the recurrence holds on all of them"
    };
    let _ = write!(text, "\n  proved             {proved}");
    let lifted = analysis.lifted.as_ref().ok();
    if let Some(what) = broken(input, found.broken).or_else(|| late(input, lifted?)) {
        let _ = write!(text, "\n  does not fit       {what}");
    }
    match &analysis.lifted {
        Err(why) => {
            let _ = write!(text, "\n\nno coefficients: {why}");
        }
        Ok(lifted) => {
            let bits = lifted.q.iter().map(keima_analyse::Integer::significant_bits).max().unwrap_or(0);
            let kind = if lifted.denominator() == 1 { "integers" } else { "fractions" };
            let _ = write!(
                text,
                "\n  coefficients       {kind} of at most {bits} bits, from {} primes, verified modulo {} on {} terms",
                lifted.primes_used, lifted.fresh_prime, lifted.fresh_terms
            );
            if let Some((place, value)) = lifted.first_fraction() {
                let _ = write!(
                    text,
                    "\n  no integer         c{place} = {value}: no series of integers goes on that way for ever (Fatou)"
                );
            }
            let (p, q) = lifted.generating_function();
            let polynomial = lifted.characteristic_polynomial();
            if lifted.order() <= WRITTEN_ORDER && q.len() <= MOST_CHARACTERS {
                let _ = write!(text, "\n\nrecurrence\n{}", wrapped_at(&lifted.equation(), WIDTH));
                let _ = write!(text, "\n\ngenerating function P(x)/Q(x)\n{}", wrapped_at(&format!("P = {p}"), WIDTH));
                let _ = write!(text, "\n{}", wrapped_at(&format!("Q = {q}"), WIDTH));
                let _ = write!(text, "\n\ncharacteristic polynomial\n{}", wrapped_at(&polynomial, WIDTH));
            } else {
                text += "\n\nThe recurrence is too long to read: --format csv, gp, latex, sympy or json prints it.";
            }
        }
    }
    text + "\n\n" + &growth(input, analysis)
}

fn growth(input: &Input, analysis: &Analysis) -> String {
    let growth = match &analysis.growth {
        Ok(growth) => growth,
        Err(why) => return format!("no growth: {why}"),
    };
    let mut text = "growth: L(n) ~ a lambda^n".to_owned();
    let mut line = |name: &str, bounds: &keima_analyse::growth::Bounds| {
        if let Some(decimal) = bounds.decimal(DIGITS) {
            let _ = write!(text, "\n  {name:<13} {}  +- {}", decimal.digits, decimal.error);
        }
    };
    line("a", &growth.a);
    line("lambda", &growth.lambda);
    if let Some(height) = input.height.filter(|&height| height > 1) {
        line(&format!("lambda^(1/{height})"), &growth.lambda.root(height));
    }
    match &growth.second {
        Some(second) => {
            let _ = write!(
                text,
                "\n  |second|      {}  an estimate: so many digits of the last ratios agree",
                second.digits
            );
        }
        None => text += "\n  |second|      not known: the ratios do not settle on these terms",
    }
    text + "\n  " + proof(growth.proof)
}

/// What proves the bounds.
pub(super) fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::Primitive(_) => {
            "Bounds are proved: a hub state makes the map of a column primitive (Perron, Collatz, Wielandt)."
        }
        Proof::LargestRoot => {
            "Bounds are proved for this recurrence: a change of sign, and all other roots are smaller (Graeffe, Pellet)."
        }
        Proof::SomeRoot => {
            "Bounds hold for a root of this recurrence; that no other root is as large follows from the ratios, unproved."
        }
    }
}
