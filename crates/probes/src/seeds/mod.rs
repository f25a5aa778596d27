//! Sound inputs of each probe: where fuzzing starts, and what a test sees accepted.

mod messages;
mod recorder;
mod runs;
mod stores;
mod texts;

use crate::Seed;

/// All of them. Makes files in a temporary folder, and runs small jobs for records, checkpoints and certificates.
///
/// # Panics
/// If a folder or a job cannot be made.
pub fn seeds() -> Vec<Seed> {
    [runs::all(), messages::all(), stores::all(), texts::all()].concat()
}
