//! A stage under way: cutting it, granting its tasks, committing them one by one.
//!
//! ```text
//!   newest boundary --cut--> tasks: pending --grant--> leased --commit--> done
//!                                                                all done --closing.rs--> next boundary
//! ```

pub(crate) mod closing;
pub(crate) mod laws;
pub(crate) mod shards;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use keima_blocks::limits::{MOST_GROUPS, PLACE_BITS};
use keima_model::Direction;
use keima_orders::{AttemptId, BlockOrder, KeptOrder, TaskOrder, WorkerId};
use keima_runs::{Split, TaskManifest};

use crate::api::{Grant, Millis, Verdict, Work};
use crate::fleet::Common;
use crate::job::Job;
use crate::job::boundaries::Committed;
use crate::job::stage::laws::{Asked, Fault};
use crate::job::stage::shards::{Cut, Grain, Shard, cut, meets};
use crate::job::status::State;
use crate::plan::LARGE_VECTOR_BYTES;

/// Split points that are kept of a whole boundary, roughly.
const MOST_SPLITS: usize = 1 << 18;
/// Tasks of the first stage of blocks, whose groups nobody has counted yet.
const FIRST_TASKS_PER_SLOT: u64 = 8;

/// The stage that a job is at.
pub(crate) struct StageRun {
    pub(crate) number: u32,
    pub(crate) generation: u32,
    pub(crate) durable: bool,
    /// Whether no family was cut: then outputs of different tasks are disjoint.
    pub(crate) closed: bool,
    pub(crate) tasks: Vec<Task>,
    /// Tasks that nobody is at, the largest first.
    pub(crate) pending: BTreeSet<(Reverse<u64>, u32)>,
    /// Tasks that are not done.
    pub(crate) left: usize,
    /// How long finished tasks took, ascending.
    pub(crate) durations: Vec<Millis>,
}

/// The work of the stage on one shard.
pub(crate) struct Task {
    pub(crate) shard: Shard,
    /// Number of the next attempt.
    pub(crate) attempts: u32,
    pub(crate) failed: BTreeMap<WorkerId, u32>,
    /// Evidence of failed checks.
    pub(crate) checks: Vec<String>,
    pub(crate) done: Option<Committed>,
}

impl StageRun {
    /// A stage none of whose tasks is granted or done.
    pub(crate) fn new(number: u32, generation: u32, durable: bool, closed: bool, shards: Vec<Shard>) -> Self {
        let pending = (0..).zip(&shards).map(|(task, shard)| (Reverse(shard.records), task)).collect();
        let task = |shard| Task { shard, attempts: 0, failed: BTreeMap::new(), checks: Vec::new(), done: None };
        let tasks: Vec<Task> = shards.into_iter().map(task).collect();
        Self { number, generation, durable, closed, pending, left: tasks.len(), tasks, durations: Vec::new() }
    }
}

impl Job {
    /// The task of a living attempt.
    pub(crate) fn task_mut(&mut self, attempt: AttemptId) -> Option<&mut Task> {
        let stage = self.stage.as_mut().filter(|stage| stage.generation == attempt.generation)?;
        stage.tasks.get_mut(attempt.task as usize)
    }

    /// A task that lost an attempt is pending, unless it is done or has another one.
    pub(crate) fn back_to_pending(&mut self, attempt: AttemptId, common: &Common) {
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.generation == attempt.generation) else { return };
        let Some(task) = stage.tasks.get(attempt.task as usize) else { return };
        if task.done.is_none() && common.attempts(attempt).next().is_none() {
            stage.pending.insert((Reverse(task.shard.records), attempt.task));
        }
    }

    /// The number of the stage that comes next in this sweep.
    pub(crate) fn next_stage(&self) -> u32 {
        self.boundaries.last().map_or(0, |boundary| boundary.head.stage + 1)
    }

    /// Cuts the next stage if none is under way. A stage without input (no states are left) is done at once.
    fn ensure_stage(&mut self, common: &mut Common) {
        while self.is_live() && self.stage.is_none() {
            self.start_stage(common);
            if self.stage.as_ref().is_some_and(|stage| stage.left == 0) {
                self.complete_stage(common);
            }
        }
    }

    fn start_stage(&mut self, common: &mut Common) {
        let number = self.next_stage();
        let generation = self.new_generation(common);
        let cut = self.cut_stage(number, common);
        let plan = &self.record.plan;
        let stage = plan.stage(number);
        let ends_column = stage.ends_column(plan.board);
        let due = common.now.saturating_sub(self.last_durable_at) >= common.config.durable_interval_millis;
        let bytes = self.input_of(number).map_or(0, |b| b.runs().map(|run| run.bytes).fold(0, u64::saturating_add));
        let large = bytes >= LARGE_VECTOR_BYTES;
        let to_be_copied = ends_column && common.workers_here() > 1 && self.copies_are_due(common);
        let kept = plan.kept_stage() == Some(number);
        let durable = due || large || to_be_copied || kept || number + 1 >= plan.stages();
        let shards = self.without_empty(number, cut.shards);
        let run = StageRun::new(number, generation, durable, cut.closed, shards);
        if common.config.persist_grants {
            common.store_stage(self.id, self.record.sweep, &run);
        }
        self.stage = Some(run);
        self.missing.forget();
    }

    /// Tasks that can be done at a time: by the workers that are here, or that were when the job was planned.
    fn slots(&self, common: &Common) -> u64 {
        let here = common.workers.iter().filter(|(id, w)| w.here && self.may_use(common, id));
        here.map(|(_, w)| u64::from(w.slots)).sum::<u64>().max(self.record.plan.slots.into())
    }

    fn cut_stage(&self, number: u32, common: &Common) -> Cut {
        let plan = &self.record.plan;
        let Some(input) = self.input_of(number) else {
            return Cut { shards: self.first_shards(), closed: true };
        };
        let stage = plan.stage(number);
        let slots = self.slots(common);
        let states = |pass: u32| plan.states.get(pass as usize).copied().unwrap_or(0);
        let (begins, ends) = stage.boundaries();
        // A window of one cell gains nothing from whole families.
        let own_bits = || {
            Self::info(self.problem.as_ref()).filter(|_| stage.window.len > 1).and_then(|info| {
                let bits = info.family_bits(stage.layout_in);
                (bits < info.key_bits()).then_some(bits)
            })
        };
        // Keys of blocks have the number of the group that reads them above its records' places.
        let family_bits = if plan.block.is_some() { Some(PLACE_BITS) } else { own_bits() };
        let grain = Grain {
            task_records: plan.task_records,
            min_task_records: plan.min_task_records,
            slots,
            growth: (states(ends), states(begins)),
            family_bits,
        };
        cut(input.tasks.iter().flat_map(|task| task.manifest.splits.iter().copied()).collect(), &grain)
    }

    /// The start vector is one shard; of blocks, which are dense from the start, each task makes some groups.
    fn first_shards(&self) -> Vec<Shard> {
        let plan = &self.record.plan;
        let Some(block) = &plan.block else { return vec![Shard { low: 0, high: None, records: 1 }] };
        // No two consecutive groups fit one; some shards at the end may hold none.
        let groups = (2 * plan.peak_states / block.group_records.max(1)).saturating_add(1).min(MOST_GROUPS);
        let tasks = groups.min(u64::from(plan.slots) * FIRST_TASKS_PER_SLOT).max(1);
        let bound = |task: u64| u128::from(task * groups / tasks) << PLACE_BITS;
        (0..tasks)
            .map(|task| {
                let high = (task + 1 < tasks).then(|| bound(task + 1));
                Shard { low: bound(task), high, records: (plan.peak_states / tasks).max(1) }
            })
            .collect()
    }

    /// Shards that some run may have keys in.
    fn without_empty(&self, number: u32, mut shards: Vec<Shard>) -> Vec<Shard> {
        if let Some(input) = self.input_of(number) {
            shards.retain(|s| input.runs().any(|run| meets(run.first_key, run.last_key, s.low, s.high)));
        }
        shards
    }

    /// A pending task for a worker.
    pub(crate) fn grant_task(&mut self, common: &mut Common, worker: &WorkerId) -> Option<Grant> {
        if !self.is_live() || !self.may_use(common, worker) {
            return None;
        }
        self.ensure_stage(common);
        self.refresh_missing(common);
        let stage = self.stage.as_ref().filter(|_| self.is_live())?;
        let pending = stage.pending.iter().map(|&(_, task)| task);
        let task = pending.into_iter().find(|&task| self.can_do(task, worker))?;
        self.grant(common, task, worker)
    }

    fn can_do(&self, number: u32, worker: &WorkerId) -> bool {
        let Some(task) = self.stage.as_ref().and_then(|stage| stage.tasks.get(number as usize)) else { return false };
        let Shard { low, high, .. } = task.shard;
        task.failed.get(worker).is_none_or(|&failures| failures < 2)
            && !self.missing.runs.iter().any(|run| meets(run.first_key, run.last_key, low, high))
    }

    /// A slow task that another worker is at, once more.
    pub(crate) fn grant_again(&mut self, common: &mut Common, worker: &WorkerId) -> Option<Grant> {
        if !common.config.speculate || !self.is_live() || !self.may_use(common, worker) {
            return None;
        }
        let stage = self.stage.as_ref().filter(|stage| stage.pending.is_empty())?;
        let median = stage.durations.get(stage.durations.len() / 2)?;
        let slow = median.saturating_mul(common.config.speculate_factor).max(common.config.speculate_min_millis);
        let task =
            |task| AttemptId { job: self.id, sweep: self.record.sweep, generation: stage.generation, task, attempt: 0 };
        let slow_tasks = (0..).zip(&stage.tasks).filter(|(_, t)| t.done.is_none()).filter_map(|(number, _)| {
            let mut attempts = common.attempts(task(number));
            let (_, lease) = attempts.next()?;
            let elapsed = common.now.saturating_sub(lease.granted);
            let alone = attempts.next().is_none() && lease.worker != *worker;
            (alone && elapsed > slow && self.can_do(number, worker)).then_some((elapsed, number))
        });
        let (_, number) = slow_tasks.max()?;
        self.grant(common, number, worker)
    }

    fn grant(&mut self, common: &mut Common, number: u32, worker: &WorkerId) -> Option<Grant> {
        let stage = self.stage.as_ref()?;
        let task = stage.tasks.get(number as usize)?;
        let Shard { low, high, .. } = task.shard;
        let attempt = AttemptId {
            job: self.id,
            sweep: self.record.sweep,
            generation: stage.generation,
            task: number,
            attempt: task.attempts.max(common.first_number()),
        };
        let mut order = self.order(stage, attempt, low, high);
        order.inputs = self.inputs(self.input_of(stage.number), (low, high), worker, common);
        if let Some(block) = &mut order.block {
            block.slots = u32::try_from(self.slots(common)).unwrap_or(u32::MAX);
            if let Some(kept) = &mut block.kept {
                kept.inputs = self.inputs(self.kept(), (low, high), worker, common);
            }
        }
        let stage = self.stage.as_mut()?;
        let task = stage.tasks.get_mut(number as usize)?;
        task.attempts = attempt.attempt.saturating_add(1);
        stage.pending.remove(&(Reverse(task.shard.records), number));
        if self.record.state == State::Queued {
            self.record.state = State::Running;
            common.store_job(self, false);
        }
        Some(common.grant(attempt, worker, Work::Stage(Box::new(order))))
    }

    /// The order of an attempt at a task, but for the inputs and the number of slots, which only a grant knows.
    fn order(&self, stage: &StageRun, attempt: AttemptId, low: u128, high: Option<u128>) -> TaskOrder {
        let plan = &self.record.plan;
        let place = plan.stage(stage.number);
        let block = plan.block.as_ref().map(|block| BlockOrder {
            windows: plan.windows.clone(),
            group_records: block.group_records,
            moduli_in: self.moduli_read(stage.number),
            parted: block.parted,
            slots: plan.slots,
            both_ways: block.middle.is_some(),
            direction: place.direction,
            kept: plan.meets(stage.number).then(|| KeptOrder { inputs: Vec::new(), moduli: self.kept_moduli() }),
        });
        TaskOrder {
            attempt,
            problem: self.record.spec.problem.clone(),
            job_tag: self.record.tag,
            salt: self.record.salt,
            moduli: plan.stage_moduli(self.record.sweep, stage.number),
            first_pass: place.first_pass,
            window: place.window,
            layout_in: place.layout_in,
            layout_out: place.layout_out,
            from_start: plan.starts(stage.number),
            low,
            high,
            inputs: Vec::new(),
            task_memory_bytes: plan.task_memory_bytes,
            durable: stage.durable,
            block,
        }
    }

    /// What a living attempt was asked, to hold its manifest against.
    fn asked(&self, attempt: AttemptId) -> Option<Asked> {
        let stage = self.stage.as_ref().filter(|stage| stage.generation == attempt.generation)?;
        let Shard { low, high, .. } = stage.tasks.get(attempt.task as usize)?.shard;
        Some(Asked {
            order: self.order(stage, attempt, low, high),
            coefficients: self.record.plan.coefficients,
            functionals: self.functionals_of(stage.number),
        })
    }

    /// Moduli of what a stage reads.
    pub(crate) fn moduli_read(&self, stage: u32) -> Vec<u64> {
        let plan = &self.record.plan;
        let before = if plan.starts(stage) { stage } else { stage.saturating_sub(1) };
        plan.stage_moduli(self.record.sweep, before)
    }

    /// Moduli of the forward vector that is kept for a transposed one.
    pub(crate) fn kept_moduli(&self) -> Vec<u64> {
        let plan = &self.record.plan;
        plan.stage_moduli(self.record.sweep, plan.kept_stage().unwrap_or(0))
    }

    /// Functionals that fall on the passes of a stage.
    pub(crate) fn functionals_of(&self, stage: u32) -> Vec<u32> {
        let plan = &self.record.plan;
        let place = plan.stage(stage);
        let all = Self::info(self.problem.as_ref()).map(keima_model::ProblemInfo::functionals).unwrap_or_default();
        if place.direction == Direction::Backward {
            // Where two vectors meet, the whole board's is read off; on the way there, nothing.
            let last = plan.board.passes().checked_sub(1).filter(|_| plan.meets(stage));
            return (0..).zip(&all).filter(|(_, f)| Some(f.after_pass) == last).map(|(number, _)| number).collect();
        }
        // The first column of blocks has no stage of its own.
        let first = if stage == 0 { 0 } else { place.first_pass };
        let here = first..place.end_pass();
        (0..).zip(&all).filter(|(_, f)| here.contains(&f.after_pass)).map(|(number, _)| number).collect()
    }

    /// A living attempt says that it is done.
    pub(crate) fn commit(&mut self, common: &mut Common, attempt: AttemptId, manifest: TaskManifest) -> Verdict {
        let fault = match (self.asked(attempt), Self::info(self.problem.as_ref())) {
            (Some(asked), Some(info)) => asked.check(info, &manifest),
            _ => Err(Fault::Form("its stage is over".into())),
        };
        let Some(lease) = common.end_lease(attempt, false) else {
            return Verdict::Refused { reason: format!("{attempt}: the lease has ended") };
        };
        if let Err(fault) = fault {
            self.back_to_pending(attempt, common);
            let text = match fault {
                Fault::Form(text) => {
                    self.fail_task(attempt, &lease.worker, &format!("malformed manifest: {text}"));
                    text
                }
                Fault::Law(text) => {
                    self.fail_check(common, attempt, &lease.worker, &text);
                    text
                }
            };
            return Verdict::Refused { reason: format!("{attempt}: {text}") };
        }
        self.count_in(common, &manifest, &lease.worker);
        let others: Vec<AttemptId> = common.attempts(attempt).map(|(other, _)| *other).collect();
        for other in others {
            common.end_lease(other, true);
        }
        let elapsed = common.now.saturating_sub(lease.granted);
        let done = Committed { attempt, nonce: lease.nonce, writer: lease.worker, manifest };
        self.set_done(common, done, elapsed);
        if self.stage.as_ref().is_some_and(|stage| stage.left == 0) {
            self.complete_stage(common);
        }
        Verdict::Accepted
    }

    fn count_in(&mut self, common: &mut Common, manifest: &TaskManifest, worker: &WorkerId) {
        for run in &manifest.runs {
            common.hold(worker, run);
            self.runs.insert(run.id.clone(), run.bytes);
        }
        let totals = &mut self.record.totals;
        totals.bytes_read = totals.bytes_read.saturating_add(manifest.bytes_read);
        totals.bytes_written = totals.bytes_written.saturating_add(manifest.bytes_written);
        totals.bytes_spilled = totals.bytes_spilled.saturating_add(manifest.bytes_spilled);
        totals.times.add(manifest.times);
        totals.tasks = totals.tasks.saturating_add(1);
        self.rate.add(manifest.passes.iter().fold(0, |sum, pass| sum.saturating_add(pass.states)));
        self.disk_failures.remove(worker);
    }

    fn set_done(&mut self, common: &mut Common, mut done: Committed, elapsed: Millis) {
        let Some(stage) = self.stage.as_mut() else { return };
        let tasks = stage.tasks.len();
        let number = done.attempt.task;
        let Some(task) = stage.tasks.get_mut(number as usize).filter(|task| task.done.is_none()) else { return };
        trim(&mut done.manifest, tasks);
        if common.config.persist_grants {
            common.store_task(self.id, self.record.sweep, stage.generation, &done);
        }
        stage.pending.remove(&(Reverse(task.shard.records), number));
        task.done = Some(done);
        stage.left -= 1;
        let place = stage.durations.partition_point(|&d| d < elapsed);
        stage.durations.insert(place, elapsed);
    }

    /// Whether exactly this attempt stands in a manifest, or this copy is held.
    pub(crate) fn has_committed(&self, attempt: AttemptId, nonce: u64, worker: &WorkerId) -> bool {
        let stands = |done: &Committed| done.attempt == attempt && done.nonce == nonce && done.writer == *worker;
        let here = self.stage.iter().flat_map(|stage| &stage.tasks).filter_map(|task| task.done.as_ref());
        here.chain(self.boundaries.iter().flat_map(|b| &b.tasks)).any(stands)
    }
}

/// Lets go of what a checked manifest is not needed for any more, and of splits beyond what cutting can use.
fn trim(manifest: &mut TaskManifest, tasks: usize) {
    for pass in &mut manifest.passes {
        pass.by_degree.clear();
        pass.new_sums.clear();
    }
    if manifest.splits.is_empty() {
        let ends = manifest.runs.iter().map(|run| Split { key: run.last_key.saturating_add(1), records: run.records });
        manifest.splits = ends.collect();
    }
    let step = manifest.splits.len().div_ceil((MOST_SPLITS / tasks.max(1)).max(8)).max(1);
    if step > 1 {
        let merge = |piece: &[Split]| {
            let records = piece.iter().fold(0_u64, |sum, split| sum.saturating_add(split.records));
            piece.last().map(|last| Split { key: last.key, records })
        };
        manifest.splits = manifest.splits.chunks(step).filter_map(merge).collect();
    }
}
