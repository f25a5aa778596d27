//! Rows of residues and the loops over them, shared by counts in memory and tasks out of core.
//!
//! A vector is an array of rows. A row has one residue for each of K moduli ([`lanes`]). A pass adds rows to rows
//! ([`kernel`]). Nothing here knows runs or tasks.

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
