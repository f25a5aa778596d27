//! `keima problems`: lists the problems, or explains one.

use keima_model::{About, ProblemError};
use keima_problems::Problems;
use serde_json::{Value, json};

use crate::args::ProblemsArgs;
use crate::exit::Failed;
use crate::terminal::output::print;
use crate::terminal::wrap::{WIDTH, beside, wrapped_at};

/// Column of the meaning of an option.
const OPTION_COLUMN: usize = 19;

fn all() -> impl Iterator<Item = (&'static str, &'static About)> {
    Problems::names().filter_map(|name| Some((name, Problems::about(name)?)))
}

pub(crate) fn problems(args: &ProblemsArgs) -> Result<(), Failed> {
    let Some(name) = &args.name else {
        if args.json {
            print(&json!({ "problems": all().map(|(n, a)| to_json(n, a)).collect::<Vec<_>>() }).to_string())?;
        } else {
            let width = all().map(|(name, _)| name.len()).max().unwrap_or(0);
            all().try_for_each(|(name, about)| print(&format!("{name:<width$}  {}", about.summary)))?;
        }
        return Ok(());
    };
    let Some(about) = Problems::about(name) else {
        let known = Problems::names().collect::<Vec<_>>().join(", ");
        return Err(ProblemError::UnknownProblem { got: name.clone(), known }.into());
    };
    print(&if args.json { to_json(name, about).to_string() } else { to_text(name, about) })
}

fn to_json(name: &str, about: &About) -> Value {
    json!({
        "name": name,
        "summary": about.summary,
        "definition": about.definition,
        "size": about.size,
        "options": about.options.iter().map(|(name, value, meaning)| json!({
            "name": name, "value": value, "meaning": meaning,
        })).collect::<Vec<_>>(),
        "known": about.known,
        "examples": about.examples,
    })
}

fn to_text(name: &str, about: &About) -> String {
    let definition = wrapped_at(about.definition, WIDTH);
    let mut text = format!("{name}: {}\n\n{definition}\n\n{}\n", about.summary, beside("Size:", 6, about.size));
    if !about.options.is_empty() {
        text += "\nOptions (-o NAME=VALUE, or -o NAME for a switch):\n";
        for (option, value, meaning) in about.options {
            let usage = if value.is_empty() { (*option).to_owned() } else { format!("{option}={value}") };
            text += &format!("{}\n", beside(&format!("  {usage}"), OPTION_COLUMN, meaning));
        }
    }
    text += &format!("\n{}\n\nExamples:\n", beside("Known:", 7, about.known));
    for example in about.examples {
        text += &format!("  {example}\n");
    }
    text.trim_end().to_owned()
}
