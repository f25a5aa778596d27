//! Messages of users: jobs, their status, and workers.

use keima_coordinator::{
    AtRisk, Executor, Follows, JobAccount, JobDurability, JobFilter, JobId, JobPosition, JobProblem, JobProgress,
    JobSpec, JobStatus, JobTraffic, JobUsage, JobValues, JobWorker, MOST_NAME_BYTES, MOST_NOTE_BYTES, Outcome, Plan,
    Replan, State, Terms, TermsChange, WorkerStatus,
};
use keima_model::ProblemRequest;
use keima_runs::TaskTimes;
use keima_wire::v1;

use super::order::{options_from, options_to, worker_id};
use super::{ConvertError, NAME_BYTES, TEXT_BYTES, Wire, cut, cut_to, list_from, list_to, required, shown};

impl Wire for JobSpec {
    type Message = v1::JobSpec;
    fn to_wire(&self) -> v1::JobSpec {
        v1::JobSpec {
            problem: Some(self.problem.to_wire()),
            priority: self.priority,
            task_memory_bytes: self.task_memory_bytes,
            disk_bytes: self.disk_bytes,
            residues_per_sweep: self.residues_per_sweep,
            window: self.window,
            slots: self.slots,
            worker_slots: self.worker_slots,
            series: self.series,
            other_primes: self.other_primes,
            task_memory_of_workers: self.follows.task_memory,
            disk_of_workers: self.follows.disk,
            slots_of_workers: self.follows.slots,
            executor: match self.executor {
                Executor::Auto => v1::Executor::Auto,
                Executor::Stream => v1::Executor::Stream,
                Executor::Block => v1::Executor::Block,
            }
            .into(),
        }
    }
    fn from_wire(message: v1::JobSpec) -> Result<Self, ConvertError> {
        Ok(Self {
            problem: ProblemRequest::from_wire(required("JobSpec.problem", message.problem)?)?,
            priority: message.priority,
            task_memory_bytes: message.task_memory_bytes,
            disk_bytes: message.disk_bytes,
            residues_per_sweep: message.residues_per_sweep,
            window: message.window,
            slots: message.slots,
            worker_slots: message.worker_slots,
            series: message.series,
            other_primes: message.other_primes,
            follows: Follows {
                task_memory: message.task_memory_of_workers,
                disk: message.disk_of_workers,
                slots: message.slots_of_workers,
            },
            executor: match v1::Executor::try_from(message.executor) {
                Ok(v1::Executor::Auto) => Executor::Auto,
                Ok(v1::Executor::Stream) => Executor::Stream,
                Ok(v1::Executor::Block) => Executor::Block,
                Err(_) => return Err(ConvertError::new("JobSpec.executor", "an executor", message.executor)),
            },
        })
    }
}

impl Wire for Terms {
    type Message = v1::Terms;
    fn to_wire(&self) -> v1::Terms {
        v1::Terms {
            name: self.name.clone(),
            note: self.note.clone(),
            owner: self.owner.clone(),
            max_workers: self.max_workers.unwrap_or(0),
            max_disk_bytes: self.max_disk_bytes.unwrap_or(0),
        }
    }
    fn from_wire(message: v1::Terms) -> Result<Self, ConvertError> {
        Ok(Self {
            name: shown("Terms.name", message.name, 2 * MOST_NAME_BYTES)?,
            note: shown("Terms.note", message.note, 2 * MOST_NOTE_BYTES)?,
            owner: shown("Terms.owner", message.owner, 2 * MOST_NAME_BYTES)?,
            max_workers: Some(message.max_workers).filter(|most| *most > 0),
            max_disk_bytes: Some(message.max_disk_bytes).filter(|most| *most > 0),
        })
    }
}

/// Limits for the rest of a job, as they are asked for.
pub(crate) fn replan_from(message: v1::Replan) -> Replan {
    let v1::Replan { task_memory_bytes, disk_bytes } = message;
    Replan { task_memory_bytes, disk_bytes }
}

/// A change of terms, as it is asked for.
pub(crate) fn terms_change(message: v1::ChangeJobRequest) -> TermsChange {
    let v1::ChangeJobRequest { priority, name, note, owner, max_workers, max_disk_bytes, .. } = message;
    TermsChange { priority, name, note, owner, max_workers, max_disk_bytes }
}

/// The jobs that are asked for.
pub(crate) fn job_filter(message: v1::ListJobsRequest) -> Result<JobFilter, ConvertError> {
    let v1::ListJobsRequest { states, owner, name, since_millis, after, limit, archived, .. } = message;
    Ok(JobFilter {
        states: list_from(states)?,
        owner,
        name,
        since: since_millis,
        after: after.map(JobId),
        limit: limit as usize,
        archived,
    })
}

impl Wire for State {
    type Message = i32;
    fn to_wire(&self) -> i32 {
        let state = match self {
            Self::Queued => v1::JobState::Queued,
            Self::Running => v1::JobState::Running,
            Self::Paused => v1::JobState::Paused,
            Self::Done => v1::JobState::Done,
            Self::CheckFailed => v1::JobState::CheckFailed,
            Self::Cancelled => v1::JobState::Cancelled,
        };
        state.into()
    }
    fn from_wire(message: i32) -> Result<Self, ConvertError> {
        let unknown = || ConvertError::new("JobStatus.state", "a state of a job", message);
        Ok(match v1::JobState::try_from(message).map_err(|_| unknown())? {
            v1::JobState::Unspecified => return Err(unknown()),
            v1::JobState::Queued => Self::Queued,
            v1::JobState::Running => Self::Running,
            v1::JobState::Paused => Self::Paused,
            v1::JobState::Done => Self::Done,
            v1::JobState::CheckFailed => Self::CheckFailed,
            v1::JobState::Cancelled => Self::Cancelled,
        })
    }
}

impl Wire for JobWorker {
    type Message = v1::JobWorker;
    fn to_wire(&self) -> v1::JobWorker {
        v1::JobWorker { worker: self.worker.0.clone(), running: self.running, note: cut(self.note.clone()) }
    }
    fn from_wire(message: v1::JobWorker) -> Result<Self, ConvertError> {
        let worker = worker_id("JobWorker.worker", message.worker)?;
        Ok(Self { worker, running: message.running, note: cut(message.note) })
    }
}

impl Wire for AtRisk {
    type Message = v1::AtRisk;
    fn to_wire(&self) -> v1::AtRisk {
        v1::AtRisk { worker: self.worker.0.clone(), passes_left: self.passes_left }
    }
    fn from_wire(message: v1::AtRisk) -> Result<Self, ConvertError> {
        Ok(Self { worker: worker_id("AtRisk.worker", message.worker)?, passes_left: message.passes_left })
    }
}

impl Wire for JobStatus {
    type Message = v1::JobStatus;
    fn to_wire(&self) -> v1::JobStatus {
        v1::JobStatus {
            job: self.id.0,
            problem: self.problem.name.clone(),
            size: self.problem.size.clone(),
            options: options_to(&self.problem.options),
            state: self.state.to_wire(),
            reason: cut(self.reason.clone()),
            priority: self.account.priority,
            level: self.account.level,
            terms: Some(self.account.terms.to_wire()),
            submitted_millis: self.account.submitted_at,
            ended_millis: self.account.ended_at,
            task_seconds: self.account.task_seconds,
            waits_for: cut(self.waits_for.clone()),
            plan: self.plan.as_ref().map(Wire::to_wire),
            sweep: self.position.sweep,
            stage: self.position.stage,
            pass: self.position.pass,
            passes: self.position.passes,
            column: self.position.column,
            states: self.progress.states,
            states_done: self.progress.states_done,
            states_stage: self.progress.states_stage,
            states_per_second: self.progress.states_per_second,
            peak_states: self.progress.peak_states,
            tasks: self.progress.tasks,
            tasks_done: self.progress.tasks_done,
            tasks_running: self.progress.tasks_running,
            disk_bytes: self.usage.disk_bytes,
            disk_peak_bytes: self.usage.disk_peak_bytes,
            seconds: self.usage.seconds,
            eta_seconds: self.usage.eta_seconds,
            values_known: self.values.known,
            copied_passes: self.durability.copied_passes,
            at_risk: self.durability.at_risk.as_ref().map(Wire::to_wire),
            resumed_from: self.durability.resumed_from.clone(),
            outcome: self.outcome.as_ref().map(Wire::to_wire),
            notes: self.notes.iter().cloned().map(cut).collect(),
            bytes_read: self.traffic.bytes_read,
            bytes_written: self.traffic.bytes_written,
            bytes_spilled: self.traffic.bytes_spilled,
            times: Some(self.traffic.times.to_wire()),
            workers: list_to(&self.workers),
        }
    }
    fn from_wire(message: v1::JobStatus) -> Result<Self, ConvertError> {
        let option = |(name, value)| {
            let name = shown("JobStatus.options", name, NAME_BYTES)?;
            Ok((name, shown("JobStatus.options", value, TEXT_BYTES)?))
        };
        Ok(Self {
            id: JobId(message.job),
            problem: JobProblem {
                name: shown("JobStatus.problem", message.problem, NAME_BYTES)?,
                size: shown("JobStatus.size", message.size, NAME_BYTES)?,
                options: options_from(message.options)?.into_iter().map(option).collect::<Result<_, _>>()?,
            },
            state: State::from_wire(message.state)?,
            reason: cut(message.reason),
            account: JobAccount {
                priority: message.priority,
                level: message.level,
                terms: message.terms.map(Terms::from_wire).transpose()?.unwrap_or_default(),
                submitted_at: message.submitted_millis,
                ended_at: message.ended_millis,
                task_seconds: message.task_seconds,
            },
            waits_for: cut(message.waits_for),
            plan: message.plan.map(Plan::from_wire).transpose()?,
            position: JobPosition {
                sweep: message.sweep,
                stage: message.stage,
                pass: message.pass,
                passes: message.passes,
                column: message.column,
            },
            progress: JobProgress {
                states: message.states,
                states_done: message.states_done,
                states_stage: message.states_stage,
                states_per_second: message.states_per_second,
                peak_states: message.peak_states,
                tasks: message.tasks,
                tasks_done: message.tasks_done,
                tasks_running: message.tasks_running,
            },
            usage: JobUsage {
                disk_bytes: message.disk_bytes,
                disk_peak_bytes: message.disk_peak_bytes,
                seconds: message.seconds,
                eta_seconds: message.eta_seconds,
            },
            values: JobValues { known: message.values_known, series: Vec::new() },
            durability: JobDurability {
                copied_passes: message.copied_passes,
                at_risk: message.at_risk.map(AtRisk::from_wire).transpose()?,
                resumed_from: message.resumed_from.map(cut),
            },
            outcome: message.outcome.map(Outcome::from_wire).transpose()?,
            notes: message.notes.into_iter().map(cut).collect(),
            traffic: JobTraffic {
                bytes_read: message.bytes_read,
                bytes_written: message.bytes_written,
                bytes_spilled: message.bytes_spilled,
                times: TaskTimes::from_wire(required("JobStatus.times", message.times)?)?,
            },
            workers: list_from(message.workers)?,
        })
    }
}

/// Longest reason why a worker gets no tasks of a job, in the list of workers. The job's status has the whole.
const ASIDE_BYTES: usize = 300;

impl Wire for WorkerStatus {
    type Message = v1::WorkerStatus;
    fn to_wire(&self) -> v1::WorkerStatus {
        let brief = |reason: &String| cut_to(reason.clone(), ASIDE_BYTES);
        let aside = |(job, reason): &(JobId, String)| v1::SetAside { job: job.0, reason: brief(reason) };
        v1::WorkerStatus {
            worker: self.id.0.clone(),
            address: self.address.clone(),
            folder: self.folder.clone(),
            here: self.here,
            silent_millis: self.silent_millis,
            slots: self.slots,
            running: self.running,
            task_memory_bytes: self.task_memory_bytes,
            disk_bytes: self.disk_bytes,
            disk_used_bytes: self.disk_used_bytes,
            runs: self.runs,
            set_aside: self.set_aside.iter().map(aside).collect(),
            memory_used_bytes: self.memory_used_bytes,
        }
    }
    fn from_wire(message: v1::WorkerStatus) -> Result<Self, ConvertError> {
        Ok(Self {
            id: worker_id("WorkerStatus.worker", message.worker)?,
            address: shown("WorkerStatus.address", message.address, 1024)?,
            folder: shown("WorkerStatus.folder", message.folder, 4096)?,
            here: message.here,
            silent_millis: message.silent_millis,
            slots: message.slots,
            running: message.running,
            task_memory_bytes: message.task_memory_bytes,
            disk_bytes: message.disk_bytes,
            disk_used_bytes: message.disk_used_bytes,
            memory_used_bytes: message.memory_used_bytes,
            runs: message.runs,
            set_aside: message.set_aside.into_iter().map(|a| (JobId(a.job), cut(a.reason))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use keima_coordinator::{MOST_SET_ASIDE, MOST_WORKERS, WorkerId};
    use prost::Message as _;

    use super::*;
    use crate::transport::grpc::ANSWER_BYTES;

    /// The list of workers has no pages: the longest one is an answer.
    #[test]
    fn all_workers_fit_in_one_answer() {
        let most = WorkerStatus {
            id: WorkerId("w".repeat(NAME_BYTES)),
            address: "a".repeat(1024),
            folder: "f".repeat(4096),
            here: true,
            silent_millis: u64::MAX,
            slots: u32::MAX,
            running: u32::MAX,
            task_memory_bytes: u64::MAX,
            disk_bytes: u64::MAX,
            disk_used_bytes: u64::MAX,
            memory_used_bytes: Some(u64::MAX),
            runs: u64::MAX,
            set_aside: vec![(JobId(u64::MAX), "no ".repeat(TEXT_BYTES)); MOST_SET_ASIDE],
        };
        let list = v1::ListWorkersResponse { workers: vec![most.to_wire()] };
        let bytes = list.encoded_len() * MOST_WORKERS;
        println!("{MOST_WORKERS} workers take at most {bytes} bytes");
        assert!(bytes < ANSWER_BYTES, "{bytes}");
        assert!(list.workers[0].set_aside[0].reason.starts_with("no no "));
    }
}
