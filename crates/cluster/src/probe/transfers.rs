//! What a worker reads of another worker.

use std::convert::Infallible;

use bytes::Bytes;
use keima_runs::RunPart;
use keima_wire::{Message, v1};

use crate::transfer::frames::Frames;
use crate::transfer::remote_feed::checked;
use crate::transfer::run_server::{Mode, has_lanes, mode};

use super::framed::Framed;

/// The blocks in a stream of chunks, up to where it is no stream of blocks, and whether it is one to its end.
pub fn blocks_of(chunks: impl IntoIterator<Item = Vec<u8>>) -> (Vec<Vec<u8>>, bool) {
    let mut chunks = chunks.into_iter();
    let (mut frames, mut raw, mut blocks) = (Frames::default(), Vec::new(), Vec::new());
    loop {
        match frames.next_block(&mut raw, || Ok::<_, Infallible>(chunks.next().map(Bytes::from))) {
            Ok(true) => blocks.push(raw.clone()),
            ended => return (blocks, ended.is_ok()),
        }
    }
}

/// What a holder sends of a run: the data of its messages, up to the one that is marked as the last, or where it is refused.
pub fn sent(bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let (mut messages, mut chunks) = (Framed(bytes), Vec::new());
    loop {
        let Ok(message) = messages.next().map(v1::ReadRunResponse::decode).transpose() else { return (chunks, false) };
        let Ok(chunk) = checked(message) else { return (chunks, false) };
        chunks.push(chunk.data.to_vec());
        if chunk.end {
            return (chunks, true);
        }
    }
}

/// The part of a run of so many lanes that a request wants; `None` where it is refused, or wants the whole file.
pub fn wanted_part(bytes: &[u8], lanes: usize) -> Option<RunPart> {
    match mode(&v1::ReadRunRequest::decode(bytes).ok()?).ok()? {
        Mode::Blocks(part) => Some(part).filter(|part| has_lanes(part, lanes)),
        Mode::File => None,
    }
}
