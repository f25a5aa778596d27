//! The options of verbs that start a cluster or use one.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::output::ResultFormatArgs;
use super::problem::{PlanArgs, ProblemArgs};
use crate::terminal::units::parse_bytes;

#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// Address and port to listen on
    #[arg(long, env = "KEIMA_LISTEN", value_name = "IP:PORT", default_value = "127.0.0.1:7700")]
    pub(crate) listen: SocketAddr,
    /// Folder for the state of the jobs
    #[arg(long, env = "KEIMA_DATA", value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Time of silence after which a worker loses its tasks
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub(crate) lease_seconds: f64,
    /// Time to wait for runs that only a silent worker has, before they are computed again
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) grace_seconds: f64,
    /// Time between checkpoints, and between copies of column ends to a second worker
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) checkpoint_seconds: u64,
    /// Do not copy column ends to a second worker
    #[arg(long)]
    pub(crate) no_second_copies: bool,
    /// Print the coordinator's URL and data folder as JSON when it is ready
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// URL of the coordinator
    #[arg(long, env = "KEIMA_COORDINATOR", value_name = "URL", default_value = "http://127.0.0.1:7700")]
    pub(crate) coordinator: String,
    /// Address and port to serve runs to other workers; port 0 takes any free port
    #[arg(long, env = "KEIMA_WORKER_LISTEN", value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// URL under which other workers reach this one [default: the --listen address, or for 0.0.0.0 the address of
    /// this machine that leads to the coordinator]
    #[arg(long, env = "KEIMA_ADVERTISE", value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// Folder for the runs, on a fast disk
    #[arg(long, env = "KEIMA_SCRATCH", value_name = "DIR")]
    pub(crate) scratch: PathBuf,
    /// Memory limit of the whole process
    #[arg(long, env = "KEIMA_MEMORY", value_name = "BYTES", default_value = "2GiB", value_parser = parse_bytes)]
    pub(crate) memory: u64,
    /// Size limit of the scratch folder
    #[arg(long, env = "KEIMA_DISK", value_name = "BYTES", default_value = "50GiB", value_parser = parse_bytes)]
    pub(crate) disk: u64,
    /// Number of tasks that run at the same time [default: all cores]
    #[arg(long, env = "KEIMA_THREADS", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Print the worker's name, URL and threads as JSON when it is ready
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
    /// Priority of the job; higher ones go first
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true)]
    pub(crate) priority: i32,
    /// Memory of one task [default: the least that any worker offers, or 256MiB without workers]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) task_memory: Option<u64>,
    /// Limit on the disk that the job may use on all workers together; the plan keeps to it [default: the --disk of all
    /// workers together]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) disk: Option<u64>,
    /// Wait for the job and print its number
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
}

#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Name of the job, such as j1
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Name of the job, such as j1
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
}
