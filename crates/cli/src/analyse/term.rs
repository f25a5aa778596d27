//! `keima analyse ... --term N`: one far term, exact, modulo a number, or its first and last digits.

use keima_analyse::recurrence::Lifted;
use keima_analyse::{Integer, term};
use serde_json::{Value, json};

use super::find::{coefficients, given, growth};
use super::input::{Input, modulus};
use crate::args::{AnalyseArgs, VERSION};
use crate::exit::{CHECK_FAILED, Failed};

/// Digits that are shown at either end.
const SHOWN: usize = 50;
/// Most bits that the polynomials of an exact term may have together: 0.5 GiB, some minutes.
const MOST_BITS: f64 = 4e9;
/// Terms before this one are written out in any case.
const FAR: u64 = 1000;

/// What is told of a term.
pub(super) enum Told {
    Exact(String),
    Modulo { residue: String, modulus: String },
    Ends { digits: String, first: String, last: String },
}

impl Told {
    /// For people.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Exact(term) => term.clone(),
            Self::Modulo { residue, .. } => residue.clone(),
            Self::Ends { digits, first, last } => format!("digits  {digits}\nfirst   {first}\nlast    {last}"),
        }
    }

    /// For programs. All numbers are strings: the index too may be longer than a double holds.
    pub(super) fn json(&self, input: &Input, n: u64) -> Value {
        let mut value = json!({ "series": input.subject, "n": n.to_string(), "program": format!("keima {VERSION}") });
        let fields = match self {
            Self::Exact(term) => vec![("term", term)],
            Self::Modulo { residue, modulus } => vec![("residue", residue), ("modulus", modulus)],
            Self::Ends { digits, first, last } => vec![("digits", digits), ("first", first), ("last", last)],
        };
        for (name, number) in fields {
            value[name] = number.as_str().into();
        }
        value
    }
}

pub(super) fn term(args: &AnalyseArgs, input: &Input, n: u64) -> Result<Told, Failed> {
    if n < u64::from(input.first()) {
        return Err(Failed::usage(format!("--term: the series begins at n = {}, got {n}", input.first())));
    }
    let index = Integer::from(n);
    let beyond = || Failed::usage(format!("the series has no term of index {n}"));
    if let Some(text) = &args.modulo {
        let modulus = modulus(text)?;
        let residue = modulo(args, input, &index, &modulus)?.ok_or_else(beyond)?;
        return Ok(Told::Modulo { residue: residue.to_string(), modulus: modulus.to_string() });
    }
    let written = |term: &Integer| if args.digits { ends(&term.to_string()) } else { Told::Exact(term.to_string()) };
    if let Some(term) = given(input, n) {
        return Ok(written(term));
    }
    let lifted = lifted(args, input)?;
    // Without a growth the term itself is left.
    if args.digits
        && n >= FAR
        && let Ok(growth) = growth(args, input, Some(&lifted))
        && let Some((digits, first)) = growth.first_digits(n, SHOWN)
    {
        let last = last_digits(&lifted, &index).ok_or_else(beyond)?;
        return Ok(Told::Ends { digits: digits.to_string(), first, last });
    }
    exact(args, &lifted, n).map(|term| written(&term))
}

/// The term modulo a number; `None` if there is no such term.
fn modulo(args: &AnalyseArgs, input: &Input, index: &Integer, modulus: &Integer) -> Result<Option<Integer>, Failed> {
    if let Some(term) = index.to_u64().and_then(|n| given(input, n)) {
        return Ok(Some(residue(term, modulus)));
    }
    let told = |terms: usize, order: usize| {
        if terms.is_multiple_of(10_000) {
            args.tell(&format!("{terms} terms, order {order} so far"));
        }
    };
    // A product of different primes below 2^60 needs no integers.
    let small = modulus.to_u64().filter(|_| args.terms.is_none());
    if let (Some(small), Some(graph)) = (small, &input.graph)
        && let Some(term) = term::modulo_primes(graph, index, small, &told)
    {
        return Ok(Some(term));
    }
    Ok(term::modulo(&lifted(args, input)?, index, modulus))
}

/// The term itself, in as many bits as it may have by its recurrence, held against its residue modulo a prime.
fn exact(args: &AnalyseArgs, lifted: &Lifted, n: u64) -> Result<Integer, Failed> {
    let index = Integer::from(n);
    let beyond = || Failed::usage(format!("the series has no term of index {n}"));
    let bits = term::most_bits(lifted, &index).ok_or_else(beyond)?;
    if bits >= f64::from(u32::MAX / 4) || bits * lifted.order().max(1) as f64 > MOST_BITS {
        return Err(too_long(args, lifted, n));
    }
    let term = term::exact(lifted, &index, bits as u32).ok_or_else(beyond)?;
    let prime = Integer::from(lifted.fresh_prime);
    let (own, other) = (residue(&term, &prime), term::modulo(lifted, &index, &prime).ok_or_else(beyond)?);
    if own != other {
        let text = format!(
            "the term of index {n}: expected {other} modulo {prime}, as its recurrence gives, got {own}: this machine or this \
             program errs; try again on another machine"
        );
        return Err(Failed::new(CHECK_FAILED, text));
    }
    Ok(term)
}

fn lifted(args: &AnalyseArgs, input: &Input) -> Result<Lifted, Failed> {
    let (_, lifted) = coefficients(args, input)?;
    let lifted = lifted.map_err(|why| {
        Failed::usage(format!(
            "a term needs the coefficients: {why}; a prime --modulo below 2^60 does not, nor a product of different primes \
             below it"
        ))
    })?;
    match lifted.first_fraction() {
        None => Ok(lifted),
        Some((place, value)) => Err(Failed::usage(format!(
            "{}: coefficient {place} of its recurrence is {value}; no series of integers goes on that way for ever, so that \
             there is no term beyond the file: check its numbers, or give more of them",
            input.subject
        ))),
    }
}

fn residue(term: &Integer, modulus: &Integer) -> Integer {
    let rest = Integer::from(term % modulus);
    if rest.is_negative() { rest + modulus } else { rest }
}

/// Why a term is not written out.
fn too_long(args: &AnalyseArgs, lifted: &Lifted, n: u64) -> Failed {
    let order = lifted.order();
    Failed::usage(if args.digits {
        format!(
            "the first digits of the term of index {n} are not certain: other roots, or the errors of a and lambda, may change \
             them, and a recurrence of order {order} takes too long to the exact term; --modulo 1{} prints the last {SHOWN}",
            "0".repeat(SHOWN)
        )
    } else {
        format!(
            "a recurrence of order {order} takes too long to the exact term of index {n}; use --digits or --modulo M"
        )
    })
}

/// The last digits, from the recurrence modulo a power of ten.
fn last_digits(lifted: &Lifted, index: &Integer) -> Option<String> {
    let ten = Integer::from(Integer::u_pow_u(10, SHOWN as u32));
    Some(format!("{:0>SHOWN$}", term::modulo(lifted, index, &ten)?.to_string()))
}

/// Number of digits, first and last digits of a number that is written out. The sign stands before the first ones.
fn ends(number: &str) -> Told {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (first, last) = (&digits[..digits.len().min(SHOWN)], &digits[digits.len().saturating_sub(SHOWN)..]);
    Told::Ends { digits: digits.len().to_string(), first: format!("{sign}{first}"), last: last.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_told_as_text_and_json() {
        let input = Input { subject: "go 3".to_owned(), file: None, height: Some(3), graph: None, series: None };
        let long = format!("-12{}34", "0".repeat(60));
        let zeros = "0".repeat(48);
        for (told, text, fields) in [
            (Told::Exact("-7".to_owned()), "-7".to_owned(), vec![("term", "-7".to_owned())]),
            (
                Told::Modulo { residue: "3".to_owned(), modulus: "10".to_owned() },
                "3".to_owned(),
                vec![("residue", "3".to_owned()), ("modulus", "10".to_owned())],
            ),
            (
                ends("-75"),
                "digits  2\nfirst   -75\nlast    75".to_owned(),
                vec![("digits", "2".to_owned()), ("first", "-75".to_owned()), ("last", "75".to_owned())],
            ),
            (
                ends(&long),
                format!("digits  64\nfirst   -12{zeros}\nlast    {zeros}34"),
                vec![("digits", "64".to_owned()), ("last", format!("{zeros}34"))],
            ),
        ] {
            assert_eq!(told.text(), text);
            let value = told.json(&input, u64::MAX);
            assert_eq!((&value["series"], &value["n"]), (&json!("go 3"), &json!("18446744073709551615")));
            for (name, expected) in fields {
                assert_eq!(value[name], json!(expected), "{text}: {name}");
            }
        }
    }
}
