//! A family of blocks through a window.
//!
//! A small family goes pass by pass ([`by_pass`]), a large one block by block ([`by_block`], [`fused`]), the largest
//! by several threads ([`by_threads`]). All read the vector before by [`exchange`], and take a [`fingerprint`] of it.

pub(crate) mod by_block;
pub(crate) mod by_pass;
pub(crate) mod by_threads;
pub(crate) mod exchange;
pub(crate) mod fingerprint;
pub(crate) mod fused;
pub(crate) mod stage;
pub(crate) mod sums;
pub(crate) mod worker;
