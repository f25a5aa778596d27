//! What a user's program reads of a coordinator: the answers to one call, put together as the client does it.

use keima_coordinator::{JobStatus, WorkerStatus};
use keima_wire::{Message, v1};

use crate::transport::convert::{Wire, list_from};
use crate::transport::grpc::{Joined, Pieces, Watched};

use super::framed::{Framed, framed};

/// Decodes and checks the answers to a call. `kind` chooses the call; the answers are [`Framed`]. Returns the jobs that they tell
/// of; `None` where one is refused.
pub fn answered(kind: u8, bytes: &[u8]) -> Option<Vec<JobStatus>> {
    match kind % 4 {
        0 => {
            let mut joined = Joined::of(Pieces { newest_values: u32::MAX, certificate: true });
            for answer in Framed(bytes) {
                joined.add(v1::GetJobResponse::decode(answer).ok()?).ok()?;
            }
            Some(vec![joined.job().ok()?.0])
        }
        1 => {
            let mut jobs = Vec::new();
            for answer in Framed(bytes) {
                jobs.append(&mut list_from(v1::ListJobsResponse::decode(answer).ok()?.jobs).ok()?);
            }
            Some(jobs)
        }
        2 => {
            for answer in Framed(bytes) {
                let _: Vec<WorkerStatus> = list_from(v1::ListWorkersResponse::decode(answer).ok()?.workers).ok()?;
            }
            Some(Vec::new())
        }
        _ => {
            let (mut watched, mut jobs) = (Watched::default(), Vec::new());
            for answer in Framed(bytes) {
                jobs.extend(watched.add(v1::WatchJobResponse::decode(answer).ok()?).ok()?);
            }
            Some(jobs)
        }
    }
}

/// The answers that tell of a job: its status, and its values apart from it. The form is that of [`Framed`].
pub fn answers_of(job: &JobStatus) -> Vec<u8> {
    let mut brief = job.clone();
    brief.set_values(Vec::new());
    let values = job.values().iter().map(Wire::to_wire).collect();
    let status = v1::GetJobResponse { status: Some(brief.to_wire()), ..Default::default() };
    let values = v1::GetJobResponse { values, certificate: Some("{}".to_owned()), ..Default::default() };
    framed([status, values].map(|answer| answer.encode_to_vec()))
}

/// What a watcher of a job is sent: its values, and then its status, twice.
pub fn watch_of(job: &JobStatus) -> Vec<u8> {
    let mut brief = job.clone();
    brief.set_values(Vec::new());
    let values = v1::WatchJobResponse { status: None, values: job.values().iter().map(Wire::to_wire).collect() };
    let status = v1::WatchJobResponse { status: Some(brief.to_wire()), values: Vec::new() };
    framed([&values, &status, &status].map(Message::encode_to_vec))
}

/// A list with one job.
pub fn list_of(job: &JobStatus) -> Vec<u8> {
    framed([v1::ListJobsResponse { jobs: vec![job.to_wire()], next: None }.encode_to_vec()])
}
