//! Rows of residues and the loops over them: what both ways of counting by blocks share.
//!
//! A vector is an array of rows; a row has one residue for each of K moduli ([`lanes`]). A pass adds rows to rows
//! ([`kernel`]). Nothing here knows families, runs or tasks.

pub(super) mod inner_product;
pub(super) mod kernel;
pub(super) mod lanes;
pub(super) mod mixed_radix;
pub(super) mod prefetch;
pub(super) mod ranges;
pub(super) mod sums;
pub(super) mod tables;
pub(super) mod threads;
pub(super) mod vector;
pub(super) mod widen;
