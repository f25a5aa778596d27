//! The options of those who start a cluster or use one.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{PlanArgs, ProblemArgs, ResultFormatArgs};
use crate::units::parse_bytes;

#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// Address to listen on
    #[arg(long, env = "KEIMA_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:7700")]
    pub(crate) listen: SocketAddr,
    /// Folder for the jobs' state
    #[arg(long, env = "KEIMA_DATA", value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// A worker that is silent for this long loses its tasks
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub(crate) lease_seconds: f64,
    /// Inputs that only a silent worker has are awaited this long before they are made again
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) grace_seconds: f64,
    /// How often boundaries are made durable, and column ends copied to other workers
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) checkpoint_seconds: u64,
    /// Keep no second copies of column ends on other workers
    #[arg(long)]
    pub(crate) no_second_copies: bool,
    /// Print the address as JSON when ready
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// URL of the coordinator
    #[arg(long, env = "KEIMA_COORDINATOR", value_name = "URL", default_value = "http://127.0.0.1:7700")]
    pub(crate) coordinator: String,
    /// Address to serve runs to other workers on; port 0 picks one
    #[arg(long, env = "KEIMA_WORKER_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// URL under which other workers reach this one [default: LISTEN; where that is 0.0.0.0, the address of this
    /// machine that leads to the coordinator]
    #[arg(long, env = "KEIMA_ADVERTISE", value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// Folder for runs, on a fast disk
    #[arg(long, env = "KEIMA_SCRATCH", value_name = "DIR")]
    pub(crate) scratch: PathBuf,
    /// Memory that the whole process stays under
    #[arg(long, env = "KEIMA_MEMORY", value_name = "SIZE", default_value = "2GiB", value_parser = parse_bytes)]
    pub(crate) memory: u64,
    /// Cap on the bytes in the scratch folder
    #[arg(long, env = "KEIMA_DISK", value_name = "SIZE", default_value = "50GiB", value_parser = parse_bytes)]
    pub(crate) disk: u64,
    /// Tasks that run at a time; all cores if not given
    #[arg(long, env = "KEIMA_THREADS", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Print the worker's name and address as JSON when ready
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args, Clone)]
pub(crate) struct ClientArgs {
    /// URL of the coordinator
    #[arg(long, env = "KEIMA_COORDINATOR", value_name = "URL", default_value = "http://127.0.0.1:7700")]
    pub(crate) coordinator: String,
    /// Print JSON; big integers are strings
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Jobs of higher priority go first
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true)]
    pub(crate) priority: i32,
    /// Memory of one task; what every worker can give if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) task_memory: Option<u64>,
    /// Bytes that this job may hold on all workers together, by its forecast; the plan is made to fit it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) disk: Option<u64>,
    /// Wait for the job and print its number
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
}

#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Job, such as j1
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Job, such as j1
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
}
