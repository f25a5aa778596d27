//! A job over the lives of its coordinator: what it keeps at a clean stop, and how it comes back from its records.

mod restore;
pub(crate) mod settling;
pub(crate) mod unstored;

pub(crate) use self::restore::reopen;
