//! Cutting a stage into tasks, when somebody asks for one.

use keima_blocks::limits::{MOST_GROUPS, PLACE_BITS};

use super::StageRun;
use super::shards::{Cut, Grain, cut};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::plan::LARGE_VECTOR_BYTES;
use crate::store::records::{Boundary, Shard};

/// Tasks of the first stage of blocks: it makes its groups, so nobody has counted them yet.
const FIRST_TASKS_PER_SLOT: u64 = 8;

impl Job {
    /// Cuts the next stage if none is under way. A stage without input (no states are left) is done at once.
    pub(super) fn ensure_stage(&mut self, fleet: &mut Fleet) {
        while self.is_live() && self.stage.is_none() {
            self.start_stage(fleet);
            if self.stage.as_ref().is_some_and(StageRun::is_complete) {
                self.complete_stage(fleet);
            }
        }
    }

    fn start_stage(&mut self, fleet: &mut Fleet) {
        let number = self.boundaries.next_stage();
        let generation = self.new_generation(fleet);
        let cut = self.cut_stage(number, fleet);
        let shards = self.sharing_lanes(number, self.without_empty(number, cut.shards), fleet);
        let mut stage = StageRun::new(number, generation, self.must_be_durable(number, fleet), cut.closed, shards);
        self.note_answer(&mut stage);
        fleet.journal.put_stage(self.id, &stage.record(self.record.sweep));
        self.stage = Some(stage);
        self.boundaries.forget_missing();
    }

    /// Whether a stage's output must be on stable storage.
    fn must_be_durable(&self, number: u32, fleet: &Fleet) -> bool {
        let plan = &self.record.plan;
        let age = fleet.now.saturating_sub(self.boundaries.last_durable_at);
        let due = age >= fleet.config.durable_interval_millis;
        let large = self.boundaries.input_of(plan, number).map_or(0, Boundary::bytes) >= LARGE_VECTOR_BYTES;
        let ends_column = plan.stage(number).ends_column(plan.board);
        let to_be_copied = ends_column && fleet.here().count() > 1 && self.copies.are_due(fleet);
        let kept = plan.kept_stage() == Some(number);
        due || large || to_be_copied || kept || number + 1 >= plan.stages()
    }

    /// Tasks that can be done at a time: by the workers that are here, or as many as the plan assumed.
    pub(super) fn slots(&self, fleet: &Fleet) -> u64 {
        let usable = fleet.here().filter(|(id, _)| self.may_use(fleet, id));
        usable.map(|(_, worker)| u64::from(worker.slots)).sum::<u64>().max(self.record.plan.slots.into())
    }

    fn cut_stage(&self, number: u32, fleet: &Fleet) -> Cut {
        let plan = &self.record.plan;
        let Some(input) = self.boundaries.input_of(plan, number) else {
            return Cut { shards: self.first_shards(), closed: true };
        };
        let stage = plan.stage(number);
        let states = |pass: u32| plan.states.get(pass as usize).copied().unwrap_or(0);
        let (begins, ends) = stage.boundaries();
        // A window of one cell gains nothing from whole families.
        let own_bits = || {
            self.info().filter(|_| stage.window.len > 1).and_then(|info| {
                let bits = info.family_bits(stage.layout_in);
                (bits < info.key_bits()).then_some(bits)
            })
        };
        // Keys of blocks hold the number of the group that reads them, above the place in the group.
        let family_bits = if plan.block().is_some() { Some(PLACE_BITS) } else { own_bits() };
        let grain = Grain {
            task_records: plan.task_records,
            min_task_records: plan.min_task_records,
            slots: self.slots(fleet),
            states_before: states(begins),
            states_after: states(ends),
            family_bits,
        };
        cut(input.tasks.iter().flat_map(|task| task.manifest.splits.iter().copied()).collect(), &grain)
    }

    /// Shards of a stage that reads nothing. The start vector of streams is one shard. Blocks are dense from the start:
    /// each task makes some groups.
    fn first_shards(&self) -> Vec<Shard> {
        let plan = &self.record.plan;
        let Some(block) = plan.block() else { return vec![Shard::of_keys(0, None, 1)] };
        // No two consecutive groups fit one; some shards at the end may hold none.
        let groups = (2 * plan.peak_states / block.group_records.max(1)).saturating_add(1).min(MOST_GROUPS);
        let tasks = groups.min(u64::from(plan.slots) * FIRST_TASKS_PER_SLOT).max(1);
        let bound = |task: u64| u128::from(task * groups / tasks) << PLACE_BITS;
        (0..tasks)
            .map(|task| {
                let high = (task + 1 < tasks).then(|| bound(task + 1));
                Shard::of_keys(bound(task), high, (plan.peak_states / tasks).max(1))
            })
            .collect()
    }

    /// Shards in which some run may have keys.
    fn without_empty(&self, number: u32, mut shards: Vec<Shard>) -> Vec<Shard> {
        if let Some(input) = self.boundaries.input_of(&self.record.plan, number) {
            shards.retain(|shard| input.meets(shard));
        }
        shards
    }
}
