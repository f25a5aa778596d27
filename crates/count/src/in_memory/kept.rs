//! Keeps the residues of complete sweeps in a file, so that an interrupted count in memory resumes with the next sweep.
//!
//! ```text
//!   keima sweeps 1 | problem, size and options in one word          line 1: the count
//!   modulus | residue of 1 column | ... | of n columns | checksum   one line for each complete prime
//! ```
//!
//! Numbers are decimal, with single spaces between them. The checksum is the CRC-32C of the rest of its line. After each
//! sweep the whole file is written under another name, synced and renamed. A wrong residue in it does no harm: the spare
//! prime and the other checks of the result are as strict as without the file.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use keima_engine::block::ResidueStore;

const FILE: &str = "sweeps";
const FIRST_WORDS: &str = "keima sweeps 1";

/// The kept residues of one count.
pub(super) struct KeptSweeps {
    path: PathBuf,
    first_line: String,
    /// (modulus, one residue for each board).
    found: Vec<(u64, Vec<u64>)>,
}

impl KeptSweeps {
    /// Reads the residues of the count `name`, a word, in `folder`. Skips damaged lines. Ignores the file of another count.
    pub(super) fn open(folder: &Path, name: &str) -> Self {
        let path = folder.join(FILE);
        let first_line = format!("{FIRST_WORDS} {name}");
        let bytes = fs::read(&path).unwrap_or_else(|error| {
            if error.kind() != std::io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "cannot read the kept sweeps: all sweeps are counted again");
            }
            Vec::new()
        });
        // A damaged line may not be UTF-8.
        let mut lines = bytes.split(|&byte| byte == b'\n').map(|line| std::str::from_utf8(line).ok());
        let found = if lines.next() == Some(Some(&first_line)) {
            lines.filter_map(|line| read(line?)).collect()
        } else {
            Vec::new()
        };
        Self { path, first_line, found }
    }

    /// Number of complete primes.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Deletes all residues, on disk too.
    pub(super) fn remove(&mut self) {
        self.found.clear();
        let _ = fs::remove_file(&self.path);
        // Fails, as it should, if something else is in it.
        let _ = self.path.parent().map(fs::remove_dir);
    }

    fn write(&self) -> std::io::Result<()> {
        let lines: String = self.found.iter().map(line).collect();
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

    fn keep(&mut self, found: &[(u64, Vec<u64>)]) {
        self.found.extend_from_slice(found);
        if let Err(error) = self.write() {
            // The count goes on without the file.
            let path = self.path.display();
            tracing::warn!(%path, %error, "cannot keep a complete sweep: an interrupted count would do it again");
        }
    }
}

fn line((modulus, boards): &(u64, Vec<u64>)) -> String {
    let words: Vec<String> = std::iter::once(modulus).chain(boards).map(u64::to_string).collect();
    let line = words.join(" ");
    let checksum = crc32c::crc32c(line.as_bytes());
    format!("{line} {checksum}\n")
}

/// The prime and its residues; `None` if the line is damaged.
fn read(line: &str) -> Option<(u64, Vec<u64>)> {
    let (numbers, checksum) = line.rsplit_once(' ')?;
    if checksum.parse() != Ok(crc32c::crc32c(numbers.as_bytes())) {
        return None;
    }
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
        let mut kept = KeptSweeps::open(&folder, "go-3x2");
        assert_eq!(kept.len(), 0);
        kept.keep(&[(101, vec![5, 100])]);
        kept.keep(&[(103, vec![5, 102]), (107, vec![0, 1])]);
        let file = folder.join(FILE);
        let whole = fs::read_to_string(&file).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");

        let last = whole.lines().last().unwrap();
        let (cut, in_last) = (&whole[..whole.len() - 3], whole.len() - 3);
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
            ("go-3x2", whole.replace(last, line(&(107, vec![0, 107])).trim_end()).into_bytes(), &[101, 103]),
            ("go-3x2", format!("{whole}\n \n7\n").into_bytes(), &[101, 103, 107]),
            ("go-3x2", whole.replace("sweeps 1", "sweeps 2").into_bytes(), &[]),
            ("go-3x2", Vec::new(), &[]),
        ] {
            fs::write(&file, &text).unwrap();
            let kept = KeptSweeps::open(&folder, name);
            let moduli: Vec<u64> = kept.found.iter().map(|(modulus, _)| *modulus).collect();
            assert_eq!(moduli, expected, "{name}: {}", text.escape_ascii());
            assert_eq!(kept.find(103), expected.contains(&103).then(|| vec![5, 102]));
        }
        kept.remove();
        assert!(!folder.exists());
        assert_eq!(KeptSweeps::open(&folder, "go-3x2").len(), 0);
    }

    #[test]
    fn a_count_does_not_end_where_nothing_can_be_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut kept = KeptSweeps::open(&file, "go-3x2");
        kept.keep(&[(101, vec![5])]);
        assert_eq!(kept.find(101), Some(vec![5]));
    }
}
