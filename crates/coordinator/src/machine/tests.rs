//! The machine driven by scripted and random schedules, with a toy problem and workers that really compute.

mod archive;
mod cases;
mod deletions;
mod evidence;
mod faults;
mod leaving;
mod meeting;
mod names;
mod people;
mod planning;
mod random;
mod stores;
mod waits;
mod world;
