//! Granting the tasks of a stage.

use keima_orders::{AttemptId, BlockOrder, KeptOrder, TaskOrder, WorkerId};

use super::StageRun;
use crate::api::{Grant, Millis, State, Work};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::boundaries::inputs;
use crate::store::records::Shard;

impl Job {
    /// A task that lost an attempt is pending, unless it is done or has another attempt.
    pub(crate) fn back_to_pending(&mut self, attempt: AttemptId, fleet: &Fleet) {
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.generation == attempt.generation) else { return };
        if fleet.attempts(attempt).next().is_none() {
            stage.put_back(attempt.task);
        }
    }

    /// A pending task for a worker, the largest one that it can do.
    pub(crate) fn grant_task(&mut self, fleet: &mut Fleet, worker: &WorkerId) -> Option<Grant> {
        if !self.is_live() || !self.may_use(fleet, worker) {
            return None;
        }
        self.ensure_stage(fleet);
        self.refresh_missing(fleet);
        let stage = self.stage.as_ref().filter(|_| self.is_live())?;
        let task = stage.pending().find(|&task| self.can_do(stage, task, worker))?;
        self.grant(fleet, task, worker)
    }

    /// Whether a worker may do a task, and its inputs can be read.
    fn can_do(&self, stage: &StageRun, number: u32, worker: &WorkerId) -> bool {
        let task = stage.tasks.get(number as usize);
        task.is_some_and(|task| !task.attempts.is_hopeless(worker) && self.boundaries.can_read(&task.shard))
    }

    /// A slow task of another worker, granted once more.
    pub(crate) fn grant_again(&mut self, fleet: &mut Fleet, worker: &WorkerId) -> Option<Grant> {
        if !fleet.config.speculate || !self.is_live() || !self.may_use(fleet, worker) {
            return None;
        }
        let stage = self.stage.as_ref().filter(|stage| stage.pending().next().is_none())?;
        let median = stage.median_duration()?;
        let slow = median.saturating_mul(fleet.config.speculate_factor).max(fleet.config.speculate_min_millis);
        let slow_tasks = (0..).zip(&stage.tasks).filter(|(_, task)| task.done.is_none()).filter_map(|(number, _)| {
            let elapsed = self.only_attempt_elsewhere(fleet, stage, number, worker)?;
            (elapsed > slow && self.can_do(stage, number, worker)).then_some((elapsed, number))
        });
        let (_, slowest) = slow_tasks.max()?;
        self.grant(fleet, slowest, worker)
    }

    /// The time since the only attempt at a task was granted, if another worker has it.
    fn only_attempt_elsewhere(
        &self,
        fleet: &Fleet,
        stage: &StageRun,
        number: u32,
        worker: &WorkerId,
    ) -> Option<Millis> {
        let mut attempts = fleet.attempts(self.attempt(stage, number, 0));
        let (_, lease) = attempts.next().filter(|(_, lease)| lease.worker != *worker)?;
        attempts.next().is_none().then(|| fleet.now.saturating_sub(lease.granted))
    }

    fn attempt(&self, stage: &StageRun, task: u32, attempt: u32) -> AttemptId {
        AttemptId { job: self.id, sweep: self.record.sweep, generation: stage.generation, task, attempt }
    }

    fn grant(&mut self, fleet: &mut Fleet, number: u32, worker: &WorkerId) -> Option<Grant> {
        let stage = self.stage.as_ref()?;
        let task = stage.tasks.get(number as usize)?;
        let attempt = self.attempt(stage, number, task.attempts.next(fleet.life.first_number()));
        let mut order = self.order(stage, attempt, task.shard);
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
            fleet.journal.put_job(self.id, &self.record);
        }
        Some(fleet.grant(attempt, worker, Work::Stage(Box::new(order))))
    }

    /// The order of an attempt at a task, but for the inputs and the number of slots, which only a grant knows.
    pub(super) fn order(&self, stage: &StageRun, attempt: AttemptId, shard: Shard) -> TaskOrder {
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
            kept: plan
                .meets(stage.number)
                .then(|| KeptOrder { inputs: Vec::new(), moduli: plan.kept_moduli(record.sweep) }),
        });
        TaskOrder {
            attempt,
            problem: record.spec.problem.clone(),
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
            block,
        }
    }
}
