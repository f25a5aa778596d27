//! What the printers of results need of a count, whether it was a job or a count in memory.

use std::collections::BTreeMap;

use keima_coordinator::{JobId, JobStatus, Outcome, Plan, State};
use keima_count::InMemoryResult;
use keima_http::json::Statistics;
use keima_model::ProblemRequest;
use serde_json::Value;

/// Fields of the JSON object that the process knows and the job's status does not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra(pub(crate) BTreeMap<&'static str, Value>);

/// A count that is over, or a job at the time of its status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished<'a> {
    /// j1 for a count in one process.
    pub(crate) job: JobId,
    pub(crate) problem: &'a str,
    /// Size as the problem writes it.
    pub(crate) size: &'a str,
    pub(crate) options: &'a [(String, String)],
    pub(crate) state: State,
    /// Reason of the state; may be empty.
    pub(crate) reason: &'a str,
    pub(crate) plan: Option<&'a Plan>,
    pub(crate) outcome: Option<&'a Outcome>,
    pub(crate) seconds: f64,
    pub(crate) peak_states: u64,
    pub(crate) resumed_from: Option<&'a str>,
    pub(crate) notes: &'a [String],
    pub(crate) statistics: Statistics,
    /// The evidence, where there is some.
    pub(crate) certificate: Option<&'a Value>,
}

impl<'a> Finished<'a> {
    pub(crate) fn of_job(status: &'a JobStatus, certificate: Option<&'a Value>) -> Self {
        Self {
            certificate,
            job: status.id,
            problem: &status.problem.name,
            size: &status.problem.size,
            options: &status.problem.options,
            state: status.state,
            reason: &status.reason,
            plan: status.plan.as_ref(),
            outcome: status.outcome.as_ref(),
            seconds: status.usage.seconds,
            peak_states: status.progress.peak_states,
            resumed_from: status.durability.resumed_from.as_deref(),
            notes: &status.notes,
            statistics: Statistics::of_job(status),
        }
    }

    pub(crate) fn in_memory(request: &'a ProblemRequest, result: &'a InMemoryResult) -> Self {
        Self {
            certificate: result.certificate.as_ref(),
            job: JobId(1),
            problem: &request.name,
            size: &result.outcome.size,
            options: &request.options,
            state: if result.outcome.ok { State::Done } else { State::CheckFailed },
            reason: &result.reason,
            plan: Some(&result.plan),
            outcome: Some(&result.outcome),
            seconds: result.seconds,
            peak_states: result.plan.peak_states,
            resumed_from: result.resumed_from.as_deref(),
            notes: &[],
            statistics: Statistics { times: result.times, ..Statistics::default() },
        }
    }
}
