//! Doors for fuzzing: what reads typed words, the configuration file, files of kept numbers and results, results to draw, and
//! files of the system; and what shows jobs.

use std::cell::RefCell;

use clap::{Command, CommandFactory as _};
use keima_analyse::recurrence::Kept;
use keima_coordinator::JobStatus;

use crate::{analyse, args, cluster, count, machine, plot, terminal};

thread_local! {
    /// The command line, which takes long to make.
    static COMMAND: RefCell<Command> = RefCell::new(args::Cli::command());
    /// The same, which no command line has changed.
    static FRESH: Command = args::Cli::command();
}

/// Reads a text as each kind of word that can be typed. Returns whether any of them takes it.
pub fn typed(text: &str) -> bool {
    let taken = [
        terminal::units::parse_bytes(text).is_ok(),
        terminal::units::parse_bytes_or_none(text).is_ok(),
        count::sizes::sizes(text).is_ok(),
        keima::job_id(text).is_ok(),
    ];
    taken.contains(&true)
}

/// Reads a command line, without the program's name, with spaces between its words. Returns whether it is one.
pub fn command_line(text: &str) -> bool {
    let words = std::iter::once("keima").chain(text.split(' '));
    COMMAND.with_borrow_mut(|command| match args::parsed(command, words.map(Into::into)) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    })
}

/// Reads a configuration file, and all that it says. Returns whether it can stand below a command line.
pub fn config(text: &str) -> bool {
    FRESH.with(|command| args::defaults::config::probe(text, command))
}

/// The number of results in the bytes of a file of kept numbers.
pub fn kept_sizes(bytes: &[u8]) -> usize {
    count::kept_sizes::results(bytes).len()
}

/// The number of terms in the bytes of a file of a kept search for a recurrence, of the graph with the fingerprint 0.
pub fn kept_terms(bytes: &[u8]) -> usize {
    analyse::kept::read(0, bytes).map_or(0, |kept| kept.terms.len())
}

/// Reads the bytes of a file of a kept result, and verifies it. Returns whether it is sound.
pub fn kept_result(bytes: &[u8]) -> bool {
    count::kept_result::is_sound(bytes)
}

/// A file of a kept result of Go on a board of this size; empty if there is none.
pub fn example_of_kept_result(size: &str) -> Vec<u8> {
    count::kept_result::example(size).unwrap_or_default().into_bytes()
}

/// A file of a kept search for a recurrence.
pub fn example_of_kept_terms() -> String {
    let kept = Kept { primes: [268_435_399, 268_435_367], terms: vec![[3, 3], [7, 7]], counts: vec![1, 2 << 32, 3] };
    analyse::kept::text(0, &kept)
}

/// The number of pictures that results in a text give.
pub fn pictures(text: &str) -> usize {
    plot::pictures(text)
}

/// Reads a text as each file of the system that tells what memory there is. Returns whether any of them tells.
pub fn system_file(text: &str) -> bool {
    machine::says_something(text)
}

/// Jobs as `keima jobs`, `keima status` and `keima top` show them.
pub fn shown(jobs: &[JobStatus]) -> String {
    cluster::shown(jobs)
}
