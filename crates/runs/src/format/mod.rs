//! The bytes of a run file: header, blocks, index, footer and trailer. Nothing here opens a file.

pub(crate) mod block;
pub(crate) mod footer;
pub(crate) mod header;
pub(crate) mod lanes;
mod varint;
