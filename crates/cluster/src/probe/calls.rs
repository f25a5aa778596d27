//! A request as a service takes it out of its message.

use keima_coordinator::{JobFilter, JobId, JobSpec, Terms, TermsChange};
use keima_orders::WorkerId;
use keima_wire::{Message, v1};

use crate::transport::convert::carry::{Call, CallKind};
use crate::transport::convert::{TEXT_BYTES, Wire, bounded, job_filter, required, terms_change, worker_id};

/// A request of a worker or a user.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A worker's, but for a goodbye.
    Call(Box<Call>),
    /// A worker leaves.
    Goodbye(WorkerId, u64),
    /// A job is submitted.
    Submit(Box<JobSpec>, Terms),
    /// A job goes on with a checkpoint.
    ResumeFrom(String, Terms),
    /// Jobs are listed.
    List(JobFilter),
    /// A job's terms change.
    Change(JobId, TermsChange),
    /// A job is looked at, paused, resumed or cancelled: all have its number alone.
    Job(JobId),
}

/// Decodes and checks a request, whose kind `kind` chooses. `None` where it is refused.
pub fn asked(kind: u8, bytes: &[u8]) -> Option<Asked> {
    let call = |kind| Call::from_bytes(kind, bytes).ok().map(|call| Asked::Call(Box::new(call)));
    match kind % 9 {
        0 => call(CallKind::Hello),
        1 => call(CallKind::Pull),
        2 => call(CallKind::Heartbeat),
        3 => call(CallKind::Report),
        4 => {
            let message = v1::SayGoodbyeRequest::decode(bytes).ok()?;
            let worker = worker_id("SayGoodbyeRequest.worker", message.worker).ok()?;
            Some(Asked::Goodbye(worker, message.epoch))
        }
        5 => submission(v1::SubmitJobRequest::decode(bytes).ok()?),
        6 => Some(Asked::List(job_filter(v1::ListJobsRequest::decode(bytes).ok()?).ok()?)),
        7 => {
            let message = v1::ChangeJobRequest::decode(bytes).ok()?;
            Some(Asked::Change(JobId(message.job), terms_change(message)))
        }
        _ => Some(Asked::Job(JobId(v1::GetJobRequest::decode(bytes).ok()?.job))),
    }
}

fn submission(message: v1::SubmitJobRequest) -> Option<Asked> {
    let terms = message.terms.map(Terms::from_wire).transpose().ok()?.unwrap_or_default();
    if message.resume_from.is_empty() {
        let spec = JobSpec::from_wire(required("SubmitJobRequest.spec", message.spec).ok()?).ok()?;
        return Some(Asked::Submit(Box::new(spec), terms));
    }
    let from = bounded("SubmitJobRequest.resume_from", message.resume_from, TEXT_BYTES).ok()?;
    Some(Asked::ResumeFrom(from, terms))
}
