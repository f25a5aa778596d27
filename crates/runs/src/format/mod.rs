//! The bytes of a run file: header, blocks, index, footer and trailer. Nothing here opens a file.

pub(crate) mod block;
pub(crate) mod decode;
pub(crate) mod encode;
mod fields;
pub(crate) mod footer;
pub(crate) mod header;
mod key_section;
pub(crate) mod lanes;
mod varint;
