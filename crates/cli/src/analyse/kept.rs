//! Keeps the terms of a long search in a file of the user's state folder, so that the same command goes on after a kill.
//!
//! ```text
//!   keima analysis 1 | fingerprint of the graph             line 1
//!   primes | p | q                                          then, with a checksum at the end of each:
//!   terms  | L(1) modulo p | modulo q | L(2) ...
//!   counts | of each state after the last of them, both residues in a word
//! ```
//!
//! Numbers are decimal, with single spaces between them. The checksum is the CRC-32C of the rest of its line, in hexadecimal. The
//! file is written anew each minute, under another name at first, and deleted when the order is found.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use keima_analyse::recurrence::{Keeper, Kept};

use crate::machine::state_folder;
use crate::terminal::output::say;

const FIRST_WORDS: &str = "keima analysis 1";
const EVERY: Duration = Duration::from_mins(1);

/// The file of one analysis.
pub(super) struct KeptFile {
    path: PathBuf,
    fingerprint: u64,
    quiet: bool,
}

impl KeptFile {
    /// The file for a graph; `None` where there is no folder for state.
    pub(super) fn new(fingerprint: u64, quiet: bool) -> Option<Self> {
        let path = state_folder()?.join(format!("analysis-{fingerprint:016x}"));
        Some(Self { path, fingerprint, quiet })
    }

    /// Deletes it.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    fn tell(&self, text: std::fmt::Arguments<'_>) {
        if !self.quiet {
            say(text);
        }
    }

    fn write(&self, kept: &Kept) -> std::io::Result<()> {
        let parent = self.path.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent)?;
        let unfinished = self.path.with_extension("tmp");
        let mut file = File::create(&unfinished)?;
        file.write_all(text(self.fingerprint, kept).as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &self.path)?;
        File::open(parent)?.sync_all()
    }
}

impl Keeper for KeptFile {
    fn every(&self) -> Duration {
        EVERY
    }

    fn find(&self, primes: [u64; 2]) -> Option<Kept> {
        // A file that cannot be read costs time and no more.
        let bytes = fs::read(&self.path).ok()?;
        let kept = read(self.fingerprint, &bytes).filter(|kept| kept.primes == primes)?;
        self.tell(format_args!("going on after {} terms, from {}", kept.terms.len(), self.path.display()));
        Some(kept)
    }

    fn keep(&self, kept: &Kept) {
        if let Err(error) = self.write(kept) {
            let path = self.path.display();
            self.tell(format_args!("cannot keep the terms in {path}: {error}; a new start would begin anew"));
        }
    }
}

pub(crate) fn text(fingerprint: u64, kept: &Kept) -> String {
    let line = |name: &str, numbers: &mut dyn Iterator<Item = u64>| {
        let line = numbers.fold(name.to_owned(), |line, number| line + " " + &number.to_string());
        format!("{line} {:08x}\n", crc32c::crc32c(line.as_bytes()))
    };
    let mut text = format!("{FIRST_WORDS} {fingerprint:016x}\n");
    text += &line("primes", &mut kept.primes.iter().copied());
    text += &line("terms", &mut kept.terms.iter().flatten().copied());
    text += &line("counts", &mut kept.counts.iter().copied());
    text
}

/// What the bytes of a file hold; `None` if anything is damaged, or of another graph or version.
pub(crate) fn read(fingerprint: u64, bytes: &[u8]) -> Option<Kept> {
    let mut lines = std::str::from_utf8(bytes).ok()?.lines();
    if lines.next()? != format!("{FIRST_WORDS} {fingerprint:016x}") {
        return None;
    }
    let mut numbers = |name: &str| -> Option<Vec<u64>> {
        let (line, checksum) = lines.next()?.rsplit_once(' ')?;
        if format!("{:08x}", crc32c::crc32c(line.as_bytes())) != checksum {
            return None;
        }
        let mut words = line.split(' ');
        (words.next() == Some(name)).then(|| words.map(|word| word.parse().ok()).collect())?
    };
    let primes = numbers("primes")?.try_into().ok()?;
    let terms = numbers("terms")?;
    let (terms, rest) = terms.as_chunks();
    let terms = rest.is_empty().then(|| terms.to_vec())?;
    Some(Kept { primes, terms, counts: numbers("counts")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_comes_back_or_nothing() {
        let kept = Kept { primes: [7, 11], terms: vec![[1, 2], [3, 4]], counts: vec![5, 6 << 32, 7] };
        let whole = text(0xabc, &kept);
        assert_eq!(read(0xabc, whole.as_bytes()), Some(kept.clone()));
        assert_eq!(read(0xabd, whole.as_bytes()), None, "another graph");
        let none = Kept::default();
        assert_eq!(read(1, text(1, &none).as_bytes()), Some(none));
        for at in 0..whole.len() {
            let mut damaged = whole.clone().into_bytes();
            damaged[at] ^= 1;
            assert_eq!(read(0xabc, &damaged), None, "byte {at}");
            // Without the line's end nothing is missing.
            let cut = read(0xabc, &whole.as_bytes()[..at]);
            assert!(cut.is_none() || at + 1 == whole.len() && cut == Some(kept.clone()), "cut at {at}");
        }
    }
}
