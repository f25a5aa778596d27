//! What a coordinator stores, and how it goes on from it.

pub(crate) mod journal;
pub(crate) mod restore;
