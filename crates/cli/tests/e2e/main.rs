//! The program as users run it: real processes, real sockets on loopback, real kills.
//!
//! ```text
//!   harness  starts processes and clusters, and ends them
//!   numbers  golden: published numbers, brute force, the shape of --json
//!            problems: the problems besides Go
//!            formats: text, JSON, csv and b-files; listings; requests that cannot be printed
//!   data     papers: LaTeX and GP; plot; events: --progress json; tools: docs/use/data.md in pandas, SQLite and others
//!   verbs    command_line/usage: wrong requests, ports and folders in use
//!            command_line/help: every --help text
//!            count: state that a count leaves behind, numbers that nobody reads
//!            estimate, inspect
//!            page: the status page in a browser, and keima top
//!            steer: submit, watch, pause, resume, cancel, result; a full disk
//!   faults   deaths: processes die at named points or by kill -9; folders vanish
//!            damage: run files with a flipped bit, cut short, from another job
//!            network: workers that see nothing of each other but their addresses
//!            full_disk: a file system without room
//!            signals: asked to stop once, and twice
//!            fire: scripts/chaos, for a moment
//!   book     links and commands of README and docs/
//!   house    sizes of source files and folders, and which file uses which
//! ```
//!
//! Every process is reaped and every wait is bounded. A failing test prints what the processes said.

#![forbid(unsafe_code)]

mod book;
mod data;
mod faults;
mod harness;
mod house;
mod numbers;
mod verbs;
