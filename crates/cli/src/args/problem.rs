//! What to count, and how to plan it.

use clap::Args;

use super::numbers::whole;

/// Heading of the options that only some problems have. `-o` sets the same options.
const PROBLEM_OPTIONS: &str = "Options of single problems";

#[derive(Debug, Args, Clone)]
pub(crate) struct ProblemArgs {
    /// Problem to count, such as go; `keima problems` lists them
    pub(crate) problem: String,
    /// Board size, such as 9x9; keima count also takes ranges, such as 1..8x1..8
    pub(crate) size: String,
    /// Set an option of the problem: NAME=VALUE, or NAME for a switch; `keima problems PROBLEM` lists them
    #[arg(long = "option", short = 'o', value_name = "NAME[=VALUE]")]
    pub(crate) options: Vec<String>,
    /// Place at most K fences (quoridor, quoridor-fences); same as `-o max-fences=K`
    #[arg(long, value_name = "K", hide_short_help = true, help_heading = PROBLEM_OPTIONS, value_parser = whole(0..=u32::MAX))]
    pub(crate) max_fences: Option<u32>,
    /// Place any number of fences (quoridor, quoridor-fences); same as `-o all`
    #[arg(long, hide_short_help = true, help_heading = PROBLEM_OPTIONS)]
    pub(crate) all: bool,
    /// Count open tours (knight); same as `-o open`
    #[arg(long, hide_short_help = true, help_heading = PROBLEM_OPTIONS)]
    pub(crate) open: bool,
    /// Count closed tours (knight); same as `-o closed`
    #[arg(long, hide_short_help = true, help_heading = PROBLEM_OPTIONS)]
    pub(crate) closed: bool,
    /// Start open tours at this square, such as a1 or 0,0 (row, column) (knight); same as `-o from=SQUARE`
    #[arg(long, value_name = "SQUARE", hide_short_help = true, help_heading = PROBLEM_OPTIONS)]
    pub(crate) from: Option<String>,
    /// End open tours at this square (knight); same as `-o to=SQUARE`
    #[arg(long, value_name = "SQUARE", hide_short_help = true, help_heading = PROBLEM_OPTIONS)]
    pub(crate) to: Option<String>,
}

#[derive(Debug, Args, Clone)]
pub(crate) struct PlanArgs {
    /// Number of residues that a sweep carries through all passes [default: the planner's choice]
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=64))]
    pub(crate) residues_per_sweep: Option<u32>,
    /// Longest window of a stage, in cells [default: the planner's choice]
    #[arg(long, value_name = "CELLS", value_parser = whole(1_u32..=32))]
    pub(crate) window: Option<u32>,
    /// Executor that counts
    #[arg(long, value_name = "EXECUTOR", value_enum, default_value_t = Executor::Auto)]
    pub(crate) executor: Executor,
}

/// Which executor counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Executor {
    /// block if the problem has a block form and the memory suffices, else stream
    Auto,
    /// Sorted runs of states: any problem, any size
    Stream,
    /// Dense blocks of counts: only problems with a block form, such as go; many times faster
    Block,
}

impl Executor {
    /// The executor's name, `None` for either.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Stream => Some("stream"),
            Self::Block => Some("block"),
        }
    }
}

impl From<Executor> for keima_coordinator::Executor {
    fn from(executor: Executor) -> Self {
        match executor {
            Executor::Auto => Self::Auto,
            Executor::Stream => Self::Stream,
            Executor::Block => Self::Block,
        }
    }
}
