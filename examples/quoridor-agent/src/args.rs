//! The command line.

use clap::{Parser, Subcommand, ValueEnum};

use crate::features::Features;
use crate::player::{MAX_DEPTH, Max, Noise, Player, Walk};

/// Mertens' Quoridor-playing agent: his matches again, and a game against you
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Examples:\n  quoridor-agent tables\n  quoridor-agent match f1+f2+f4 f1+f2+f3 --games 1000\n  \
                                 quoridor-agent play --side second"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play all matches of the paper; print its tables 2 and 3 beside ours
    Tables(MatchArgs),
    /// Play a match of two sets of features
    Match(SingleMatchArgs),
    /// Play against the agent in this terminal
    Play(PlayArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct MatchArgs {
    /// Games of a match; each side starts half of them
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = even)]
    pub(crate) games: u32,
    /// Leave out games with more plies
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) max_plies: u32,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SingleMatchArgs {
    /// Features of one side, such as f1+f2+f4
    pub(crate) one: Features,
    /// Features of the other side
    pub(crate) other: Features,
    #[command(flatten)]
    pub(crate) games: MatchArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlayArgs {
    /// Your side
    #[arg(long, value_enum, default_value_t = Side::First)]
    pub(crate) side: Side,
    /// Features of the agent
    #[arg(long, default_value = "f1+f2+f3+f4")]
    pub(crate) features: Features,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    /// Plies that the agent looks ahead
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DEPTH)))]
    pub(crate) depth: u32,
    /// Whose fences must all be placed before the agent walks a shortest way
    #[arg(long, value_enum, default_value_t = Walk::All)]
    pub(crate) walk: Walk,
    /// Whose value the features tell
    #[arg(long, value_enum, default_value_t = Max::Searcher)]
    pub(crate) max: Max,
    /// Where the random number is added
    #[arg(long, value_enum, default_value_t = Noise::Leaf)]
    pub(crate) noise: Noise,
    /// Seed of the random term; the same seed gives the same games, on any number of threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl AgentArgs {
    /// The agent with these features.
    pub(crate) fn player(&self, features: Features) -> Player {
        Player { features, depth: self.depth, walk: self.walk, max: self.max, noise: self.noise }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    /// You begin, from row 1 upwards
    First,
    /// The agent begins; you go from row 9 downwards
    Second,
}

fn even(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(games) if (2..=100_000).contains(&games) && games % 2 == 0 => Ok(games),
        _ => Err("expected an even number from 2 to 100000, since each side starts half of the games".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_lines() {
        Args::command().debug_assert();
        for (line, is_good) in [
            ("tables", true),
            ("tables --games 10 --depth 1 --seed 18446744073709551615 --json", true),
            ("match f1 f2+f4 --walk never --noise move --max-plies 50", true),
            ("match f1 f2+f4 --walk own --max-plies 50 --threads 1", true),
            ("play --side second --features f3", true),
            ("", false),
            ("tables --games 3", false),
            ("tables --games 0", false),
            ("tables --depth 0", false),
            ("tables --depth 9", false),
            ("match f1", false),
            ("match f1 f5", false),
            ("play --seed -1", false),
        ] {
            let args = std::iter::once("quoridor-agent").chain(line.split_whitespace());
            assert_eq!(Args::try_parse_from(args).is_ok(), is_good, "{line}");
        }
    }
}
