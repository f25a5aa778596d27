//! A run file after every check that needs no block: header, footer and index are sound, and are the expected ones.

use std::path::Path;

use super::index::{Frame, Index};
use super::source::Source;
use crate::format::footer::{self, ENTRY_BYTES, footer_bytes};
use crate::format::{block, header};
use crate::{RunError, RunHeader, RunId, RunManifest};

/// An open run. Its blocks are checked when they are read.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) source: Source,
    pub(super) header: RunHeader,
    pub(super) manifest: RunManifest,
    pub(super) index: Index,
}

impl Opened {
    /// Opens `path`. Compares the file's id with `id` and the rest with `expected`, where given.
    pub(super) fn open(
        path: &Path,
        id: Option<&RunId>,
        expected: Option<(&RunManifest, &RunHeader)>,
    ) -> Result<Self, RunError> {
        let source = Source::open(path)?;
        let mut start = [0; 16];
        source.read("the header", 0, &mut start)?;
        let mut bytes = vec![0; header::length(&start, &source.place)?];
        source.read("the header", 0, &mut bytes)?;
        let (header, got_id, seed) = header::decode(&bytes, &source.place)?;
        if let Some((_, expected)) = expected {
            header::compare(expected, &header, &source.place)?;
        }
        if let Some(id) = id.filter(|&id| *id != got_id) {
            return Err(header::other(&source.place, "run id", id, got_id));
        }

        let lanes = header.lanes();
        let mut tail = vec![0; footer_bytes(lanes)];
        let needed = (bytes.len() + block::MIN_BYTES + ENTRY_BYTES + tail.len()) as u64;
        if source.bytes < needed {
            let (place, got) = (source.place.clone(), source.bytes);
            return Err(RunError::Truncated { place, what: "the smallest run", expected: needed, got });
        }
        let footer_at = source.bytes - tail.len() as u64;
        source.read("the footer", footer_at, &mut tail)?;
        let footer = footer::decode(&tail, lanes, &got_id)
            .ok_or_else(|| source.malformed("its footer is too short", footer_at))?;
        if footer.magic != footer::END_MAGIC && expected.is_none() {
            // What stands before that is no length either.
            return Err(source.malformed("its end is not KEIMAEND: it was cut, lengthened or changed", footer_at));
        }
        if footer.magic != footer::END_MAGIC || footer.manifest.bytes != source.bytes {
            // The end is missing, or its last bytes have changed: both read like this.
            let expected = expected.map_or(footer.manifest.bytes, |(manifest, _)| manifest.bytes);
            let (place, got) = (source.place.clone(), source.bytes);
            return Err(RunError::Truncated { place, what: "the file up to its trailer", expected, got });
        }
        let frame = Frame { header_bytes: bytes.len() as u64, lanes, seed, footer_at, tail: &tail };
        let index = Index::check(&source, &frame, &footer)?;
        if let Some((expected, _)) = expected {
            footer::compare(expected, &footer.manifest, &source.place)?;
        }
        Ok(Self { source, header, manifest: footer.manifest, index })
    }
}
