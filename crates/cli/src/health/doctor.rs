//! `keima doctor`: what a data, scratch or archive folder is, and whether what lies in it is sound. Changes nothing.
//!
//! ```text
//!   coordinator.redb    data folder     its records are read, and each job's problem is opened
//!   worker.id           scratch folder  every run file is verified, block by block
//!   */checkpoint-*      archive         every checkpoint is verified, and that its runs are there in their lengths
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keima_cluster::{Store, StoreError};
use keima_coordinator::{Checkpoint, Config, Coordinator, is_checkpoint_name};
use keima_count::inspect::Inspected;
use keima_problems::Problems;

use super::{Finding, conclude};
use crate::args::DoctorArgs;
use crate::exit::Failed;
use crate::terminal::units::show_bytes;

/// The file of a coordinator's records.
const RECORDS: &str = "coordinator.redb";
/// Lines about sound files of a kind; the rest are counted.
const MOST_LINES: usize = 20;

pub(crate) fn doctor(args: &DoctorArgs) -> Result<(), Failed> {
    let folder = &args.folder;
    if !folder.is_dir() {
        return Err(Failed::usage(format!("{} is no folder", folder.display())));
    }
    let mut findings = Vec::new();
    if folder.join(RECORDS).is_file() {
        data(folder, &mut findings);
    }
    if folder.join("worker.id").is_file() {
        scratch(folder, &mut findings);
    }
    archive(folder, &mut findings);
    if findings.is_empty() {
        return Err(Failed::usage(format!(
            "{} is no folder of keima: it has no {RECORDS} (data folder), no worker.id (scratch folder) and no checkpoints (archive)",
            folder.display()
        )));
    }
    conclude(&findings, args.json, "something in this folder is not sound; see above. Nothing was changed")
}

fn data(folder: &Path, findings: &mut Vec<Finding>) {
    if let Err(error) = Store::check_free(folder) {
        return findings.push(Finding::new(false, "data folder", error.to_string()));
    }
    // The records are read from a copy: a store that was not closed is repaired when it is opened.
    let read = || -> Result<Vec<(String, Vec<u8>)>, String> {
        let copy = tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        for name in [RECORDS, "coordinator.log"] {
            let from = folder.join(name);
            if from.is_file() {
                std::fs::copy(&from, copy.path().join(name))
                    .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
            }
        }
        let shown = |error: StoreError| {
            error.to_string().replace(&copy.path().display().to_string(), &folder.display().to_string())
        };
        let store = Store::open(copy.path()).map_err(shown)?;
        store.load().map_err(shown)
    };
    let records = match read() {
        Ok(records) => records,
        Err(error) => return findings.push(Finding::new(false, "data folder", error)),
    };
    let count = records.len();
    match Coordinator::restore(Config::default(), Arc::new(Problems), 1, 0, records) {
        Err(error) => findings.push(Finding::new(false, "data folder", error.to_string())),
        Ok(coordinator) => {
            let jobs = coordinator.jobs();
            findings.push(Finding::new(
                true,
                "data folder",
                format!("{count} records of {} jobs can be read", jobs.len()),
            ));
            for job in &jobs {
                let (problem, position) = (&job.problem, &job.position);
                let at = format!(
                    "{} {}, {}, pass {} of {}",
                    problem.name, problem.size, job.state, position.pass, position.passes
                );
                findings.push(Finding::new(true, format!("job {}", job.id), at));
            }
        }
    }
}

/// Files below a folder with this ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

fn scratch(folder: &Path, findings: &mut Vec<Finding>) {
    let mut runs = Vec::new();
    files(folder, "run", &mut runs);
    runs.sort();
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default().trim().to_owned();
    let (worker, owner) = (text("worker.id"), text("coordinator.id"));
    let owner = if owner.is_empty() { "no coordinator yet".to_owned() } else { format!("coordinator {owner}") };
    findings.push(Finding::new(true, "scratch folder", format!("worker {worker}, {owner}")));
    let (mut sound, mut bytes) = (0_u64, 0_u64);
    for path in &runs {
        match Inspected::open(path) {
            Ok(run) => {
                sound += 1;
                bytes += run.manifest().bytes;
            }
            Err(error) => findings.push(Finding::new(false, "run", error.to_string())),
        }
    }
    findings.push(Finding::new(true, "runs", format!("{sound} sound files of {}, {}", runs.len(), show_bytes(bytes))));
}

fn archive(folder: &Path, findings: &mut Vec<Finding>) {
    let mut all = Vec::new();
    files(folder, "keima", &mut all);
    all.retain(|path| path.file_name().is_some_and(|name| is_checkpoint_name(&name.to_string_lossy())));
    all.sort();
    let mut sound = 0;
    for path in &all {
        let name = format!("checkpoint {}", path.strip_prefix(folder).unwrap_or(path).display());
        match checkpoint(path) {
            Ok(words) if sound < MOST_LINES => {
                sound += 1;
                findings.push(Finding::new(true, name, words));
            }
            Ok(_) => sound += 1,
            Err(error) => findings.push(Finding::new(false, name, error)),
        }
    }
}

fn checkpoint(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let checkpoint = Checkpoint::read(&bytes).map_err(|error| error.to_string())?;
    let folder = path.parent().unwrap_or(path);
    for (object, expected) in checkpoint.objects() {
        let got = std::fs::metadata(folder.join(&object)).map_err(|error| format!("{object}: {error}"))?.len();
        if got != expected {
            return Err(format!("{object}: expected {expected} bytes, got {got}"));
        }
    }
    let seconds = checkpoint.active_millis() / 1000;
    Ok(format!("{}, after {seconds} s of work; its runs are there", checkpoint.words()))
}
