//! `keima config show`, `keima completions`, `keima man`.

use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory as _;
use keima_model::did_you_mean;
use serde_json::{Value, json};

use crate::args::defaults::config::{Config, Setting, Source};
use crate::args::{Cli, CompletionsArgs, ConfigArgs, ConfigVerb, ManArgs};
use crate::exit::Failed;
use crate::terminal::output::{print, say};

/// Where a value comes from, for people.
fn words(source: &Source) -> String {
    match source {
        Source::Default => "default".to_owned(),
        Source::File => "file".to_owned(),
        Source::Environment(name) => format!("environment, {name}"),
        Source::Unset => "not set".to_owned(),
    }
}

fn to_json(setting: &Setting) -> Value {
    let (kind, variable) = match &setting.source {
        Source::Default => ("default", None),
        Source::File => ("file", None),
        Source::Environment(name) => ("environment", Some(name)),
        Source::Unset => ("unset", None),
    };
    let value = (setting.source != Source::Unset).then_some(&setting.value);
    json!({ "verb": setting.verb, "option": setting.option, "value": value, "source": kind, "variable": variable })
}

/// Tells where the values of options come from.
pub(crate) fn config(args: &ConfigArgs) -> Result<(), Failed> {
    let ConfigVerb::Show { verb, json } = &args.what;
    let config = Config::load().map_err(|error| Failed::usage(error.to_string()))?;
    let cli = Cli::command();
    let verbs = || cli.get_subcommands().map(clap::Command::get_name);
    if let Some(unknown) = verb.as_deref().filter(|verb| verbs().all(|known| known != *verb)) {
        return Err(Failed::usage(format!("there is no verb {unknown}{}", did_you_mean(unknown, verbs()))));
    }
    let mut all =
        config.settings(&cli, verb.as_deref(), |name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    if verb.is_none() {
        all.retain(|setting| !matches!(setting.source, Source::Default | Source::Unset));
    }
    let path = config.path().map(|path| path.display().to_string());
    if *json {
        let settings: Vec<Value> = all.iter().map(to_json).collect();
        return print(&json!({ "file": path, "settings": settings }).to_string());
    }
    match &path {
        Some(path) => say(format_args!("configuration file: {path}")),
        None => say("there is no configuration file"),
    }
    let wide = |of: fn(&Setting) -> usize| all.iter().map(of).max().unwrap_or(0);
    let (verbs, options, values) = (wide(|s| s.verb.len()), wide(|s| s.option.len() + 2), wide(|s| s.value.len()));
    for setting in &all {
        let option = format!("--{}", setting.option);
        let (verb, value, source) = (&setting.verb, &setting.value, words(&setting.source));
        print(&format!("{verb:<verbs$}  {option:<options$}  {value:<values$}  {source}"))?;
    }
    Ok(())
}

/// Prints the script of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "keima", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())
}

/// Writes the manual pages.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failed> {
    let folder = &args.folder;
    let failed =
        |path: &Path, error: std::io::Error| Failed::other(format!("cannot write {}: {error}", path.display()));
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut cli = Cli::command();
    cli.build();
    let verbs = cli.get_subcommands().filter(|verb| verb.get_name() != "help");
    let names = verbs.map(|verb| (format!("keima-{}", verb.get_name()), verb.clone()));
    for (name, command) in std::iter::once(("keima".to_owned(), cli.clone())).chain(names) {
        let path = folder.join(format!("{name}.1"));
        let mut page = Vec::new();
        let made = clap_mangen::Man::new(command.display_name(name.clone()).name(name)).render(&mut page);
        made.map_err(|error| failed(&path, error))?;
        let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(&page));
        written.map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
