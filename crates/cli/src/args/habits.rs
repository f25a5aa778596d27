//! Options of the verbs that suit keima to a person and a machine.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) what: ConfigVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Show the values that differ from the defaults, or all of one verb
    Show {
        /// Verb whose options are all shown, such as worker
        verb: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder for the pages; made if it is missing
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    /// Folder whose disk is tested [default: the system's folder for temporary files]
    #[arg(long, env = "KEIMA_SCRATCH", value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// A coordinator's data folder, a worker's scratch folder, or an archive
    pub(crate) folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
