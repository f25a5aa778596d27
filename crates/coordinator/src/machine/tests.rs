//! The machine driven by scripted and random schedules, with a toy problem and workers that really compute.

mod archive;
mod cases;
mod depot;
mod evidence;
mod garbage;
mod labour;
mod losses;
mod meeting;
mod names;
mod people;
mod planning;
mod random;
mod sim;
mod stalls;
mod toy;
mod trust;
mod waits;
