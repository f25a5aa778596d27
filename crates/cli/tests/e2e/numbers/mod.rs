//! Numbers, tables and formats of results.

mod formats;
pub(crate) mod golden;
mod problems;
