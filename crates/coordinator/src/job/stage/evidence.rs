//! The evidence of finished stages, kept for the certificate until the job is removed.
//!
//! A stage's manifests go with its boundary. What they added up to stays here, a small record for each stage. When the
//! job goes back to an older boundary, the evidence of the repeated stages is replaced.

use std::collections::BTreeMap;

use keima_runs::{Balance, PassTally, RunManifest};

use super::StageRun;
use crate::certificate::{StageEvidence, VectorEvidence, manifest_digest};
use crate::store::restore::StageNumber;

/// The evidence of all finished stages. Those of a job that is over are rarely asked for: encoded, they take a third.
#[derive(Default)]
pub(crate) struct Evidence(pub(super) BTreeMap<StageNumber, Vec<u8>>);

impl Evidence {
    /// From stored records.
    pub(crate) const fn restored(records: BTreeMap<StageNumber, Vec<u8>>) -> Self {
        Self(records)
    }

    /// All records, encoded.
    pub(crate) fn records(&self) -> impl Iterator<Item = (&StageNumber, &Vec<u8>)> {
        self.0.iter()
    }

    /// Bytes of all records.
    pub(crate) fn bytes(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The stages of a sweep, in order. `None` if one is missing or cannot be read.
    pub(super) fn sweep(&self, sweep: u32, stages: u32) -> Option<Vec<StageEvidence>> {
        (0..stages).map(|stage| postcard::from_bytes(self.0.get(&StageNumber { sweep, stage })?).ok()).collect()
    }
}

/// The tallies of a stage's passes and its mass balance, added up over its tasks.
pub(crate) struct StageTallies {
    pub(crate) passes: Vec<PassTally>,
    pub(crate) balance: Option<Balance>,
}

impl StageTallies {
    /// Adds up all finished tasks, lane `i` modulo `moduli[i % moduli.len()]`.
    pub(crate) fn of(stage: &StageRun, passes: usize, moduli: &[u64]) -> Self {
        let mut all = Self { passes: vec![PassTally::default(); passes], balance: None };
        let shifts = stage.done().flat_map(|done| &done.manifest.passes).any(|pass| !pass.by_shift.is_empty());
        for manifest in stage.done().map(|done| &done.manifest) {
            for (sum, pass) in all.passes.iter_mut().zip(&manifest.passes) {
                add_pass(sum, pass, shifts, moduli);
            }
            if let Some(Balance { expected, got }) = &manifest.balance {
                let sum = all.balance.get_or_insert_default();
                add_lanes(&mut sum.expected, expected, moduli);
                add_lanes(&mut sum.got, got, moduli);
            }
        }
        all
    }
}

/// The evidence of a stage all of whose tasks are done.
pub(crate) fn stage_evidence(
    stage: &StageRun,
    place: crate::plan::Stage,
    tallies: StageTallies,
    [reads, writes, kept]: [Option<VectorEvidence>; 3],
    starts: bool,
) -> StageEvidence {
    let runs = || stage.done().flat_map(|done| &done.manifest.runs);
    let digest = manifest_digest(runs().collect::<Vec<&RunManifest>>().into_iter());
    StageEvidence {
        transposed: place.direction == keima_model::Direction::Transposed,
        first_pass: place.first_pass,
        cells: place.window.len,
        moduli: Vec::new(),
        starts,
        exact: stage.closed,
        tasks: stage.tasks.len() as u32,
        recounted: stage.done().filter(|done| done.second.is_some()).count() as u32,
        reads,
        manifest: writes.is_some().then_some(digest),
        writes,
        kept,
        passes: tallies.passes,
        balance: tallies.balance,
        functionals: Vec::new(),
    }
}

/// Adds the tally of one task. With `shifts`, some task's successors move: those of a task that tells no shifts do not.
fn add_pass(sum: &mut PassTally, pass: &PassTally, shifts: bool, moduli: &[u64]) {
    sum.states = sum.states.saturating_add(pass.states);
    sum.successors = sum.successors.saturating_add(pass.successors);
    add_rows(&mut sum.by_degree, &pass.by_degree, moduli);
    add_lanes(&mut sum.new_sums, &pass.new_sums, moduli);
    if !pass.by_shift.is_empty() {
        add_rows(&mut sum.by_shift, &pass.by_shift, moduli);
    } else if shifts {
        for (degree, row) in (0_u64..).zip(&pass.by_degree) {
            let times = |(&value, &p): (&u64, &u64)| keima_residue::mul_mod(degree % p, value, p);
            let made: Vec<u64> = row.iter().zip(moduli.iter().cycle()).map(times).collect();
            add_rows(&mut sum.by_shift, &[made], moduli);
        }
    }
}

fn add_rows(sums: &mut Vec<Vec<u64>>, rows: &[Vec<u64>], moduli: &[u64]) {
    if sums.len() < rows.len() {
        sums.resize(rows.len(), Vec::new());
    }
    for (sum, row) in sums.iter_mut().zip(rows) {
        add_lanes(sum, row, moduli);
    }
}

fn add_lanes(sum: &mut Vec<u64>, lanes: &[u64], moduli: &[u64]) {
    if sum.len() < lanes.len() {
        sum.resize(lanes.len(), 0);
    }
    if !moduli.is_empty() {
        keima_residue::add_row(sum, lanes, moduli);
    }
}
