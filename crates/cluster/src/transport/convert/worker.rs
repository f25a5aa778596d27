//! Messages between workers and the coordinator.

use keima_coordinator::{AttemptId, Failure, Hello, Holder, Housekeeping, Report, Running, StoreId, Verdict, Welcome};
use keima_runs::TaskManifest;
use keima_wire::v1;
use prost::Message as _;

use super::order::worker_id;
use super::run::{run_id, run_ids};
use super::{ConvertError, NAME_BYTES, Wire, bounded, cut, list_from, list_to, required, weigh};
use crate::PROTOCOL_VERSION;

impl Wire for Running {
    type Message = v1::Running;
    fn to_wire(&self) -> v1::Running {
        v1::Running {
            attempt: Some(self.attempt.to_wire()),
            nonce: self.nonce,
            states_done: self.states_done,
            pulse: self.pulse,
        }
    }
    fn from_wire(message: v1::Running) -> Result<Self, ConvertError> {
        Ok(Self {
            attempt: AttemptId::from_wire(required("Running.attempt", message.attempt)?)?,
            nonce: message.nonce,
            states_done: message.states_done,
            pulse: message.pulse,
        })
    }
}

impl Wire for Housekeeping {
    type Message = v1::Housekeeping;
    fn to_wire(&self) -> v1::Housekeeping {
        let release = self.release.iter().map(|run| run.0.clone()).collect();
        v1::Housekeeping { abandon: list_to(&self.abandon), release }
    }
    fn from_wire(message: v1::Housekeeping) -> Result<Self, ConvertError> {
        let release = run_ids("Housekeeping.release", message.release)?;
        Ok(Self { abandon: list_from(message.abandon)?, release })
    }
}

/// The service checks the version field before it converts the message.
impl Wire for Hello {
    type Message = v1::SayHelloRequest;
    fn to_wire(&self) -> v1::SayHelloRequest {
        v1::SayHelloRequest {
            protocol_version: PROTOCOL_VERSION,
            holder: Some(self.holder.to_wire()),
            slots: self.slots,
            task_memory_bytes: self.task_memory_bytes,
            disk_bytes: self.disk_bytes,
            held: self.held.iter().map(|run| run.0.clone()).collect(),
            running: list_to(&self.running),
            store: self.store.map(|store| store.0),
            build: self.build.clone(),
            incarnation: self.incarnation,
            place: self.place.clone(),
            archive: self.archive,
        }
    }
    fn from_wire(message: v1::SayHelloRequest) -> Result<Self, ConvertError> {
        if !(1..=4096).contains(&message.slots) {
            return Err(ConvertError::new("SayHelloRequest.slots", "1 to 4096", message.slots));
        }
        Ok(Self {
            holder: Holder::from_wire(required("SayHelloRequest.holder", message.holder)?)?,
            slots: message.slots,
            task_memory_bytes: message.task_memory_bytes,
            disk_bytes: message.disk_bytes,
            held: run_ids("SayHelloRequest.held", message.held)?,
            running: list_from(message.running)?,
            store: message.store.map(StoreId),
            build: bounded("SayHelloRequest.build", message.build, NAME_BYTES)?,
            incarnation: message.incarnation,
            place: bounded("SayHelloRequest.place", message.place, NAME_BYTES)?,
            archive: message.archive,
        })
    }
}

impl Wire for Welcome {
    type Message = v1::SayHelloResponse;
    fn to_wire(&self) -> v1::SayHelloResponse {
        v1::SayHelloResponse {
            epoch: self.epoch,
            housekeeping: Some(self.housekeeping.to_wire()),
            heartbeat_millis: self.heartbeat_millis,
            store: Some(self.store.0),
        }
    }
    fn from_wire(message: v1::SayHelloResponse) -> Result<Self, ConvertError> {
        Ok(Self {
            epoch: message.epoch,
            housekeeping: message.housekeeping.map_or_else(|| Ok(Housekeeping::default()), Housekeeping::from_wire)?,
            heartbeat_millis: message.heartbeat_millis,
            store: StoreId(required("SayHelloResponse.store", message.store)?),
        })
    }
}

impl Wire for Failure {
    type Message = v1::Failure;
    fn to_wire(&self) -> v1::Failure {
        use v1::failure::Kind;
        let text = |text: &String| v1::TextFailure { text: cut(text.clone()) };
        let kind = match self {
            Self::Input { run, holder, damaged, text } => Kind::Input(v1::InputFailure {
                run: run.0.clone(),
                holder: holder.0.clone(),
                damaged: *damaged,
                text: cut(text.clone()),
            }),
            Self::Disk { text: t } => Kind::Disk(text(t)),
            Self::Check { text: t } => Kind::Check(text(t)),
            Self::Refused { text: t } => Kind::Refused(text(t)),
            Self::Stopped => Kind::Stopped(v1::StoppedFailure {}),
            Self::Other { text: t } => Kind::Other(text(t)),
        };
        v1::Failure { kind: Some(kind) }
    }
    fn from_wire(message: v1::Failure) -> Result<Self, ConvertError> {
        use v1::failure::Kind;
        Ok(match required("Failure.kind", message.kind)? {
            Kind::Input(input) => Self::Input {
                run: run_id("InputFailure.run", input.run)?,
                holder: worker_id("InputFailure.holder", input.holder)?,
                damaged: input.damaged,
                text: cut(input.text),
            },
            Kind::Disk(t) => Self::Disk { text: cut(t.text) },
            Kind::Check(t) => Self::Check { text: cut(t.text) },
            Kind::Refused(t) => Self::Refused { text: cut(t.text) },
            Kind::Stopped(v1::StoppedFailure {}) => Self::Stopped,
            Kind::Other(t) => Self::Other { text: cut(t.text) },
        })
    }
}

impl Wire for Report {
    type Message = v1::report_task_request::Report;
    fn to_wire(&self) -> Self::Message {
        match self {
            Self::Done(manifest) => Self::Message::Done(manifest.to_wire().encode_to_vec().into()),
            Self::Failed(failure) => Self::Message::Failed(failure.to_wire()),
        }
    }
    fn from_wire(message: Self::Message) -> Result<Self, ConvertError> {
        Ok(match message {
            v1::report_task_request::Report::Done(bytes) => {
                Self::Done(Box::new(TaskManifest::from_wire(weigh::manifest(&bytes)?)?))
            }
            v1::report_task_request::Report::Failed(failure) => Self::Failed(Failure::from_wire(failure)?),
        })
    }
}

/// A verdict and the housekeeping that comes with it.
impl Wire for (Verdict, Housekeeping) {
    type Message = v1::ReportTaskResponse;
    fn to_wire(&self) -> v1::ReportTaskResponse {
        let (accepted, reason) = match &self.0 {
            Verdict::Accepted => (true, String::new()),
            Verdict::Refused { reason } => (false, cut(reason.clone())),
        };
        v1::ReportTaskResponse { accepted, reason, housekeeping: Some(self.1.to_wire()) }
    }
    fn from_wire(message: v1::ReportTaskResponse) -> Result<Self, ConvertError> {
        let reason = cut(message.reason);
        let verdict = if message.accepted { Verdict::Accepted } else { Verdict::Refused { reason } };
        let housekeeping = message.housekeeping.map_or_else(|| Ok(Housekeeping::default()), Housekeeping::from_wire)?;
        Ok((verdict, housekeeping))
    }
}
