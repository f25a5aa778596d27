//! Sharing the lanes of a large family between workers.
//!
//! ```text
//!   a family of which two lanes fit a worker     worker 1: lanes 0, 1   worker 2: lanes 2, 3   worker 3: lanes 4, 5
//!   instead of one worker's                      lanes 0, 1; then 2, 3; then 4, 5, while the others wait
//! ```
//!
//! By blocks a task takes whole families through a window. A family that is too large for a worker goes through it a few lanes at
//! a time. Lanes are independent, so several workers take some each: a task writes runs with its lanes alone, and the next stage
//! reads each lane where it is. States, splits and what is known of keys are told by the task with the first lane. Rows that are to
//! be widened need all their lanes, so the stage before such a one shares none.
//!
//! A worker does one of these tasks at a time: two would wait for each other's memory while others have nothing to do.
//!
//! Cost: each of these tasks makes the family's tables, where they are made in parts. A look-up for each of them when one is granted.

use keima_blocks::lanes::slices;
use keima_blocks::pool::{Shares, in_shares};
use keima_orders::{Lanes, WorkerId};

use super::StageRun;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::store::records::Shard;

/// Shards of fewer records than this part of what a slot has are not shared: they are several small groups.
const SLOT_PART: u64 = 2;

/// What decides how many tasks share a family's lanes.
#[derive(Clone, Copy, Debug)]
struct LaneRoom {
    /// Lanes of the stage.
    lanes: u32,
    /// States of which one lane fits a worker.
    room_states: u64,
    /// The largest number of states within the stage, as a part of those at its start.
    growth: f64,
    workers: u64,
    /// Tasks that a worker does at a time.
    worker_slots: u32,
    /// Tasks that all workers do at a time.
    slots: u32,
}

impl LaneRoom {
    /// Lanes of a family that a worker takes at a time: the family has the memory of as many tasks as its share of the stage is
    /// worth. 0 where a lane takes more, and other tasks wait.
    fn lanes_at_a_time(&self, records: u64, all_records: u64) -> u32 {
        let states = (records as f64 * self.growth.max(1.0)).max(1.0);
        let of_task = self.room_states as f64 / f64::from(self.worker_slots.max(1)) / states;
        let shares = Shares::of_tasks(self.worker_slots, 0.0);
        let worth = shares.worth(records, all_records, self.slots);
        let tasks = if worth > 1 { worth.max(shares.threads(in_shares(1.0 / of_task))) } else { 1 };
        (of_task * tasks as f64) as u32
    }
}

impl Job {
    /// The shards of a stage, those of large families once for each of several workers.
    pub(super) fn sharing_lanes(&self, number: u32, shards: Vec<Shard>, fleet: &Fleet) -> Vec<Shard> {
        let (plan, sweep) = (&self.record.plan, self.record.sweep);
        let Some(block) = plan.block().filter(|_| plan.may_share_lanes(sweep, number)) else { return shards };
        let states = |pass: u32| plan.states.get(pass as usize).copied().unwrap_or(0);
        let stage = plan.stage(number);
        let most = (stage.first_pass..=stage.end_pass()).map(states).max().unwrap_or(0);
        let planned = plan.slots / self.record.spec.worker_slots.max(1);
        let here = fleet.here().filter(|(id, _)| self.may_use(fleet, id)).count() as u64;
        let room = LaneRoom {
            lanes: plan.stage_moduli(sweep, number).len() as u32,
            room_states: block.room_states,
            growth: most as f64 / states(stage.first_pass).max(1) as f64,
            workers: here.max(planned.into()),
            worker_slots: self.record.spec.worker_slots,
            slots: u32::try_from(self.slots(fleet)).unwrap_or(u32::MAX),
        };
        share(shards, &room)
    }

    /// Whether a worker is at other lanes of what a task of the stage takes some lanes of.
    pub(super) fn is_at_other_lanes(&self, fleet: &Fleet, stage: &StageRun, number: u32, worker: &WorkerId) -> bool {
        let task = stage.tasks.get(number as usize);
        let Some(shard) = task.map(|task| task.shard).filter(|shard| shard.lanes.is_some()) else { return false };
        // They stand side by side.
        let shares = |other: &u32| stage.tasks.get(*other as usize).is_some_and(|task| task.shard.has_keys_of(&shard));
        let before = (0..number).rev().take_while(shares);
        let after = (number.saturating_add(1)..=u32::MAX).take_while(shares);
        let is_there = |other| fleet.attempts(self.attempt(stage, other, 0)).any(|(_, lease)| lease.worker == *worker);
        before.chain(after).any(is_there)
    }
}

fn share(shards: Vec<Shard>, room: &LaneRoom) -> Vec<Shard> {
    let total = shards.iter().fold(0_u64, |sum, shard| sum.saturating_add(shard.records));
    let small = total / (u64::from(room.slots) * SLOT_PART).max(1);
    let shared = |shard: Shard| {
        let fit = room.lanes_at_a_time(shard.records, total);
        if room.workers < 2 || fit >= room.lanes || shard.records <= small {
            return vec![shard];
        }
        let slices = slices(room.lanes, fit);
        let parts = (slices.len() as u64).min(room.workers).max(1);
        let each = slices.len().div_ceil(parts as usize);
        let part = |slices: &[std::ops::Range<u32>]| {
            let lanes = Lanes { first: slices.first()?.start, end: slices.last()?.end };
            Some(Shard { lanes: Some(lanes), ..shard })
        };
        slices.chunks(each).filter_map(part).collect()
    };
    shards.into_iter().flat_map(shared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes of the shards that a shard of 1,000 records becomes, beside `others` of 100 records each. Workers do one task at a
    /// time.
    fn check(lanes: u32, room_states: u64, growth: f64, workers: u64, others: usize, expected: &[(u32, u32)]) {
        let slots = workers as u32;
        check_room(LaneRoom { lanes, room_states, growth, workers, worker_slots: 1, slots }, others, expected);
    }

    fn check_room(room: LaneRoom, others: usize, expected: &[(u32, u32)]) {
        let all = std::iter::once(1000).chain(std::iter::repeat_n(100, others));
        let shards: Vec<Shard> =
            (0..).zip(all).map(|(at, records)| Shard::of_keys(at, Some(at + 1), records)).collect();
        let shared = share(shards.clone(), &room);
        let of = |at: u128| shared.iter().filter(move |shard| shard.low == at);
        let got: Vec<(u32, u32)> = of(0).filter_map(|s| s.lanes).map(|lanes| (lanes.first, lanes.end)).collect();
        assert_eq!(got, expected, "{room:?}, {others} others");
        // Others fit, or are small.
        assert!(shards[1..].iter().all(|shard| of(shard.low).eq([shard])), "{shared:?}");
        assert_eq!(of(0).count(), expected.len().max(1));
    }

    #[test]
    fn workers_share_the_lanes_of_large_families() {
        // All lanes fit, or there is one worker.
        check(4, 4000, 1.0, 3, 9, &[]);
        check(4, 1000, 1.0, 1, 9, &[]);
        // Two lanes fit; with growth one; with less memory than a lane one, too.
        check(4, 2500, 1.0, 3, 9, &[(0, 2), (2, 4)]);
        check(4, 2500, 1.5, 9, 9, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        check(4, 500, 1.0, 9, 9, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        // Fewer workers than rounds: some take several, one after the other.
        check(12, 1000, 1.0, 5, 19, &[(0, 3), (3, 6), (6, 9), (9, 12)]);
        check(12, 5000, 1.0, 2, 9, &[(0, 8), (8, 12)]);
        check(10, 4000, 1.0, 9, 9, &[(0, 4), (4, 8), (8, 10)]);
        // Several small groups: half of what a slot has is 2,500 records.
        check(4, 100, 1.0, 2, 90, &[]);
        // Of four tasks a worker: the family is worth all of them, or two, whose memory holds one lane.
        let room = LaneRoom { lanes: 4, room_states: 2000, growth: 1.0, workers: 4, worker_slots: 4, slots: 16 };
        check_room(room, 9, &[(0, 2), (2, 4)]);
        check_room(LaneRoom { workers: 2, slots: 8, ..room }, 30, &[(0, 2), (2, 4)]);
        check_room(LaneRoom { room_states: 4000, workers: 2, slots: 8, ..room }, 30, &[(0, 2), (2, 4)]);
        check_room(LaneRoom { room_states: 8000, workers: 2, slots: 8, ..room }, 30, &[]);
    }
}
