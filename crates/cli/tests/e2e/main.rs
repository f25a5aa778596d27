//! The program as users run it: real processes, real sockets on loopback, real kills.
//!
//! ```text
//!   problems the problems besides Go
//!   golden   published numbers, brute force, the shape of --json
//!   usage    what is typed wrongly, what is in the way, and what --help says
//!   steer    submit, watch, pause, resume, cancel, result; a full disk
//!   deaths   processes die at named points or by kill -9; folders vanish
//!   damage   run files with a flipped bit, cut short, from another job
//! ```
//!
//! Every process is reaped, every wait is bounded, and what the processes said is printed when a test fails.

#![forbid(unsafe_code)]

mod cluster;
mod damage;
mod deaths;
mod golden;
mod problems;
mod process;
mod steer;
mod usage;
