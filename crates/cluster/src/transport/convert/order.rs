//! Grants and the work in them.

use keima_blocks::limits::LEAST_MODULUS;
use keima_coordinator::{ArchiveWork, Grant, Toward, Work};
use keima_model::{Direction, Layout, ProblemRequest, Window};
use keima_orders::{AttemptId, BlockOrder, Holder, InputRun, JobId, KeptOrder, Lanes, Origin, TaskOrder, WorkerId};
use keima_runs::{MAX_LANES, MAX_MODULI, RunManifest};
use keima_wire::v1;

use super::{
    ConvertError, IDENTITY_BYTES, MAX_SIDE, NAME_BYTES, TEXT_BYTES, Wire, at_most, bounded, cut, lane, list_from,
    list_to, required,
};
use crate::access::identity::Fingerprint;
use crate::archive::is_object_name;

/// A problem's options for the wire.
pub(super) fn options_to(options: &[(String, String)]) -> Vec<v1::ProblemOption> {
    let option = |(name, value): &(String, String)| v1::ProblemOption { name: name.clone(), value: value.clone() };
    options.iter().map(option).collect()
}

/// A problem's options from the wire.
pub(super) fn options_from(options: Vec<v1::ProblemOption>) -> Result<Vec<(String, String)>, ConvertError> {
    let option = |o: v1::ProblemOption| {
        let name = bounded("ProblemOption.name", o.name, NAME_BYTES)?;
        Ok((name, bounded("ProblemOption.value", o.value, TEXT_BYTES)?))
    };
    at_most("Problem.options", options, 256)?.into_iter().map(option).collect()
}

impl Wire for ProblemRequest {
    type Message = v1::Problem;
    fn to_wire(&self) -> v1::Problem {
        v1::Problem { name: self.name.clone(), size: self.size.clone(), options: options_to(&self.options) }
    }
    fn from_wire(message: v1::Problem) -> Result<Self, ConvertError> {
        Ok(Self {
            name: bounded("Problem.name", message.name, NAME_BYTES)?,
            size: bounded("Problem.size", message.size, NAME_BYTES)?,
            options: options_from(message.options)?,
        })
    }
}

impl Wire for Window {
    type Message = v1::Window;
    fn to_wire(&self) -> v1::Window {
        v1::Window { first: self.first, len: self.len }
    }
    fn from_wire(message: v1::Window) -> Result<Self, ConvertError> {
        let v1::Window { first, len } = message;
        if len == 0 || first > MAX_SIDE || len > MAX_SIDE {
            let expected = format!("a window of 1 to {MAX_SIDE} cells");
            return Err(ConvertError::new("Window", expected, format_args!("first {first}, len {len}")));
        }
        Ok(Self { first, len })
    }
}

impl Wire for Layout {
    type Message = v1::Layout;
    fn to_wire(&self) -> v1::Layout {
        match self {
            Self::Canonical => v1::Layout { stage: None },
            Self::Stage(window) => v1::Layout { stage: Some(window.to_wire()) },
        }
    }
    fn from_wire(message: v1::Layout) -> Result<Self, ConvertError> {
        message.stage.map_or(Ok(Self::Canonical), |window| Window::from_wire(window).map(Self::Stage))
    }
}

impl Wire for AttemptId {
    type Message = v1::AttemptId;
    fn to_wire(&self) -> v1::AttemptId {
        v1::AttemptId {
            job: self.job.0,
            sweep: self.sweep,
            generation: self.generation,
            task: self.task,
            attempt: self.attempt,
        }
    }
    fn from_wire(message: v1::AttemptId) -> Result<Self, ConvertError> {
        let v1::AttemptId { job, sweep, generation, task, attempt } = message;
        Ok(Self { job: JobId(job), sweep, generation, task, attempt })
    }
}

/// A worker's name. It appears in records and logs, so other characters are refused.
pub(crate) fn worker_id(field: &'static str, text: String) -> Result<WorkerId, ConvertError> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if !text.is_empty() && text.len() <= NAME_BYTES && text.bytes().all(fine) {
        Ok(WorkerId(text))
    } else {
        Err(ConvertError::new(field, "a worker id of letters, digits and -_.", format_args!("{text:?}")))
    }
}

/// A fingerprint as its type writes it; empty for none.
fn fingerprint(field: &'static str, text: String) -> Result<String, ConvertError> {
    if text.is_empty() || text.parse::<Fingerprint>().is_ok_and(|print| print.to_string() == text) {
        Ok(text)
    } else {
        Err(ConvertError::new(field, "nothing, or sha256: and 64 hex digits", format_args!("{text:?}")))
    }
}

impl Wire for Holder {
    type Message = v1::Holder;
    fn to_wire(&self) -> v1::Holder {
        v1::Holder {
            worker: self.worker.0.clone(),
            address: self.address.clone(),
            folder: self.folder.clone(),
            fingerprint: self.fingerprint.clone(),
        }
    }
    fn from_wire(message: v1::Holder) -> Result<Self, ConvertError> {
        Ok(Self {
            worker: worker_id("Holder.worker", message.worker)?,
            address: bounded("Holder.address", message.address, 1024)?,
            folder: bounded("Holder.folder", message.folder, 4096)?,
            fingerprint: fingerprint("Holder.fingerprint", message.fingerprint)?,
        })
    }
}

impl Wire for InputRun {
    type Message = v1::InputRun;
    fn to_wire(&self) -> v1::InputRun {
        let (manifest, holders) = (Some(self.manifest.to_wire()), list_to(&self.holders));
        v1::InputRun { manifest, holders, first_lane: self.first_lane }
    }
    fn from_wire(message: v1::InputRun) -> Result<Self, ConvertError> {
        let manifest = RunManifest::from_wire(required("InputRun.manifest", message.manifest)?)?;
        if message.holders.is_empty() {
            return Err(ConvertError::new("InputRun.holders", "at least one", "none"));
        }
        let first_lane = lane("InputRun.first_lane", message.first_lane)?;
        Ok(Self { manifest, first_lane, holders: list_from(at_most("InputRun.holders", message.holders, 1024)?)? })
    }
}

/// An order for the wire. The attempt is not in the message: the grant around it names it.
pub(super) fn order_to(order: &TaskOrder) -> v1::StageOrder {
    v1::StageOrder {
        problem: Some(order.problem.to_wire()),
        identity: order.origin.identity.clone(),
        build: order.origin.build.clone(),
        begun_by: order.origin.begun_by.clone(),
        job_tag: order.job_tag,
        salt: order.salt,
        moduli: order.moduli.clone(),
        first_pass: order.first_pass,
        window: Some(order.window.to_wire()),
        layout_in: Some(order.layout_in.to_wire()),
        layout_out: Some(order.layout_out.to_wire()),
        from_start: order.from_start,
        low: Some(order.low.to_wire()),
        high: order.high.as_ref().map(Wire::to_wire),
        inputs: list_to(&order.inputs),
        task_memory_bytes: order.task_memory_bytes,
        durable: order.durable,
        most_splits: order.most_splits,
        block: order.block.as_ref().map(block_to),
    }
}

/// An attempt's order from the wire.
pub(super) fn order_from(attempt: AttemptId, message: v1::StageOrder) -> Result<TaskOrder, ConvertError> {
    let moduli = at_most("StageOrder.moduli", message.moduli, MAX_MODULI)?;
    if let Some(small) = moduli.iter().find(|&&m| m < LEAST_MODULUS) {
        return Err(ConvertError::new("StageOrder.moduli", "primes between 2^59 and 2^64", small));
    }
    if moduli.is_empty() {
        return Err(ConvertError::new("StageOrder.moduli", "at least one modulus", "none"));
    }
    if message.most_splits == 0 {
        return Err(ConvertError::new("StageOrder.most_splits", "at least 1", 0));
    }
    Ok(TaskOrder {
        attempt,
        problem: ProblemRequest::from_wire(required("StageOrder.problem", message.problem)?)?,
        origin: Origin {
            identity: bounded("StageOrder.identity", message.identity, IDENTITY_BYTES)?,
            build: bounded("StageOrder.build", message.build, NAME_BYTES)?,
            begun_by: bounded("StageOrder.begun_by", message.begun_by, NAME_BYTES)?,
        },
        job_tag: message.job_tag,
        salt: message.salt,
        moduli,
        first_pass: message.first_pass,
        window: Window::from_wire(required("StageOrder.window", message.window)?)?,
        layout_in: Layout::from_wire(required("StageOrder.layout_in", message.layout_in)?)?,
        layout_out: Layout::from_wire(required("StageOrder.layout_out", message.layout_out)?)?,
        from_start: message.from_start,
        low: u128::from_wire(required("StageOrder.low", message.low)?)?,
        high: message.high.map(u128::from_wire).transpose()?,
        inputs: list_from(message.inputs)?,
        task_memory_bytes: message.task_memory_bytes,
        durable: message.durable,
        most_splits: message.most_splits,
        block: message.block.map(block_from).transpose()?,
    })
}

fn block_to(block: &BlockOrder) -> v1::BlockOrder {
    let kept = |kept: &KeptOrder| v1::KeptOrder { inputs: list_to(&kept.inputs), moduli: kept.moduli.clone() };
    v1::BlockOrder {
        windows: list_to(&block.windows),
        group_records: block.group_records,
        moduli_in: block.moduli_in.clone(),
        parted: block.parted,
        slots: block.slots,
        both_ways: block.both_ways,
        backward: block.direction == Direction::Transposed,
        lanes: block.lanes.map(|Lanes { first, end }| v1::Lanes { first, end }),
        kept: block.kept.as_ref().map(kept),
    }
}

fn block_from(block: v1::BlockOrder) -> Result<BlockOrder, ConvertError> {
    let kept = |kept: v1::KeptOrder| {
        let moduli = at_most("KeptOrder.moduli", kept.moduli, MAX_MODULI)?;
        Ok(KeptOrder { inputs: list_from(kept.inputs)?, moduli })
    };
    Ok(BlockOrder {
        windows: list_from(at_most("BlockOrder.windows", block.windows, MAX_SIDE as usize)?)?,
        group_records: block.group_records,
        moduli_in: at_most("BlockOrder.moduli_in", block.moduli_in, MAX_MODULI)?,
        parted: block.parted,
        slots: block.slots,
        both_ways: block.both_ways,
        direction: if block.backward { Direction::Transposed } else { Direction::Forward },
        lanes: block.lanes.map(lanes_from).transpose()?,
        kept: block.kept.map(kept).transpose()?,
    })
}

fn lanes_from(v1::Lanes { first, end }: v1::Lanes) -> Result<Lanes, ConvertError> {
    if first < end && end as usize <= MAX_LANES {
        return Ok(Lanes { first, end });
    }
    Err(ConvertError::new(
        "BlockOrder.lanes",
        format_args!("some of {MAX_LANES} lanes"),
        format_args!("{first}..{end}"),
    ))
}

impl Wire for ArchiveWork {
    type Message = v1::ArchiveWork;
    fn to_wire(&self) -> v1::ArchiveWork {
        let fetch = self.toward == Toward::Workers;
        v1::ArchiveWork { run: Some(self.run.to_wire()), object: self.object.clone(), fetch }
    }
    fn from_wire(message: v1::ArchiveWork) -> Result<Self, ConvertError> {
        if !is_object_name(&message.object) {
            let got = cut(message.object);
            return Err(ConvertError::new("ArchiveWork.object", "parts of [a-z0-9.-] joined by slashes", got));
        }
        Ok(Self {
            toward: if message.fetch { Toward::Workers } else { Toward::Archive },
            run: RunManifest::from_wire(required("ArchiveWork.run", message.run)?)?,
            object: message.object,
        })
    }
}

impl Wire for Grant {
    type Message = v1::Grant;
    fn to_wire(&self) -> v1::Grant {
        v1::Grant {
            attempt: Some(self.attempt.to_wire()),
            nonce: self.nonce,
            lease_millis: self.lease_millis,
            work: Some(match &self.work {
                Work::Stage(order) => v1::grant::Work::Stage(order_to(order)),
                Work::Copy(input) => v1::grant::Work::Copy(input.to_wire()),
                Work::Archive(work) => v1::grant::Work::Archive(work.to_wire()),
            }),
        }
    }
    fn from_wire(message: v1::Grant) -> Result<Self, ConvertError> {
        let attempt = AttemptId::from_wire(required("Grant.attempt", message.attempt)?)?;
        Ok(Self {
            attempt,
            nonce: message.nonce,
            lease_millis: message.lease_millis,
            work: match required("Grant.work", message.work)? {
                v1::grant::Work::Stage(order) => Work::Stage(Box::new(order_from(attempt, order)?)),
                v1::grant::Work::Copy(input) => Work::Copy(Box::new(InputRun::from_wire(input)?)),
                v1::grant::Work::Archive(work) => Work::Archive(Box::new(ArchiveWork::from_wire(work)?)),
            },
        })
    }
}
