//! Mertens' Quoridor-playing agent (P. J. C. Mertens, *A Quoridor-playing Agent*, 2006) as an example of how to use the rules
//! of `keima_problems::quoridor`: its matches again, and a game against a human.
//!
//! ```text
//!   features    what the agent sees in a position, and his weights
//!   search      minimax with alpha-beta
//!   player      the agent: searches, then walks
//!   contest     games and series of games
//!   statistics  intervals, and whether two results differ
//!   published   what he printed
//!   report      tables and JSON
//!   play        a game against a human: notation, board
//! ```

#![forbid(unsafe_code)]

mod args;
mod board;
mod contest;
mod features;
mod notation;
mod play;
mod player;
mod published;
mod report;
mod search;
mod statistics;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Tables(args) => report::tables(&args, &mut io::stdout().lock()),
        Command::Match(args) => report::single_match(&args, &mut io::stdout().lock()),
        Command::Play(args) => {
            play::play(&args, &mut io::stdin().lock(), &mut io::stdout().lock(), &mut io::stderr().lock())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough (`| head`).
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("input or output failed: {error}; see where they lead, and run the same command again");
            ExitCode::FAILURE
        }
    }
}
