//! `keima analyse ... --term N`: one far term, exact, modulo a number, or its first and last digits.

use keima_analyse::growth::power::most_digits;
use keima_analyse::recurrence::Lifted;
use keima_analyse::{Growth, Integer, term};

use super::find::{coefficients, given, growth};
use super::input::{Input, modulus};
use crate::args::AnalyseArgs;
use crate::exit::{CHECK_FAILED, Failed};

/// Digits that are shown at either end.
const SHOWN: usize = 50;
/// Most bits that the polynomials of an exact term may have together: 0.5 GiB, some minutes.
const MOST_BITS: f64 = 4e9;
/// Terms before this one are written out in any case.
const FAR: u64 = 1000;

pub(super) fn term(args: &AnalyseArgs, input: &Input) -> Result<String, Failed> {
    let n = args.term.unwrap_or_default();
    if n < u64::from(input.first()) {
        return Err(Failed::usage(format!("--term: the series begins at n = {}, got {n}", input.first())));
    }
    let index = Integer::from(n);
    let beyond = || Failed::usage(format!("the series has no term of index {n}"));
    if let Some(text) = &args.modulo {
        let modulus = modulus(text)?;
        if let Some(term) = given(input, n) {
            return Ok(residue(term, &modulus).to_string());
        }
        // A product of different primes below 2^60 needs no integers.
        let small = modulus.to_u64().filter(|_| args.terms.is_none());
        if let (Some(small), Some(graph)) = (small, &input.graph)
            && let Some(term) = term::modulo_primes(graph, &index, small)
        {
            return Ok(term.to_string());
        }
        let lifted = lifted(args, input)?;
        return term::modulo(&lifted, &index, &modulus).map(|term| term.to_string()).ok_or_else(beyond);
    }
    if let Some(term) = given(input, n) {
        return Ok(if args.digits { ends(&term.to_string()) } else { term.to_string() });
    }
    let lifted = lifted(args, input)?;
    let growth = growth(args, input, Some(&lifted)).map_err(Failed::usage)?;
    if args.digits
        && n >= FAR
        && let Some((digits, first)) = growth.first_digits(n, SHOWN)
    {
        let last = last_digits(&lifted, &index).ok_or_else(beyond)?;
        return Ok(format!("digits  {digits}\nfirst   {first}\nlast    {last}"));
    }
    let bits = bits(&growth, n)
        .filter(|&bits| f64::from(bits) * lifted.order() as f64 <= MOST_BITS)
        .ok_or_else(|| too_long(args, &lifted, n))?;
    let term = term::exact(&lifted, &index, bits).ok_or_else(beyond)?;
    // What does not fit into the bits, and what is negative, has another residue.
    let prime = Integer::from(lifted.fresh_prime);
    if term.significant_bits() + 32 > bits || term::modulo(&lifted, &index, &prime) != Some(residue(&term, &prime)) {
        let text = format!(
            "the term of index {n} is negative, or longer than a lambda^n allows: not one of the growth that was found"
        );
        return Err(Failed::new(CHECK_FAILED, text));
    }
    Ok(if args.digits { ends(&term.to_string()) } else { term.to_string() })
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

/// Bits of a lambda^n and some to spare, so that a term that is longer shows.
fn bits(growth: &Growth, n: u64) -> Option<u32> {
    let bits = most_digits(&growth.a, &growth.lambda, n) as f64 * 10_f64.log2() + 128.0;
    (bits < f64::from(u32::MAX / 4)).then_some(bits as u32)
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

/// Number of digits, first and last digits of a number that is written out.
fn ends(number: &str) -> String {
    let (first, last) = (&number[..number.len().min(SHOWN)], &number[number.len().saturating_sub(SHOWN)..]);
    format!("digits  {}\nfirst   {first}\nlast    {last}", number.trim_start_matches('-').len())
}
