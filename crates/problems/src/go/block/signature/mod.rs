//! Signatures of outsides: the lists of inside codes depend on nothing else.
//!
//! - [`scan`]: reads a border from the top and tells what its parts must know of each other;
//! - [`lists`]: the outsides, signatures and lists of one window;
//! - [`entry_index`]: finds a code in its list;
//! - [`tables`]: what all blocks of a signature share; [`cache`]: those that were built before;
//! - [`fold`]: keeps one of two mirror images at the start of a column.

pub(crate) mod cache;
pub(crate) mod entry_index;
pub(crate) mod fold;
pub(crate) mod lists;
pub(crate) mod scan;
pub(crate) mod tables;
