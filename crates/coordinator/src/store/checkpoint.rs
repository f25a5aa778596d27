//! A checkpoint in the archive: all that another coordinator needs to go on with a job, but the runs.
//!
//! ```text
//!   0   16  "keima checkpoint"
//!   16   4  version of this file, little-endian
//!   20   4  version of the records
//!   24   8  length of the body
//!   32      body, in postcard's format
//!       32  BLAKE3 of all before
//! ```
//!
//! It is written when all objects that it names are there, and never changed. Cost: some hundred bytes for each run.

use std::collections::BTreeSet;

use keima_orders::JobId;
use keima_runs::RunManifest;
use serde::{Deserialize, Serialize};

use super::records::{Boundary, CHECKPOINT_RECORDS as RECORDS, Committed, Head, Record};
use crate::api::Millis;
use crate::certificate::StageEvidence;

const MAGIC: &[u8; 16] = b"keima checkpoint";
/// Version of the file.
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 32;
const HASH_BYTES: usize = 32;
/// Largest file that is read.
pub const MOST_CHECKPOINT_BYTES: u64 = 1 << 30;

/// Why a file is no checkpoint that this program can go on with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// It is something else.
    #[error("it does not begin with {:?}: it is no checkpoint of keima", String::from_utf8_lossy(MAGIC))]
    Other,
    /// Another version wrote it.
    #[error("it has version {got}, this program reads {expected}; go on with the keima that wrote it")]
    Version {
        /// Version of the file, and of the records in it.
        expected: String,
        /// What the file says.
        got: String,
    },
    /// Its bytes are not those that were written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It could not be made.
    #[error("a checkpoint cannot be encoded: {0}; this is a fault of the program, please report it")]
    Encode(String),
}

/// The name of the checkpoint that a round of this generation makes. Names sort by age.
pub(crate) fn name_of(generation: u32) -> String {
    format!("checkpoint-{generation:010}.keima")
}

/// Whether an object's name, without its folder, is a checkpoint's.
pub fn is_checkpoint_name(name: &str) -> bool {
    let number = name.strip_prefix("checkpoint-").and_then(|rest| rest.strip_suffix(".keima"));
    number.is_some_and(|number| number.len() == 10 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Name of a run's object below its job's folder. It depends on what the run is, not on who calls it what.
pub(crate) fn object_of(tag: u64, run: &RunManifest) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&tag.to_le_bytes());
    hasher.update(run.id.0.as_bytes());
    for number in [run.bytes, run.records, run.checksum.into()] {
        hasher.update(&number.to_le_bytes());
    }
    for key in [run.first_key, run.last_key] {
        hasher.update(&key.to_le_bytes());
    }
    for sum in &run.sums {
        hasher.update(&sum.to_le_bytes());
    }
    let digest = hasher.finalize().to_hex();
    format!("runs/{}.run", digest.get(..40).unwrap_or_default())
}

/// A vector with the tasks that wrote it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Vector {
    pub(crate) head: Head,
    pub(crate) tasks: Vec<Committed>,
}

impl Vector {
    pub(crate) fn of(boundary: &Boundary) -> Self {
        Self { head: boundary.head.clone(), tasks: boundary.tasks.clone() }
    }
}

/// A job at one of its boundaries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    pub(crate) job: JobId,
    pub(crate) record: Record,
    /// The boundaries, the newest last.
    pub(crate) vectors: Vec<Vector>,
    pub(crate) values: Vec<(u32, u32, Vec<u64>)>,
    /// Encoded, by sweep and stage.
    pub(crate) evidence: Vec<(u32, u32, Vec<u8>)>,
}

impl Checkpoint {
    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, CheckpointError> {
        let body = postcard::to_stdvec(self).map_err(|error| CheckpointError::Encode(error.to_string()))?;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len() + HASH_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&RECORDS.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(blake3::hash(&bytes).as_bytes());
        Ok(bytes)
    }

    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let damaged = |why: &str| CheckpointError::Damaged(why.to_owned());
        let head: &[u8; HEAD_BYTES] = bytes.first_chunk().ok_or(CheckpointError::Other)?;
        if !head.starts_with(MAGIC) {
            return Err(CheckpointError::Other);
        }
        let short = |at: usize| head.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
        let got = (short(16), short(20));
        if got != (VERSION, RECORDS) {
            let words = |(file, records): (u32, u32)| format!("{file}, with records {records}");
            return Err(CheckpointError::Version { expected: words((VERSION, RECORDS)), got: words(got) });
        }
        let body_bytes = head.get(24..32).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes);
        let expected = body_bytes.saturating_add((HEAD_BYTES + HASH_BYTES) as u64);
        if bytes.len() as u64 != expected {
            return Err(CheckpointError::Damaged(format!("expected {expected} bytes, got {}", bytes.len())));
        }
        let (summed, hash) = bytes.split_last_chunk::<HASH_BYTES>().ok_or_else(|| damaged("it is too short"))?;
        if blake3::hash(summed) != *hash {
            return Err(damaged("its BLAKE3 hash is not that of its bytes"));
        }
        let body = summed.get(HEAD_BYTES..).unwrap_or_default();
        let checkpoint: Self = postcard::from_bytes(body).map_err(|error| damaged(&error.to_string()))?;
        if checkpoint.vectors.is_empty() {
            return Err(damaged("it has no vector"));
        }
        for vector in &checkpoint.vectors {
            let (head, tasks) = (&vector.head, &vector.tasks);
            head.check(&checkpoint.record.plan).map_err(CheckpointError::Damaged)?;
            let of_head =
                |task: &Committed| (task.attempt.sweep, task.attempt.generation) == (head.sweep, head.generation);
            let numbers: BTreeSet<u32> =
                tasks.iter().filter(|task| of_head(task)).map(|task| task.attempt.task).collect();
            if numbers.len() != tasks.len() || tasks.len() != head.tasks as usize {
                let (expected, got) = (head.tasks, numbers.len());
                return Err(CheckpointError::Damaged(format!("{head}: expected {expected} tasks, got {got}")));
            }
        }
        // It is stored as it stands; a coordinator could not start again with one that cannot be read.
        for (sweep, stage, bytes) in &checkpoint.evidence {
            let read = postcard::from_bytes::<StageEvidence>(bytes);
            read.map_err(|error| {
                CheckpointError::Damaged(format!("evidence of stage {stage} of sweep {sweep}: {error}"))
            })?;
        }
        Ok(checkpoint)
    }

    /// Whether its newest vector stands at a column's end.
    pub fn ends_column(&self) -> bool {
        let (plan, newest) = (&self.record.plan, self.vectors.last());
        newest.is_some_and(|vector| plan.stage(vector.head.stage).ends_column(plan.board))
    }

    /// Objects that it needs below its folder, with their lengths.
    pub fn objects(&self) -> impl Iterator<Item = (String, u64)> {
        self.runs().map(|run| (object_of(self.record.tag, run), run.bytes))
    }

    fn runs(&self) -> impl Iterator<Item = &RunManifest> {
        self.vectors.iter().flat_map(|vector| &vector.tasks).flat_map(|task| &task.manifest.runs)
    }

    /// The sweep, from 0. Of one job's checkpoints only those of the newest sweep are worth anything.
    pub const fn sweep(&self) -> u32 {
        self.record.sweep
    }

    /// Time that the job has taken so far.
    pub const fn active_millis(&self) -> Millis {
        self.record.active_millis
    }

    /// What is counted, and where it stands: `"go 13x13, the boundary after 39 passes of sweep 1"`.
    pub fn words(&self) -> String {
        let at = self.vectors.last().map_or_else(String::new, |vector| vector.head.to_string());
        format!("{}, {at} of sweep {}", self.record.spec.problem.words(), self.record.sweep + 1)
    }
}
