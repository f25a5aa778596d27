//! Signatures of outsides, and the lists of inside codes that go with them.

pub(crate) mod cache;
pub(crate) mod entry_index;
pub(crate) mod fold;
pub(crate) mod lists;
pub(crate) mod scan;
