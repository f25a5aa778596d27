//! Runs that a task reads, and where they are.

use std::ops::Range;

use keima_runs::RunManifest;
use serde::{Deserialize, Serialize};

use crate::WorkerId;

/// Where a run can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The worker that has it in its scratch folder.
    pub worker: WorkerId,
    /// Base URL of its run service, `http://10.0.0.7:7702`; empty inside one process.
    pub address: String,
    /// Its scratch folder, for workers that see it on a shared file system.
    pub folder: String,
    /// Fingerprint of the certificate of its run service, `sha256:` and 64 hex digits; empty for plain text.
    pub fingerprint: String,
}

/// A run to read, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputRun {
    /// What the run must be.
    pub manifest: RunManifest,
    /// The vector's lane that is the run's first: 0, unless a task wrote some lanes only.
    pub first_lane: u32,
    /// Where it is, best first. The coordinator names at least one; a task whose feeds find runs by themselves needs none.
    pub holders: Vec<Holder>,
}

impl InputRun {
    /// A run that the reader finds by its name.
    pub fn here(manifest: RunManifest) -> Self {
        Self { manifest, first_lane: 0, holders: Vec::new() }
    }

    /// The lanes of its vector that the run has.
    pub fn lanes(&self) -> Range<usize> {
        let first = self.first_lane as usize;
        first..first.saturating_add(self.manifest.sums.len())
    }
}
