//! Texts that the user names: a file, or standard input for `-`. Nothing longer than a limit is held in memory.

use std::io::Read;
use std::path::Path;

use crate::exit::Failed;

/// A text and what messages call it.
pub(crate) struct NamedText {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Reads at most `most_bytes` bytes of text. `advice` ends the error for a longer one.
pub(crate) fn read(path: &Path, most_bytes: u64, advice: &str) -> Result<NamedText, Failed> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let unreadable = |error: std::io::Error| Failed::usage(format!("cannot read {name}: {error}"));
    let source: Box<dyn Read> =
        if is_stdin { Box::new(std::io::stdin()) } else { Box::new(std::fs::File::open(path).map_err(unreadable)?) };
    let mut text = String::new();
    let bytes = source.take(most_bytes + 1).read_to_string(&mut text).map_err(unreadable)?;
    if bytes as u64 > most_bytes {
        return Err(Failed::usage(format!("{name} has more than {most_bytes} bytes{advice}")));
    }
    Ok(NamedText { name, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_up_to_a_limit() {
        let dir = tempfile::tempdir().expect("a folder");
        let check = |bytes: &[u8], most_bytes, expected: Result<&str, &str>| {
            let path = dir.path().join("text");
            std::fs::write(&path, bytes).expect("written");
            let got = read(&path, most_bytes, "; read less").map_err(|failed| failed.text);
            match (got, expected) {
                (Ok(got), Ok(text)) => assert_eq!((got.name, &*got.text), (path.display().to_string(), text)),
                (Err(got), Err(words)) => assert!(got.contains(words), "{got}"),
                (got, _) => panic!("{bytes:?}: expected {expected:?}, got {:?}", got.map(|got| got.text)),
            }
        };
        check(b"1 5\n", 4, Ok("1 5\n"));
        check(b"1 5\n", 3, Err("has more than 3 bytes; read less"));
        check(b"", 0, Ok(""));
        check(b"\xff", 4, Err("cannot read"));
        assert!(read(&dir.path().join("none"), 4, "").is_err_and(|failed| failed.text.contains("none")));
    }
}
