//! Results on stdout: which numbers of a finished job are printed, and in which format.
//!
//! A request that cannot be printed, such as a table that the problem does not have, is refused before the count begins.
//! Until then the numbers are known from what the problem says about itself, later from the outcome.
//!
//! ```text
//!   finished  what printers need of a count
//!   choice    the numbers as tables, and the choice among them
//!   text csv json bfile latex gp   the formats
//!   evidence  checks and costs on stderr, errors of counts without a result
//! ```

mod bfile;
mod choice;
mod csv;
mod evidence;
mod finished;
pub(crate) mod gp;
mod json;
pub(crate) mod latex;
mod text;

use keima_coordinator::{JobStatus, Outcome, Plan, tables};
use keima_model::{AnyProblem, ProblemInfo, ProblemRequest, Registry};
use keima_problems::Problems;
use serde_json::Value;

use crate::args::{Format, ResultFormatArgs};
use crate::exit::{CHECK_FAILED, Failed};
use crate::terminal::colour::Paint;
use crate::terminal::events;
use crate::terminal::output::{hand_over, say};

use choice::{Numbers, Part};
pub(crate) use csv::csv_line;
pub(crate) use evidence::{executor, sum, tell_done, windows};
pub(crate) use finished::{Extra, Finished};

/// Most objects that `--list` prints.
const MOST_LISTED: usize = 10_000;

/// The format that was asked for. `--json` is the same as `--format json`.
pub(crate) fn format(args: &ResultFormatArgs, json: bool) -> Result<Format, Failed> {
    match (args.format, json) {
        (Some(format), true) if format != Format::Json => {
            Err(Failed::usage("--json is --format json, and another --format was given: choose one of the two"))
        }
        (format, json) => Ok(format.unwrap_or(if json { Format::Json } else { Format::Text })),
    }
}

/// A count's result as the object that `--json` prints; with `series` as it prints that. A count without a number is an error.
pub(crate) fn object(
    count: &Finished<'_>,
    info: &dyn ProblemInfo,
    series: bool,
    extra: &Extra,
) -> Result<Value, Failed> {
    evidence::ended(count)?;
    let outcome = count.outcome.filter(|outcome| outcome.ok);
    let outcome = outcome.ok_or_else(|| Failed::other("the count ended without a result; please report it"))?;
    let numbers = Numbers::of(outcome, tables(info, outcome)).chosen(&Part::All)?;
    Ok(json::result(count, outcome, &numbers, series, None, extra))
}

/// Whether a plan misses some shorter boards. A plan whose vectors meet in the middle passes only half of them.
pub(crate) fn lacks_series(plan: &Plan) -> bool {
    plan.middle().is_some_and(|middle| middle + 1 < plan.board.length)
}

/// What to print of a result.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    format: Format,
    part: Part,
    list: bool,
}

impl Wanted {
    /// From the command line.
    pub(crate) fn new(args: &ResultFormatArgs, json: bool) -> Result<Self, Failed> {
        let format = format(args, json)?;
        let part = match &args.table {
            Some(name) => Part::Table(name.clone()),
            None if args.series => Part::Series,
            None => Part::All,
        };
        Ok(Self { format, part, list: args.list })
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Whether it needs a result to print.
    pub(crate) fn is_of_a_result(&self) -> bool {
        self.list || self.part != Part::All || self.format.is_of_numbers()
    }

    /// Whether it is the series in text or JSON. A job must know that when it is submitted.
    pub(crate) fn is_series(&self) -> bool {
        !self.list && self.part == Part::Series && !self.format.is_of_numbers()
    }

    /// Checks that the result of this problem can be printed so. The error says what can.
    pub(crate) fn check(&self, info: &dyn ProblemInfo) -> Result<(), Failed> {
        let numbers = Numbers::to_come(info);
        numbers.chosen(&self.part)?;
        if self.format == Format::Bfile {
            bfile::check_length(&numbers.sequence(&self.part)?, info)?;
        }
        self.objects(Some(info)).map(|_| ())
    }

    /// The same for the problem of a job, if this program knows it.
    pub(crate) fn check_for(&self, status: &JobStatus) -> Result<(), Failed> {
        problem_of(status).map_or(Ok(()), |problem| self.check(problem.info()))?;
        if self.part == Part::Series && status.plan.as_ref().is_some_and(lacks_series) {
            return Err(Failed::usage(format!(
                "{} was submitted without --series and will not have all shorter boards: leave out --series, or submit it \
                 again with --series",
                status.id
            )));
        }
        Ok(())
    }

    /// The counted objects, if `--list` asks for them.
    fn objects(&self, info: Option<&dyn ProblemInfo>) -> Result<Option<Vec<String>>, Failed> {
        if !self.list {
            return Ok(None);
        }
        if self.format.is_of_numbers() {
            return Err(Failed::usage("--list needs --format text or json: the other formats hold numbers only"));
        }
        let info =
            info.ok_or_else(|| Failed::usage("this program does not know the problem of the job; leave out --list"))?;
        info.objects(MOST_LISTED).map(Some).map_err(Failed::usage)
    }

    /// A result that passed its checks, as text for stdout.
    fn printed(
        &self,
        count: &Finished<'_>,
        outcome: &Outcome,
        info: Option<&dyn ProblemInfo>,
        extra: &Extra,
    ) -> Result<String, Failed> {
        let objects = self.objects(info)?;
        if let Some(objects) = &objects
            && objects.len().to_string() != outcome.count
        {
            let text = format!("the list has {} entries, but the count is {}", objects.len(), outcome.count);
            return Err(Failed::new(CHECK_FAILED, format!("{text}: one of them is wrong; please report it")));
        }
        let numbers = Numbers::of(outcome, info.map_or_else(Vec::new, |info| tables(info, outcome)));
        let chosen = numbers.chosen(&self.part)?;
        Ok(match self.format {
            Format::Text => text::result(&chosen, objects.as_deref(), Paint::stdout()),
            Format::Csv => csv::result(&chosen),
            Format::Bfile => bfile::result(&numbers.sequence(&self.part)?),
            Format::Latex => latex::result(&chosen),
            Format::Gp => gp::result(&chosen),
            Format::Json => {
                // JSON has room for all numbers. --table leaves out the other tables.
                let shown = if self.part == Part::Series { &numbers.chosen(&Part::All)? } else { &chosen };
                let series = self.part == Part::Series;
                json::result(count, outcome, shown, series, objects.as_deref(), extra).to_string()
            }
        })
    }
}

fn problem_of(status: &JobStatus) -> Option<AnyProblem> {
    let request = ProblemRequest {
        name: status.problem.name.clone(),
        size: status.problem.size.clone(),
        options: status.problem.options.clone(),
    };
    Problems.open(&request).ok()
}

/// Prints a count's result. A count without a number is an error. `info` is its problem, `None` if this program does not
/// know it.
pub(crate) fn print_finished(
    count: &Finished<'_>,
    info: Option<&dyn ProblemInfo>,
    wanted: &Wanted,
    quiet: bool,
    extra: &Extra,
) -> Result<(), Failed> {
    match count.outcome {
        Some(outcome) if outcome.ok => {
            let text = wanted.printed(count, outcome, info, extra)?;
            if !text.is_empty() {
                hand_over(&text)?;
            }
            if events::is_on() {
                evidence::tell(count, outcome);
            } else if !quiet && !wanted.is_json() {
                say(evidence::evidence(count, outcome, Paint::stderr()));
            }
        }
        Some(outcome) if wanted.is_json() => {
            let series = wanted.part == Part::Series;
            let printed = hand_over(&json::result(count, outcome, &[], series, None, extra).to_string());
            return evidence::ended(count).and(printed);
        }
        _ => {}
    }
    evidence::ended(count)
}

/// The same for a job of a coordinator.
pub(crate) fn print_job(status: &JobStatus, certificate: Option<&Value>, wanted: &Wanted) -> Result<(), Failed> {
    let problem = problem_of(status);
    let info = problem.as_ref().map(AnyProblem::info);
    print_finished(&Finished::of_job(status, certificate), info, wanted, false, &Extra::default())
}
