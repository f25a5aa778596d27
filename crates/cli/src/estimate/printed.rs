//! What is printed of an estimate, whatever the form.

use keima_count::estimate::{Offer, Outline, Speeds, Times};
use keima_sample::{Estimate as Sampled, Plan};

/// Everything that is printed.
pub(super) struct Estimate {
    pub(super) problem: &'static str,
    pub(super) size: String,
    pub(super) offer: Offer,
    pub(super) outline: Outline,
    /// The size of the answer, where the problem does not know its states: then it is sampled as well.
    pub(super) answer: Option<(Sampled, Plan)>,
    /// `None` if the state counts are unknown.
    pub(super) measured: Option<(Speeds, Times)>,
    /// Whether the disk speed was measured, not given.
    pub(super) disk_measured: bool,
}
