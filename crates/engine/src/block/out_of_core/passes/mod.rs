//! The passes of a window over one family in one buffer: [`forward`], [`transposed`], and both by several threads
//! ([`batches`]). Rows that cannot be added at once are [`waiting`].

pub(crate) mod batches;
pub(crate) mod buffer;
pub(crate) mod forward;
pub(crate) mod transposed;
pub(crate) mod waiting;
