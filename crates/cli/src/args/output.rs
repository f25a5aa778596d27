//! Which numbers of a result are printed, and in which format.

use clap::Args;

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

#[derive(Debug, Args, Clone)]
pub(crate) struct OutputArgs {
    /// Same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
    /// Print no progress and no checks on stderr; errors are still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
