//! Verifies the bytes of a run as they pass, in the order of the file.
//!
//! ```text
//!   header     ->  its CRC, and its run's name
//!   block      ->  CRC of its head and of each column; gives the index entry that the run must have for it
//!   ...            until a block says that it is the last
//!   index      ->  CRC equal to that of the entries that the blocks gave
//!   footer     ->  equal to the manifest; CRC of header, index and footer equal to the manifest's checksum
//! ```
//!
//! Memory: one block, at most 8 MiB.

use crate::format::footer::{END_MAGIC, ENTRY_BYTES, TRAILER_BYTES, footer_bytes};
use crate::format::header::{Shape, lane_moduli};
use crate::format::{block, decode, footer, header};
use crate::{RunError, RunManifest};

/// The part of the file that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Header,
    Block,
    /// Entries of the index, with the number still to come.
    Index(u64),
    Footer,
    Nothing,
}

/// A run being received, and verified. Nothing of it is kept.
#[derive(Debug)]
pub struct Passing {
    expected: RunManifest,
    place: String,
    part: Part,
    /// The bytes so far of the current header, block, index entry or footer.
    held: Vec<u8>,
    /// Bytes of the file before `held`.
    passed: u64,
    /// From the header; no lanes before it has passed.
    shape: Shape,
    blocks: u64,
    index_at: u64,
    /// CRC of the header and of the index entries: as the blocks gave them (`made`), and as they arrived (`seen`).
    made: u32,
    seen: u32,
}

impl Passing {
    /// Nothing of `expected` has passed yet.
    pub fn new(expected: &RunManifest) -> Self {
        Self {
            expected: expected.clone(),
            place: format!("run {}", expected.id),
            part: Part::Header,
            held: Vec::new(),
            passed: 0,
            shape: Shape { moduli: Vec::new(), seed: 0 },
            blocks: 0,
            index_at: 0,
            made: 0,
            seen: 0,
        }
    }

    /// Takes the next bytes. Refuses wrong ones as soon as a checksum shows them.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), RunError> {
        let all = self.passed + (self.held.len() + bytes.len()) as u64;
        if all > self.expected.bytes {
            return Err(header::other(&self.place, "length in bytes", self.expected.bytes, all));
        }
        while !bytes.is_empty() {
            let missing = self.wanted()?.saturating_sub(self.held.len());
            let (some, rest) = bytes.split_at(missing.min(bytes.len()));
            self.held.extend_from_slice(some);
            bytes = rest;
            if self.held.len() == self.wanted()? {
                self.part = self.pass()?;
                self.passed += self.held.len() as u64;
                self.held.clear();
            }
        }
        Ok(())
    }

    /// The manifest, if the whole run has passed.
    pub fn finish(self) -> Result<RunManifest, RunError> {
        if self.part == Part::Nothing {
            return Ok(self.expected);
        }
        let got = self.passed + self.held.len() as u64;
        Err(RunError::Truncated { place: self.place, what: "the whole run", expected: self.expected.bytes, got })
    }

    /// Bytes of the current part to hold before it can be checked, or before its length is known.
    fn wanted(&self) -> Result<usize, RunError> {
        match self.part {
            Part::Header => match self.held.first_chunk() {
                Some(start) => header::length(start, &self.place),
                None => Ok(16),
            },
            Part::Block if self.held.len() < block::FIXED_BYTES => Ok(block::FIXED_BYTES),
            Part::Block => {
                let length = block::length(&self.held, self.shape.lanes());
                length.ok_or_else(|| self.malformed("a block's fixed part is invalid", self.blocks))
            }
            Part::Index(_) => Ok(ENTRY_BYTES),
            Part::Footer => Ok(footer_bytes(self.shape.lanes())),
            Part::Nothing => Err(self.malformed("bytes follow its end", self.passed)),
        }
    }

    /// Checks the part, all of which is held. Returns the next part.
    fn pass(&mut self) -> Result<Part, RunError> {
        match self.part {
            Part::Header => {
                let (header, id, seed) = header::decode(&self.held, &self.place)?;
                if id != self.expected.id {
                    return Err(header::other(&self.place, "run id", &self.expected.id, id));
                }
                self.shape = Shape { moduli: lane_moduli(&header), seed };
                (self.made, self.seen) = (seed, seed);
                Ok(Part::Block)
            }
            Part::Block => {
                let (entry, last) =
                    decode::check_whole(&self.held, &self.shape, self.passed, &self.place, self.blocks)?;
                let mut line = Vec::with_capacity(ENTRY_BYTES);
                entry.write(&mut line);
                self.made = crc32c::crc32c_append(self.made, &line);
                self.blocks += 1;
                self.index_at = self.passed + self.held.len() as u64;
                Ok(if last { Part::Index(self.blocks) } else { Part::Block })
            }
            Part::Index(left) => {
                self.seen = crc32c::crc32c_append(self.seen, &self.held);
                match left - 1 {
                    0 if self.seen != self.made => {
                        Err(self.malformed("its index does not match its blocks", self.index_at))
                    }
                    0 => Ok(Part::Footer),
                    left => Ok(Part::Index(left)),
                }
            }
            Part::Footer => self.pass_footer().map(|()| Part::Nothing),
            Part::Nothing => Ok(Part::Nothing),
        }
    }

    fn pass_footer(&self) -> Result<(), RunError> {
        let tail = footer::decode(&self.held, self.shape.lanes(), &self.expected.id);
        let tail = tail.ok_or_else(|| self.malformed("its footer is too short", self.passed))?;
        let summed = self.held.len() - (TRAILER_BYTES - 24);
        let got = crc32c::crc32c_append(self.seen, self.held.get(..summed).unwrap_or_default());
        let expected = tail.manifest.checksum;
        if expected != got {
            let (place, what) = (self.place.clone(), "index and footer");
            return Err(RunError::Checksum { place, what, at: 0, expected, got });
        }
        if tail.magic != END_MAGIC || (tail.index_at, tail.blocks) != (self.index_at, self.blocks) {
            return Err(self.malformed("its trailer does not match its index", self.passed));
        }
        footer::compare(&self.expected, &tail.manifest, &self.place)
    }

    fn malformed(&self, what: &'static str, at: u64) -> RunError {
        RunError::Malformed { place: self.place.clone(), what, at }
    }
}
