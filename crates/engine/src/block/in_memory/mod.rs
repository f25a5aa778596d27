//! Whole counts in memory: vectors are arrays of rows, and every family is taken through a window by the threads of one
//! process.
//!
//! [`both_ends`] counts from both ends of the board to the middle, [`forward`] from the first column to the last. Both
//! take vectors through windows with [`sweep`], which takes each [`family`] through all passes.

pub(super) mod both_ends;
pub(super) mod by_pass;
pub(super) mod exchange;
pub(super) mod family;
pub(super) mod family_threads;
pub(super) mod fingerprint;
pub(super) mod forward;
pub(super) mod fused;
pub(super) mod mail;
pub(super) mod scheme;
pub(super) mod steps;
pub(super) mod sweep;
pub(super) mod widening;
