//! The options of `keima analyse`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::numbers::whole;
use crate::terminal::output::say;

/// How an analysis is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AnalysisFormat {
    /// For people
    Text,
    /// One object; big integers are strings
    Json,
    /// The coefficients: a header line, then one row each
    Csv,
    /// Generating function and series as a PARI/GP program
    Gp,
    /// Recurrence, generating function and growth for a paper; needs no package
    Latex,
    /// The same as a Python program with sympy
    Sympy,
}

/// Whether the coefficients are lifted to integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Lift {
    /// Up to order 4000
    Auto,
    /// Always, however long it takes
    Always,
    /// Never: the order alone
    Never,
}

#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[derive(Debug, Args, Clone)]
#[command(group = ArgGroup::new("series").args(["problem", "from"]).required(true).multiple(true))]
pub(crate) struct AnalyseArgs {
    /// Problem whose counts form a series, such as go
    pub(crate) problem: Option<String>,
    /// Height of the boards, such as 7: the series runs over their lengths
    #[arg(value_parser = whole(1_u32..=1000))]
    pub(crate) height: Option<u32>,
    /// Instead: A, B and L in A B^(m+n) L^(mn), from all known counts and those of --from
    #[arg(long, requires = "problem", conflicts_with_all = ["height", "term", "terms"])]
    pub(crate) constants: bool,
    /// Write a plot of the formula's relative error to this file
    #[arg(long, value_name = "FILE", requires = "constants")]
    pub(crate) svg: Option<PathBuf>,
    /// Set an option of the problem: NAME=VALUE, or NAME for a switch
    #[arg(long = "option", short = 'o', value_name = "NAME[=VALUE]", requires = "problem")]
    pub(crate) options: Vec<String>,
    /// Read the series from a b-file or a JSON result; - for standard input. With a problem, all terms are compared with
    /// a count of its own. For the constants more counts, as rows m,n,count or as a count of a series prints them in CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Use at most N terms
    #[arg(long, value_name = "N", value_parser = whole(1_u64..=1_000_000_000))]
    pub(crate) terms: Option<u64>,
    /// Lift the coefficients to integers
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Lift::Auto)]
    pub(crate) lift: Lift,
    /// Print the term of index N instead
    #[arg(long, value_name = "N", value_parser = whole(0_u64..=u64::MAX))]
    pub(crate) term: Option<u64>,
    /// Print that term modulo M
    #[arg(long, value_name = "M", requires = "term")]
    pub(crate) modulo: Option<String>,
    /// Print that term's number of digits and its first and last digits
    #[arg(long, requires = "term", conflicts_with = "modulo")]
    pub(crate) digits: bool,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=1024))]
    pub(crate) threads: Option<u32>,
    /// Format of the analysis [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<AnalysisFormat>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Print no progress on stderr; errors are still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl AnalyseArgs {
    /// What is printed.
    pub(crate) fn format(&self) -> AnalysisFormat {
        if self.json { AnalysisFormat::Json } else { self.format.unwrap_or(AnalysisFormat::Text) }
    }

    /// Why options do not go together, where clap does not see it: it drops what an option requires as soon as that conflicts with
    /// another one that is given.
    pub(crate) fn mismatch(&self) -> Option<&'static str> {
        let for_people = matches!(self.format(), AnalysisFormat::Text | AnalysisFormat::Json);
        let lifts = self.lift != Lift::Auto;
        [
            (
                self.svg.is_some() && !self.constants,
                "--svg plots the constants: write keima analyse go --constants --svg FILE",
            ),
            (self.modulo.is_some() && self.term.is_none(), "--modulo is for one term: add --term N"),
            (self.digits && self.term.is_none(), "--digits is for one term: add --term N"),
            (
                self.constants && !for_people,
                "--constants is printed as text or JSON: leave out --format, or write --format json",
            ),
            (
                self.constants && lifts,
                "--lift is for a recurrence, which --constants does not make: leave out one of them",
            ),
            (
                self.term.is_some() && !for_people,
                "a term is printed as text or JSON: leave out --format, or write --format json",
            ),
        ]
        .into_iter()
        .find_map(|(is_wrong, why)| is_wrong.then_some(why))
    }

    /// Progress on stderr, unless that is not wanted.
    pub(crate) fn tell(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: AnalyseArgs,
    }

    /// No option is ignored in silence.
    #[test]
    fn options_that_say_nothing_are_refused() {
        let check = |words: &str, expected: Option<&str>| {
            let line = std::iter::once("analyse").chain(words.split(' '));
            let said = match Line::try_parse_from(line) {
                Ok(Line { args }) => args.mismatch().map(str::to_owned),
                Err(error) => Some(error.to_string()),
            };
            assert_eq!(said.is_some(), expected.is_some(), "{words}: {said:?}");
            assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()), "{words}");
        };
        for (words, expected) in [
            ("go 3", None),
            ("go 3 --format csv", None),
            ("go 3 --json --lift never", None),
            ("go 3 --term 10 --json", None),
            ("go 3 --term 10 --format json", None),
            ("go 3 --term 10 --format text --digits", None),
            ("go 3 --term 10 --modulo 7 --terms 100", None),
            ("go --constants --svg x.svg", None),
            ("go --constants --format json", None),
            ("go 3 --svg x.svg", Some("--constants --svg")),
            ("--from x --svg x.svg", Some("--constants")),
            ("go 3 --modulo 7", Some("--term")),
            ("go 3 --digits", Some("--term")),
            ("go 3 --format csv --modulo 7", Some("--term")),
            ("go 3 --format json --digits", Some("--term")),
            ("go --constants --modulo 7", Some("--term")),
            ("go --constants --digits", Some("--term")),
            ("go --constants --format csv", Some("text or JSON")),
            ("go --constants --lift always", Some("--lift")),
            ("go --constants --terms 5", Some("cannot be used with")),
            ("go --constants --term 5", Some("cannot be used with")),
            ("go 3 --constants", Some("cannot be used with")),
            ("go 3 --term 10 --format csv", Some("text or JSON")),
            ("go 3 --term 10 --modulo 7 --digits", Some("cannot be used with")),
        ] {
            check(words, expected);
        }
    }
}
