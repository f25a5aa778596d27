//! The options of verbs that start a cluster or use one.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::FalseyValueParser;
use keima_coordinator::State;

use super::numbers::{age, listen, priority, seconds, whole};
use super::output::{ProgressArgs, ResultFormatArgs};
use super::problem::{PlanArgs, ProblemArgs};
use crate::terminal::units::{parse_bytes, parse_bytes_or_none};

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line, with job, stage, task, attempt and worker where the line is about one
    Json,
}

/// The N of `1/N`, or 0.
fn parse_recount(text: &str) -> Result<u64, String> {
    let one_in =
        if text == "0" { Some(0) } else { text.strip_prefix("1/").and_then(|n| n.parse().ok()).filter(|n| *n > 0) };
    one_in.ok_or_else(|| "expected 1/N with a whole number N, for example 1/64, or 0 for no recount".to_owned())
}

/// What a caller knows of its coordinator, and shows to it.
#[derive(Debug, Args, Clone)]
pub(crate) struct PassArgs {
    /// Fingerprint of the coordinator's certificate, sha256:HEX, as the coordinator prints it; for https:// URLs
    #[arg(long, env = "KEIMA_FINGERPRINT", value_name = "SHA256")]
    pub(crate) fingerprint: Option<String>,
    /// Instead of a fingerprint: a CA (PEM) that vouches for the coordinator's certificate
    #[arg(long, env = "KEIMA_TLS_CA", value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// File with the token that proves the role of this program
    #[arg(long, env = "KEIMA_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

impl PassArgs {
    /// The same for a client.
    pub(crate) fn access(&self) -> keima::Access {
        let Self { fingerprint, tls_ca, token_file } = self.clone();
        keima::Access { fingerprint, tls_ca, token_file }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DoorArgs {
    /// Make a CA, a certificate and tokens in the folder tls of the --data folder, unless it is there. Later starts use them
    /// without being told
    #[arg(long, env = "KEIMA_TLS_INIT", value_parser = FalseyValueParser::new())]
    pub(crate) tls_init: bool,
    /// Host name or address that --tls-init puts into the certificate, besides those of this machine; may be repeated
    #[arg(long, value_name = "NAME", requires = "tls_init")]
    pub(crate) tls_name: Vec<String>,
    /// Certificate (PEM), instead of the one that --tls-init makes
    #[arg(long, env = "KEIMA_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, env = "KEIMA_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Folder with the files reader.token, client.token and worker.token [default: tls in the data folder]
    #[arg(long, env = "KEIMA_TOKENS", value_name = "DIR")]
    pub(crate) tokens: Option<PathBuf>,
    /// Let everybody who reaches the port do everything, without encryption, also beyond this machine
    #[arg(long, env = "KEIMA_INSECURE", value_parser = FalseyValueParser::new())]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    /// Address and port to listen on; beyond this machine with TLS only, or with --insecure
    #[arg(long, env = "KEIMA_LISTEN", value_name = "IP:PORT", default_value = "127.0.0.1:7700", value_parser = listen)]
    pub(crate) listen: SocketAddr,
    /// Address and port of a status page, its API and the metrics; beyond this machine under the same rule
    #[arg(long, env = "KEIMA_HTTP", value_name = "IP:PORT")]
    pub(crate) http: Option<SocketAddr>,
    /// Folder for the state of the jobs
    #[arg(long, env = "KEIMA_DATA", value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Time of silence after which a worker loses its tasks
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub(crate) lease_seconds: f64,
    /// Time to wait for runs that only a silent worker has, before they are computed again
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) grace_seconds: f64,
    /// Time between checkpoints, and between copies of column ends to a second worker
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole(0..=1_000_000_000_u64))]
    pub(crate) checkpoint_seconds: u64,
    #[allow(clippy::doc_markdown, reason = "help is no Markdown")]
    /// Archive that outlives machines: a folder that all machines share, or s3://BUCKET/PREFIX (AWS_* variables say how).
    /// Checkpoints go there, by workers with the same --archive
    #[arg(long, env = "KEIMA_ARCHIVE", value_name = "URL")]
    pub(crate) archive: Option<String>,
    /// Time between vectors that go to the archive: those at column ends, and in columns that take longer also others. 0 for each
    /// column end
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = whole(0..=1_000_000_000_u64))]
    pub(crate) archive_seconds: u64,
    /// Also archive after this many stages, within columns too [default: only time decides]
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_000_000_u64))]
    pub(crate) archive_stages: Option<u64>,
    /// Do not copy column ends to a second worker
    #[arg(long)]
    pub(crate) no_second_copies: bool,
    /// Part of each worker's tasks that another worker does again, for comparison; 0 for none
    #[arg(long, value_name = "1/N", default_value = "1/64", value_parser = parse_recount)]
    pub(crate) recount: u64,
    /// Jobs that are over and stay in the list. Of more, the first to end become files in the folder ended of --data
    #[arg(long, env = "KEIMA_KEEP_JOBS", value_name = "N", default_value_t = 1000, value_parser = whole(0..=1_000_000_000_usize))]
    pub(crate) keep_jobs: usize,
    /// Days after its end for which a job stays in the list
    #[arg(long, env = "KEIMA_KEEP_DAYS", value_name = "D", default_value_t = 90, value_parser = whole(0..=1_000_000_u64))]
    pub(crate) keep_days: u64,
    #[command(flatten)]
    pub(crate) door: DoorArgs,
    /// Format of the log on standard error
    #[arg(long, env = "KEIMA_LOG_FORMAT", value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// Collector of OpenTelemetry traces, by OTLP over gRPC: a span for each stage and task
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    pub(crate) trace_endpoint: Option<String>,
    /// Print the coordinator's URL and data folder as JSON when it is ready
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// URL of the coordinator
    #[arg(long, env = "KEIMA_COORDINATOR", value_name = "URL", default_value = "http://127.0.0.1:7700")]
    pub(crate) coordinator: String,
    #[command(flatten)]
    pub(crate) pass: PassArgs,
    /// Speak with a coordinator beyond this machine, and serve runs beyond it, without encryption and credentials
    #[arg(long, env = "KEIMA_INSECURE", value_parser = FalseyValueParser::new())]
    pub(crate) insecure: bool,
    /// Address and port to serve runs to other workers; port 0 takes any free port
    #[arg(long, env = "KEIMA_WORKER_LISTEN", value_name = "IP:PORT", default_value = "127.0.0.1:0", value_parser = listen)]
    pub(crate) listen: SocketAddr,
    /// URL under which other workers reach this one [default: the --listen address; for 0.0.0.0 and [::] the one that leads
    /// to the coordinator]
    #[arg(long, env = "KEIMA_ADVERTISE", value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// Folder for the runs, on a fast disk
    #[arg(long, env = "KEIMA_SCRATCH", value_name = "DIR")]
    pub(crate) scratch: PathBuf,
    /// The coordinator's --archive, as this machine reaches it
    #[arg(long, env = "KEIMA_ARCHIVE", value_name = "URL")]
    pub(crate) archive: Option<String>,
    /// Memory limit of the whole process [default: 2GiB, or 3/4 of the available memory if that is less]
    #[arg(long, env = "KEIMA_MEMORY", value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Size limit of the scratch folder
    #[arg(long, env = "KEIMA_DISK", value_name = "BYTES", default_value = "50GiB", value_parser = parse_bytes)]
    pub(crate) disk: u64,
    /// Number of tasks that run at the same time [default: all cores]
    #[arg(long, env = "KEIMA_THREADS", value_name = "N", value_parser = whole(1_u32..=1024))]
    pub(crate) threads: Option<u32>,
    /// Address and port of metrics and health; beyond this machine with a token file only, or insecure
    #[arg(long, env = "KEIMA_WORKER_HTTP", value_name = "IP:PORT")]
    pub(crate) http: Option<SocketAddr>,
    /// File with the token that readers of --http show, over TLS with a certificate of the worker's own
    #[arg(long, env = "KEIMA_HTTP_TOKEN_FILE", value_name = "FILE", requires = "http")]
    pub(crate) http_token_file: Option<PathBuf>,
    /// Format of the log on standard error
    #[arg(long, env = "KEIMA_LOG_FORMAT", value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// Collector of OpenTelemetry traces, by OTLP over gRPC: a span for each stage and task
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL")]
    pub(crate) trace_endpoint: Option<String>,
    /// Print the worker's name, URL and threads as JSON when it is ready
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args, Clone)]
pub(crate) struct ClientArgs {
    /// URL of the coordinator
    #[arg(long, env = "KEIMA_COORDINATOR", value_name = "URL", default_value = "http://127.0.0.1:7700")]
    pub(crate) coordinator: String,
    #[command(flatten)]
    pub(crate) pass: PassArgs,
    /// Print JSON; big integers are strings
    #[arg(long)]
    pub(crate) json: bool,
}

/// What people say of a job.
#[derive(Debug, Args, Clone)]
pub(crate) struct TermsArgs {
    /// Name of the job, taken wherever a job is named; several jobs may have one
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A line about the job, for people
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Most workers that have tasks of the job at a time
    #[arg(long, value_name = "N", value_parser = whole(0_u32..=u32::MAX))]
    pub(crate) max_workers: Option<u32>,
    /// Most bytes of the job's runs on all workers together; the plan keeps to it, and beyond it the job pauses
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes_or_none)]
    pub(crate) max_disk: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// Job, such as j1, or its name
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Another priority; higher ones go first
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = priority)]
    pub(crate) priority: Option<i32>,
    #[command(flatten)]
    pub(crate) terms: TermsArgs,
    /// Another owner
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
}

/// A state of a job, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StateArg {
    Queued,
    Running,
    Paused,
    Done,
    CheckFailed,
    Cancelled,
}

impl From<StateArg> for State {
    fn from(state: StateArg) -> Self {
        match state {
            StateArg::Queued => Self::Queued,
            StateArg::Running => Self::Running,
            StateArg::Paused => Self::Paused,
            StateArg::Done => Self::Done,
            StateArg::CheckFailed => Self::CheckFailed,
            StateArg::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Only jobs in this state; may be repeated, or hold several with commas
    #[arg(long, value_name = "STATE", value_enum, value_delimiter = ',')]
    pub(crate) state: Vec<StateArg>,
    /// Only jobs of this owner
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Only jobs of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Only jobs that were submitted within this time, such as 90m, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub(crate) since: Option<u64>,
    /// Most jobs that are listed
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole(1..=1_000_000_usize))]
    pub(crate) limit: usize,
    /// Only jobs that are older than this one: the next page
    #[arg(long, value_name = "JOB")]
    pub(crate) after: Option<String>,
    /// Jobs that have left the list, see --keep-jobs of keima coordinator
    #[arg(long)]
    pub(crate) archived: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// URL of the coordinator
    #[arg(long, env = "KEIMA_COORDINATOR", value_name = "URL", default_value = "http://127.0.0.1:7700")]
    pub(crate) coordinator: String,
    #[command(flatten)]
    pub(crate) pass: PassArgs,
    /// Print one look as plain text and end, as where standard output is no terminal
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) problem: Option<ProblemArgs>,
    /// Instead of a problem: go on with the newest checkpoint of the coordinator's archive, with its plan. The archive's URL,
    /// or a job's folder in it
    #[arg(long, value_name = "URL", conflicts_with_all = ["ProblemArgs", "PlanArgs", "priority"])]
    pub(crate) resume_from: Option<String>,
    /// With --resume-from: plan the rest anew, for the workers that are here or the limits that are given
    #[arg(long, requires = "resume_from")]
    pub(crate) replan: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Priority of the job; higher ones go first
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = priority)]
    pub(crate) priority: i32,
    #[command(flatten)]
    pub(crate) terms: TermsArgs,
    /// Who submits the job: owners share the workers [default: the name of the user]
    #[arg(long, env = "KEIMA_OWNER", value_name = "NAME")]
    pub(crate) owner: Option<String>,
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
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
}

#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Job, such as j1, or its name
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Job, such as j1, or its name
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
}
