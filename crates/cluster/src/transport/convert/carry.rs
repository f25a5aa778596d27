//! A worker's calls and their answers as the bytes that go over the wire, without a connection: for measurements of the
//! coordinator. The frames and headers of HTTP/2 are not among them.

use keima_coordinator::{Grant, Hello, Housekeeping, Report, Running, Used, Verdict, Wanted, Welcome};
use keima_orders::{AttemptId, WorkerId};
use keima_runs::RunId;
use keima_wire::v1;
use prost::{DecodeError, Message};

use super::pages::{Joining, Paged};
use super::{ConvertError, Wire, list_from, list_to, required, run_ids, worker_id};

/// A call of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// The worker introduces itself.
    Hello(Hello),
    /// It asks for work.
    Pull {
        /// Who asks.
        worker: WorkerId,
        /// Its epoch.
        epoch: u64,
        /// What it wants.
        wanted: Wanted,
    },
    /// It lives.
    Heartbeat {
        /// Who lives.
        worker: WorkerId,
        /// Its epoch.
        epoch: u64,
        /// What it works on.
        running: Vec<Running>,
        /// The runs that it holds.
        held: Vec<RunId>,
        /// What it uses of its machine.
        used: Used,
    },
    /// It reports an attempt's end.
    Report {
        /// Who reports.
        worker: WorkerId,
        /// Its epoch.
        epoch: u64,
        /// The attempt.
        attempt: AttemptId,
        /// The attempt's nonce.
        nonce: u64,
        /// How it ended.
        report: Report,
    },
}

/// The coordinator's answer to a [`Call`] that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To a hello.
    Welcome(Welcome),
    /// To a pull.
    Pulled(Option<Grant>),
    /// To a heartbeat.
    Heard(Housekeeping),
    /// To a report.
    Told(Verdict, Housekeeping),
}

/// Which message some bytes are; over gRPC the path of the call says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// [`Call::Hello`].
    Hello,
    /// [`Call::Pull`].
    Pull,
    /// [`Call::Heartbeat`].
    Heartbeat,
    /// [`Call::Report`].
    Report,
}

/// Bytes that are no message.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// They are not protobuf.
    #[error("no message of this kind: {0}; the peer may be of another build of keima")]
    Decode(#[from] DecodeError),
    /// A field makes no sense.
    #[error(transparent)]
    Convert(#[from] ConvertError),
}

impl Call {
    /// Which message carries it.
    pub const fn kind(&self) -> CallKind {
        match self {
            Self::Hello(_) => CallKind::Hello,
            Self::Pull { .. } => CallKind::Pull,
            Self::Heartbeat { .. } => CallKind::Heartbeat,
            Self::Report { .. } => CallKind::Report,
        }
    }

    /// The message that a worker sends.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => hello.to_wire().encode_to_vec(),
            Self::Pull { worker, epoch, wanted } => {
                let copy = *wanted == Wanted::Copy;
                v1::PullTaskRequest { worker: worker.0.clone(), epoch: *epoch, copy }.encode_to_vec()
            }
            Self::Heartbeat { worker, epoch, running, held, used } => v1::HeartbeatRequest {
                worker: worker.0.clone(),
                epoch: *epoch,
                running: list_to(running),
                held: held.iter().map(|run| run.0.clone()).collect(),
                disk_used_bytes: used.disk_bytes,
                memory_used_bytes: used.memory_bytes,
            }
            .encode_to_vec(),
            Self::Report { worker, epoch, attempt, nonce, report } => v1::ReportTaskRequest {
                worker: worker.0.clone(),
                epoch: *epoch,
                attempt: Some(attempt.to_wire()),
                nonce: *nonce,
                report: Some(report.to_wire()),
            }
            .encode_to_vec(),
        }
    }

    /// What the coordinator makes of a message.
    pub fn from_bytes(kind: CallKind, bytes: &[u8]) -> Result<Self, CarryError> {
        Self::from_pages(kind, [bytes])
    }

    /// What it makes of a call of several messages. A pull has one.
    pub fn from_pages<'b>(kind: CallKind, pages: impl IntoIterator<Item = &'b [u8]>) -> Result<Self, CarryError> {
        let pages = pages.into_iter();
        Ok(match kind {
            CallKind::Hello => Self::Hello(Hello::from_wire(joined(pages)?)?),
            CallKind::Pull => {
                let message: v1::PullTaskRequest = first(pages)?;
                let wanted = if message.copy { Wanted::Copy } else { Wanted::Task };
                let worker = worker_id("PullTaskRequest.worker", message.worker)?;
                Self::Pull { worker, epoch: message.epoch, wanted }
            }
            CallKind::Heartbeat => {
                let message: v1::HeartbeatRequest = joined(pages)?;
                Self::Heartbeat {
                    worker: worker_id("HeartbeatRequest.worker", message.worker)?,
                    epoch: message.epoch,
                    running: list_from(message.running)?,
                    held: run_ids("HeartbeatRequest.held", message.held)?,
                    used: Used { disk_bytes: message.disk_used_bytes, memory_bytes: message.memory_used_bytes },
                }
            }
            CallKind::Report => {
                let message: v1::ReportTaskRequest = joined(pages)?;
                Self::Report {
                    worker: worker_id("ReportTaskRequest.worker", message.worker)?,
                    epoch: message.epoch,
                    attempt: AttemptId::from_wire(required("ReportTaskRequest.attempt", message.attempt)?)?,
                    nonce: message.nonce,
                    report: Report::from_wire(required("ReportTaskRequest.report", message.report)?)?,
                }
            }
        })
    }
}

/// The first message of a call. Without any it is empty, as for a service.
fn first<'b, P: Message + Default>(mut pages: impl Iterator<Item = &'b [u8]>) -> Result<P, DecodeError> {
    P::decode(pages.next().unwrap_or_default())
}

/// The messages of a call as one.
fn joined<'b, P: Paged + Message + Default>(mut pages: impl Iterator<Item = &'b [u8]>) -> Result<P, CarryError> {
    let mut joining = Joining::new(first(&mut pages)?);
    for page in pages {
        joining.add(P::decode(page)?)?;
    }
    Ok(joining.whole())
}

impl Answer {
    /// The message that the coordinator sends.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Welcome(welcome) => welcome.to_wire().encode_to_vec(),
            Self::Pulled(grant) => v1::PullTaskResponse { grant: grant.as_ref().map(Wire::to_wire) }.encode_to_vec(),
            Self::Heard(housekeeping) => {
                v1::HeartbeatResponse { housekeeping: Some(housekeeping.to_wire()) }.encode_to_vec()
            }
            Self::Told(verdict, housekeeping) => (verdict.clone(), housekeeping.clone()).to_wire().encode_to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use keima_coordinator::{Failure, JobId};

    use super::*;

    #[test]
    fn calls_come_out_as_they_went_in() {
        let (worker, epoch) = (WorkerId("w1".into()), 7);
        let attempt = AttemptId { job: JobId(3), sweep: 0, generation: 12, task: 5, attempt: 1 };
        let running = vec![Running { attempt, nonce: 9, states_done: 8, pulse: 2 }];
        let held = vec![RunId("j3/s0/g12/t5/a1/r0".into())];
        let report = Report::Failed(Failure::Disk { text: "full".into() });
        let used = |memory_bytes| Used { disk_bytes: 4, memory_bytes };
        for call in [
            Call::Pull { worker: worker.clone(), epoch, wanted: Wanted::Copy },
            Call::Pull { worker: worker.clone(), epoch, wanted: Wanted::Task },
            Call::Heartbeat { worker: worker.clone(), epoch, running, held, used: used(Some(5)) },
            Call::Heartbeat { worker: worker.clone(), epoch, running: Vec::new(), held: Vec::new(), used: used(None) },
            Call::Report { worker, epoch, attempt, nonce: 9, report },
        ] {
            assert_eq!(Call::from_bytes(call.kind(), &call.to_bytes()).unwrap(), call);
        }
        assert!(Call::from_bytes(CallKind::Report, &[255]).is_err());
        assert!(Call::from_bytes(CallKind::Report, &[]).is_err(), "a report of nothing");
    }
}
