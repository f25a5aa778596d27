//! Decodes the blocks of one run in key order, from any feed, and trusts none.
//!
//! Each block's checksum binds it to its run. The blocks must tile the key range, so that skipped, repeated,
//! reordered and missing blocks are noticed. The footer's sums need the whole run: `verify_run` checks them.

use std::fmt;

use crate::format::decode::decode;
use crate::format::header::Shape;
use crate::{Batch, RunError, RunHeader, RunId, RunKey, RunPart};

/// Raw encoded blocks in key order, each with its head and the columns of the lanes that were asked for. Blocks may
/// come from anywhere: [`RunCursor`] checks them and notices missing ones.
pub trait BlockFeed: Send {
    /// Replaces `raw` by the next block; `false` at the end.
    fn next_block(&mut self, raw: &mut Vec<u8>) -> Result<bool, RunError>;
    /// Says that the first block will be asked for soon.
    fn prepare(&mut self) {}
}

enum State {
    /// The next block must answer for this key.
    Next(u128),
    Done,
    Failed,
}

/// The memory of a finished cursor, for the next one.
#[derive(Default)]
pub struct CursorBuffers {
    raw: Vec<u8>,
}

/// The records of a part of a run, in batches.
pub struct RunCursor<K: RunKey> {
    feed: Box<dyn BlockFeed>,
    id: RunId,
    /// From the header. `None` if its keys have another width; then `fault` is the first read's error.
    shape: Option<Shape>,
    fault: Option<RunError>,
    part: RunPart,
    state: State,
    buffers: CursorBuffers,
    blocks: u64,
    bytes_read: u64,
    keys: std::marker::PhantomData<K>,
}

impl<K: RunKey> fmt::Debug for RunCursor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCursor").field("id", &self.id).field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

impl<K: RunKey> RunCursor<K> {
    /// A cursor over `part` of the run `id` with this header. `feed` delivers the part's blocks with the part's lanes
    /// alone, and rows have only these lanes.
    pub fn new(feed: Box<dyn BlockFeed>, header: &RunHeader, id: &RunId, part: RunPart) -> Self {
        let (shape, fault) = match Shape::of::<K>(header, id, &id.0) {
            Ok(shape) => (Some(shape), None),
            Err(fault) => (None, Some(fault)),
        };
        Self {
            feed,
            shape,
            fault,
            id: id.clone(),
            state: if part.has_no_keys() { State::Done } else { State::Next(part.low) },
            part,
            buffers: CursorBuffers::default(),
            blocks: 0,
            bytes_read: 0,
            keys: std::marker::PhantomData,
        }
    }

    /// The same cursor with the memory of a finished one.
    #[must_use]
    pub fn with_buffers(self, buffers: CursorBuffers) -> Self {
        Self { buffers, ..self }
    }

    /// Ends the cursor and returns its memory.
    pub fn into_buffers(self) -> CursorBuffers {
        self.buffers
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Bytes of blocks read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Replaces `out` by the records of the next block that has any in the range. At the end: `false`, and `out` is
    /// empty. After an error every call fails.
    pub fn next_batch(&mut self, out: &mut Batch<K>) -> Result<bool, RunError> {
        let result = self.advance(out);
        if !matches!(result, Ok(true)) {
            out.clear();
        }
        if result.is_err() {
            self.state = State::Failed;
        }
        result
    }

    fn advance(&mut self, out: &mut Batch<K>) -> Result<bool, RunError> {
        loop {
            let next = match self.state {
                State::Next(next) => next,
                State::Done => return Ok(false),
                State::Failed => return Err(RunError::Failed { place: self.id.0.clone() }),
            };
            let Some(shape) = &self.shape else {
                let failed = || RunError::Failed { place: self.id.0.clone() };
                return Err(self.fault.take().unwrap_or_else(failed));
            };
            let CursorBuffers { raw } = &mut self.buffers;
            if !self.feed.next_block(raw)? {
                return Err(RunError::Incomplete { place: self.id.0.clone(), next: Box::new(next) });
            }
            let at = self.blocks;
            let cover = decode(raw, shape, self.part.lanes.clone(), out, &self.id.0, at)?;
            self.blocks += 1;
            self.bytes_read += raw.len() as u64;
            // The first block may begin before the range. Any other begins exactly where the one before ended.
            let follows = if at == 0 { cover.from <= next } else { cover.from == next };
            if !follows {
                return Err(RunError::Incomplete { place: self.id.0.clone(), next: Box::new(next) });
            }
            let ends = match (cover.to, self.part.high) {
                (None, _) => true,
                (Some(to), Some(high)) => to >= high,
                (Some(_), None) => false,
            };
            self.state = match cover.to {
                Some(to) if !ends => State::Next(to),
                _ => State::Done,
            };
            self.trim(out, self.part.lanes.len());
            if !out.is_empty() {
                return Ok(true);
            }
        }
    }

    fn trim(&self, out: &mut Batch<K>, lanes: usize) {
        if let Some(high) = self.part.high
            && out.keys.last().is_some_and(|k| k.widen() >= high)
        {
            let keep = out.keys.partition_point(|k| k.widen() < high);
            out.keys.truncate(keep);
            out.rows.truncate(keep * lanes);
        }
        if out.keys.first().is_some_and(|k| k.widen() < self.part.low) {
            let cut = out.keys.partition_point(|k| k.widen() < self.part.low);
            out.keys.drain(..cut);
            out.rows.drain(..cut * lanes);
        }
    }
}
