//! Tokens: texts that prove a role. They are read from files, compared in constant time, and never shown.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;

use super::AccessError;

/// Shortest and longest token in characters.
const TOKEN_CHARS: std::ops::RangeInclusive<usize> = 32..=256;
/// Most bytes of a file with a secret, a key or a certificate.
const FILE_BYTES: u64 = 256 << 10;
/// Permissions that no secret's file gives: those of users who are neither its owner nor in its group.
const OTHERS: u32 = 0o007;

/// A token. `Debug` does not show it, and nothing prints it.
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A token of 256 random bits, in hex.
    pub fn random() -> Result<Self, AccessError> {
        let mut bits = [0; 32];
        let filled = SystemRandom::new().fill(&mut bits);
        filled.map_err(|_| AccessError::Tls("the system gives no random bits".to_owned()))?;
        Ok(Self(hex(&bits).into()))
    }

    /// Reads a token file. Refuses one that everybody on the machine can read.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        Self::of_text(path, &read_secret(path)?)
    }

    /// The token in the text of a file.
    pub(crate) fn of_text(path: &Path, text: &str) -> Result<Self, AccessError> {
        let token = text.trim();
        if TOKEN_CHARS.contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(token.into()))
        } else {
            let expected = "a token of 32 to 256 visible ASCII characters";
            Err(AccessError::Wrong { path: path.to_owned(), expected, got: format!("{} other bytes", text.len()) })
        }
    }

    /// The token itself, for the one place that sends it and the one that writes it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// What a server keeps of a token: enough to know it again.
#[derive(Clone)]
pub(crate) struct KnownToken([u8; 32]);

impl KnownToken {
    pub(crate) fn of(secret: &Secret) -> Self {
        Self(sha256(secret.expose().as_bytes()))
    }

    /// Whether `presented` is the token. The time does not depend on how much of it is right.
    pub(crate) fn is(&self, presented: &[u8]) -> bool {
        self.0.ct_eq(&sha256(presented)).into()
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    sum.copy_from_slice(digest(&SHA256, bytes).as_ref());
    sum
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

/// Reads a file that only its owner, and perhaps a group, may read.
pub(crate) fn read_secret(path: &Path) -> Result<String, AccessError> {
    let file = File::open(path).map_err(AccessError::io("open", path))?;
    let mode = file.metadata().map_err(AccessError::io("look at", path))?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(AccessError::Readable { path: path.to_owned(), mode });
    }
    read_from(file, path)
}

/// Reads a file that anybody may read.
pub(crate) fn read_public(path: &Path) -> Result<String, AccessError> {
    read_from(File::open(path).map_err(AccessError::io("open", path))?, path)
}

fn read_from(file: File, path: &Path) -> Result<String, AccessError> {
    let mut text = String::new();
    file.take(FILE_BYTES).read_to_string(&mut text).map_err(AccessError::io("read", path))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn token_files_are_read_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let good = "0123456789abcdef".repeat(4);
        let check = |text: &str, mode: u32, words: Option<&str>| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            match (Secret::read(&path), words) {
                (Ok(secret), None) => assert_eq!(secret.expose(), text.trim()),
                (Err(error), Some(words)) => {
                    let error = format!("{error} {error:?}");
                    assert!(error.contains(words), "{mode:o}: {error}");
                    assert!(text.is_empty() || !error.contains(text), "the error shows the secret: {error}");
                }
                (got, _) => panic!("{text:?} {mode:o}: {got:?}"),
            }
        };
        check(&good, 0o600, None);
        check(&format!("{good}\n"), 0o640, None);
        check(&good, 0o644, Some("chmod 600"));
        check(&good, 0o602, Some("chmod 600"));
        check("short-and-secret", 0o600, Some("32 to 256"));
        check("", 0o600, Some("32 to 256"));
        check(&"x".repeat(257), 0o600, Some("32 to 256"));
        check(&format!("{good} {good}"), 0o600, Some("32 to 256"));
        assert!(Secret::read(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }

    #[test]
    fn tokens_differ_and_do_not_show() {
        let (one, two) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_eq!(one.expose().len(), 64);
        assert_eq!(format!("{one:?}"), "Secret");
        let known = KnownToken::of(&one);
        assert!(known.is(one.expose().as_bytes()) && !known.is(two.expose().as_bytes()) && !known.is(b""));
        assert!(!known.is(&one.expose().as_bytes()[..63]));
    }
}
