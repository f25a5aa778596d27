//! `keima analyse ... --term N`: one far term, exact, modulo a number, or its first and last digits.

use keima_analyse::growth::power::first_digits;
use keima_analyse::recurrence::Lifted;
use keima_analyse::recurrence::lift::modulo_prime;
use keima_analyse::{Growth, Integer, term};

use super::find::{coefficients, given, growth};
use super::input::{Input, modulus};
use crate::args::AnalyseArgs;
use crate::exit::{CHECK_FAILED, Failed};

/// Digits that are shown at either end.
const SHOWN: usize = 50;
/// Most bits that the polynomials of an exact term may have together: 0.5 GiB, some minutes.
const MOST_BITS: f64 = 4e9;
/// Terms from which on a lambda^n has the term's first digits: |lambda2 / lambda|^n is far below 10^-50 then.
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
        // A prime below 2^60 needs no integers.
        let prime = modulus.to_u64().filter(|_| args.terms.is_none());
        if let (Some(prime), Some(graph)) = (prime, &input.graph)
            && let Some(own) = modulo_prime(graph, prime)
        {
            return term::modulo(&own, &index, &modulus).map(|term| term.to_string()).ok_or_else(beyond);
        }
        let lifted = lifted(args, input)?;
        return term::modulo(&lifted, &index, &modulus).map(|term| term.to_string()).ok_or_else(beyond);
    }
    if let Some(term) = given(input, n) {
        return Ok(if args.digits { ends(&term.to_string()) } else { term.to_string() });
    }
    let lifted = lifted(args, input)?;
    let growth = growth(args, input, Some(&lifted)).map_err(Failed::usage)?;
    if args.digits && n >= FAR {
        return far_digits(&lifted, &growth, &index, n);
    }
    let bits = bits(&growth, n)?;
    if f64::from(bits) * lifted.order() as f64 > MOST_BITS {
        return Err(Failed::usage(format!(
            "a recurrence of order {} takes too long to an exact term of {bits} bits; use --digits or --modulo M",
            lifted.order()
        )));
    }
    let term = term::exact(&lifted, &index, bits).ok_or_else(beyond)?;
    if term.significant_bits() + 32 > bits {
        let text =
            format!("the term of index {n} is longer than a lambda^n allows: not one of the growth that was found");
        return Err(Failed::new(CHECK_FAILED, text));
    }
    Ok(if args.digits { ends(&term.to_string()) } else { term.to_string() })
}

fn lifted(args: &AnalyseArgs, input: &Input) -> Result<Lifted, Failed> {
    let (_, lifted) = coefficients(args, input)?;
    lifted.map_err(|why| {
        Failed::usage(format!("a term needs the coefficients: {why}; a prime --modulo below 2^60 does not"))
    })
}

fn residue(term: &Integer, modulus: &Integer) -> Integer {
    let rest = Integer::from(term % modulus);
    if rest.is_negative() { rest + modulus } else { rest }
}

/// Bits of a lambda^n and some to spare, so that a term that is longer shows.
fn bits(growth: &Growth, n: u64) -> Result<u32, Failed> {
    let (digits, _) = first_digits(&growth.a, &growth.lambda, n, 1).unwrap_or((1, String::new()));
    let bits = digits as f64 * 10_f64.log2() + 128.0;
    if bits < f64::from(u32::MAX / 4) {
        return Ok(bits as u32);
    }
    Err(Failed::usage(format!("the term of index {n} has {digits} digits; use --digits or --modulo M")))
}

/// First digits from a lambda^n, last digits from the recurrence modulo a power of ten.
fn far_digits(lifted: &Lifted, growth: &Growth, index: &Integer, n: u64) -> Result<String, Failed> {
    let unknown =
        || Failed::usage("the first digits are not certain: a and lambda are known to too few digits".to_owned());
    let (digits, first) = first_digits(&growth.a, &growth.lambda, n, SHOWN).ok_or_else(unknown)?;
    let ten = Integer::from(Integer::u_pow_u(10, SHOWN as u32));
    let last = term::modulo(lifted, index, &ten).ok_or_else(unknown)?.to_string();
    Ok(format!("digits  {digits}\nfirst   {first}\nlast    {last:0>SHOWN$}"))
}

/// Number of digits, first and last digits of a number that is written out.
fn ends(number: &str) -> String {
    let (first, last) = (&number[..number.len().min(SHOWN)], &number[number.len().saturating_sub(SHOWN)..]);
    format!("digits  {}\nfirst   {first}\nlast    {last}", number.trim_start_matches('-').len())
}
