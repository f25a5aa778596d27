//! `keima verify`: checks results by their certificates, and Hamiltonian cycles move by move.

use std::path::Path;

use keima_games::cycle;
use keima_verify::{Check, Verified, compare};
use serde_json::{Value, json};

use crate::args::VerifyArgs;
use crate::exit::{CHECK_FAILED, Failed};
use crate::terminal::colour::Paint;
use crate::terminal::input::{self, NamedText};
use crate::terminal::output::print;

/// Largest file that is read. The certificate of a 19x19 job takes about a megabyte.
const MOST_BYTES: u64 = 256 << 20;

/// The results of one file.
struct File {
    name: String,
    results: Vec<Verified>,
    /// What a cycle's file is about, with its checks.
    cycle: Option<(String, Vec<Check>)>,
}

impl File {
    /// Subject and checks of all that it holds.
    fn all(&self) -> impl Iterator<Item = (&str, &[Check])> {
        let results = self.results.iter().map(|result| (result.subject.as_str(), &result.checks[..]));
        results.chain(self.cycle.iter().map(|(subject, checks)| (subject.as_str(), &checks[..])))
    }
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<(), Failed> {
    let files = args.files.iter().map(|path| read(path)).collect::<Result<Vec<File>, Failed>>()?;
    let all: Vec<&Verified> = files.iter().flat_map(|file| &file.results).collect();
    let together = compare(&all);
    let single = files.iter().flat_map(File::all).flat_map(|(_, checks)| checks);
    let failed = single.chain(&together).filter(|check| !check.ok).count();
    print(&if args.json { to_json(&files, &together, failed == 0).to_string() } else { to_text(&files, &together) })?;
    match failed {
        0 => Ok(()),
        1 => {
            Err(Failed::new(CHECK_FAILED, "1 check failed: do not rely on this number; see above for expected and got"))
        }
        more => Err(Failed::new(
            CHECK_FAILED,
            format!("{more} checks failed: do not rely on these numbers; see above for expected and got"),
        )),
    }
}

fn read(path: &Path) -> Result<File, Failed> {
    let NamedText { name, text } = input::read(path, MOST_BYTES, ": it is no result of keima count")?;
    let unusable = |error: &dyn std::fmt::Display| Failed::usage(format!("{name}: {error}"));
    if let Some(value) = serde_json::from_str(&text).ok().filter(cycle::is_cycle) {
        let (subject, checks) = cycle::check(&value).map_err(|error| unusable(&error))?;
        let checks = checks.into_iter().map(|one| Check { name: one.name, ok: one.ok, detail: one.detail });
        return Ok(File { name, results: Vec::new(), cycle: Some((subject, checks.collect())) });
    }
    let results = keima_verify::verify(&text).map_err(|error| unusable(&error))?;
    Ok(File { name, results, cycle: None })
}

fn to_text(files: &[File], together: &[Check]) -> String {
    let paint = Paint::stdout();
    let line = |check: &Check| {
        let holds = if check.ok { paint.good("ok    ") } else { paint.bad("FAILED") };
        format!("  {holds} {}: {}", check.name, check.detail)
    };
    let mut lines = Vec::new();
    for file in files {
        for (subject, checks) in file.all() {
            lines.push(format!("{}: {subject}", file.name));
            lines.extend(checks.iter().map(line));
        }
    }
    if !together.is_empty() {
        lines.push("together".to_owned());
        lines.extend(together.iter().map(line));
    }
    lines.join("\n")
}

fn to_json(files: &[File], together: &[Check], ok: bool) -> Value {
    let checks = |checks: &[Check]| -> Value {
        checks.iter().map(|check| json!({ "name": check.name, "ok": check.ok, "detail": check.detail })).collect()
    };
    let result = |file: &File, subject: &str, own: &[Check]| {
        let ok = own.iter().all(|check| check.ok);
        json!({ "file": file.name, "result": subject, "ok": ok, "checks": checks(own) })
    };
    let results = files.iter().flat_map(|file| file.all().map(|(subject, own)| result(file, subject, own)));
    json!({ "ok": ok, "results": results.collect::<Vec<_>>(), "together": checks(together) })
}
