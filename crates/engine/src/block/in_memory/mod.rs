//! Whole counts in memory: a vector is an array of rows, and the threads of one process take every family through a
//! window.
//!
//! [`count`] counts a board, with [`plan`] for its primes, lanes and memory. It takes vectors through windows with
//! [`sweep`], which takes each [`family`] through all passes. [`mail`] carries values between the blocks of a family.

pub(super) mod count;
pub(super) mod family;
pub(super) mod mail;
pub(super) mod plan;
pub(super) mod speed;
pub(super) mod sweep;
