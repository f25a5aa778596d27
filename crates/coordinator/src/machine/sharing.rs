//! Which job is asked first when a worker wants a task.
//!
//! ```text
//!   level(job) = priority + whole days for which it wanted work and had none while a later job worked
//!
//!   1. the higher level first
//!   2. on a level, the owner with the fewest tasks at work, in all his jobs
//!   3. with as many: the owner whose tasks took the least time lately (half of it is forgotten each hour)
//!   4. of one owner, the job that was submitted first
//! ```
//!
//! What owners share is slots: places for a task at a time, whatever the task's memory. Rule 2 keeps the numbers of slots
//! within one of each other while all of them want work; where that cannot be, with one slot for two owners, rule 3 lets them
//! take turns by time. Who wants nothing leaves his share to the others, and has no claim for it later beyond rule 3's memory.
//! Nobody loses a task that is under way.
//!
//! No job starves: while later jobs pass it by, its level grows without bound. Two jobs of one owner do not share; the second
//! one waits, so that not all of them have vectors on disk. A job gets what those before it leave: ends of their stages, and
//! workers that they cannot use.
//!
//! Cost: O(n log n) for n jobs that want work, at each pull.

use std::collections::BTreeMap;

use keima_orders::JobId;

use super::Coordinator;
use crate::api::Millis;

/// Waiting that raises a job by one level.
pub(crate) const LEVEL_MILLIS: Millis = 24 * 3600 * 1000;
/// After this time, past use counts half.
const HALF_LIFE_MILLIS: f64 = 3_600_000.0;
/// Use below this is none; beyond as many owners such ones are forgotten.
const NO_USE_MILLIS: f64 = 1.0;
const MANY_OWNERS: usize = 1000;

/// A job that wants work.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) job: JobId,
    pub(crate) owner: &'a str,
    pub(crate) level: i64,
    /// Its tasks at work.
    pub(crate) running: u32,
}

/// The level of a job.
pub(crate) fn level(priority: i32, waited_millis: Millis) -> i64 {
    i64::from(priority).saturating_add_unsigned(waited_millis / LEVEL_MILLIS)
}

/// Time of tasks by owner, of which half is forgotten each hour. Begins anew with each life of the coordinator.
#[derive(Default)]
pub(crate) struct Use {
    owners: BTreeMap<String, (f64, Millis)>,
}

impl Use {
    /// An owner's task ended; it took `millis`.
    pub(crate) fn add(&mut self, owner: &str, millis: Millis, now: Millis) {
        let used = self.of(owner, now) + millis as f64;
        match self.owners.get_mut(owner) {
            Some(entry) => *entry = (used, now),
            None => drop(self.owners.insert(owner.to_owned(), (used, now))),
        }
        if self.owners.len() > MANY_OWNERS {
            self.owners.retain(|_, &mut (used, at)| faded(used, at, now) >= NO_USE_MILLIS);
        }
    }

    fn of(&self, owner: &str, now: Millis) -> f64 {
        self.owners.get(owner).map_or(0.0, |&(used, at)| faded(used, at, now))
    }
}

fn faded(used: f64, at: Millis, now: Millis) -> f64 {
    used * 0.5_f64.powf(now.saturating_sub(at) as f64 / HALF_LIFE_MILLIS)
}

/// The jobs in the order in which they are asked.
pub(crate) fn order(claims: &[Claim<'_>], past: &Use, now: Millis) -> Vec<JobId> {
    let mut owners: BTreeMap<&str, (u32, f64)> = BTreeMap::new();
    for claim in claims {
        let owner = owners.entry(claim.owner).or_insert_with(|| (0, past.of(claim.owner, now)));
        owner.0 = owner.0.saturating_add(claim.running);
    }
    let share = |claim: &Claim<'_>| owners.get(claim.owner).copied().unwrap_or_default();
    let mut sorted: Vec<&Claim<'_>> = claims.iter().collect();
    sorted.sort_by(|a, b| {
        let ((tasks_a, used_a), (tasks_b, used_b)) = (share(a), share(b));
        let by_share = tasks_a.cmp(&tasks_b).then(used_a.total_cmp(&used_b)).then(a.owner.cmp(b.owner));
        b.level.cmp(&a.level).then(by_share).then(a.job.cmp(&b.job))
    });
    sorted.into_iter().map(|claim| claim.job).collect()
}

impl Coordinator {
    /// Jobs that want work, in the order in which they are asked.
    pub(super) fn in_order(&self) -> Vec<JobId> {
        let live = self.jobs.live().filter(|job| job.is_live());
        let claims: Vec<Claim<'_>> = live
            .map(|job| Claim {
                job: job.id,
                owner: &job.account.terms.owner,
                level: level(job.record.spec.priority, job.account.waited_millis),
                running: self.fleet.tasks_at_work(job.id),
            })
            .collect();
        order(&claims, &self.past, self.fleet.now)
    }

    /// Books the time of tasks that have ended.
    pub(super) fn book_tasks(&mut self) {
        for (id, millis) in std::mem::take(&mut self.fleet.worked) {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.account.task_millis = job.account.task_millis.saturating_add(millis);
                self.past.add(&job.account.terms.owner, millis, self.fleet.now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = 3_600_000;

    /// A job of the table: number, owner, priority, days waited, tasks at work.
    type Row = (u64, &'static str, i32, u64, u32);

    fn check(what: &str, jobs: &[Row], past: &[(&str, Millis, Millis)], expected: &[u64]) {
        let mut usage = Use::default();
        for &(owner, millis, at) in past {
            usage.add(owner, millis, at);
        }
        let claims: Vec<Claim<'_>> = jobs
            .iter()
            .map(|&(job, owner, priority, days, running)| Claim {
                job: JobId(job),
                owner,
                level: level(priority, days * LEVEL_MILLIS),
                running,
            })
            .collect();
        let got: Vec<u64> = order(&claims, &usage, 100 * HOUR).into_iter().map(|job| job.0).collect();
        assert_eq!(got, expected, "{what}");
    }

    #[test]
    fn the_law_as_a_table() {
        check("nobody", &[], &[], &[]);
        check("one owner: first come", &[(2, "a", 0, 0, 0), (1, "a", 0, 0, 9)], &[], &[1, 2]);
        check("the higher priority", &[(1, "a", 0, 0, 0), (2, "a", 5, 0, 0), (3, "a", -5, 0, 0)], &[], &[2, 1, 3]);
        check("the higher priority, whoever it is", &[(1, "a", 0, 0, 0), (2, "b", 1, 0, 99)], &[], &[2, 1]);
        check("the extremes", &[(1, "a", i32::MIN, 0, 0), (2, "a", i32::MAX, 0, 0)], &[], &[2, 1]);
        check("fewest tasks", &[(1, "a", 0, 0, 2), (2, "b", 0, 0, 1)], &[], &[2, 1]);
        check("all jobs of an owner", &[(1, "a", 0, 0, 0), (2, "b", 0, 0, 1), (3, "a", 1, 0, 2)], &[], &[3, 2, 1]);
        check("his jobs stay together", &[(1, "a", 0, 0, 1), (2, "b", 0, 0, 0), (3, "b", 0, 0, 0)], &[], &[2, 3, 1]);
        let two = [(1, "a", 0, 0, 1), (2, "b", 0, 0, 1)];
        check("as many: by name", &two, &[], &[1, 2]);
        check("as many: least use", &two, &[("a", 10, 100 * HOUR), ("b", 9, 100 * HOUR)], &[2, 1]);
        check("old use fades", &two, &[("a", 10, 100 * HOUR), ("b", 19, 99 * HOUR)], &[2, 1]);
        check("old use fades, not at once", &two, &[("a", 10, 100 * HOUR), ("b", 21, 99 * HOUR)], &[1, 2]);
        check("no owner is one owner", &[(1, "", 0, 0, 1), (2, "", 0, 0, 0), (3, "a", 0, 0, 0)], &[], &[3, 1, 2]);
        check("waiting lifts", &[(1, "a", 0, 5, 0), (2, "b", 5, 0, 1)], &[], &[1, 2]);
        check("part of a day does not", &[(1, "a", 0, 4, 0), (2, "b", 5, 0, 9)], &[], &[2, 1]);
        check("waiting lifts above", &[(1, "a", 0, 6, 3), (2, "b", 5, 0, 0)], &[], &[1, 2]);
    }

    /// Owners who always want work have as many slots, or as much time, as each other, in whatever order their tasks end.
    #[test]
    fn shares_are_equal_in_slots_and_in_time() {
        for (slots, lengths) in [(1_usize, [3_u64, 1, 2]), (2, [1, 1, 5]), (7, [2, 3, 4]), (12, [1, 10, 100])] {
            let owners = ["a", "b", "c"];
            let (mut past, mut had) = (Use::default(), [0_u64; 3]);
            // (end, owner) of each task at work.
            let mut at_work: Vec<(Millis, usize)> = Vec::new();
            for now in 0..20_000 {
                for &(_, owner) in at_work.iter().filter(|(end, _)| *end == now) {
                    past.add(owners[owner], lengths[owner], now);
                }
                at_work.retain(|(end, _)| *end > now);
                while at_work.len() < slots {
                    let running = |owner| at_work.iter().filter(|(_, other)| *other == owner).count() as u32;
                    let claims: Vec<Claim<'_>> = (0..3)
                        .map(|n| Claim { job: JobId(n as u64 + 1), owner: owners[n], level: 0, running: running(n) })
                        .collect();
                    let next = order(&claims, &past, now)[0].0 as usize - 1;
                    at_work.push((now + lengths[next], next));
                    had[next] += lengths[next];
                }
            }
            let (least, most) = (had.iter().min().unwrap(), had.iter().max().unwrap());
            assert!(most - least <= most / 10, "{slots} slots, lengths {lengths:?}: {had:?}");
        }
    }

    #[test]
    fn owners_without_use_are_forgotten() {
        let mut past = Use::default();
        for owner in 0..=MANY_OWNERS as u64 {
            past.add(&owner.to_string(), 10, owner * HOUR);
        }
        assert!(past.owners.len() < 10, "{}", past.owners.len());
    }
}
