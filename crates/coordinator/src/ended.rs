//! A job that has left the store: all that is known of it, as one file.
//!
//! ```text
//!   {"about":"a job of keima that is over","version":1,"status":{...},     the first line: enough for a list of jobs
//!   "problem":"go","size":"13x13","count":"...","checks":[...],...,        as `keima result --json` prints it
//!   "series":[...],                                                        all functionals
//!   "pass_states":[...],"tasks_finished":...,...,                          what a page shows beside the status
//!   "certificate":{...}}                                                   null where there is none
//! ```
//!
//! The whole is one JSON object, so `keima verify` takes the file as it is. Its line breaks serve the list of jobs, which reads
//! the first line alone, or the whole of a file that somebody wrapped in another way. Big integers are texts.
//!
//! Cost: the length of the file, about the certificate's.

use keima_orders::JobId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::certificate::canonical;
use crate::job::shown::page::JobView;
use crate::job::shown::status::JobStatus;
use crate::outcome::{Check, SeriesEntry};

/// What the file says of itself.
const ABOUT: &str = "a job of keima that is over";
/// Version of the file. One of a later version is refused.
const VERSION: u32 = 1;
/// Most letters of the problem and the size in a file's name.
const MOST_LETTERS: usize = 80;

/// A job that is over, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedJob {
    /// What a page shows, with all values.
    pub view: JobView,
    /// The certificate in canonical form, of a job that is done.
    pub certificate: Option<String>,
}

/// Why a file is no record of a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndedJobError {
    /// It is none, or damaged.
    #[error("expected the record of a job that is over, got something else: {0}; put the file back from a copy")]
    Form(String),
    /// A later program wrote it.
    #[error(
        "expected a record of version {expected} or older, got version {got}; read it with the keima that wrote it"
    )]
    Version {
        /// What this program reads.
        expected: u32,
        /// What the file says.
        got: u32,
    },
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    about: String,
    version: u32,
    status: JobStatus,
}

/// What is read of a file of any version.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// What the lines after the result hold, but for the certificate.
#[derive(Serialize)]
struct Rest<'a> {
    series: &'a [SeriesEntry],
    pass_states: &'a [Option<u64>],
    checks_on_the_way: &'a [Check],
    tasks_finished: u64,
    failed_attempts: u64,
    fall_backs: u64,
}

/// What is read back.
#[derive(Deserialize)]
struct Whole {
    status: JobStatus,
    series: Vec<SeriesEntry>,
    pass_states: Vec<Option<u64>>,
    checks_on_the_way: Vec<Check>,
    tasks_finished: u64,
    failed_attempts: u64,
    fall_backs: u64,
    certificate: Option<Value>,
}

fn form(error: &serde_json::Error) -> EndedJobError {
    EndedJobError::Form(error.to_string())
}

fn check(version: u32) -> Result<(), EndedJobError> {
    if version <= VERSION { Ok(()) } else { Err(EndedJobError::Version { expected: VERSION, got: version }) }
}

impl EndedJob {
    /// The job.
    pub fn id(&self) -> JobId {
        self.view.status.id
    }

    /// Name of its file: `j17-go-13x13.json`.
    pub fn file_name(&self) -> String {
        let JobStatus { id, problem, .. } = &self.view.status;
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' };
        let words: String =
            format!("{}-{}", problem.name, problem.size).chars().take(MOST_LETTERS).map(plain).collect();
        format!("{id}-{words}.json")
    }

    /// The job of a file's name, if it is such a name.
    pub fn job_of(file_name: &str) -> Option<JobId> {
        let (id, _) = file_name.strip_prefix('j')?.strip_suffix(".json")?.split_once('-')?;
        id.parse().ok().map(JobId).filter(|job| job.0.to_string() == id)
    }

    /// The file.
    pub fn encode(&self) -> Result<Vec<u8>, EndedJobError> {
        let JobView { status, pass_states, checks, tasks_finished, failed_attempts, fall_backs, .. } = &self.view;
        let mut brief = status.clone();
        brief.set_values(Vec::new());
        let rest = Rest {
            series: status.values(),
            pass_states,
            checks_on_the_way: checks,
            tasks_finished: *tasks_finished,
            failed_attempts: *failed_attempts,
            fall_backs: *fall_backs,
        };
        let head = Head { about: ABOUT.to_owned(), version: VERSION, status: brief };
        let parts = [members(&head)?, members(&result(status))?, members(&rest)?];
        let certificate = self.certificate.as_deref().unwrap_or("null");
        Ok(format!("{{{},\n\"certificate\":{certificate}}}\n", parts.join(",\n")).into_bytes())
    }

    /// Reads a file.
    pub fn decode(bytes: &[u8]) -> Result<Self, EndedJobError> {
        let Version { version } = serde_json::from_slice(bytes).map_err(|error| form(&error))?;
        check(version)?;
        let whole: Whole = serde_json::from_slice(bytes).map_err(|error| form(&error))?;
        let mut status = whole.status;
        status.set_values(whole.series);
        let view = JobView {
            status,
            pass_states: whole.pass_states,
            running: Vec::new(),
            median_millis: None,
            checks: whole.checks_on_the_way,
            durable: None,
            tasks_finished: whole.tasks_finished,
            failed_attempts: whole.failed_attempts,
            fall_backs: whole.fall_backs,
        };
        Ok(Self { view, certificate: whole.certificate.as_ref().map(canonical) })
    }

    /// The job's status without its values, from the first line of its file.
    pub fn decode_first_line(line: &str) -> Result<JobStatus, EndedJobError> {
        let object = format!("{}}}", line.trim_end().trim_end_matches(','));
        let Head { version, status, .. } = serde_json::from_str(&object).map_err(|error| form(&error))?;
        check(version)?;
        Ok(status)
    }
}

/// An object's text without its braces.
fn members<T: Serialize>(part: &T) -> Result<String, EndedJobError> {
    let text = serde_json::to_string(part).map_err(|error| form(&error))?;
    Ok(text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default().to_owned())
}

/// What `keima result --json` prints, but for tables and certificate.
fn result(status: &JobStatus) -> Value {
    let (problem, outcome) = (&status.problem, status.outcome.as_ref());
    let count = outcome.filter(|outcome| outcome.ok).map(|outcome| outcome.count.clone());
    json!({
        "problem": problem.name,
        "size": problem.size,
        "options": problem.options.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect::<Map<_, _>>(),
        "count": count,
        "residues": outcome.map(|outcome| &outcome.residues),
        "checks": outcome.map(|outcome| &outcome.checks),
        "seconds": status.usage.seconds,
        "peak_states": status.progress.peak_states,
        "job": status.id.to_string(),
        "state": status.state.to_string(),
        "reason": status.reason,
        "notes": status.notes,
        "identity": outcome.map(|outcome| outcome.identity.clone()),
        "builds": outcome.map(|outcome| outcome.builds.clone()),
    })
}
