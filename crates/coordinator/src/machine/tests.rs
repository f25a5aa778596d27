//! The machine driven by scripted and random schedules, with a toy problem and workers that really compute.

mod cases;
mod garbage;
mod labour;
mod losses;
mod meeting;
mod random;
mod sim;
mod toy;
