//! Tests of run files through the crate's public door; one program, so that it is linked once.

mod common;
mod damage;
mod format;
mod intake;
mod mended;
mod merging;
mod round_trip;
mod sample;
mod slicing;
mod speed;
mod writing;
