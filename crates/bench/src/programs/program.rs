//! The real program: commands that print one JSON answer, and services that run until they are dropped.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::sample::Sample;

/// Longest time until a service says that it is ready.
const READY: Duration = Duration::from_secs(20);

/// A command for messages, without folders of this machine.
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

/// Runs a count to its end. Its number must have been found.
pub(crate) fn count(command: &mut Command) -> Result<Value> {
    let result = answer(command)?;
    ensure!(result["count"].is_string(), "{} found no number", shown(command));
    Ok(result)
}

/// Lengths of the windows of a column.
pub(crate) fn windows(statistics: &Value) -> Vec<u32> {
    let lengths = statistics["windows"].as_array().into_iter().flatten();
    lengths.filter_map(|length| length.as_u64()?.try_into().ok()).collect()
}

/// What a job did so far, without its work.
pub(crate) fn totals(statistics: &Value) -> Sample {
    let number = |name: &str| statistics[name].as_f64().unwrap_or(0.0);
    Sample {
        bytes_read: number("bytes_read"),
        bytes_written: number("bytes_written"),
        read_seconds: number("read_seconds"),
        map_seconds: number("map_seconds"),
        write_seconds: number("write_seconds"),
        ..Sample::default()
    }
}

/// A process that runs until it is dropped.
pub(crate) struct Service(Child);

impl Service {
    /// Starts it, waits until it says that it is ready and returns the line.
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

    /// Its process id.
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
        let error = count(Command::new("sh").args(["-c", "echo no memory >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("no memory") && error.contains('3'), "{error}");
        let error = count(Command::new("sh").args(["-c", "echo '{\"count\":null}'"])).unwrap_err().to_string();
        assert!(error.contains("found no number"), "{error}");
    }
}
