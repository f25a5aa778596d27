//! Which numbers of a result are printed, and in which format.

use clap::Args;

use crate::terminal::progress::Shown;

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: the number, then aligned tables
    Text,
    /// One object; big integers are strings
    Json,
    /// A header line, then one row per number
    Csv,
    /// Lines `n a(n)`, as in the OEIS
    Bfile,
    /// For papers: the number in groups, or a tabular; needs no package
    Latex,
    /// For PARI/GP: the number, or a matrix of index and number
    Gp,
}

impl Format {
    /// Whether it holds numbers alone, and so needs a result.
    pub(crate) fn is_of_numbers(self) -> bool {
        !matches!(self, Self::Text | Self::Json)
    }
}

#[derive(Debug, Args, Clone)]
pub(crate) struct ResultFormatArgs {
    /// Format of the result [default: text]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<Format>,
    /// Print the counts of all boards of this height up to this length. A job must be submitted with --series to have
    /// all of them
    #[arg(long)]
    pub(crate) series: bool,
    /// Print one table; `count` is the count alone [default: the count and all tables]
    #[arg(long, value_name = "TABLE", conflicts_with = "series")]
    pub(crate) table: Option<String>,
    /// Also print the counted boards, at most 10000 (square-free; formats text and json)
    #[arg(long)]
    pub(crate) list: bool,
}

/// How progress is shown on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressFormat {
    /// A bar on a terminal, else a line at times
    #[default]
    Auto,
    /// One JSON object a line, for all that goes to stderr
    Json,
    /// None; checks and notes are still printed
    None,
}

#[derive(Debug, Args, Clone)]
pub(crate) struct ProgressArgs {
    /// Progress on stderr
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) progress: ProgressFormat,
}

#[derive(Debug, Args, Clone)]
pub(crate) struct OutputArgs {
    /// Same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    /// Print no progress and no checks on stderr; errors are still printed
    #[arg(long, short, conflicts_with = "progress")]
    pub(crate) quiet: bool,
}

impl ProgressArgs {
    /// How much is shown.
    pub(crate) fn shown(&self) -> Shown {
        if self.progress == ProgressFormat::None { Shown::Notes } else { Shown::All }
    }
}

impl OutputArgs {
    /// How much is shown.
    pub(crate) fn shown(&self) -> Shown {
        if self.quiet { Shown::Nothing } else { self.progress.shown() }
    }
}
