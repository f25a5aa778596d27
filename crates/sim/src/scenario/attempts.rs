//! What became of attempts: none comes to stand in a manifest after its lease has ended.
//!
//! ```text
//!   leased ──> stands in a manifest
//!     └──────> ended, by a decision ──stored──> for good
//!                  └── killed before that ──> unknown: what the stored records say, once they are read
//! ```
//!
//! A decision counts once it is stored. Until then no answer that rests on it leaves the coordinator, so a coordinator that is
//! killed before has not made it: the lease lives again, or the task stands again. What ended by a stored decision never
//! comes back, whatever is killed.

use std::collections::{BTreeMap, BTreeSet};

use keima_coordinator::AttemptId;

/// What is known of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// It has a lease.
    Leased,
    /// Its lease has ended, and it does not stand in a manifest.
    Ended {
        /// The decision that ended it, or a later one: numbered in the process under way, 0 for those before.
        decision: u64,
    },
    /// Its end may have been lost with the process.
    Unknown,
    /// It stood in a manifest.
    Stood,
}

/// All attempts that ever had a lease.
#[derive(Debug, Default)]
pub(crate) struct Attempts(BTreeMap<AttemptId, Life>);

impl Attempts {
    /// Takes note of what the coordinator says as of a decision. Returns the attempts that stand and must not.
    pub(crate) fn look(
        &mut self,
        stand: &BTreeSet<AttemptId>,
        leased: &BTreeSet<AttemptId>,
        decision: u64,
    ) -> Vec<AttemptId> {
        // What a process makes of its records at its start is stored with its first decision.
        let decision = decision.max(1);
        let mut wrong = Vec::new();
        for (attempt, life) in &mut self.0 {
            *life = match *life {
                Life::Stood => Life::Stood,
                before if stand.contains(attempt) => {
                    if matches!(before, Life::Ended { .. }) {
                        wrong.push(*attempt);
                    }
                    Life::Stood
                }
                Life::Unknown if leased.contains(attempt) => Life::Leased,
                Life::Leased | Life::Unknown if !leased.contains(attempt) => Life::Ended { decision },
                before => before,
            };
        }
        for attempt in stand {
            self.0.entry(*attempt).or_insert(Life::Stood);
        }
        for attempt in leased {
            self.0.entry(*attempt).or_insert(Life::Leased);
        }
        wrong
    }

    /// The coordinator's process is gone. Its decisions up to `stored` outlive it. Returns the attempts whose end may be lost.
    pub(crate) fn killed(&mut self, stored: u64) -> Vec<AttemptId> {
        let mut unknown = Vec::new();
        for (attempt, life) in &mut self.0 {
            if let Life::Ended { decision } = *life {
                *life = if decision > stored { Life::Unknown } else { Life::Ended { decision: 0 } };
                unknown.extend((*life == Life::Unknown).then_some(*attempt));
            }
        }
        unknown
    }

    /// Older records may come back, or all are lost.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use keima_coordinator::JobId;

    use super::*;

    /// What the coordinator shows of one attempt.
    #[derive(Clone, Copy)]
    enum Seen {
        Leased,
        Stands,
        Gone,
        /// Not seen: the process is killed, and so many decisions are stored.
        Killed(u64),
    }

    /// The attempt is looked at after each decision, counted from 1; a new process counts anew.
    fn check(story: &[Seen], is_wrong: bool) {
        let attempt = AttemptId { job: JobId(1), sweep: 0, generation: 1, task: 0, attempt: 0 };
        let (none, one) = (BTreeSet::new(), BTreeSet::from([attempt]));
        let (mut attempts, mut decision, mut wrong) = (Attempts::default(), 0, Vec::new());
        for seen in story {
            decision += 1;
            match seen {
                Seen::Leased => wrong.extend(attempts.look(&none, &one, decision)),
                Seen::Stands => wrong.extend(attempts.look(&one, &none, decision)),
                Seen::Gone => wrong.extend(attempts.look(&none, &none, decision)),
                Seen::Killed(stored) => {
                    attempts.killed(*stored);
                    decision = 0;
                }
            }
        }
        assert_eq!(!wrong.is_empty(), is_wrong);
    }

    #[test]
    fn what_ended_must_not_stand() {
        use Seen::{Gone, Killed, Leased, Stands};
        check(&[Leased, Stands, Gone, Stands], false);
        check(&[Leased, Gone, Stands], true);
        check(&[Leased, Gone, Leased, Stands], true);
        // Its end was stored.
        check(&[Leased, Gone, Killed(2), Stands], true);
        check(&[Leased, Gone, Killed(2), Killed(0), Stands], true);
        check(&[Leased, Gone, Killed(2), Gone, Killed(0), Stands], true);
        // It was not: the lease lives again, or the task stands again.
        check(&[Leased, Gone, Killed(1), Stands], false);
        check(&[Leased, Gone, Killed(1), Leased, Stands], false);
        // The next process ended it, or had never heard of it.
        check(&[Leased, Gone, Killed(1), Leased, Gone, Stands], true);
        check(&[Leased, Gone, Killed(1), Gone, Stands], true);
        check(&[Leased, Gone, Killed(1), Gone, Killed(1), Stands], true);
        check(&[Leased, Gone, Killed(1), Gone, Killed(0), Stands], false);
    }
}
