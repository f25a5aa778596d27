//! A request as a service takes it out of its message.

use keima_coordinator::{JobFilter, JobId, JobSpec, Replan, Terms, TermsChange};
use keima_orders::WorkerId;
use keima_wire::{Message, v1};

use crate::transport::convert::carry::{Call, CallKind};
use crate::transport::convert::{
    TEXT_BYTES, Wire, bounded, job_filter, replan_from, required, terms_change, worker_id,
};

use super::framed::Framed;

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
    ResumeFrom(String, Terms, Option<Replan>),
    /// Jobs are listed.
    List(JobFilter),
    /// A job's terms change.
    Change(JobId, TermsChange),
    /// A job is looked at.
    Job(JobId),
    /// A job is paused.
    Pause(JobId),
    /// It goes on.
    Resume(JobId),
    /// It is cancelled.
    Cancel(JobId),
    /// It is watched by somebody who has so many of its values.
    Watch(JobId, usize),
    /// Workers are listed.
    Workers,
}

/// Decodes and checks a request, whose kind `kind` chooses; what may come in several messages is [`Framed`] in some of them.
/// `None` where it is refused.
pub fn asked(kind: u8, bytes: &[u8]) -> Option<Asked> {
    let call = |kind| Call::from_bytes(kind, bytes).ok().map(|call| Asked::Call(Box::new(call)));
    let paged = |kind| Call::from_pages(kind, Framed(bytes)).ok().map(|call| Asked::Call(Box::new(call)));
    match kind % 17 {
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
        8 => Some(Asked::Job(JobId(v1::GetJobRequest::decode(bytes).ok()?.job))),
        9 => paged(CallKind::Hello),
        10 => paged(CallKind::Heartbeat),
        11 => paged(CallKind::Report),
        12 => Some(Asked::Pause(JobId(v1::PauseJobRequest::decode(bytes).ok()?.job))),
        13 => Some(Asked::Resume(JobId(v1::ResumeJobRequest::decode(bytes).ok()?.job))),
        14 => Some(Asked::Cancel(JobId(v1::CancelJobRequest::decode(bytes).ok()?.job))),
        15 => {
            let v1::WatchJobRequest { job, values_known, .. } = v1::WatchJobRequest::decode(bytes).ok()?;
            Some(Asked::Watch(JobId(job), values_known as usize))
        }
        _ => v1::ListWorkersRequest::decode(bytes).ok().map(|_| Asked::Workers),
    }
}

fn submission(message: v1::SubmitJobRequest) -> Option<Asked> {
    let terms = message.terms.map(Terms::from_wire).transpose().ok()?.unwrap_or_default();
    if message.resume_from.is_empty() {
        let spec = JobSpec::from_wire(required("SubmitJobRequest.spec", message.spec).ok()?).ok()?;
        return Some(Asked::Submit(Box::new(spec), terms));
    }
    let from = bounded("SubmitJobRequest.resume_from", message.resume_from, TEXT_BYTES).ok()?;
    Some(Asked::ResumeFrom(from, terms, message.replan.map(replan_from)))
}
