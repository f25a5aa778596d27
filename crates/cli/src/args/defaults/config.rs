//! The configuration file: defaults of a machine or a person, below the environment and the command line.
//!
//! ```text
//!   coordinator = "https://head:7700"      for every verb that has --coordinator
//!
//!   [worker]                               for one verb
//!   scratch = "/nvme/keima"
//!   memory = "48GiB"
//! ```
//!
//! `KEIMA_CONFIG` names the file; else it is `keima/config.toml` below `$XDG_CONFIG_HOME` or `~/.config`, and may be missing. A key
//! is an option without its hyphens. Whatever no verb knows is refused, with the file and the key.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, Error};
use keima_model::did_you_mean;
use toml::{Table, Value};

/// Options that say what one call is to do, and are no habit.
const NOT_HABITS: &[&str] =
    &["help", "version", "json", "fresh", "resume-from", "list", "all", "open", "closed", "from", "to"];

/// Verbs whose options act on jobs that are there, or choose among them, and what may be a habit of these all the same.
const OF_OTHERS: [&str; 2] = ["change", "jobs"];
const CONNECTION: [&str; 4] = ["coordinator", "fingerprint", "tls-ca", "token-file"];

/// The values of a file, by verb and option. Values for all verbs are spread over those that have the option.
#[derive(Debug, Default)]
pub(crate) struct Config {
    path: Option<PathBuf>,
    values: BTreeMap<(String, String), String>,
}

/// Where an option's value comes from, if nothing is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File,
    /// The variable.
    Environment(String),
    /// It has none.
    Unset,
}

/// An option of a verb, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) verb: String,
    pub(crate) option: String,
    pub(crate) value: String,
    pub(crate) source: Source,
}

/// The file that is read; `None` where no folder for it is known.
fn place() -> Option<(PathBuf, bool)> {
    if let Some(named) = std::env::var_os("KEIMA_CONFIG").filter(|path| !path.is_empty()) {
        return Some((PathBuf::from(named), true));
    }
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home: OsString| PathBuf::from(home).join(".config"));
    Some((folder.or_else(home)?.join("keima/config.toml"), false))
}

fn is_out_of_reach(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotADirectory | NotFound | PermissionDenied)
}

fn refused(path: &Path, why: &str) -> Error {
    Error::raw(ErrorKind::InvalidValue, format!("configuration file {}: {why}\n", path.display()))
}

/// Whether a configuration file may set an option.
fn is_habit(arg: &Arg) -> bool {
    arg.get_long().is_some_and(|long| !NOT_HABITS.contains(&long))
        && matches!(arg.get_action(), ArgAction::Set | ArgAction::SetTrue)
}

fn habits(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_careful = OF_OTHERS.contains(&command.get_name());
    let may = move |arg: &&Arg| !is_careful || arg.get_long().is_some_and(|long| CONNECTION.contains(&long));
    command.get_arguments().filter(|arg| is_habit(arg)).filter(may)
}

/// A value as it would be typed.
fn typed(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(switch) => Some(switch.to_string()),
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => None,
    }
}

impl Config {
    /// Reads the file.
    pub(crate) fn load() -> Result<Self, Error> {
        use clap::CommandFactory as _;
        let Some((path, is_named)) = place() else { return Ok(Self::default()) };
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::read(&path, &text, &crate::args::Cli::command()),
            // Nobody asked for it: it may be missing, or in a folder of somebody else.
            Err(error) if !is_named && is_out_of_reach(&error) => Ok(Self::default()),
            Err(error) => Err(refused(&path, &format!("cannot be read: {error}"))),
        }
    }

    /// The values of a text.
    fn read(path: &Path, text: &str, cli: &Command) -> Result<Self, Error> {
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| refused(path, error.to_string().trim_end()))?;
        let mut config = Self { path: Some(path.to_owned()), values: BTreeMap::new() };
        // What is for all verbs first: a verb's own value is more precise.
        for (key, value) in table.iter().filter(|(_, value)| !value.is_table()) {
            let mut known = false;
            for verb in cli.get_subcommands() {
                if let Some(arg) = habits(verb).find(|arg| arg.get_long() == Some(key)) {
                    known = true;
                    config.put(path, verb, arg, key, value)?;
                }
            }
            if !known {
                let all = cli.get_subcommands().flat_map(habits).filter_map(Arg::get_long);
                return Err(refused(path, &format!("no verb has the option --{key}{}", did_you_mean(key, all))));
            }
        }
        for (name, value) in &table {
            let Value::Table(own) = value else { continue };
            let verbs = || cli.get_subcommands().map(Command::get_name);
            let verb = cli.get_subcommands().find(|verb| verb.get_name() == name);
            let verb = verb.ok_or_else(|| {
                refused(path, &format!("[{name}]: there is no such verb{}", did_you_mean(name, verbs())))
            })?;
            for (key, value) in own {
                let arg = habits(verb).find(|arg| arg.get_long() == Some(key)).ok_or_else(|| {
                    let all = habits(verb).filter_map(Arg::get_long);
                    refused(
                        path,
                        &format!(
                            "[{name}]: keima {name} has no option --{key} that may stand here{}",
                            did_you_mean(key, all)
                        ),
                    )
                })?;
                config.put(path, verb, arg, key, value)?;
            }
        }
        Ok(config)
    }

    fn put(&mut self, path: &Path, verb: &Command, arg: &Arg, key: &str, value: &Value) -> Result<(), Error> {
        let text = typed(value).ok_or_else(|| {
            refused(path, &format!("{key}: expected a text, a number, true or false, got a {}", value.type_str()))
        })?;
        if matches!(arg.get_action(), ArgAction::SetTrue) && !value.is_bool() {
            return Err(refused(
                path,
                &format!("{key}: --{key} is a switch: expected true or false, got a {}", value.type_str()),
            ));
        }
        self.values.insert((verb.get_name().to_owned(), key.to_owned()), text);
        Ok(())
    }

    /// The command line with the file's values as defaults.
    pub(crate) fn under(&self, mut cli: Command) -> Command {
        for ((verb, key), value) in &self.values {
            cli = cli.mut_subcommand(verb, |command| {
                let id = habits(&command).find(|arg| arg.get_long() == Some(key)).map(|arg| arg.get_id().clone());
                match id {
                    Some(id) => command.mut_arg(id, |arg| arg.required(false).default_value(value.clone())),
                    None => command,
                }
            });
        }
        cli
    }

    /// The file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// All options of one verb, or of every verb, with their values. `variable` reads the environment.
    pub(crate) fn settings(
        &self,
        cli: &Command,
        verb: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Vec<Setting> {
        let verbs = cli.get_subcommands().filter(|command| verb.is_none_or(|verb| command.get_name() == verb));
        let of = |command: &Command| -> Vec<Setting> {
            habits(command).map(|arg| self.setting(command, arg, &variable)).collect()
        };
        verbs.flat_map(of).collect()
    }

    fn setting(&self, verb: &Command, arg: &Arg, variable: &impl Fn(&str) -> Option<String>) -> Setting {
        let option = arg.get_long().unwrap_or_default().to_owned();
        let setting =
            |value: String, source| Setting { verb: verb.get_name().to_owned(), option: option.clone(), value, source };
        let name = arg.get_env().map(|name| name.to_string_lossy().into_owned());
        if let Some((name, value)) = name.and_then(|name| Some((name.clone(), variable(&name)?))) {
            return setting(value, Source::Environment(name));
        }
        if let Some(value) = self.values.get(&(verb.get_name().to_owned(), option.clone())) {
            return setting(value.clone(), Source::File);
        }
        let default = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
        default.map_or_else(|| setting(String::new(), Source::Unset), |value| setting(value, Source::Default))
    }
}

/// Whether a text can stand below the command line `cli`: it is read, and each verb takes what the text says for it.
pub(crate) fn probe(text: &str, cli: &Command) -> bool {
    let Ok(config) = Config::read(Path::new("probe"), text, cli) else { return false };
    let told =
        config.settings(cli, None, |_| None).into_iter().filter(|setting| setting.source == Source::File).count();
    assert_eq!(told, config.values.len(), "a value is not shown");
    let verbs: BTreeSet<&str> = config.values.keys().map(|(verb, _)| verb.as_str()).collect();
    let mut under = config.under(cli.clone());
    verbs.into_iter().all(|verb| match under.try_get_matches_from_mut(["keima", verb]) {
        // Nothing else was typed.
        Err(error) => error.kind() == ErrorKind::MissingRequiredArgument,
        Ok(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::args::{Cli, Verb};

    fn read(text: &str) -> Result<Config, String> {
        Config::read(Path::new("/etc/c.toml"), text, &Cli::command()).map_err(|error| error.to_string())
    }

    /// The worker's memory, threads and scratch folder under a file and a command line.
    fn worker(text: &str, line: &str) -> (Option<u64>, Option<u32>, String) {
        let matches = read(text).unwrap().under(Cli::command()).try_get_matches_from(line.split(' ')).unwrap();
        match Cli::from_arg_matches(&matches).unwrap().verb {
            Verb::Worker(args) => (args.memory, args.threads, args.scratch.display().to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_stands_above_the_file() {
        let file = "threads = 3\n[worker]\nscratch = \"/nvme\"\nmemory = \"1GiB\"\n";
        for (line, expected) in [
            ("keima worker", (Some(1 << 30), Some(3), "/nvme")),
            ("keima worker --memory 2GiB", (Some(2 << 30), Some(3), "/nvme")),
            ("keima worker --threads 1 --scratch /ssd", (Some(1 << 30), Some(1), "/ssd")),
        ] {
            let (memory, threads, scratch) = expected;
            assert_eq!(worker(file, line), (memory, threads, scratch.to_owned()), "{line}");
        }
        // A verb's own value stands above that for all verbs, wherever it is.
        assert_eq!(worker("[worker]\nthreads = 2\nscratch = \"/a\"\n", "keima worker").1, Some(2));
        assert_eq!(worker("threads = 4\n[worker]\nthreads = 2\nscratch = \"/a\"\n", "keima worker").1, Some(2));
    }

    #[test]
    fn what_no_verb_knows_is_refused() {
        for (text, words) in [
            ("memroy = 1", "no verb has the option --memroy (did you mean memory?)"),
            ("[wroker]\nmemory = 1", "[wroker]: there is no such verb (did you mean worker?)"),
            ("[worker]\nseries = true", "keima worker has no option --series"),
            ("[count]\nfresh = true", "has no option --fresh that may stand here"),
            ("[change]\nowner = \"me\"", "has no option --owner that may stand here"),
            ("[jobs]\nname = \"big\"", "has no option --name that may stand here"),
            ("threads = [1]", "expected a text, a number, true or false"),
            ("[count]\nseries = \"yes\"", "is a switch: expected true or false"),
            ("threads = ", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words) && error.contains("/etc/c.toml"), "{text}: {error}");
        }
    }

    /// A habit of submissions takes over no job that is there, and hides none.
    #[test]
    fn an_owner_is_one_of_submissions() {
        let config = read("owner = \"me\"\ncoordinator = \"https://head:7700\"\n").unwrap();
        let told = |verb: &str| {
            let all = config.settings(&Cli::command(), Some(verb), |_| None);
            let told = all.into_iter().filter(|setting| setting.source == Source::File).map(|setting| setting.option);
            told.collect::<Vec<_>>().join(" ")
        };
        assert_eq!([told("submit"), told("change"), told("jobs")], ["coordinator owner", "coordinator", "coordinator"]);
    }

    #[test]
    fn every_value_says_where_it_comes_from() {
        let config = read("[worker]\nmemory = \"1GiB\"\ndisk = \"9GiB\"\n").unwrap();
        let variable = |name: &str| (name == "KEIMA_DISK").then(|| "7GiB".to_owned());
        let all = config.settings(&Cli::command(), Some("worker"), variable);
        let find = |option: &str| all.iter().find(|setting| setting.option == option).unwrap();
        for (option, value, source) in [
            ("memory", "1GiB", Source::File),
            ("disk", "7GiB", Source::Environment("KEIMA_DISK".to_owned())),
            ("listen", "127.0.0.1:0", Source::Default),
            ("advertise", "", Source::Unset),
        ] {
            let setting = find(option);
            assert_eq!((setting.value.as_str(), &setting.source), (value, &source), "{option}");
        }
        assert!(all.iter().all(|setting| setting.verb == "worker" && setting.option != "json"));
    }
}
