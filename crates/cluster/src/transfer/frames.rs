//! Cuts the chunks of a stream into a run's blocks: of each its length in four bytes, little-endian, then the block.
//!
//! A chunk may end anywhere. A block takes memory as its bytes arrive, not as its length says. Cost: one copy of each byte.

use bytes::{Buf as _, Bytes};

/// Longest accepted block.
const MAX_BLOCK_BYTES: u32 = 64 << 20;

/// Why there is no next block.
#[derive(Debug)]
pub(crate) enum FrameError<E> {
    /// The sender sent something else.
    Malformed(String),
    /// There is no next chunk.
    Unread(E),
}

/// What is left of the last chunk.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    chunk: Bytes,
}

impl Frames {
    /// Puts the next block into `raw`; `false` at the end. `fetch` gives the next chunk, or `None` at the end.
    pub(crate) fn next_block<E>(
        &mut self,
        raw: &mut Vec<u8>,
        mut fetch: impl FnMut() -> Result<Option<Bytes>, E>,
    ) -> Result<bool, FrameError<E>> {
        raw.clear();
        let (mut length, mut taken) = ([0; 4], 0);
        while let Some(rest) = length.get_mut(taken..).filter(|rest| !rest.is_empty()) {
            let some = rest.len().min(self.chunk.len());
            if some == 0 && !self.refill(&mut fetch)? {
                return if taken == 0 { Ok(false) } else { Err(FrameError::Malformed("half a length".to_owned())) };
            }
            for byte in rest.iter_mut().take(some) {
                *byte = self.chunk.get_u8();
            }
            taken += some;
        }
        let mut missing = u32::from_le_bytes(length);
        if missing > MAX_BLOCK_BYTES {
            let what = format!("a block of {missing} bytes (at most {MAX_BLOCK_BYTES} are expected)");
            return Err(FrameError::Malformed(what));
        }
        while missing > 0 {
            let some = self.chunk.len().min(missing as usize);
            if some == 0 && !self.refill(&mut fetch)? {
                return Err(FrameError::Malformed("half a block".to_owned()));
            }
            raw.extend_from_slice(&self.chunk.split_to(some));
            missing -= some as u32;
        }
        Ok(true)
    }

    /// Fetches the next chunk; `false` at the end.
    fn refill<E>(&mut self, fetch: &mut impl FnMut() -> Result<Option<Bytes>, E>) -> Result<bool, FrameError<E>> {
        let chunk = fetch().map_err(FrameError::Unread)?;
        let is_there = chunk.is_some();
        self.chunk = chunk.unwrap_or_default();
        Ok(is_there)
    }
}
