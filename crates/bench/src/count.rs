//! Whole counts by the real program, in processes of their own: `keima count`, and a coordinator with workers of one
//! thread each. Times are of the whole process, set-up and checks included; those of a cluster are the
//! job's, from its submission to its result.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::board;
use crate::process::{cpu_seconds, peak_bytes};
use crate::sample::{Kind, Label, Sample};

/// How long a service may take to say that it is ready.
const READY: Duration = Duration::from_secs(20);
/// A worker's memory.
const WORKER_MEMORY: &str = "4GiB";
/// The same for a process that counts as one worker of a cluster does.
pub(crate) const WORKER_MEMORY_MIB: u64 = 4096;

/// A count out of core gets this part of the vector, and so many MiB for the program and its tables.
const DISK_PART: f64 = 10.0;
const DISK_BESIDE_MIB: u64 = 100;

/// A count to be done.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    pub(crate) kind: Kind,
    pub(crate) height: u32,
    pub(crate) threads: u32,
    /// `--memory`, in MiB.
    pub(crate) memory_mib: Option<u64>,
}

impl Count {
    fn size(&self) -> String {
        format!("{0}x{0}", self.height)
    }

    fn executor(&self) -> &'static str {
        match self.kind {
            Kind::CountBlock | Kind::CountBlockDisk | Kind::CountBlockWorker | Kind::ClusterBlock => "block",
            _ => "stream",
        }
    }

    /// What is typed for it, without the program's name.
    fn arguments(&self) -> Vec<String> {
        let text = format!("count go {} --executor {} --threads {}", self.size(), self.executor(), self.threads);
        let memory = self.memory_mib.map(|mib| format!(" --memory {mib}MiB")).unwrap_or_default();
        format!("{text}{memory} --json --quiet").split(' ').map(str::to_owned).collect()
    }

    /// The commands, as they stand in the documents.
    pub(crate) fn commands(&self) -> Vec<String> {
        if matches!(self.kind, Kind::ClusterBlock | Kind::ClusterStream) {
            let worker =
                format!("keima worker --listen 127.0.0.1:0 --memory {WORKER_MEMORY} --threads 1 --scratch DIR");
            let mut commands = vec!["keima coordinator --listen 127.0.0.1:0 --data DIR".to_owned()];
            commands.extend((0..self.threads).map(|_| worker.clone()));
            commands.push(format!("keima submit go {} --executor {} --wait --json", self.size(), self.executor()));
            return commands;
        }
        let data = if self.kind == Kind::CountBlock { "" } else { " --data DIR" };
        vec![format!("keima {}{data}", self.arguments().join(" "))]
    }

    /// Does it once.
    pub(crate) fn sample(&self, keima: &Path) -> Result<(Label, Sample)> {
        let folder = tempfile::tempdir().context("a folder for the count")?;
        let cpu_before = cpu_seconds().1;
        let (result, seconds, peak) = match self.kind {
            Kind::ClusterBlock | Kind::ClusterStream => self.on_a_cluster(keima, folder.path())?,
            _ => self.in_one_process(keima, folder.path())?,
        };
        let statistics = &result["statistics"];
        let number = |name: &str| statistics[name].as_f64().unwrap_or(0.0);
        let list = |value: &Value| -> Vec<u32> {
            value.as_array().into_iter().flatten().filter_map(|n| n.as_u64()?.try_into().ok()).collect()
        };
        let (state_passes, state_boundaries) = board::work(&board::states(self.height)?, &list(&statistics["windows"]));
        let sweeps = number("sweeps").max(1.0);
        let sample = Sample {
            seconds,
            cpu_seconds: cpu_seconds().1 - cpu_before,
            state_passes: sweeps * state_passes,
            state_boundaries: sweeps * state_boundaries,
            bytes_read: number("bytes_read"),
            bytes_written: number("bytes_written"),
            peak_bytes: peak,
            read_seconds: number("read_seconds"),
            map_seconds: number("map_seconds"),
            write_seconds: number("write_seconds"),
            ..Sample::default()
        };
        let residues = result["residues"].as_array().map_or(0, Vec::len) as u32;
        Ok((Label { kind: self.kind, height: self.height, residues, threads: self.threads }, sample))
    }

    fn in_one_process(&self, keima: &Path, folder: &Path) -> Result<(Value, f64, f64)> {
        let mut command = Command::new(keima);
        command.args(self.arguments()).env("XDG_STATE_HOME", folder);
        if self.kind != Kind::CountBlock {
            command.arg("--data").arg(folder.join("data"));
        }
        let started = Instant::now();
        let result = run(&mut command)?;
        let seconds = started.elapsed().as_secs_f64();
        let peak = result["peak_memory_bytes"].as_f64().unwrap_or(0.0);
        Ok((result, seconds, peak))
    }

    fn on_a_cluster(&self, keima: &Path, folder: &Path) -> Result<(Value, f64, f64)> {
        let mut command = Command::new(keima);
        command.args(["coordinator", "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("coordinator"));
        let (coordinator, text) = Service::start(&mut command, &folder.join("coordinator.out"))?;
        let url = text.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?.to_owned();
        let mut workers = Vec::new();
        for number in 0..self.threads {
            let scratch = folder.join(format!("worker{number}"));
            let mut command = Command::new(keima);
            command.args(["worker", "--listen", "127.0.0.1:0", "--memory", WORKER_MEMORY, "--threads", "1"]);
            command.args(["--coordinator", &url, "--scratch"]).arg(&scratch);
            workers.push(Service::start(&mut command, &folder.join(format!("worker{number}.out")))?.0);
        }
        let mut command = Command::new(keima);
        command.args(["submit", "go", &self.size(), "--executor", self.executor(), "--wait", "--json"]);
        let result = run(command.env("KEIMA_COORDINATOR", &url))?;
        // The job's own time: whoever waits for it only looks twice a second.
        let seconds = result["seconds"].as_f64().context("no time")?;
        let peak = workers.iter().map(|worker| peak_bytes(Some(worker.0.id()))).fold(0.0, f64::max);
        drop((coordinator, workers));
        Ok((result, seconds, peak))
    }
}

/// A tenth of the vector's bytes, of all residues at its largest, and what stands beside it.
pub(crate) fn disk_mib(height: u32) -> Result<u64> {
    let states = board::states(height)?.into_iter().max().unwrap_or(0) as f64;
    // As many residues as the bound of the square board asks for, and the spare.
    let residues = (f64::from(height * height) * 3_f64.log2() / 60.0).ceil() + 1.0;
    Ok((states * residues * 8.0 / DISK_PART / f64::from(1 << 20)) as u64 + DISK_BESIDE_MIB)
}

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

/// A process that runs until it is dropped.
struct Service(Child);

impl Service {
    /// Starts it and waits until it says that it is ready; returns what it said.
    fn start(command: &mut Command, output: &Path) -> Result<(Self, String)> {
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
    fn commands_are_those_that_run() {
        let count = |kind, memory_mib| Count { kind, height: 9, threads: 2, memory_mib };
        fn check(count: &Count, expected: &[&str]) {
            assert_eq!(count.commands(), expected);
        }
        check(&count(Kind::CountBlock, None), &["keima count go 9x9 --executor block --threads 2 --json --quiet"]);
        check(
            &count(Kind::CountBlockDisk, Some(64)),
            &["keima count go 9x9 --executor block --threads 2 --memory 64MiB --json --quiet --data DIR"],
        );
        let worker = "keima worker --listen 127.0.0.1:0 --memory 4GiB --threads 1 --scratch DIR";
        check(
            &count(Kind::ClusterStream, None),
            &[
                "keima coordinator --listen 127.0.0.1:0 --data DIR",
                worker,
                worker,
                "keima submit go 9x9 --executor stream --wait --json",
            ],
        );
    }

    #[test]
    fn failures_are_told() {
        let error = run(Command::new("sh").args(["-c", "echo no memory >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("no memory") && error.contains('3'), "{error}");
        let error = run(Command::new("sh").args(["-c", "echo '{\"count\":null}'"])).unwrap_err().to_string();
        assert!(error.contains("found no number"), "{error}");
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
}
