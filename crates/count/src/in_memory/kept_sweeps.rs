//! Keeps the residues of complete sweeps in a file, so that an interrupted count in memory resumes with the next sweep.
//!
//! ```text
//!   keima sweeps 1 | problem, size and options in one word          line 1: the count
//!   modulus | residue of 1 column | ... | of n columns | checksum   one line for each complete prime
//!   evidence | of the windows of a sweep, as JSON | checksum        one line for each sweep
//!   time | milliseconds | processes | checksum                      what was spent so far, lost work included
//! ```
//!
//! Numbers are decimal, with single spaces between them. The checksum is the CRC-32C of the rest of its line. After each
//! sweep the whole file is written under another name, synced and renamed. A wrong residue in it does no harm: the spare
//! prime and the other checks of the result are as strict as without the file.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use keima_engine::block::{ResidueStore, SweepEvidence, WindowEvidence};

const FILE: &str = "sweeps";
const FIRST_WORDS: &str = "keima sweeps";
const VERSION: &str = "1";

/// Kept residues that another version of keima has written. They stay as they are.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} is of version {got}, this program reads version {VERSION}: the residues in it may have taken hours. Continue with \
     the keima that wrote it, or start over with --fresh"
)]
pub struct OtherSweeps {
    /// The file.
    pub path: PathBuf,
    /// Its version.
    pub got: String,
}

/// The kept residues of one count.
pub(super) struct KeptSweeps {
    path: PathBuf,
    first_line: String,
    /// (modulus, one residue for each board).
    found: Vec<(u64, Vec<u64>)>,
    evidence: Vec<SweepEvidence>,
    spent: Spent,
    since: Instant,
}

/// What a count has taken in earlier processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) milliseconds: u64,
    pub(super) lives: u64,
}

impl KeptSweeps {
    /// Reads the residues of the count `name`, a word, in `folder`. Skips damaged lines. Ignores the file of another count.
    /// Refuses that of another version.
    pub(super) fn open(folder: &Path, name: &str) -> Result<Self, OtherSweeps> {
        let path = folder.join(FILE);
        let first_line = format!("{FIRST_WORDS} {VERSION} {name}");
        let bytes = fs::read(&path).unwrap_or_else(|error| {
            if error.kind() != std::io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "cannot read the kept sweeps: all sweeps are counted again");
            }
            Vec::new()
        });
        let mut kept = Self::empty(path, first_line);
        match kept.take_all(&bytes) {
            Ok(()) => Ok(kept),
            Err(got) => Err(OtherSweeps { path: kept.path, got }),
        }
    }

    fn empty(path: PathBuf, first_line: String) -> Self {
        let (found, evidence) = (Vec::new(), Vec::new());
        Self { path, first_line, found, evidence, spent: Spent::default(), since: Instant::now() }
    }

    /// Takes in the lines of a file, unless it is of another count. Skips damaged lines. An error is the version of a file
    /// that another version of keima has written.
    fn take_all(&mut self, bytes: &[u8]) -> Result<(), String> {
        // A damaged line may not be UTF-8.
        let mut lines = bytes.split(|&byte| byte == b'\n').map(|line| std::str::from_utf8(line).ok());
        match lines.next().flatten() {
            Some(line) if line == self.first_line => lines.flatten().for_each(|line| self.take(line)),
            Some(line) => {
                if let Some(got) = version(line).filter(|got| *got != VERSION) {
                    return Err(got.to_owned());
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Deletes what is kept in `folder`, whichever count and version it is of.
    pub(super) fn forget(folder: &Path) {
        let _ = fs::remove_file(folder.join(FILE));
        // Fails, as it should, if something else is in it.
        let _ = fs::remove_dir(folder);
    }

    /// Takes a line in, unless it is damaged.
    fn take(&mut self, line: &str) {
        let Some(line) = checked(line) else { return };
        match line.split_once(' ') {
            Some(("evidence", json)) => self.evidence.extend(serde_json::from_str::<SweepEvidence>(json).ok()),
            Some(("time", figures)) => {
                if let Some((milliseconds, lives)) = figures.split_once(' ')
                    && let (Ok(milliseconds), Ok(lives)) = (milliseconds.parse(), lives.parse())
                {
                    self.spent = Spent { milliseconds, lives };
                }
            }
            _ => self.found.extend(read(line)),
        }
    }

    /// What the count has taken so far, this process included.
    pub(super) fn spent(&self) -> Spent {
        let here = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        Spent { milliseconds: self.spent.milliseconds.saturating_add(here), lives: self.spent.lives + 1 }
    }

    /// Writes down the time that was spent.
    pub(super) fn note_time(&self) {
        if let Err(error) = self.write() {
            tracing::warn!(path = %self.path.display(), %error, "cannot keep the time of the count");
        }
    }

    /// Number of complete primes.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Deletes all residues, on disk too.
    pub(super) fn remove(&mut self) {
        self.found.clear();
        self.evidence.clear();
        if let Some(folder) = self.path.parent() {
            Self::forget(folder);
        }
    }

    fn write(&self) -> std::io::Result<()> {
        let mut lines: String = self.found.iter().map(|(modulus, boards)| residues_line(*modulus, boards)).collect();
        for sweep in &self.evidence {
            lines += &line(&format!("evidence {}", serde_json::to_string(sweep)?));
        }
        let Spent { milliseconds, lives } = self.spent();
        lines += &line(&format!("time {milliseconds} {lives}"));
        let parent = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let unfinished = self.path.with_extension("tmp");
        let mut file = File::create(&unfinished)?;
        file.write_all(format!("{}\n{lines}", self.first_line).as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &self.path)?;
        File::open(parent)?.sync_all()
    }
}

impl ResidueStore for KeptSweeps {
    fn find(&self, modulus: u64) -> Option<Vec<u64>> {
        self.found.iter().find(|(found, _)| *found == modulus).map(|(_, boards)| boards.clone())
    }

    fn keep(&mut self, found: &[(u64, Vec<u64>)], evidence: &[WindowEvidence]) {
        self.found.extend_from_slice(found);
        self.evidence.push((found.iter().map(|(modulus, _)| *modulus).collect(), evidence.to_vec()));
        if let Err(error) = self.write() {
            // The count goes on without the file.
            let path = self.path.display();
            tracing::warn!(%path, %error, "cannot keep a complete sweep: an interrupted count would do it again");
        }
    }

    fn evidence(&self) -> Vec<SweepEvidence> {
        self.evidence.clone()
    }
}

/// The number of residues in the bytes of a file that begins with `first_line`. An error is the version of a file that another
/// version of keima has written.
pub(crate) fn residues(bytes: &[u8], first_line: &str) -> Result<usize, String> {
    let mut kept = KeptSweeps::empty(PathBuf::new(), first_line.to_owned());
    kept.take_all(bytes).map(|()| kept.len())
}

/// The version in the first line of a file of kept sweeps; `None` for another file.
fn version(line: &str) -> Option<&str> {
    let (version, _name) = line.strip_prefix(FIRST_WORDS)?.strip_prefix(' ')?.split_once(' ')?;
    Some(version).filter(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
}

fn residues_line(modulus: u64, boards: &[u64]) -> String {
    let words: Vec<String> = std::iter::once(&modulus).chain(boards).map(u64::to_string).collect();
    line(&words.join(" "))
}

/// A line with its checksum.
fn line(text: &str) -> String {
    let checksum = crc32c::crc32c(text.as_bytes());
    format!("{text} {checksum}\n")
}

/// A line without its checksum; `None` if it is damaged.
fn checked(line: &str) -> Option<&str> {
    let (text, checksum) = line.rsplit_once(' ')?;
    (checksum.parse() == Ok(crc32c::crc32c(text.as_bytes()))).then_some(text)
}

/// The prime and its residues; `None` if these are no residues.
fn read(numbers: &str) -> Option<(u64, Vec<u64>)> {
    let mut numbers = numbers.split(' ').map(|word| word.parse::<u64>().ok());
    let modulus = numbers.next()??;
    let boards = numbers.collect::<Option<Vec<_>>>()?;
    boards.iter().all(|residue| *residue < modulus).then_some((modulus, boards))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again_by_its_owner_if_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("new");
        let mut kept = KeptSweeps::open(&folder, "go-3x2").unwrap();
        assert_eq!(kept.len(), 0);
        kept.keep(&[(101, vec![5, 100])], &[]);
        kept.keep(&[(103, vec![5, 102]), (107, vec![0, 1])], &[]);
        let file = folder.join(FILE);
        let whole = fs::read_to_string(&file).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");

        // The line of the time follows.
        let last = whole.lines().rfind(|line| line.starts_with("107 ")).unwrap();
        let in_last = whole.find(last).unwrap() + last.len() - 2;
        let cut = &whole[..in_last];
        for (name, text, expected) in [
            ("go-3x2", whole.clone().into_bytes(), &[101, 103, 107][..]),
            ("go-3x3", whole.clone().into_bytes(), &[]),
            // Cut off, a digit changed, no digit, a residue that is none, empty, none.
            ("go-3x2", cut.as_bytes().to_vec(), &[101, 103]),
            ("go-3x2", whole.replacen("103 5", "103 6", 1).into_bytes(), &[101, 107]),
            (
                "go-3x2",
                whole.bytes().enumerate().map(|(i, byte)| if i == in_last { byte | 0x80 } else { byte }).collect(),
                &[101, 103],
            ),
            ("go-3x2", whole.replace(last, residues_line(107, &[0, 107]).trim_end()).into_bytes(), &[101, 103]),
            ("go-3x2", format!("{whole}\n \n7\n").into_bytes(), &[101, 103, 107]),
            ("go-3x2", whole.replace("sweeps 1", "sweeps x").into_bytes(), &[]),
            ("go-3x2", Vec::new(), &[]),
        ] {
            fs::write(&file, &text).unwrap();
            let kept = KeptSweeps::open(&folder, name).unwrap();
            let moduli: Vec<u64> = kept.found.iter().map(|(modulus, _)| *modulus).collect();
            assert_eq!(moduli, expected, "{name}: {}", text.escape_ascii());
            assert_eq!(kept.find(103), expected.contains(&103).then(|| vec![5, 102]));
        }
        let other = whole.replace("sweeps 1", "sweeps 2");
        fs::write(&file, &other).unwrap();
        let refused = KeptSweeps::open(&folder, "go-3x2").err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("version 2") && refused.contains("--fresh"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), other);
        kept.remove();
        assert!(!folder.exists());
        assert_eq!(KeptSweeps::open(&folder, "go-3x2").unwrap().len(), 0);
    }

    #[test]
    fn a_count_does_not_end_where_nothing_can_be_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut kept = KeptSweeps::open(&file, "go-3x2").unwrap();
        kept.keep(&[(101, vec![5])], &[]);
        assert_eq!(kept.find(101), Some(vec![5]));
    }
}
