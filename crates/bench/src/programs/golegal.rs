//! golegal, John Tromp's C program (github.com/tromp/golegal), built from a copy of its sources and run by its own script.
//!
//! For each pass the script starts as many processes as are asked for. They share the states and merge each other's
//! files. One run counts modulo 2^64. Its state-passes are the states that it says it has read.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::process::cpu_seconds;
use crate::sample::{Kind, Label, Sample};

/// Memory of each process for the states that it sorts, golegal's own default.
const MEMORY: &str = "500M";
/// Compiler flags.
const FLAGS: &str = "-O3 -w -m64";

/// A built golegal.
pub(crate) struct Golegal(TempDir);

/// What golegal's processes say about a board.
#[derive(Debug, Default, PartialEq)]
struct Said {
    state_passes: u64,
    /// Sum modulo 2^64 of what the processes of the last pass counted.
    legal: u64,
}

impl Golegal {
    /// Copies the sources of a folder and builds them.
    pub(crate) fn build(sources: &Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("a folder for golegal")?;
        let list = fs::read_dir(sources).with_context(|| format!("golegal's sources in {}", sources.display()))?;
        for entry in list {
            let path = entry?.path();
            if let (true, Some(name)) = (path.is_file(), path.file_name()) {
                fs::copy(&path, folder.path().join(name))?;
            }
        }
        let flags = format!("CFLAGS={FLAGS}");
        let made = Command::new("make").args(["start", "legal", &flags]).current_dir(folder.path()).output()?;
        let errors = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "golegal cannot be built in {}: {errors}", sources.display());
        Ok(Self(folder))
    }

    /// Counts a square board once. The count modulo 2^64 comes with the sample.
    pub(crate) fn sample(&self, height: u32, processes: u32) -> Result<(Label, Sample, u64)> {
        let folder = tempfile::tempdir().context("a folder for golegal's files")?;
        let cpu_before = cpu_seconds().1;
        let started = Instant::now();
        let script = self.0.path().join("golegal");
        let arguments = format!("{height} 0 0 0 1 {MEMORY} {height} {processes}");
        let ended = Command::new("bash")
            .arg(script)
            .args(arguments.split(' '))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        let seconds = started.elapsed().as_secs_f64();
        ensure!(ended.success(), "golegal ended with {ended}");
        let said = said(&folder.path().join(format!("{height}.0")), height)?;
        let sample = Sample {
            seconds,
            cpu_seconds: cpu_seconds().1 - cpu_before,
            state_passes: said.state_passes as f64,
            ..Sample::default()
        };
        let label = Label { kind: Kind::Golegal, height, residues: 1, threads: processes };
        Ok((label, sample, said.legal))
    }
}

/// Reads the processes' reports of all passes. Each pass has a folder `yx.ROW.COLUMN`, named by the next point.
fn said(folder: &Path, height: u32) -> Result<Said> {
    let mut said = Said::default();
    let last = format!("yx.{height:02}.00");
    for pass in fs::read_dir(folder).context("golegal left no files")? {
        let pass = pass?;
        let is_last = pass.file_name().to_string_lossy() == last;
        for file in fs::read_dir(pass.path())? {
            let file = file?;
            if file.file_name().to_string_lossy().starts_with("cpu.") {
                let text = fs::read_to_string(file.path())?;
                said.state_passes += after(&text, "size ").unwrap_or(0);
                if is_last {
                    said.legal = said.legal.wrapping_add(after(&text, "legal ").unwrap_or(0));
                }
            }
        }
    }
    ensure!(said.state_passes > 0, "golegal said nothing about its states");
    Ok(said)
}

/// The number after a whole word.
fn after(text: &str, word: &str) -> Option<u64> {
    let words = text.split_inclusive([' ', '\n']).collect::<Vec<_>>();
    let place = words.iter().position(|candidate| *candidate == word)?;
    words.get(place + 1)?.trim().parse().ok()
}

/// A decimal number modulo 2^64.
pub(crate) fn modulo_word(decimal: &str) -> u64 {
    decimal.bytes().fold(0, |sum: u64, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_reports_are_read() {
        let text = "(2,3) size 123 xsize 7 mod 18446744073709551616\nnewillegal 5 needy 6 legal 18 at (3,0)\n";
        assert_eq!(after(text, "size "), Some(123));
        assert_eq!(after(text, "legal "), Some(18));
        assert_eq!(after(text, "needles "), None);
        let folder = tempfile::tempdir().unwrap();
        assert!(said(folder.path(), 2).is_err());
        for (pass, name, text) in [
            ("yx.00.01", "cpu.0", "(0,0) size 1 xsize 1 mod 7\nnewillegal 0 needy 0 legal 1 at (0,1)\n"),
            ("yx.02.00", "cpu.0", "(1,1) size 5 xsize 7 mod 7\nnewillegal 0 needy 0 legal 50 at (2,0)\n"),
            ("yx.02.00", "cpu.1", "(1,1) size 6 xsize 7 mod 7\nnewillegal 0 needy 0 legal 7 at (2,0)\n"),
            ("yx.02.00", "end", "a date"),
        ] {
            fs::create_dir_all(folder.path().join(pass)).unwrap();
            fs::write(folder.path().join(pass).join(name), text).unwrap();
        }
        assert_eq!(said(folder.path(), 2).unwrap(), Said { state_passes: 12, legal: 57 });
    }

    #[test]
    fn numbers_are_reduced() {
        assert_eq!(modulo_word("57"), 57);
        assert_eq!(modulo_word("18446744073709551616"), 0);
        assert_eq!(
            modulo_word("103919148791293834318983090438798793469"),
            103_919_148_791_293_834_318_983_090_438_798_793_469_u128 as u64
        );
    }

    #[test]
    fn sources_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Golegal::build(folder.path()).is_err());
        assert!(Golegal::build(&folder.path().join("missing")).is_err());
    }
}
