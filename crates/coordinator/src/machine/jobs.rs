//! All jobs of the store: those that something may still happen to, and those that are over.
//!
//! ```text
//!   live   by number; every call and every tick goes through them
//!   over   by number, by the moment of their end, and counted by state; nobody goes through all of them
//! ```
//!
//! A job ends deep inside a call. It is sorted out at the next one ([`Jobs::sort_out`]): until then one that is over may stand among
//! the live ones. Cost: O(log n) for each job; a call costs nothing for those that are over.

mod leaving;
pub(super) mod listing;

use std::collections::{BTreeMap, BTreeSet};

use keima_orders::JobId;

use crate::api::{CallError, Millis, State};
use crate::job::Job;

/// Most jobs that are not over: each call and each tick goes through all of them.
pub(super) const MOST_LIVE_JOBS: usize = 10_000;

/// Evidence, as it is stored, beyond which a job stays in the store: its certificate would have hundreds of megabytes, and take
/// several times that while it is made. A job of 19x19 has about a tenth of a megabyte.
const MOST_EVIDENCE_BYTES: usize = 8 << 20;

/// All jobs of the store.
#[derive(Default)]
pub(crate) struct Jobs {
    live: BTreeMap<JobId, Job>,
    over: BTreeMap<JobId, Job>,
    /// Those that are over, the first to end first.
    ends: BTreeSet<(Millis, JobId)>,
    /// Those of them that may leave the store, in the same order.
    leavers: BTreeSet<(Millis, JobId)>,
    /// Those that are over, by the place of their state in [`State::ALL`].
    counts: [usize; State::ALL.len()],
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as the maps take it")]
impl Jobs {
    /// Refuses one more job where there are too many that are not over. Those that have ended are to be sorted out before.
    pub(crate) fn check_room(&self) -> Result<(), CallError> {
        let live = self.live.len();
        if live < MOST_LIVE_JOBS { Ok(()) } else { Err(CallError::TooManyJobs { live, most: MOST_LIVE_JOBS }) }
    }

    /// Adds a job.
    pub(crate) fn insert(&mut self, id: JobId, job: Job) {
        if job.is_over() {
            self.ends.insert((job.account.ended_at, id));
            if job.evidence.bytes() <= MOST_EVIDENCE_BYTES {
                self.leavers.insert((job.account.ended_at, id));
            }
            self.count(job.record.state, |count| count + 1);
            self.over.insert(id, job);
        } else {
            self.live.insert(id, job);
        }
    }

    /// Puts those that have ended since the last call with those that are over.
    pub(crate) fn sort_out(&mut self) {
        for (id, job) in self.live.extract_if(.., |_, job| job.is_over()).collect::<Vec<_>>() {
            self.insert(id, job);
        }
    }

    /// Takes out a job that is over.
    pub(crate) fn remove_over(&mut self, id: JobId) -> Option<Job> {
        let job = self.over.remove(&id)?;
        self.ends.remove(&(job.account.ended_at, id));
        self.leavers.remove(&(job.account.ended_at, id));
        self.count(job.record.state, |count| count.saturating_sub(1));
        Some(job)
    }

    fn count(&mut self, state: State, change: impl Fn(usize) -> usize) {
        if let Some((count, _)) = self.counts.iter_mut().zip(State::ALL).find(|(_, other)| *other == state) {
            *count = change(*count);
        }
    }

    pub(crate) fn get(&self, id: &JobId) -> Option<&Job> {
        self.live.get(id).or_else(|| self.over.get(id))
    }

    pub(crate) fn get_mut(&mut self, id: &JobId) -> Option<&mut Job> {
        match self.live.get_mut(id) {
            Some(job) => Some(job),
            None => self.over.get_mut(id),
        }
    }

    /// Jobs that something may happen to, the oldest first.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Job> {
        self.live.values()
    }

    /// The same to change.
    pub(crate) fn live_mut(&mut self) -> impl Iterator<Item = &mut Job> {
        self.live.values_mut()
    }

    /// All jobs that are older than `before`, the newest first.
    pub(crate) fn newest_first(&self, before: Option<JobId>) -> impl Iterator<Item = &Job> {
        let older = ..before.unwrap_or(JobId(u64::MAX));
        let mut live = self.live.range(older).rev().map(|(_, job)| job).peekable();
        let mut over = self.over.range(older).rev().map(|(_, job)| job).peekable();
        std::iter::from_fn(move || {
            let is_live = match (live.peek(), over.peek()) {
                (Some(live), Some(over)) => live.id > over.id,
                (live, _) => live.is_some(),
            };
            if is_live { live.next() } else { over.next() }
        })
    }

    /// Those that are over, the last to end first.
    pub(crate) fn last_ended(&self) -> impl Iterator<Item = &Job> {
        self.ends.iter().rev().filter_map(|(_, id)| self.over.get(id))
    }

    /// The first to end of those that may leave the store, with the moment; 0 where that is not known.
    pub(crate) fn first_leaver(&self) -> Option<(Millis, JobId)> {
        self.leavers.first().copied()
    }

    /// Number of jobs that are over.
    pub(crate) fn number_over(&self) -> usize {
        self.over.len()
    }

    /// How many jobs are in each state.
    pub(crate) fn by_state(&self) -> Vec<(State, usize)> {
        let live = |state| self.live().filter(|job| job.record.state == state).count();
        State::ALL.iter().zip(self.counts).map(|(&state, over)| (state, over + live(state))).collect()
    }
}

#[cfg(test)]
impl Jobs {
    /// All jobs.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Job> {
        self.live.values().chain(self.over.values())
    }
}

#[cfg(test)]
impl std::ops::Index<&JobId> for Jobs {
    type Output = Job;
    fn index(&self, id: &JobId) -> &Job {
        self.get(id).unwrap_or_else(|| panic!("no job {id}"))
    }
}
