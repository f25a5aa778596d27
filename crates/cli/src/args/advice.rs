//! What a refused command line says besides what clap says: a switch that a problem has as an option of its own.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use keima_problems::Problems;

/// Adds advice to the error of an unknown option, and takes away what does not help: no word of keima begins with a hyphen.
pub(super) fn advise(mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    error.remove(ContextKind::Suggested);
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return error };
    let name = typed.trim_start_matches('-').split('=').next().unwrap_or_default().to_owned();
    let has = |problem: &&str| Problems::about(problem).is_some_and(|about| about.options.iter().any(|o| o.0 == name));
    let problems: Vec<&str> = Problems::names().filter(has).collect();
    if !problems.is_empty() {
        error.remove(ContextKind::SuggestedArg);
        let advice = format!("it is an option of {}: write '-o {name}'", problems.join(" and "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn unknown_options_bring_advice() {
        for (line, has, lacks) in [
            (
                "keima count grid-cycles 6x6 --hamiltonian",
                "an option of grid-cycles and grid-paths: write '-o hamiltonian'",
                "-- -",
            ),
            ("keima count go 9x9 --thread 2", "'--threads'", "-- -"),
            ("keima count go 9x9 --what", "unexpected argument '--what'", "tip"),
        ] {
            let text = advise(Cli::try_parse_from(line.split(' ')).unwrap_err()).render().to_string();
            assert!(text.contains(has) && !text.contains(lacks), "{line}: {text}");
        }
    }
}
