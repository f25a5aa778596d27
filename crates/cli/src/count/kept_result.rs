//! The result of a count in memory that nobody got, so that the same command prints it and counts nothing again.
//!
//! ```text
//!   {"checksum":"0123abcd", ...}     what `--json` prints, shorter boards too, and in `kept` what the other formats need
//! ```
//!
//! The checksum is the CRC-32C of the bytes from behind its comma to the end of the line. A file that is damaged is named and
//! not used. One that is whole is not believed either: `keima verify` must find nothing wrong with it. One of another version
//! or of another count is refused, and stays: its number may have taken hours.
//!
//! Commands that ask for other results have files of other names.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use keima_coordinator::{Execution, Outcome, Plan};
use keima_count::{InMemory, InMemoryError, InMemoryResult};
use keima_model::{AnyProblem, ProblemRequest, Registry};
use keima_problems::Problems;
use serde_json::{Value, json};

use super::counting::Tell;
use super::folders::Folders;
use crate::args::{CountArgs, Executor, VERSION};
use crate::exit::{CHECK_FAILED, Failed};
use crate::result::{Extra, Finished, object};
use crate::terminal::input;
use crate::terminal::output::{is_thrown_away, say};

/// The first word of the names of the files.
const FILE: &str = "result";
/// Largest file that is read.
const MOST_BYTES: u64 = 256 << 20;
/// Version of the field `kept`.
const FORM: u64 = 1;
/// What stands before the checksum, and behind it.
const AROUND: [&str; 2] = ["{\"checksum\":\"", "\","];
/// Name of the check of two counts, and of the field with the second one.
pub(super) const DOUBLE_CHECK: &str = "double_check";
/// Fields that only the process knows that counted.
const EXTRA: [&str; 3] = ["scratch_peak_bytes", "peak_memory_bytes", DOUBLE_CHECK];

/// Where the result of one command is kept.
pub(super) struct KeptFile<'a> {
    /// `None` where the command counts on disk, or where there is no folder for state.
    path: Option<PathBuf>,
    pub(super) request: &'a ProblemRequest,
    pub(super) problem: &'a AnyProblem,
}

impl<'a> KeptFile<'a> {
    pub(super) fn new(args: &CountArgs, request: &'a ProblemRequest, problem: &'a AnyProblem, name: &str) -> Self {
        let on_disk = args.asks_for_disk() || args.plan.executor == Executor::Stream;
        let folder = if on_disk { None } else { Folders::default_data(name).ok() };
        let series = if args.output.result.series { "-series" } else { "" };
        let twice = if args.double_check { "-double-check" } else { "" };
        Self { path: folder.map(|folder| folder.join(format!("{FILE}{series}{twice}.json"))), request, problem }
    }

    /// The kept result of this command. Says if it is damaged. Refuses that of another version or count.
    pub(super) fn find(&self) -> Result<Option<KeptResult>, Failed> {
        let Some(path) = self.path.as_ref().filter(|path| path.exists()) else { return Ok(None) };
        let read = input::read(path, MOST_BYTES, "").map_err(|failed| Unusable::Damaged(failed.text));
        let found = read.and_then(|read| KeptResult::read(&read.text)).and_then(|kept| self.own(kept));
        let path = path.display();
        match found {
            Ok(kept) => Ok(Some(kept)),
            Err(Unusable::Damaged(why)) => {
                say(format_args!("keima: {path} is damaged and not used: {why}; the count begins anew"));
                Ok(None)
            }
            Err(Unusable::Other { what, expected, got }) => Err(Failed::other(format!(
                "{path} holds the result of another {what}: expected {expected}, got {got}. Nobody has got its number, which \
                 may have taken hours: it is the field count, and `keima verify {path}` checks it. Then start over with --fresh"
            ))),
        }
    }

    /// Whether a kept result is that of this count, in all its parts.
    fn own(&self, kept: KeptResult) -> Result<KeptResult, Unusable> {
        let asked = |name: &str, options: Value, identity: &str| format!("{name} {options}, {identity}");
        let options: Value = self.request.options.iter().cloned().collect();
        let expected = asked(&self.request.name, options, &self.problem.identity());
        let text = |field: &str| kept.object[field].as_str().unwrap_or_default();
        let options = kept.object.get("options").cloned().unwrap_or_else(|| json!({}));
        let got = asked(text("problem"), options, text("identity"));
        if got != expected {
            return Err(Unusable::Other { what: "count", expected, got });
        }
        let same = object(&kept.finished(self.request), self.problem.info(), true, &kept.extra);
        if same.is_ok_and(|same| same == kept.object) {
            Ok(kept)
        } else {
            Err(Unusable::Damaged("the result in it differs from what was kept of its count".to_owned()))
        }
    }

    /// Tells a kept result with `tell`.
    pub(super) fn tell(&self, kept: &KeptResult, quiet: bool, tell: Tell<'_>) -> Result<(), Failed> {
        if !quiet {
            let (problem, size) = (&self.request.name, &kept.result.outcome.size);
            say(format_args!("{problem} {size} was counted before, and its result was kept since nobody had got it"));
        }
        tell(&kept.finished(self.request), &kept.extra)?;
        if let Some(folder) = self.path.as_deref().and_then(Path::parent).filter(|_| !is_thrown_away()) {
            // Residues of the count's sweeps, where it had several.
            InMemory::forget(folder);
        }
        Ok(())
    }

    /// Keeps a result that nobody has got, and says where. Deletes what is kept once somebody has got it. `told` is what came of
    /// printing it.
    pub(super) fn settle(
        &self,
        finished: &Finished<'_>,
        extra: &Extra,
        told: Result<(), Failed>,
    ) -> Result<(), Failed> {
        let code = told.as_ref().err().map(|failed| failed.code);
        if code == Some(CHECK_FAILED) || code.is_none() && !is_thrown_away() {
            self.remove();
            return told;
        }
        let Some(kept) = self.keep(finished, extra) else { return told };
        let text = match kept {
            Ok(path) => format!("the result is kept in {path}: the same command prints it, and counts nothing again"),
            Err(why) => {
                let number = finished.outcome.map_or("", |outcome| &outcome.count);
                format!("the result cannot be kept: {why}. The number is {number}")
            }
        };
        match told {
            Ok(()) => {
                say(text);
                Ok(())
            }
            Err(failed) => Err(Failed { text: format!("{}\n{text}", failed.text), ..failed }),
        }
    }

    /// Keeps the result of a count in memory; `None` if there is none. Returns where, or why it cannot be kept.
    pub(super) fn keep(&self, finished: &Finished<'_>, extra: &Extra) -> Option<Result<String, String>> {
        let plan = finished.plan.filter(|plan| plan.execution == Execution::InMemory)?;
        let outcome = finished.outcome.filter(|outcome| outcome.ok)?;
        let Some(path) = &self.path else {
            return Some(Err("neither XDG_STATE_HOME nor HOME names a folder for it".to_owned()));
        };
        let object = match object(finished, self.problem.info(), true, extra) {
            Ok(object) => object,
            Err(failed) => return Some(Err(failed.text)),
        };
        let written = write(path, &text(object, plan, outcome, finished))
            .map_err(|error| format!("cannot write {}: {error}", path.display()));
        Some(written.map(|()| path.display().to_string()))
    }

    /// Deletes what is kept.
    pub(super) fn remove(&self) {
        if let Some(path) = &self.path
            && fs::remove_file(path).is_ok()
        {
            // Fails, as it should, if something else is in it.
            let _ = path.parent().map(fs::remove_dir);
        }
    }
}

/// Deletes all kept results in `folder`.
pub(super) fn forget(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = |name: &str| name.starts_with(FILE);
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        if is_json && path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours) {
            let _ = fs::remove_file(path);
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Why a file of a kept result cannot be used.
#[derive(Debug)]
enum Unusable {
    Damaged(String),
    Other { what: &'static str, expected: String, got: String },
}

/// A result that nobody got.
pub(crate) struct KeptResult {
    result: InMemoryResult,
    extra: Extra,
    /// What `--json` prints, shorter boards too.
    object: Value,
}

impl KeptResult {
    pub(super) fn finished<'b>(&'b self, request: &'b ProblemRequest) -> Finished<'b> {
        Finished::in_memory(request, &self.result)
    }

    /// Whether the second count is in it.
    pub(super) fn is_double_checked(&self) -> bool {
        self.extra.0.contains_key(DOUBLE_CHECK)
    }

    /// Reads the text of a file, and verifies the certificate in it.
    fn read(text: &str) -> Result<Self, Unusable> {
        let damaged = |why: &dyn std::fmt::Display| Unusable::Damaged(why.to_string());
        let mut object = whole(text).map_err(|why| damaged(&why))?;
        let program = format!("keima {VERSION}");
        let got = object["program"].as_str().unwrap_or_default();
        if got != program {
            return Err(Unusable::Other { what: "version", expected: program, got: got.to_owned() });
        }
        let mut kept = object["kept"].take();
        let Value::Object(fields) = &mut object else { return Err(damaged(&"expected an object")) };
        fields.remove("kept");
        let certificate = fields.get("certificate").filter(|certificate| certificate.is_object()).cloned();
        let certificate = certificate.ok_or_else(|| damaged(&"expected a certificate, got none"))?;
        let extra = EXTRA.into_iter().filter_map(|name| Some((name, fields.get(name)?.clone()))).collect();
        let seconds = fields.get("seconds").and_then(Value::as_f64).ok_or_else(|| damaged(&"expected seconds"))?;
        let resumed_from = fields.get("resumed_from").and_then(Value::as_str).map(str::to_owned);
        if kept["version"] != FORM {
            return Err(damaged(&format_args!("kept.version: expected {FORM}, got {}", kept["version"])));
        }
        let plan: Plan = serde_json::from_value(kept["plan"].take()).map_err(|error| damaged(&error))?;
        let outcome: Outcome = serde_json::from_value(kept["outcome"].take()).map_err(|error| damaged(&error))?;
        let times = serde_json::from_value(kept["times"].take()).map_err(|error| damaged(&error))?;
        let verified = keima_verify::verify_value(&object).map_err(|error| damaged(&error))?;
        if let Some(bad) = verified.iter().flat_map(|one| &one.checks).find(|check| !check.ok) {
            return Err(damaged(&format_args!("it does not verify, {}: {}", bad.name, bad.detail)));
        }
        let reason = String::new();
        let certificate = Some(certificate);
        let result = InMemoryResult { outcome, reason, plan, seconds, times, resumed_from, certificate };
        Ok(Self { result, extra: Extra(extra), object })
    }
}

/// Whether the bytes of a file are those of a kept result.
pub(crate) fn is_sound(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| KeptResult::read(text).is_ok())
}

/// The kept result of a small count, for tests and fuzzing.
pub(crate) fn example(size: &str) -> Result<String, Failed> {
    let request = ProblemRequest { name: "go".to_owned(), size: size.to_owned(), options: Vec::new() };
    let problem = Problems.open(&request)?;
    let failed = |error: InMemoryError| Failed::other(error.to_string());
    let counted = InMemory::new(problem.clone(), 1, 1 << 30, false).and_then(|count| count.count()).map_err(failed)?;
    let finished = Finished::in_memory(&request, &counted);
    let extra = Extra([("peak_memory_bytes", 1.into())].into());
    let object = object(&finished, problem.info(), true, &extra)?;
    Ok(text(object, &counted.plan, &counted.outcome, &finished))
}

/// The text of a file with this object, as `--json` prints it.
fn text(mut object: Value, plan: &Plan, outcome: &Outcome, finished: &Finished<'_>) -> String {
    object["kept"] = json!({ "version": FORM, "plan": plan, "outcome": outcome, "times": finished.statistics.times });
    let object = object.to_string();
    let rest = object.strip_prefix('{').unwrap_or(&object);
    let [before, behind] = AROUND;
    format!("{before}{:08x}{behind}{rest}\n", crc32c::crc32c(rest.as_bytes()))
}

/// The object of a text whose checksum is right, without the checksum.
fn whole(text: &str) -> Result<Value, String> {
    let [before, behind] = AROUND;
    let parts = text.trim_end_matches('\n').strip_prefix(before).and_then(|text| text.split_once(behind));
    let (checksum, rest) = parts.ok_or_else(|| format!("expected {before:?} and a checksum at its start"))?;
    let expected = format!("{:08x}", crc32c::crc32c(rest.as_bytes()));
    if checksum != expected {
        return Err(format!("checksum: expected {expected}, got {checksum:?}"));
    }
    serde_json::from_str(&format!("{{{rest}")).map_err(|error| error.to_string())
}

/// Writes a file as a whole or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let unfinished = path.with_extension("tmp");
    let mut file = File::create(&unfinished)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&unfinished, path)) {
        let _ = fs::remove_file(&unfinished);
        return Err(error);
    }
    File::open(parent)?.sync_all()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Verb};

    /// A file with the right checksum, in which something was replaced.
    fn forged(from: &str, to: &str) -> String {
        let text = example("3x3").unwrap();
        let [before, behind] = AROUND;
        let (_, rest) = text.trim_end().split_once(behind).unwrap();
        assert!(rest.contains(from), "{from}");
        let rest = rest.replace(from, to);
        format!("{before}{:08x}{behind}{rest}\n", crc32c::crc32c(rest.as_bytes()))
    }

    #[test]
    fn only_a_sound_result_of_the_same_count_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let Verb::Count(args) = Cli::parse_from(["keima", "count", "go", "3x3"]).verb else { panic!("count") };
        let request = ProblemRequest { name: "go".to_owned(), size: "3x3".to_owned(), options: Vec::new() };
        let problem = Problems.open(&request).unwrap();
        let mut place = KeptFile::new(&args, &request, &problem, "go-3x3");
        place.path = Some(folder.path().join("result.json"));
        // `Some` if it is taken or named and counted again, with whether it is taken; `None` if it is refused.
        let check = |what: &str, bytes: &[u8], expected: Option<bool>, why: &str| {
            fs::write(folder.path().join("result.json"), bytes).unwrap();
            let found = place.find();
            assert_eq!(found.as_ref().ok().map(Option::is_some), expected, "{what}");
            if let Err(failed) = found {
                assert!(failed.text.contains(why) && failed.text.contains("--fresh"), "{what}: {}", failed.text);
            } else if let Err(unusable) = KeptResult::read(&String::from_utf8_lossy(bytes)) {
                let text = format!("{unusable:?}");
                assert!(text.contains(why), "{what}: {text}");
            }
            assert_eq!(fs::read(folder.path().join("result.json")).unwrap(), bytes, "{what}: it stays");
        };
        let whole = forged("", "");
        check("whole", whole.as_bytes(), Some(true), "");
        check("cut", &whole.as_bytes()[..whole.len() / 2], Some(false), "checksum");
        check("a byte that is no text", &[&whole.as_bytes()[..50], b"\xff"].concat(), Some(false), "checksum");
        check("empty", b"", Some(false), "checksum at its start");
        check("another number", forged("\"12675\"", "\"12676\"").as_bytes(), Some(false), "does not verify");
        check("a check failed", forged("\"ok\":true", "\"ok\":false").as_bytes(), Some(false), "verify");
        check(
            "another time beside the result",
            forged("\"map_nanos\":", "\"map_nanos\":1").as_bytes(),
            Some(false),
            "",
        );
        check("no certificate", forged("\"certificate\":{", "\"other\":{").as_bytes(), Some(false), "certificate");
        check("another form", forged("\"version\":1", "\"version\":2").as_bytes(), Some(false), "kept.version");
        check("another version", forged(VERSION, "0.0.0").as_bytes(), None, "another version: expected keima");
        check("another board", example("2x4").unwrap().as_bytes(), None, "another count");
    }
}
