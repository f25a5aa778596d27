//! The report of a run: where, with what and how it was measured, and its rows.
//!
//! One JSON object. `docs/measurements` keeps reports; `scripts/render-benchmark` makes tables and a plot of them.

pub(crate) mod machine;
pub(crate) mod row;

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::report::machine::Machine;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report<R> {
    pub(crate) machine: Machine,
    /// Commit of the program that was measured.
    pub(crate) commit: String,
    /// What was typed, with `DIR` for paths of this machine.
    pub(crate) command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) minutes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    pub(crate) rows: Vec<R>,
    /// What failed or did not fit, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_measured: Vec<String>,
}

impl<R: Serialize> Report<R> {
    /// JSON with a line for each row.
    fn text(&self) -> Result<String> {
        // Quotes in values are escaped: this is the beginning of a row wherever it stands.
        Ok(serde_json::to_string(self)?.replace(r#"{"what":"#, "\n  {\"what\":") + "\n")
    }

    /// Writes it to a file, or to standard output.
    pub(crate) fn write(&self, out: Option<&Path>) -> Result<()> {
        let text = self.text()?;
        match out {
            Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
            None => print!("{text}"),
        }
        Ok(())
    }
}

/// Fails before hours of measuring where the report could not be written.
pub(crate) fn check_writable(out: Option<&Path>) -> Result<()> {
    let Some(path) = out else { return Ok(()) };
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map(drop).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;
    use crate::forecast::Forecast;
    use crate::peers::Beside;
    use crate::report::row::Row;
    use crate::sample::{Kind, Label, Sample};

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    /// The text is that of a report with these rows, field by field.
    fn check_same<R: Serialize + DeserializeOwned>(name: &str, text: &str) {
        let report: Report<R> = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!report.rows.is_empty(), "{name} has no rows");
        let again: Value = serde_json::from_str(&report.text().unwrap()).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(text).unwrap(), "{name}");
    }

    #[test]
    fn kept_reports_have_the_fields_of_reports() {
        let (mut benchmarks, mut forecasts, mut peers) = (0, 0, 0);
        for entry in fs::read_dir(format!("{ROOT}/docs/measurements")).unwrap() {
            let path = entry.unwrap().path();
            let (name, text) = (path.display().to_string(), fs::read_to_string(&path).unwrap());
            if text.contains("forecast_over_counted") {
                check_same::<Forecast>(&name, &text);
                forecasts += 1;
            } else if text.contains("times_faster") {
                check_same::<Beside>(&name, &text);
                peers += 1;
            } else {
                check_same::<Row>(&name, &text);
                benchmarks += 1;
            }
        }
        let found = [benchmarks >= 3, forecasts >= 1, peers >= 1];
        assert_eq!(found, [true; 3], "{benchmarks} benchmarks, {forecasts} forecasts, {peers} of peers");
    }

    /// What `scripts/render-benchmark` prints and whether it ends well; `None` where there is no python3.
    fn render(arguments: &[&str]) -> Option<(bool, String)> {
        let Ok(ended) =
            Command::new("python3").arg(format!("{ROOT}/scripts/render-benchmark")).args(arguments).output()
        else {
            eprintln!("python3 is missing: what scripts/render-benchmark makes is not checked");
            return None;
        };
        let said = [ended.stdout, ended.stderr].concat();
        Some((ended.status.success(), String::from_utf8_lossy(&said).into_owned()))
    }

    #[test]
    fn pages_are_what_the_script_makes_of_the_reports() {
        if let Some((is_same, said)) = render(&["--check"]) {
            assert!(is_same, "{said}");
        }
    }

    #[test]
    fn the_script_reads_what_is_written() {
        let label = |kind| Label { kind, height: 9, residues: 4, threads: 2 };
        let sample = |seconds| Sample { seconds, state_passes: 1e9, peak_bytes: 3e6, ..Sample::default() };
        let rows = vec![
            Row::new(label(Kind::BlockForward), &[sample(2.0)]),
            Row::new(Label { residues: 1, ..label(Kind::Golegal) }, &[sample(100.0)]),
        ];
        let report = Report {
            machine: Machine::here(),
            commit: "abc".into(),
            command: "scripts/bench".into(),
            minutes: Some(7),
            note: None,
            rows,
            not_measured: vec!["something".into()],
        };
        assert_eq!(report.text().unwrap().lines().count(), 3);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        check_writable(Some(&path)).unwrap();
        report.write(Some(&path)).unwrap();
        let Some((is_read, said)) = render(&[path.to_str().unwrap()]) else { return };
        let row = "| block passes | 9x9 | 4 | 2 | 2.00 | 0.50 | 200 | 3 | | |";
        for part in ["| machine | ", "`scripts/bench` in 7 minutes", row] {
            assert!(is_read && said.contains(part), "no {part} in\n{said}");
        }
        assert!(check_writable(Some(folder.path())).is_err(), "a folder");
    }
}
