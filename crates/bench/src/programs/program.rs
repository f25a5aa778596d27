//! The real program: commands that print one answer, and services that run until they are dropped.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// How long a service may take to say that it is ready.
const READY: Duration = Duration::from_secs(20);

/// A command as it stands in the documents: folders of this machine are no part of it.
fn shown(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    let arguments = arguments.map(|text| if text.starts_with('/') { "DIR".into() } else { text });
    std::iter::once("keima".into()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end and reads what it printed.
pub(crate) fn answer(command: &mut Command) -> Result<Value> {
    let ended = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", shown(command)))?;
    let errors = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{} ended with {}: {}", shown(command), ended.status, errors.trim());
    serde_json::from_slice(&ended.stdout).with_context(|| format!("the output of {}", shown(command)))
}

/// The same of a count, whose number must have been found.
pub(crate) fn run(command: &mut Command) -> Result<Value> {
    let result = answer(command)?;
    ensure!(result["count"].is_string(), "{} found no number", shown(command));
    Ok(result)
}

/// Lengths of the windows of a column.
pub(crate) fn windows(statistics: &Value) -> Vec<u32> {
    let lengths = statistics["windows"].as_array().into_iter().flatten();
    lengths.filter_map(|length| length.as_u64()?.try_into().ok()).collect()
}

/// A process that runs until it is dropped.
pub(crate) struct Service(Child);

impl Service {
    /// Starts it and waits until it says that it is ready; returns what it said.
    pub(crate) fn start(command: &mut Command, output: &Path) -> Result<(Self, String)> {
        let file = File::create(output)?;
        command.stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
        let mut service = Self(command.spawn().with_context(|| format!("cannot start {}", shown(command)))?);
        let started = Instant::now();
        loop {
            let mut text = String::new();
            File::open(output)?.read_to_string(&mut text)?;
            if let Some(line) = text.lines().find(|line| line.contains("ready at")) {
                return Ok((service, line.to_owned()));
            }
            if let Some(status) = service.0.try_wait()? {
                bail!("{} ended with {status}", shown(command));
            }
            ensure!(started.elapsed() < READY, "{} did not say that it is ready", shown(command));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its number among the system's processes.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_without_folders() {
        let mut command = Command::new("/here/keima");
        command.args(["count", "go", "9x9", "--data", "/tmp/somewhere"]);
        assert_eq!(shown(&command), "keima count go 9x9 --data DIR");
    }

    #[test]
    fn services_are_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Service::start(Command::new("sh").args(["-c", "exit 1"]), &folder.path().join("out")).is_err());
        let (service, line) = Service::start(
            Command::new("sh").args(["-c", "echo x ready at http://y; sleep 60"]),
            &folder.path().join("out"),
        )
        .unwrap();
        assert_eq!(line, "x ready at http://y");
        drop(service);
    }

    #[test]
    fn failures_are_told() {
        let error = run(Command::new("sh").args(["-c", "echo no memory >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("no memory") && error.contains('3'), "{error}");
        let error = run(Command::new("sh").args(["-c", "echo '{\"count\":null}'"])).unwrap_err().to_string();
        assert!(error.contains("found no number"), "{error}");
    }
}
