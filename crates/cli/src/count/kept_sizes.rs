//! The numbers of a command with many sizes that are counted already, so that the same command continues after an
//! interruption.
//!
//! ```text
//!   checksum {"identity": ..., "program": ..., "result": {...}}      one line for each size
//! ```
//!
//! The checksum is the CRC-32C of the rest of the line, in hexadecimal. A line that is damaged, or of another version of
//! keima, does not count. Each line is on stable storage before its number is printed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::args::VERSION;
use crate::exit::Failed;

const FILE: &str = "sizes";

/// The kept results of one command.
pub(super) struct KeptSizes {
    path: PathBuf,
    /// (identity of the problem, result).
    found: Vec<(String, Value)>,
}

impl KeptSizes {
    /// Reads what is kept in `folder`.
    pub(super) fn open(folder: &Path) -> Self {
        let path = folder.join(FILE);
        // A file that cannot be read costs time and no more.
        let text = fs::read(&path).unwrap_or_default();
        let found = results(&text);
        Self { path, found }
    }

    /// The result of the problem of this identity.
    pub(super) fn find(&self, identity: &str) -> Option<&Value> {
        self.found.iter().find(|(known, _)| known == identity).map(|(_, result)| result)
    }

    /// Keeps a result.
    pub(super) fn keep(&mut self, identity: &str, result: &Value) -> Result<(), Failed> {
        self.found.push((identity.to_owned(), result.clone()));
        self.write(&line(identity, result)).map_err(|error| {
            let path = self.path.display();
            Failed::other(format!("cannot keep a number in {path}: {error}; free space there, or set XDG_STATE_HOME"))
        })
    }

    fn write(&self, line: &str) -> std::io::Result<()> {
        let parent = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let is_new = !self.path.exists();
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        // An earlier process may have died within a line.
        file.write_all(format!("\n{line}\n").as_bytes())?;
        file.sync_all()?;
        if is_new { File::open(parent)?.sync_all() } else { Ok(()) }
    }

    /// Deletes all.
    pub(super) fn remove(&mut self) {
        self.found.clear();
        let _ = fs::remove_file(&self.path);
        // Fails, as it should, if something else is in it.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

/// The results in the bytes of a file, with their identities. Skips what is damaged or of another version.
pub(crate) fn results(bytes: &[u8]) -> Vec<(String, Value)> {
    String::from_utf8_lossy(bytes).lines().filter_map(read).collect()
}

fn line(identity: &str, result: &Value) -> String {
    let text = json!({ "identity": identity, "program": VERSION, "result": result }).to_string();
    format!("{:08x} {text}", crc32c::crc32c(text.as_bytes()))
}

fn read(line: &str) -> Option<(String, Value)> {
    let (checksum, text) = line.split_once(' ')?;
    if u32::from_str_radix(checksum, 16) != Ok(crc32c::crc32c(text.as_bytes())) {
        return None;
    }
    let mut entry: Value = serde_json::from_str(text).ok()?;
    if entry["program"] != VERSION {
        return None;
    }
    Some((entry["identity"].as_str()?.to_owned(), entry["result"].take()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again_if_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("new");
        let mut kept = KeptSizes::open(&folder);
        for (identity, count) in [("one", "17"), ("two", "23")] {
            kept.keep(identity, &json!({ "count": count })).unwrap();
        }
        let file = folder.join(FILE);
        let whole = fs::read_to_string(&file).unwrap();
        let count = |kept: &KeptSizes, identity: &str| kept.find(identity).map(|result| result["count"].clone());
        for (text, one, two) in [
            (whole.clone(), Some("17"), Some("23")),
            // With its quotation marks: a program's version may hold the digits, too.
            (whole.replace("\"17\"", "\"18\""), None, Some("23")),
            (whole[..whole.len() - 4].to_owned(), Some("17"), None),
            (whole.replace(VERSION, "0.0.0"), None, None),
            (format!("{whole}\nff x\n\u{fffd}"), Some("17"), Some("23")),
            (String::new(), None, None),
        ] {
            fs::write(&file, &text).unwrap();
            let kept = KeptSizes::open(&folder);
            assert_eq!(
                (count(&kept, "one"), count(&kept, "two")),
                (one.map(Value::from), two.map(Value::from)),
                "{text}"
            );
        }
        // What comes after a torn line is whole.
        fs::write(&file, &whole[..whole.len() - 4]).unwrap();
        KeptSizes::open(&folder).keep("three", &json!({ "count": "5" })).unwrap();
        let mut kept = KeptSizes::open(&folder);
        assert_eq!((count(&kept, "two"), count(&kept, "three")), (None, Some("5".into())));
        kept.remove();
        assert!(!folder.exists() && kept.find("one").is_none());
    }
}
