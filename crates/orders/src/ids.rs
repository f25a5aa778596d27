//! Names of jobs, workers and attempts.

use std::fmt;

use keima_runs::RunId;
use serde::{Deserialize, Serialize};

/// Number of a job, from 1; shown as `j1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobId(pub u64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "j{}", self.0)
    }
}

/// Name that a worker keeps in its scratch folder for life.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkerId(pub String);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One grant of one task. Its `Display` form, `j3/s0/g12/t5/a0`, is the attempt's folder below `scratch`.
///
/// `generation` grows when a job falls back to an older boundary, so that no two attempts in a job's life share a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptId {
    /// The job.
    pub job: JobId,
    /// Sweep, from 0.
    pub sweep: u32,
    /// How many stages of this job were started before; unique per started stage.
    pub generation: u32,
    /// Task within the stage.
    pub task: u32,
    /// Grant of the task, from 0.
    pub attempt: u32,
}

impl AttemptId {
    /// The job that a run's name begins with. Cheaper than [`AttemptId::of_run`], and for any name that begins so.
    pub fn job_of_run(run: &RunId) -> Option<JobId> {
        run.0.strip_prefix('j')?.split_once('/')?.0.parse().ok().map(JobId)
    }

    /// The attempt that wrote a run, by the run's name; `None` where no attempt gives such a name.
    pub fn of_run(run: &RunId) -> Option<Self> {
        let mut parts = run.0.split('/');
        let mut number = |letter: char| plain_number(parts.next()?.strip_prefix(letter)?);
        let job = JobId(number('j')?);
        let mut short = |letter| u32::try_from(number(letter)?).ok();
        let attempt =
            Self { job, sweep: short('s')?, generation: short('g')?, task: short('t')?, attempt: short('a')? };
        // The attempt's name alone is a folder's.
        parts.next().map(|_| attempt)
    }
}

/// A number as `Display` writes it. Leading zeros and signs would give one attempt several names.
fn plain_number(text: &str) -> Option<u64> {
    let is_plain = text == "0" || text.starts_with(|first: char| first.is_ascii_digit() && first != '0');
    if is_plain { text.parse().ok() } else { None }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s{}/g{}/t{}/a{}", self.job, self.sweep, self.generation, self.task, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_name_their_attempt() {
        let attempt = AttemptId { job: JobId(3), sweep: 0, generation: 12, task: 5, attempt: 1 };
        for (run, expected) in [
            ("j3/s0/g12/t5/a1/r0", Some(attempt)),
            ("j3/s0/g12/t5/a01/r0", None),
            ("j3/s0/g12/t5/a+1/r0", None),
            ("j03/s0/g12/t5/a1/r0", None),
            ("j3/s00/g12/t5/a1/r0", None),
            ("j3/s/g12/t5/a1/r0", None),
            ("j3/s0/g12/t5/a1 /r0", None),
            ("j3/s0/g12/t5/a1", None),
            ("j3/s0/g12/t5/a1/", Some(attempt)),
            ("j3/s0/g12/t5/a11/r0", Some(AttemptId { attempt: 11, ..attempt })),
            ("j3/s0/g12/t4294967296/a1/r0", None),
            ("", None),
        ] {
            assert_eq!(AttemptId::of_run(&RunId(run.to_owned())), expected, "{run}");
        }
    }
}
