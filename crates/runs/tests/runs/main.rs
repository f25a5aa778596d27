//! Tests of run files through the crate's public door; one program, so that it is linked once.

mod common;
mod damage;
mod format;
mod intake;
mod merging;
mod round_trip;
mod slicing;
mod speed;
mod writing;
