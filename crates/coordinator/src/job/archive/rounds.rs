//! The rounds of a job: the one under way, and when the last ones began.

use super::round::Round;
use crate::api::Millis;

/// When a round that stored began, and how many stages of the job were done by then.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) at: Millis,
    pub(super) stages: u64,
}

/// What a job has to do with the archive.
pub(crate) struct Archive {
    pub(super) round: Option<Round>,
    /// The last round that stored, and the last one that stored a column's end.
    pub(super) last: Begun,
    pub(super) last_end: Begun,
    /// When the column under way began.
    pub(super) column_since: Millis,
    /// Nobody tries to fetch before this time: it failed.
    pub(super) fetch_after: Millis,
}

impl Archive {
    /// Of a job that has done so many stages.
    pub(crate) const fn new(now: Millis, stages: u64) -> Self {
        let begun = Begun { at: now, stages };
        Self { round: None, last: begun, last_end: begun, column_since: now, fetch_after: 0 }
    }

    /// The round of this generation.
    pub(crate) fn round_of(&self, generation: u32) -> Option<&Round> {
        self.round.as_ref().filter(|round| round.generation == generation)
    }

    pub(crate) fn round_of_mut(&mut self, generation: u32) -> Option<&mut Round> {
        self.round.as_mut().filter(|round| round.generation == generation)
    }

    /// Generations of the boundaries that are being stored.
    pub(crate) fn boundaries(&self) -> &[u32] {
        self.round.as_ref().map_or(&[], |round| &round.boundaries)
    }
}
