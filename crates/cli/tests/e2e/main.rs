//! The program as users run it: real processes, real sockets on loopback, real kills.
//!
//! ```text
//!   problems the problems besides Go
//!   golden   published numbers, brute force, the shape of --json
//!   formats  text, JSON, csv and b-files; listings; what cannot be printed
//!   usage    what is typed wrongly, what is in the way, and what --help says
//!   steer    submit, watch, pause, resume, cancel, result; a full disk
//!   deaths   processes die at named points or by kill -9; folders vanish
//!   book     links and commands of README and docs/
//!   network  workers that see nothing of each other but their addresses
//!   inspect  run files by themselves
//!   damage   run files with a flipped bit, cut short, from another job
//! ```
//!
//! Every process is reaped, every wait is bounded, and what the processes said is printed when a test fails.

#![forbid(unsafe_code)]

mod book;
mod cluster;
mod damage;
mod deaths;
mod formats;
mod golden;
mod inspect;
mod network;
mod problems;
mod process;
mod steer;
mod usage;
