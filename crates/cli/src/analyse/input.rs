//! The series to analyse: of a problem, of a file, or of a file that a problem's own count checks.

use std::path::Path;

use keima_analyse::graph::Exact;
use keima_analyse::input::{InputError, Place, Series, read};
use keima_analyse::{Graph, GraphError, Integer};
use keima_model::{ProblemError, ProblemRequest, Registry};
use keima_problems::Problems;

use crate::args::AnalyseArgs;
use crate::exit::{CHECK_FAILED, Failed};
use crate::terminal::input::{self, NamedText};

/// Length of the board on which states are looked for. Go settles after 2 to 12 columns.
const LENGTH: u32 = 200;
/// Largest file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// A series.
pub(super) struct Input {
    /// `"go 7"` with the problem's options, or the file's name.
    pub(super) subject: String,
    /// The file's name, where there is one.
    pub(super) file: Option<String>,
    /// Height of the boards, where a problem was given.
    pub(super) height: Option<u32>,
    pub(super) graph: Option<Graph>,
    pub(super) series: Option<Series>,
}

impl Input {
    /// Index of the first term.
    pub(super) fn first(&self) -> u32 {
        self.graph.as_ref().map(Graph::first).or(self.series.as_ref().map(|series| series.first)).unwrap_or_default()
    }
    /// The index of a term of the file, from 0, and its place.
    pub(super) fn place(&self, number: usize) -> Option<(u64, Place)> {
        let series = self.series.as_ref()?;
        Some((u64::from(series.first) + number as u64, *series.places.get(number)?))
    }
}

/// Opens the problem, reads the file, and compares the two.
pub(super) fn input(args: &AnalyseArgs) -> Result<Input, Failed> {
    let graph = match (&args.problem, args.height) {
        (Some(problem), Some(height)) => Some(open(args, problem, height)?),
        (Some(problem), None) => return Err(no_height(problem)),
        _ => None,
    };
    let series = args.from.as_deref().map(file).transpose()?;
    if let (Some(graph), Some((name, series))) = (&graph, &series) {
        compare(args, name, series, graph)?;
    }
    let (file, series) = series.unzip();
    let subject = match &args.problem {
        Some(problem) => subject(problem, args.height.unwrap_or_default(), &args.options),
        None => file.clone().unwrap_or_default(),
    };
    Ok(Input { subject, file, height: args.height, graph, series })
}

/// What tells a problem's series from all others.
fn subject(problem: &str, height: u32, options: &[String]) -> String {
    options.iter().fold(format!("{problem} {height}"), |subject, option| subject + " -o " + option)
}

/// A problem without a height, which may be none at all.
fn no_height(problem: &str) -> Failed {
    let request = ProblemRequest { name: problem.to_owned(), size: "5x5".to_owned(), options: Vec::new() };
    if let Err(error @ ProblemError::UnknownProblem { .. }) = Problems.open(&request) {
        let is_number = problem.bytes().all(|byte| byte.is_ascii_digit());
        let advice = if is_number { "; a height stands behind its problem: keima analyse go 3" } else { "" };
        return Failed::usage(format!("{error}{advice}"));
    }
    Failed::usage(format!(
        "a height is missing: write keima analyse {problem} 3, or keima analyse {problem} --constants"
    ))
}

fn open(args: &AnalyseArgs, problem: &str, height: u32) -> Result<Graph, Failed> {
    let options = args.options.iter().map(|word| ProblemRequest::option(word)).collect();
    let size = format!("{height}x{}", LENGTH.max(height));
    let request = ProblemRequest { name: problem.to_owned(), size, options };
    let problem = Problems.open(&request)?;
    Graph::discover(&problem).map_err(|error| {
        // Some problems count by something without being asked.
        let is_asked = matches!(error, GraphError::Polynomial { .. }) && !args.options.is_empty();
        let advice = if is_asked { "; leave out the option that counts by it" } else { "" };
        Failed::usage(format!("{problem}: {error}{advice}", problem = request.name))
    })
}

fn file(path: &Path) -> Result<(String, Series), Failed> {
    let NamedText { name, text } = input::read(path, MOST_BYTES, "; analyse fewer terms")?;
    let series = read(&text).map_err(|error| Failed::usage(format!("{name}: {error}")))?;
    Ok((name, series))
}

/// All terms of a file must be those of the problem.
fn compare(args: &AnalyseArgs, name: &str, series: &Series, graph: &Graph) -> Result<(), Failed> {
    args.tell(&format!("comparing {} terms of {name} with a count of their own", series.terms.len()));
    let counted = Exact::new(graph).take(series.terms.len());
    series.check(graph.first(), counted).map_err(|error| {
        let code = if matches!(error, InputError::Differs { .. }) { CHECK_FAILED } else { crate::exit::USAGE };
        Failed::new(code, format!("{name}: {error}; correct the file, or leave out the problem to analyse it as it is"))
    })?;
    args.tell(&format!("all {} terms of {name} are as counted", series.terms.len()));
    Ok(())
}

/// The digits of a number from 1 on.
pub(super) fn modulus(text: &str) -> Result<Integer, Failed> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse::<Integer>().ok()).flatten().filter(|number| *number > 0);
    number.ok_or_else(|| Failed::usage(format!("--modulo: expected a whole number from 1 on, got {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_have_all_that_makes_the_series() {
        for (options, expected) in [
            (&[][..], "grid-cycles 4"),
            (&["hamiltonian"], "grid-cycles 4 -o hamiltonian"),
            (&["a=1", "b"], "grid-cycles 4 -o a=1 -o b"),
        ] {
            let options: Vec<String> = options.iter().map(|&word: &&str| word.to_owned()).collect();
            assert_eq!(subject("grid-cycles", 4, &options), expected);
        }
    }

    #[test]
    fn an_unknown_problem_comes_before_a_missing_height() {
        for (problem, expected) in [
            ("go", "a height is missing: write keima analyse go 3"),
            ("knight", "a height is missing"),
            ("foo", "there is no problem called \"foo\""),
            ("5", "a height stands behind its problem: keima analyse go 3"),
        ] {
            let text = no_height(problem).text;
            assert!(text.contains(expected), "{problem}: {text}");
        }
    }
}
