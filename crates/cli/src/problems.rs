//! `keima problems`: what can be counted.

use keima_model::About;
use keima_problems::Problems;
use serde_json::{Value, json};

use crate::args::ProblemsArgs;
use crate::exit::Failed;
use crate::output::print;

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
        return Err(Failed::usage(format!("there is no problem called {name:?}; known problems: {known}")));
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
    let mut text = format!("{name}: {}\n\n{}\n\nSize: {}\n", about.summary, wrapped(about.definition), about.size);
    if !about.options.is_empty() {
        text += "\nOptions (-o NAME=VALUE, or -o NAME for a switch):\n";
        for (option, value, meaning) in about.options {
            let usage = if value.is_empty() { (*option).to_owned() } else { format!("{option}={value}") };
            text += &format!("  {usage:<16} {meaning}\n");
        }
    }
    text += &format!("\nKnown: {}\n\nExamples:\n", wrapped(about.known));
    for example in about.examples {
        text += &format!("  {example}\n");
    }
    text.trim_end().to_owned()
}

/// Lines of at most 100 characters.
pub(crate) fn wrapped(text: &str) -> String {
    wrapped_at(text, 100)
}

/// Lines of at most `width` characters, but for longer words.
pub(crate) fn wrapped_at(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + 1 + word.len() > width {
            lines.push(word.to_owned());
        } else {
            if !lines[last].is_empty() {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines.join("\n")
}
