//! What a stage leaves behind for the certificate, when its runs and manifests are long gone.

use keima_runs::{Balance, FunctionalSum, PassTally, RunManifest, Tally};
use serde::{Deserialize, Serialize};

/// A vector as one stage saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorEvidence {
    /// Moduli of its lanes.
    pub moduli: Vec<u64>,
    /// States, sums and fingerprint.
    pub tally: Tally,
}

/// The evidence of one finished stage. Sums are those of all its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageEvidence {
    /// Whether the vector goes back from the end of the board.
    pub transposed: bool,
    /// First pass, from 0.
    pub first_pass: u32,
    /// Passes, which are the cells that it adds.
    pub cells: u32,
    /// Moduli of its lanes.
    pub moduli: Vec<u64>,
    /// Whether it begins a vector, so that no stage before it has written what it reads.
    pub starts: bool,
    /// Whether its numbers of states count distinct keys. If not, they are upper bounds, but for that of what it read.
    pub exact: bool,
    /// Tasks that it was cut into.
    pub tasks: u32,
    /// Of these, tasks that two workers did.
    pub recounted: u32,
    /// What it read.
    pub reads: Option<VectorEvidence>,
    /// What it wrote. `None` where two vectors meet.
    pub writes: Option<VectorEvidence>,
    /// Where two vectors meet: what it read of the one that was kept.
    pub kept: Option<VectorEvidence>,
    /// The tallies of its passes. By blocks they have numbers of states only.
    pub passes: Vec<PassTally>,
    /// Mass balance over all its passes; by blocks only.
    pub balance: Option<Balance>,
    /// The functionals that it read off.
    pub functionals: Vec<FunctionalSum>,
    /// The runs that it wrote.
    pub manifest: Option<ManifestDigest>,
}

/// The runs of a boundary in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestDigest {
    /// Number of runs.
    pub runs: u64,
    /// Their records.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// BLAKE3 over the lines of all runs, in hexadecimal.
    pub hash: String,
}

/// The digest of a boundary's runs: one line for each, sorted by name. A line is the run's name, bytes, records, first
/// key, last key, checksum and sums, all in decimal, with spaces between them and a line feed at the end.
pub fn manifest_digest<'a>(runs: impl Iterator<Item = &'a RunManifest>) -> ManifestDigest {
    let mut sorted: Vec<&RunManifest> = runs.collect();
    sorted.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    let mut hasher = blake3::Hasher::new();
    for run in &sorted {
        let RunManifest { id, bytes, records, first_key, last_key, sums, checksum } = run;
        let sums: Vec<String> = sums.iter().map(|sum| format!(" {sum}")).collect();
        let sums = sums.concat();
        hasher.update(format!("{id} {bytes} {records} {first_key} {last_key} {checksum}{sums}\n").as_bytes());
    }
    let total =
        |figure: fn(&RunManifest) -> u64| sorted.iter().fold(0, |sum: u64, run| sum.saturating_add(figure(run)));
    ManifestDigest {
        runs: sorted.len() as u64,
        records: total(|run| run.records),
        bytes: total(|run| run.bytes),
        hash: hasher.finalize().to_hex().to_string(),
    }
}
