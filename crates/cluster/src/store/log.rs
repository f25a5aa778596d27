//! A log in front of redb: its edits survive the process at once, and the machine after the next sync.
//!
//! ```text
//!    0   8   magic "KEIMALOG"
//!    8   8   epoch: the store's epoch when the log was started
//!   16       frames, each:   4   n, length of the payload
//!                            4   CRC-32C of the epoch's 8 bytes and the payload
//!                            n   payload: edits, each   4  length of the key, then the key
//!                                                       4  length of the value, then the value; u32::MAX to delete
//! ```
//!
//! All numbers are little-endian. Each frame is one write. A killed process may leave a torn last frame; nobody got an
//! answer for it, and reading stops there. After a power cut any part that was not synced may be missing; reading still
//! yields a prefix of what was written. A log of another epoch is in redb already: its edits are ignored.
//!
//! Cost: one write per frame; one read when the store opens.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use keima_runs::watch::{Change, before};

const MAGIC: [u8; 8] = *b"KEIMALOG";
const HEADER_BYTES: u64 = 16;
/// Stands for the length of a value that is deleted.
const DELETED: u32 = u32::MAX;

/// Changes in the order in which they were decided: `Some` puts a record, `None` deletes it.
pub(crate) type Edits = Vec<(String, Option<Vec<u8>>)>;

/// What a log holds by itself.
pub(super) struct Peek {
    /// The epoch under which it was started.
    pub(super) epoch: u64,
    pub(super) edits: Edits,
}

/// Reads a log without its store; `None` if there is none, or no log.
pub(super) fn peek(path: &Path) -> io::Result<Option<Peek>> {
    let content = match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        content => content?,
    };
    Ok(edits(&content))
}

/// What the bytes of a log hold; `None` if they are no log.
pub(super) fn edits(content: &[u8]) -> Option<Peek> {
    let epoch = u64::from_le_bytes(*content.strip_prefix(&MAGIC)?.first_chunk()?);
    read(content, epoch).map(|(edits, _)| Peek { epoch, edits })
}

/// The log, open for appending.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    path: PathBuf,
    epoch: u64,
    bytes: u64,
    /// Whether some frames may not be on stable storage.
    dirty: bool,
}

impl Log {
    /// Opens the log at `path` and returns the edits in it: none if it belongs to another epoch. Makes the file if it is
    /// missing.
    pub(super) fn open(path: &Path, epoch: u64) -> io::Result<(Self, Edits)> {
        before(Change::Create(path))?;
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        let Some((edits, bytes)) = read(&content, epoch) else {
            let mut log = Self { file, path: path.to_owned(), epoch, bytes: 0, dirty: false };
            log.restart(epoch)?;
            return Ok((log, Edits::new()));
        };
        // The next frame must not follow a torn one.
        before(Change::Length { path, bytes })?;
        file.set_len(bytes)?;
        file.seek(SeekFrom::Start(bytes))?;
        Ok((Self { file, path: path.to_owned(), epoch, bytes, dirty: false }, edits))
    }

    /// Empties the log and starts it under `epoch`.
    pub(super) fn restart(&mut self, epoch: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let header = [MAGIC, epoch.to_le_bytes()].concat();
        before(Change::Write { path: &self.path, offset: 0, bytes: &header })?;
        self.file.write_all(&header)?;
        before(Change::Length { path: &self.path, bytes: HEADER_BYTES })?;
        self.file.set_len(HEADER_BYTES)?;
        (self.epoch, self.bytes, self.dirty) = (epoch, HEADER_BYTES, false);
        Ok(())
    }

    /// Appends `edits` as one frame. They survive the process when this returns.
    pub(super) fn append(&mut self, edits: &Edits) -> io::Result<()> {
        let mut payload = Vec::new();
        for (key, value) in edits {
            put(&mut payload, key.as_bytes())?;
            match value {
                Some(value) => put(&mut payload, value)?,
                None => payload.extend(DELETED.to_le_bytes()),
            }
        }
        let crc = checksum(self.epoch, &payload);
        let frame = [&length(&payload)?.to_le_bytes()[..], &crc.to_le_bytes(), &payload].concat();
        before(Change::Write { path: &self.path, offset: self.bytes, bytes: &frame })?;
        self.file.write_all(&frame)?;
        (self.bytes, self.dirty) = (self.bytes + frame.len() as u64, true);
        Ok(())
    }

    /// Puts all frames on stable storage.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if self.dirty {
            before(Change::Sync(&self.path))?;
            self.file.sync_data()?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Length of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether some frames may not be on stable storage.
    pub(super) fn is_dirty(&self) -> bool {
        self.dirty
    }
}

fn checksum(epoch: u64, payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&epoch.to_le_bytes()), payload)
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    let length = u32::try_from(bytes.len()).ok().filter(|&length| length < DELETED);
    length.ok_or_else(|| io::Error::other("a record of 4 GiB or more"))
}

fn put(payload: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    payload.extend(length(bytes)?.to_le_bytes());
    payload.extend(bytes);
    Ok(())
}

/// The edits of all whole frames from the first on, and where the last of them ends. `None` if this is not a log of this
/// epoch.
fn read(content: &[u8], epoch: u64) -> Option<(Edits, u64)> {
    let mut edits = Edits::new();
    let mut rest = content.strip_prefix(&[MAGIC, epoch.to_le_bytes()].concat()[..])?;
    while let Some((frame, more)) = frame(rest, epoch) {
        edits.extend(frame);
        rest = more;
    }
    Some((edits, (content.len() - rest.len()) as u64))
}

/// The first frame of `bytes` and the rest; `None` if the frame is not whole.
fn frame(bytes: &[u8], epoch: u64) -> Option<(Edits, &[u8])> {
    let (length, rest) = number(bytes)?;
    let (crc, rest) = number(rest)?;
    let (mut payload, more) = rest.split_at_checked(length as usize)?;
    if checksum(epoch, payload) != crc {
        return None;
    }
    let mut edits = Edits::new();
    while !payload.is_empty() {
        let (length, rest) = number(payload)?;
        let (key, rest) = rest.split_at_checked(length as usize)?;
        let key = std::str::from_utf8(key).ok()?.to_owned();
        let (length, rest) = number(rest)?;
        let (value, rest) = match length {
            DELETED => (None, rest),
            _ => rest.split_at_checked(length as usize).map(|(value, rest)| (Some(value.to_vec()), rest))?,
        };
        edits.push((key, value));
        payload = rest;
    }
    Some((edits, more))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(number: u8) -> Edits {
        vec![(format!("key {number}"), Some(vec![number; usize::from(number)])), ("gone".to_owned(), None)]
    }

    /// A log that is cut or damaged anywhere holds the frames before that place, and new frames follow them.
    #[test]
    fn a_torn_log_is_read_up_to_the_tear() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (mut log, none) = Log::open(&path, 7).unwrap();
        assert!(none.is_empty());
        let mut ends = vec![log.bytes()];
        for number in 0..4 {
            log.append(&edits(number)).unwrap();
            ends.push(log.bytes());
        }
        assert!(log.is_dirty());
        log.sync().unwrap();
        assert!(!log.is_dirty());
        drop(log);
        let content = std::fs::read(&path).unwrap();
        assert_eq!(content.len() as u64, ends[4]);
        let check = |bytes: &[u8], sound: usize, what: &str| {
            let whole = ends.iter().filter(|&&end| end <= sound as u64).count().saturating_sub(1);
            let mut expected: Edits = (0..whole as u8).flat_map(edits).collect();
            std::fs::write(&path, bytes).unwrap();
            let (mut log, found) = Log::open(&path, 7).unwrap();
            assert_eq!(found, expected, "{what} at {sound}");
            log.append(&edits(9)).unwrap();
            expected.extend(edits(9));
            assert_eq!(Log::open(&path, 7).unwrap().1, expected, "{what} at {sound}, and gone on");
        };
        for at in 0..content.len() {
            check(&content[..at], at, "cut");
            let mut damaged = content.clone();
            damaged[at] ^= 0x10;
            check(&damaged, at, "damaged");
        }
    }

    #[test]
    fn a_log_of_another_epoch_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let (mut log, _) = Log::open(&path, 1).unwrap();
        log.append(&edits(1)).unwrap();
        log.restart(2).unwrap();
        log.append(&edits(3)).unwrap();
        drop(log);
        assert_eq!(Log::open(&path, 2).unwrap().1, edits(3));
        // As after a crash between redb's commit and the restart of the log.
        assert!(Log::open(&path, 3).unwrap().1.is_empty());
        assert!(Log::open(&path, 2).unwrap().1.is_empty());
    }
}
