//! `keima analyse`: from a series of counts to its recurrence, its far terms and its growth.
//!
//! ```text
//!   input    the series: of a problem, of a file, or of both
//!   constants  A, B and L of all heights together
//!   find     order, coefficients, growth
//!   kept     terms of a long search, so that it goes on after a kill
//!   term     one far term
//!   text     for people
//!   json     for programs
//!   latex    for papers
//! ```

mod constants;
mod find;
mod input;
mod json;
pub(crate) mod kept;
mod latex;
mod term;
mod text;

use crate::args::{AnalyseArgs, AnalysisFormat};
use crate::exit::Failed;
use crate::terminal::output::hand_over;

pub(crate) fn analyse(args: &AnalyseArgs) -> Result<(), Failed> {
    if let Some(why) = args.mismatch() {
        return Err(Failed::usage(why));
    }
    if args.constants {
        return constants::constants(args);
    }
    let input = input::input(args)?;
    if let Some(n) = args.term {
        let told = term::term(args, &input, n)?;
        let is_json = args.format() == AnalysisFormat::Json;
        return hand_over(&if is_json { told.json(&input, n).to_string() } else { told.text() });
    }
    let analysis = find::find(args, &input)?;
    let text = match (args.format(), &analysis.lifted) {
        (AnalysisFormat::Text, _) => text::text(&input, &analysis),
        (AnalysisFormat::Json, _) => json::json(&input, &analysis).to_string(),
        (AnalysisFormat::Csv, Ok(lifted)) => lifted.csv(),
        (AnalysisFormat::Gp, Ok(lifted)) => lifted.gp(),
        (AnalysisFormat::Latex, Ok(lifted)) => latex::latex(&input, &analysis, lifted),
        (AnalysisFormat::Sympy, Ok(lifted)) => lifted.sympy(),
        (_, Err(why)) => {
            let text = format!("this format needs the coefficients: {why}; use --lift always, or --format json");
            return Err(Failed::usage(text));
        }
    };
    hand_over(&text)
}
