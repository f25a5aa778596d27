//! Variables that are set to nothing. `KEIMA_DISK=${DISK:-}` of a compose file or a unit means that nobody chose a value: the
//! option has its default then, as if the variable were not there. Only `KEIMA_COORDINATOR` stays, which is refused: a
//! process that silently asked this machine instead of a cluster would wait for ever.

use std::ffi::OsStr;

use clap::builder::Resettable;
use clap::{Arg, Command};

/// The variable that must not be empty.
const KEPT: &str = "KEIMA_COORDINATOR";

/// The command line without the variables that are set to nothing in the environment of this process.
pub(in crate::args) fn without_empty_variables(command: Command) -> Command {
    without(command, |name| std::env::var_os(name).is_some_and(|value| value.to_string_lossy().trim().is_empty()))
}

fn without(command: Command, is_empty: impl Fn(&OsStr) -> bool) -> Command {
    let has_value = |arg: Arg| match arg.get_env() {
        Some(name) if name != KEPT && is_empty(name) => arg.env(Resettable::Reset),
        _ => arg,
    };
    command.mut_subcommands(|verb| verb.mut_args(&has_value))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn a_variable_that_is_set_to_nothing_is_not_there() {
        let command = without(Cli::command(), |name| name != "KEIMA_MEMORY");
        let left = |verb: &str| -> Vec<String> {
            let verb = command.find_subcommand(verb).unwrap();
            let names = verb.get_arguments().filter_map(|arg| arg.get_env());
            names.map(|name| name.to_string_lossy().into_owned()).collect()
        };
        for (verb, expected) in [
            ("coordinator", &[][..]),
            ("worker", &["KEIMA_COORDINATOR", "KEIMA_MEMORY"]),
            ("jobs", &["KEIMA_COORDINATOR"]),
        ] {
            assert_eq!(left(verb), expected, "{verb}");
        }
    }
}
