//! Granting the tasks of a stage.

use keima_orders::{AttemptId, BlockOrder, KeptOrder, TaskOrder, WorkerId};

use super::commits::most_splits;
use super::{StageRun, Task};
use crate::api::{Grant, Millis, State, Work};
use crate::fleet::Fleet;
use crate::fleet::config::Config;
use crate::fleet::lease::Lease;
use crate::job::Job;
use crate::job::boundaries::inputs;
use crate::store::records::Shard;

/// Late tasks are looked for so often in the time of a lease, where more leases than this live.
const LATE_LOOKS_PER_LEASE: Millis = 64;
const FEW_LEASES: usize = 256;
/// Most attempts at a task that live at a time.
const MOST_ATTEMPTS: usize = 4;

impl Job {
    /// A task or a copy that lost an attempt is pending, unless it is done or has another attempt.
    pub(crate) fn back_to_pending(&mut self, attempt: AttemptId, fleet: &Fleet) {
        if fleet.attempts(attempt).next().is_some() {
            return;
        }
        if let Some(round) = self.copies.round.as_mut().filter(|round| round.generation == attempt.generation) {
            round.batch.put_back(attempt.task);
        }
        if let Some(round) = self.archive.round_of_mut(attempt.generation) {
            round.batch.put_back(attempt.task);
        }
        if let Some(stage) = self.stage.as_mut().filter(|stage| stage.generation == attempt.generation) {
            stage.put_back(attempt.task);
        }
    }

    /// A pending task for a worker, the largest one that it can do.
    pub(crate) fn grant_task(&mut self, fleet: &mut Fleet, worker: &WorkerId) -> Option<Grant> {
        if !self.is_live() || self.replanning.is_under_way {
            return None;
        }
        if self.wants_plan(fleet) {
            fleet.plans_wanted.insert(self.id);
            return None;
        }
        if !self.may_use(fleet, worker) || !self.has_room_for(fleet, worker) {
            return None;
        }
        self.ensure_stage(fleet);
        self.refresh_missing(fleet);
        let stage = self.stage.as_ref().filter(|_| self.is_live())?;
        // Few tasks are counted again. They go first, so that the stage need not wait for them at its end.
        let again = self.task_to_recount(fleet, worker);
        let task = again.or_else(|| stage.pending().find(|&task| self.can_do(fleet, stage, task, worker)))?;
        self.grant(fleet, task, worker)
    }

    /// Whether a worker may do a task, and its inputs can be read.
    pub(super) fn can_do(&self, fleet: &Fleet, stage: &StageRun, number: u32, worker: &WorkerId) -> bool {
        let task = stage.tasks.get(number as usize);
        let fit = |task: &Task| !task.attempts.is_hopeless(worker) && self.may_speak(fleet, task, worker);
        task.is_some_and(|task| fit(task) && self.boundaries.can_read(&task.shard))
            && !self.is_at_other_lanes(fleet, stage, number, worker)
    }

    /// A task that is slow on another worker, or does not get on at all, granted once more. Called when no pending task can
    /// be done.
    pub(crate) fn grant_again(&mut self, fleet: &mut Fleet, worker: &WorkerId) -> Option<Grant> {
        if !fleet.config.speculate
            || !self.is_live()
            || !self.may_use(fleet, worker)
            || !self.has_room_for(fleet, worker)
        {
            return None;
        }
        self.look_for_late(fleet);
        let stage = self.stage.as_ref()?;
        // Done again may also be what another worker was to do again.
        let by_other = |task: &Task| task.done.as_ref().is_some_and(|done| done.writer != *worker);
        let is_open =
            |(number, task): &(u32, &Task)| task.done.is_none() || stage.recounts.contains(number) && by_other(task);
        let (_, late) = stage.late.as_ref().filter(|(_, late)| !late.is_empty())?;
        let median = stage.median_duration();
        let open = late.iter().filter_map(|&number| Some((number, stage.tasks.get(number as usize)?)));
        let late = open.filter(is_open).filter_map(|(number, _)| {
            let late_millis = self.late_elsewhere(fleet, stage, number, Some(worker), median)?;
            self.can_do(fleet, stage, number, worker).then_some((late_millis, number))
        });
        let (_, latest) = late.max()?;
        self.grant(fleet, latest, worker)
    }

    /// Lists the tasks that are late. What is late does not change within a millisecond, in which thousands of waiting pulls may
    /// ask. Where many are under way, once in a while is enough.
    fn look_for_late(&mut self, fleet: &Fleet) {
        let Some(stage) = self.stage.as_ref() else { return };
        let wait_millis = fleet.config.lease_millis / LATE_LOOKS_PER_LEASE;
        let is_fresh = |at: &Millis| {
            *at == fleet.now || fleet.leases.len() > FEW_LEASES && fleet.now.saturating_sub(*at) < wait_millis
        };
        if stage.late.as_ref().is_some_and(|(at, _)| is_fresh(at)) {
            return;
        }
        let median = stage.median_duration();
        let attempts = fleet.attempts_of_job(self.id).map(|(attempt, _)| attempt);
        let mut numbers: Vec<u32> = attempts.filter(|a| a.generation == stage.generation).map(|a| a.task).collect();
        numbers.dedup();
        numbers.retain(|&number| self.late_elsewhere(fleet, stage, number, None, median).is_some());
        if let Some(stage) = &mut self.stage {
            stage.late = Some((fleet.now, numbers));
        }
    }

    /// How late a task is that others work on; `None` if it is not. It is late when none of its attempts gets on; when there
    /// is only one, also when that takes much longer than the stage's finished tasks did.
    fn late_elsewhere(
        &self,
        fleet: &Fleet,
        stage: &StageRun,
        number: u32,
        worker: Option<&WorkerId>,
        median: Option<Millis>,
    ) -> Option<Millis> {
        let Config { lease_millis, speculate_factor, speculate_min_millis, .. } = fleet.config;
        let attempts: Vec<&Lease> = fleet.attempts(self.attempt(stage, number, 0)).map(|(_, lease)| lease).collect();
        if attempts.len() >= MOST_ATTEMPTS || attempts.iter().any(|lease| Some(&lease.worker) == worker) {
            return None;
        }
        let still_millis = attempts.iter().map(|lease| lease.still_millis(fleet.now)).min()?;
        if still_millis >= lease_millis {
            return Some(still_millis);
        }
        let &[only] = attempts.as_slice() else { return None };
        let slow_millis = median?.saturating_mul(speculate_factor).max(speculate_min_millis);
        let taken_millis = fleet.now.saturating_sub(only.granted);
        (taken_millis > slow_millis).then_some(taken_millis)
    }

    pub(super) fn attempt(&self, stage: &StageRun, task: u32, attempt: u32) -> AttemptId {
        AttemptId { job: self.id, sweep: self.record.sweep, generation: stage.generation, task, attempt }
    }

    fn grant(&mut self, fleet: &mut Fleet, number: u32, worker: &WorkerId) -> Option<Grant> {
        let stage = self.stage.as_ref()?;
        let task = stage.tasks.get(number as usize)?;
        let attempt = self.attempt(stage, number, task.attempts.next(fleet.life.first_number()));
        let mut order = self.order(stage, attempt, task.shard);
        // What is counted again is compared and not kept.
        order.durable &= task.done.is_none();
        let plan = &self.record.plan;
        let inputs = |boundary| inputs(boundary, &task.shard, worker, &self.health.copies, fleet);
        order.inputs = inputs(self.boundaries.input_of(plan, stage.number));
        if let Some(block) = &mut order.block {
            block.slots = u32::try_from(self.slots(fleet)).unwrap_or(u32::MAX);
            if let Some(kept) = &mut block.kept {
                kept.inputs = inputs(self.boundaries.kept(plan));
            }
        }
        let stage = self.stage.as_mut()?;
        stage.take_out(number);
        stage.tasks.get_mut(number as usize)?.attempts.granted(attempt.attempt);
        if self.record.state == State::Queued {
            self.record.state = State::Running;
            self.tell_state(fleet);
            fleet.journal.put_job(self.id, &self.record);
        }
        Some(fleet.grant(attempt, worker, Work::Stage(Box::new(order))))
    }

    /// The order of an attempt at a task, but for the inputs and the number of slots, which only a grant knows.
    fn order(&self, stage: &StageRun, attempt: AttemptId, shard: Shard) -> TaskOrder {
        let (record, plan) = (&self.record, &self.record.plan);
        let place = plan.stage(stage.number);
        let block = plan.block().map(|block| BlockOrder {
            windows: plan.windows.clone(),
            group_records: block.group_records,
            moduli_in: plan.moduli_read(record.sweep, stage.number),
            parted: block.parted,
            slots: plan.slots,
            both_ways: block.middle.is_some(),
            direction: place.direction,
            lanes: shard.lanes,
            kept: plan
                .meets(stage.number)
                .then(|| KeptOrder { inputs: Vec::new(), moduli: plan.kept_moduli(record.sweep) }),
        });
        TaskOrder {
            attempt,
            problem: record.spec.problem.clone(),
            origin: record.origin(),
            job_tag: record.tag,
            salt: record.salt,
            moduli: plan.stage_moduli(record.sweep, stage.number),
            first_pass: place.first_pass,
            window: place.window,
            layout_in: place.layout_in,
            layout_out: place.layout_out,
            from_start: plan.starts(stage.number),
            low: shard.low,
            high: shard.high,
            inputs: Vec::new(),
            task_memory_bytes: plan.task_memory_bytes,
            durable: stage.durable,
            most_splits: most_splits(stage.tasks.len()) as u32,
            block,
        }
    }
}
