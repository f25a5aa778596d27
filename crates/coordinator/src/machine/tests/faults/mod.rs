//! Lost workers and disks, damaged runs, wrong numbers, tasks that stall.

mod copies;
mod garbage;
mod losses;
mod stalls;
mod trust;
