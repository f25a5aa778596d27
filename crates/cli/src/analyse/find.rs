//! Order, coefficients and growth of a series.

use keima_analyse::recurrence::{self, Broken, Found, Keeper, Lifted, Source, TooShort, terms_needed};
use keima_analyse::{Growth, Integer};

use super::input::Input;
use super::kept::KeptFile;
use crate::args::{AnalyseArgs, Lift};
use crate::exit::{CHECK_FAILED, Failed};

/// Largest order whose coefficients are lifted by default: for go that is height 7.
const LIFTED_ORDER: usize = 4000;

/// Primes of 60 bits that coefficients take: those of go have nearly as many bits as their order.
const ORDER_PER_PRIME: usize = 60;

/// All that was found.
pub(super) struct Analysis {
    pub(super) found: Found,
    /// The coefficients, or why there are none.
    pub(super) lifted: Result<Lifted, String>,
    /// The growth, or why there is none.
    pub(super) growth: Result<Growth, String>,
    /// Terms that a file had.
    pub(super) terms: Option<usize>,
}

pub(super) fn find(args: &AnalyseArgs, input: &Input) -> Result<Analysis, Failed> {
    let (found, lifted) = coefficients(args, input)?;
    let growth = growth(args, input, lifted.as_ref().ok());
    Ok(Analysis { found, lifted, growth, terms: input.series.as_ref().map(|series| series.terms.len()) })
}

/// The recurrence of the terms of a file if there is one, else of the problem.
pub(super) fn coefficients(args: &AnalyseArgs, input: &Input) -> Result<(Found, Result<Lifted, String>), Failed> {
    match (&input.series, &input.graph) {
        (Some(series), _) => of(args, input, series.terms.as_slice()),
        (None, Some(graph)) => of::<keima_analyse::Graph>(args, input, graph),
        (None, None) => Err(Failed::usage("expected a problem and a height, or --from FILE")),
    }
}

fn of<S: Source + ?Sized>(
    args: &AnalyseArgs,
    input: &Input,
    source: &S,
) -> Result<(Found, Result<Lifted, String>), Failed> {
    let most = args.terms.map_or(usize::MAX, |terms| usize::try_from(terms).unwrap_or(usize::MAX));
    let told = |terms: usize, order: usize| {
        if terms.is_multiple_of(10_000) {
            args.tell(&format!("{terms} terms, order {order} so far"));
        }
    };
    // Terms of a file are there anyway.
    let kept = source.terms().is_none().then(|| kept(args, input)).flatten();
    let keeper = kept.as_ref().map(|kept| kept as &dyn Keeper);
    let found = recurrence::find(source, most, threads(args), keeper, &told);
    if let Some(kept) = kept.filter(|_| found.is_ok()) {
        kept.remove();
    }
    let found = found.map_err(|error| missing(args, input, &error))?;
    // What follows may take long, or fail.
    args.tell(&format!(
        "order {} by {} terms; {} more verified it",
        found.order, found.terms_used, found.terms_verified
    ));
    let lifts = match args.lift {
        Lift::Auto => found.order <= LIFTED_ORDER,
        Lift::Always => true,
        Lift::Never => false,
    };
    if !lifts {
        let why = match args.lift {
            Lift::Never => "not lifted, as --lift never says".to_owned(),
            _ => format!(
                "orders above {LIFTED_ORDER} are not lifted to integers (--lift always does it, with some {} primes, each of \
                 which takes about half as long as the order)",
                found.order / ORDER_PER_PRIME
            ),
        };
        return Ok((found, Err(why)));
    }
    let told = |primes: usize| {
        if primes.is_multiple_of(40) {
            args.tell(&format!("coefficients modulo {primes} primes"));
        }
    };
    let lifted = recurrence::lift::lift(source, &found, input.first(), threads(args), &told)
        .map_err(|error| Failed::new(CHECK_FAILED, error.to_string()))?;
    Ok((found, Ok(lifted)))
}

/// Too few terms. Where the problem is known, so is its order.
fn missing(args: &AnalyseArgs, input: &Input, error: &TooShort) -> Failed {
    let broken = broken(input, error.broken)
        .map_or_else(String::new, |text| format!("; {text}; correct the file if it is wrong"));
    let text = format!("{}: {error}{broken}", input.subject);
    let Some(graph) = input.graph.as_ref().filter(|_| input.series.is_some()) else {
        let advice = if input.series.is_some() { "" } else { "; allow more --terms" };
        return Failed::usage(text + advice);
    };
    args.tell("looking for the order that a count of its own has");
    match recurrence::find(graph, usize::MAX, threads(args), None, &|_, _| {}) {
        Ok(found) => {
            let needed = terms_needed(found.order);
            let more = needed.saturating_sub(error.terms);
            // A wrong one would have been named by now.
            let file = input.file.as_deref().unwrap_or("the file");
            Failed::usage(format!(
                "{}: the {} terms of {file} agree with a count of their own, but are too few for the recurrence, which has order \
                 {}: {more} more terms are needed ({needed} in all, a tenth of them to verify it)",
                input.subject, error.terms, found.order,
            ))
        }
        Err(_) => Failed::usage(text),
    }
}

/// Where the numbers of a file leave a recurrence that many of them verify: most likely a changed digit.
pub(super) fn broken(input: &Input, broken: Option<Broken>) -> Option<String> {
    let Broken { order, at } = broken?;
    let (index, place) = input.place(at)?;
    Some(format!("a recurrence of order {order}, which the {at} terms before verify, fails at n = {index} ({place})"))
}

/// Where the first numbers of a file do not fit the recurrence of all others: its last coefficients are zero then.
pub(super) fn late(input: &Input, lifted: &Lifted) -> Option<String> {
    let zeros = lifted.q.iter().rev().take_while(|q| q.is_zero()).count();
    let order = lifted.order().checked_sub(zeros).filter(|&order| order > 0 && zeros > 0)?;
    let (index, place) = input.place(zeros - 1)?;
    Some(format!("the term at n = {index} ({place}): all later ones follow a recurrence of order {order}"))
}

/// Growth from the states where there are any, else from the recurrence.
pub(super) fn growth(args: &AnalyseArgs, input: &Input, lifted: Option<&Lifted>) -> Result<Growth, String> {
    let told = |columns: usize| {
        if columns.is_multiple_of(64) {
            args.tell(&format!("exact counts of {columns} columns"));
        }
    };
    let of_graph = input.graph.as_ref().map(|graph| Growth::of_graph(graph, &told));
    match (of_graph, lifted) {
        (Some(Ok(growth)), _) => Ok(growth),
        (_, Some(lifted)) => Growth::of_recurrence(lifted).map_err(|error| error.to_string()),
        (Some(Err(error)), None) => Err(error.to_string()),
        (None, None) => Err("growth needs the coefficients of the recurrence (--lift always)".to_owned()),
    }
}

/// The file for the terms of a long search.
fn kept(args: &AnalyseArgs, input: &Input) -> Option<KeptFile> {
    KeptFile::new(input.graph.as_ref()?.fingerprint(), args.quiet)
}

pub(super) fn threads(args: &AnalyseArgs) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    args.threads.map_or_else(all, |threads| threads as usize)
}

/// The exact term of a file, where it is there.
pub(super) fn given(input: &Input, index: u64) -> Option<&Integer> {
    let series = input.series.as_ref()?;
    series.terms.get(usize::try_from(index.checked_sub(series.first.into())?).ok()?)
}
