//! The plan of a count and what follows from it: stages, states, bytes.
//!
//! ```text
//!   state-passes of a stage   sum over its passes of the states before them
//!   bytes written             states at its end x bytes of a record with its lanes
//!   bytes before it           states at its start x bytes of a record with the lanes of the stage before
//!   bytes read                bytes before it; times slices if the lanes grow. Families that are larger than a task are
//!                             cut into slices of lanes, and new lanes need all old ones (see [`super::families`])
//! ```
//!
//! As exact as the problem's numbers of states. These may be upper bounds, as in Go's first columns. Three things are left
//! out: spills, which the planner avoids if it can; merges of more runs than a task reads at once; and blocks of runs that
//! two neighbouring tasks both read, which matter for small boards only. Cost: one row per stage; plans
//! of more stages than `MOST_STAGES` have no rows.

mod in_memory;
mod notes;

use keima_blocks::parts::beside_tasks_bytes;
use keima_blocks::process::{share_bytes, task_memory_bytes};
use keima_coordinator::{Plan, PlanError, PlanLimits, Stage, choose_plan};
use keima_model::{AnyProblem, BlockProblem, Direction, Directions, PartsBytes, ProblemInfo, Window};

use super::Offer;
use super::families::{Families, Slices};

/// Most stages that a forecast adds up, which takes a second. No count of more will ever be done.
const MOST_STAGES: u64 = 500_000;

/// Where a count runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `keima count`, in the memory of its process: no vector is written.
    InMemory,
    /// `keima count`, with runs on disk.
    OneProcess,
    /// A coordinator and workers.
    Cluster,
}

/// A stage; in memory, one pass of a vector through a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageOutline {
    /// Sweep, from 0.
    pub sweep: u32,
    /// Column, from 0; for transposed vectors counted from the board's end.
    pub column: u32,
    /// Cells.
    pub window: Window,
    /// Direction of its passes.
    pub direction: Direction,
    /// Residues of a state, times the problem's coefficients.
    pub lanes: u32,
    /// States before it.
    pub states_before: u64,
    /// States after it.
    pub states_after: u64,
    /// Sum over the passes of the states before them.
    pub state_passes: u64,
    /// Share of the states in the largest family, of which a worker takes all lanes or some through the window. 0 if unknown, and in memory,
    /// where all threads share the family.
    pub family_share: f64,
    /// Threads that do the largest family.
    pub family_threads: u32,
    /// Threads that make its tables, where they are made for each group of families.
    pub family_makers: u32,
    /// Sum over families of share x threads of a worker that wait for memory meanwhile.
    pub waiting: f64,
    /// Slices of lanes of the largest family.
    pub family_slices: u32,
    /// Workers that share them.
    pub family_workers: u32,
    /// Slices of lanes, mean over all states.
    pub slices: f64,
    /// Whether it carries more lanes than it reads: then each slice reads all lanes.
    pub grows: bool,
    /// Bytes of the runs before it.
    pub bytes_before: u64,
    /// Bytes read from them.
    pub bytes_read: u64,
    /// Bytes written to runs.
    pub bytes_written: u64,
    /// Bytes of second copies, which another worker reads and writes, if every column's end gets one.
    pub bytes_copied: u64,
    /// Seconds of one thread for tables that are made for each group of families, as the problem estimates them.
    pub table_seconds: f64,
}

/// What is known of a count before anything is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// How it runs.
    pub way: Way,
    /// The plan.
    pub plan: Plan,
    /// Number of states before each pass and after the last, where the problem tells: exact or an upper bound.
    pub states: Option<Vec<u128>>,
    /// Its stages in the order in which they are done; empty where the numbers of states are unknown.
    pub stages: Vec<StageOutline>,
    /// Memory of the process or of each worker, where it is known to be less than was offered.
    pub memory_bytes: Option<u64>,
    /// Bytes of the block executor's tables on each worker, an estimate; 0 for the stream executor.
    pub table_bytes: u64,
    /// Where tables are made for each group of families.
    pub parted: Option<PartsBytes>,
    /// What the figures do not say.
    pub notes: Vec<String>,
}

impl Outline {
    /// Plans the count as `keima count` (one worker) or a coordinator would.
    pub fn new(problem: &AnyProblem, offer: &Offer) -> Result<Self, PlanError> {
        Self::in_memory(problem, offer).map_or_else(|| Self::with_runs(problem, offer), Ok)
    }

    /// Plans the count with runs on disk, whether or not it fits in memory. Boards of thousands of columns take seconds.
    pub fn with_runs(problem: &AnyProblem, offer: &Offer) -> Result<Self, PlanError> {
        let info = problem.info();
        let states = info.forecast().map(|forecast| forecast.states);
        let workers = offer.workers.max(1);
        let limits = PlanLimits {
            task_memory_bytes: task_memory_bytes(offer.memory_bytes, offer.threads),
            disk_bytes: offer.disk_bytes,
            residues_per_sweep: offer.residues_per_sweep,
            window: offer.window,
            slots: workers.saturating_mul(offer.threads.max(1)),
            worker_slots: offer.threads.max(1),
            second_copies: workers > 1,
            series: offer.series,
        };
        let plan = choose_plan(info, problem.key_bytes(), &limits, offer.executor)?;
        let way = if workers > 1 { Way::Cluster } else { Way::OneProcess };
        let tables = info.blocks().filter(|_| plan.block().is_some());
        let parted = tables.filter(|_| plan.block().is_some_and(|block| block.parted));
        let parted = parted.map(|blocks| blocks.parts_bytes(&plan.windows));
        let table_bytes = match (&parted, tables) {
            (Some(parted), _) => beside_tasks_bytes(parted, offer.memory_bytes, offer.threads.max(1)),
            (None, Some(blocks)) => blocks.table_bytes(&plan.windows, directions(&plan)),
            (None, None) => 0,
        };
        let (stages, notes) = (Vec::new(), Vec::new());
        let mut outline = Self { way, plan, states, stages, memory_bytes: None, table_bytes, parted, notes };
        if outline.states.is_none() {
            let name = info.name();
            outline.notes.push(format!(
                "the numbers of states of {name} are not known beforehand: bytes and time are unknown until it runs"
            ));
            return Ok(outline);
        }
        let stages = (outline.plan.sweeps.len() as u64).saturating_mul(outline.plan.stages().into());
        if stages > MOST_STAGES {
            outline.notes.push(format!(
                "the plan has {stages} stages: bytes and time are forecast for up to {MOST_STAGES} stages"
            ));
            return Ok(outline);
        }
        let families = outline.families(info, offer);
        outline.stages = outline.planned(&families, workers);
        if let Some(blocks) = tables.filter(|_| outline.parted.is_some()) {
            outline.add_parts(blocks);
        }
        outline.note_spills(info.largest_family(outline.longest_window()));
        outline.note_slices(&families);
        Ok(outline)
    }

    fn states_before(&self, pass: u32) -> u64 {
        self.plan.states.get(pass as usize).copied().unwrap_or(0)
    }

    fn state_passes(&self, first_pass: u32, passes: u32) -> u64 {
        (first_pass..first_pass + passes).map(|pass| self.states_before(pass)).fold(0, u64::saturating_add)
    }

    fn longest_window(&self) -> Window {
        let whole = Window { first: 0, len: self.plan.board.height };
        self.plan.windows.iter().copied().max_by_key(|window| window.len).unwrap_or(whole)
    }

    /// The families of each window of a plan with runs on disk.
    fn families(&self, info: &dyn ProblemInfo, offer: &Offer) -> Vec<Families> {
        let plan = &self.plan;
        let tables = self.table_bytes / u64::from(offer.threads.max(1));
        let part = self.parted.as_ref().map_or(0, PartsBytes::task_bytes);
        let task_bytes = share_bytes(plan.task_memory_bytes, tables, part);
        let of = |&window: &Window| match plan.block() {
            Some(_) => Families::of_blocks(info, plan, window, task_bytes, offer.threads),
            None => Families::of_streams(info, plan, window),
        };
        plan.windows.iter().map(of).collect()
    }

    /// The stages of a plan with runs on disk. `families` has one entry for each window.
    fn planned(&self, families: &[Families], workers: u32) -> Vec<StageOutline> {
        let (plan, copies) = (&self.plan, workers > 1);
        let mut stages = Vec::new();
        for sweep in 0..plan.sweeps.len() as u32 {
            let mut lanes_before = 0;
            for number in 0..plan.stages() {
                let stage: Stage = plan.stage(number);
                let lanes = plan.stage_moduli(sweep, number).len() as u32 * plan.coefficients.max(1);
                let (begins, ends) = stage.boundaries();
                let bytes = |states: u64, lanes| (states as f64 * plan.record_bytes_with(lanes)) as u64;
                // The first stage of a vector makes its states itself. Where two vectors meet, the stage reads both.
                let mut before = self.states_before(begins);
                let mut bytes_before = if plan.starts(number) { 0 } else { bytes(before, lanes_before) };
                let meets = plan.meets(number);
                if let Some(kept) = plan.kept_stage().filter(|_| meets) {
                    let states = self.states_before(ends);
                    before += states;
                    bytes_before += bytes(states, plan.stage_moduli(sweep, kept).len() as u32);
                }
                let after = if meets { 0 } else { self.states_before(ends) };
                let bytes_written = bytes(after, lanes);
                let own = plan.windows.iter().position(|&window| window == stage.window);
                let own = own.and_then(|number| families.get(number));
                let slices = own.map_or(Slices { largest: 1, mean: 1.0 }, |families| families.slices(lanes));
                let shares = plan.may_share_lanes(sweep, number);
                let grows = !plan.starts(number) && lanes != lanes_before;
                let ends_column = stage.ends_column(plan.board);
                let column = plan.board.column(stage.first_pass);
                let backward = stage.direction == Direction::Transposed;
                stages.push(StageOutline {
                    sweep,
                    column: if backward { plan.board.length - 1 - column } else { column },
                    window: stage.window,
                    direction: stage.direction,
                    lanes,
                    states_before: before,
                    states_after: after,
                    state_passes: self.state_passes(stage.first_pass, stage.window.len),
                    family_share: own.map_or(0.0, |families| families.share),
                    family_threads: own.map_or(1, |families| families.threads),
                    family_makers: own.map_or(1, |families| families.makers),
                    waiting: own.map_or(0.0, |families| families.waiting),
                    family_slices: slices.largest,
                    family_workers: if shares { slices.largest.clamp(1, workers) } else { 1 },
                    slices: slices.mean,
                    grows,
                    bytes_before,
                    bytes_read: (bytes_before as f64 * if grows { slices.mean } else { 1.0 }) as u64,
                    bytes_written,
                    bytes_copied: if copies && ends_column && number + 1 < plan.stages() { bytes_written } else { 0 },
                    table_seconds: 0.0,
                });
                lanes_before = lanes;
            }
        }
        stages
    }

    /// Adds the time for tables that are made for each group of families.
    fn add_parts(&mut self, blocks: &dyn BlockProblem) {
        let windows = &self.plan.windows;
        let records = self.plan.block().map_or(1, |block| block.group_records);
        for stage in &mut self.stages {
            let number = windows.iter().position(|&window| window == stage.window);
            let states = stage.states_before;
            stage.table_seconds = number.map_or(0.0, |number| blocks.parts_seconds(windows, number, states, records));
        }
        let text = "tables are made in parts; their time is a fit to boards 12 to 17 cells high, and up to 13 cells it is \
                    scaled by parts that were made here";
        self.notes.push(text.into());
    }

    /// States of the largest vector.
    pub fn peak_states(&self) -> Option<u128> {
        self.states.as_ref().map(|states| states.iter().max().copied().unwrap_or(0))
    }

    /// Sums over all stages: (state-passes, bytes read, bytes written, bytes copied).
    pub fn totals(&self) -> (u64, u64, u64, u64) {
        let sum = |field: fn(&StageOutline) -> u64| self.stages.iter().map(field).fold(0, u64::saturating_add);
        (sum(|s| s.state_passes), sum(|s| s.bytes_read), sum(|s| s.bytes_written), sum(|s| s.bytes_copied))
    }
}

/// Directions of a plan's passes.
fn directions(plan: &Plan) -> Directions {
    if plan.middle().is_some() { Directions::Both } else { Directions::Forward }
}

#[cfg(test)]
mod tests {
    use keima_coordinator::Executor;
    use keima_model::{ProblemRequest, Registry};
    use keima_problems::Problems;

    use super::*;

    fn outline(size: &str, executor: Executor, workers: u32, threads: u32, memory_mib: u64) -> Outline {
        let offer = Offer::with_runs(executor, workers, threads, memory_mib << 20);
        let request = ProblemRequest { name: "go".into(), size: size.into(), options: Vec::new() };
        Outline::new(&Problems.open(&request).unwrap(), &offer).unwrap()
    }

    /// Shares by real tables: the largest family over the window's states, at the boundary where these are most.
    #[test]
    fn shares_are_those_of_the_largest_families() {
        let check = |size: &str, executor, threads, memory_mib, shares: &[f64]| {
            let outline = outline(size, executor, 1, threads, memory_mib);
            let share = |stage: &StageOutline| {
                outline
                    .plan
                    .windows
                    .iter()
                    .position(|&window| window == stage.window)
                    .map(|at| shares[at % shares.len()])
            };
            for (stage, share) in outline.stages.iter().map(|stage| (stage, share(stage).unwrap())) {
                assert!((stage.family_share - share).abs() < 1e-9, "{size} {executor:?}: {stage:?}, expected {share}");
            }
        };
        let of_13 = [8_275_411.0 / 49_335_983.0, 6_081_926.0 / 50_258_461.0];
        check("13x13", Executor::Block, 2, 330, &of_13);
        check("13x13", Executor::Block, 2, 4096, &of_13);
        // Windows of one cell are cut anywhere.
        check("19x19", Executor::Stream, 16, 65_536, &[0.0]);
    }

    /// 17x17 makes tables in parts: they take time in every stage, and less time with larger groups.
    #[test]
    fn tables_in_parts_take_time() {
        let seconds = |memory_mib| {
            let outline = outline("17x17", Executor::Block, 1, 2, memory_mib);
            assert!(outline.plan.block().is_some_and(|block| block.parted) && outline.parted.is_some());
            assert!(outline.stages.iter().all(|stage| stage.table_seconds > 0.0), "{memory_mib} MiB");
            outline.stages.iter().map(|stage| stage.table_seconds).sum::<f64>()
        };
        let (little, much) = (seconds(16 << 10), seconds(64 << 10));
        assert!(much < little, "{little} s in 16 GiB, {much} s in 64 GiB");
        let whole = outline("13x13", Executor::Block, 1, 2, 4096);
        assert!(whole.parted.is_none() && whole.stages.iter().all(|stage| stage.table_seconds == 0.0));
    }

    /// Compares with bytes that `keima count go --executor block` read and wrote, with families of a third of a task's memory
    /// and more.
    #[test]
    fn bytes_are_those_of_a_count() {
        let check = |size: &str, memory_mib, read: f64, written: f64| {
            let outline = outline(size, Executor::Block, 1, 2, memory_mib);
            let (_, bytes_read, bytes_written, _) = outline.totals();
            for (got, expected) in [(bytes_read, read), (bytes_written, written)] {
                assert!((got as f64 / expected - 1.0).abs() < 0.05, "{size} {memory_mib}: {got}, not {expected}");
            }
            let slices = outline.stages.iter().map(|stage| stage.family_slices).max();
            assert_eq!(slices > Some(1), outline.notes.iter().any(|note| note.contains("a few residues each")));
            assert!(outline.stages.iter().all(|stage| stage.family_threads == 1));
            assert!(!outline.notes.iter().any(|note| note.contains("threads of a worker process")));
        };
        check("13x13", 330, 37.16e9, 37.32e9);
    }
}
