//! What a user's program reads of a coordinator: the answers to one call, put together as the client does it.

use keima_coordinator::{JobStatus, WorkerStatus};
use keima_wire::{Message, v1};

use crate::transport::convert::{Wire, list_from};
use crate::transport::grpc::{Joined, Pieces};

/// Decodes and checks the answers to a call. `kind` chooses the call; of each answer there are two bytes with its length, then the
/// answer. Returns the jobs that they tell of; `None` where one is refused.
pub fn answered(kind: u8, bytes: &[u8]) -> Option<Vec<JobStatus>> {
    match kind % 3 {
        0 => {
            let mut joined = Joined::of(Pieces { newest_values: u32::MAX, certificate: true });
            for answer in Answers(bytes) {
                joined.add(v1::GetJobResponse::decode(answer).ok()?).ok()?;
            }
            Some(vec![joined.job().ok()?.0])
        }
        1 => {
            let mut jobs = Vec::new();
            for answer in Answers(bytes) {
                jobs.append(&mut list_from(v1::ListJobsResponse::decode(answer).ok()?.jobs).ok()?);
            }
            Some(jobs)
        }
        _ => {
            for answer in Answers(bytes) {
                let _: Vec<WorkerStatus> = list_from(v1::ListWorkersResponse::decode(answer).ok()?.workers).ok()?;
            }
            Some(Vec::new())
        }
    }
}

/// The answers that tell of a job: its status, and its values apart from it. The form is that of [`answered`].
pub fn answers_of(job: &JobStatus) -> Vec<u8> {
    let mut brief = job.clone();
    brief.set_values(Vec::new());
    let values = job.values().iter().map(Wire::to_wire).collect();
    let status = v1::GetJobResponse { status: Some(brief.to_wire()), ..Default::default() };
    let values = v1::GetJobResponse { values, certificate: Some("{}".to_owned()), ..Default::default() };
    [status, values].iter().flat_map(|answer| one(&answer.encode_to_vec())).collect()
}

/// A list with one job.
pub fn list_of(job: &JobStatus) -> Vec<u8> {
    one(&v1::ListJobsResponse { jobs: vec![job.to_wire()], next: None }.encode_to_vec())
}

fn one(answer: &[u8]) -> Vec<u8> {
    [&(answer.len() as u16).to_le_bytes()[..], answer].concat()
}

/// Answers, one after the other.
struct Answers<'a>(&'a [u8]);

impl<'a> Iterator for Answers<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (answer, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        self.0 = rest;
        Some(answer)
    }
}
