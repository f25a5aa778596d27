//! Forecast of a window's families: the share of the largest one, and into how many slices of lanes tasks cut families.
//!
//! ```text
//!   share            states of the largest family / states of the vector, each at its largest boundary
//!   lanes at a time  a task's memory / bytes of the family's buffer with one lane, rounded down to a row width, at least 1
//!   slices           as `keima_blocks::lanes::slices` cuts the lanes; mean = 1 + sum over families of share x (slices - 1)
//!   threads waiting  while a family runs whose single lane exceeds a task's memory: threads for which the rest of the
//!                    memory does not suffice, see [`keima_blocks::pool`]
//!   other families   kinds of about one size, as the problem tells them (`BlockProblem::family_kinds`)
//! ```
//!
//! A test holds the slices against the families of real tables: within 7 % on average, and within 35 % where some kind of
//! families just fits, or just does not.
//!
//! Streams cut a family of more than two tasks' records: there the largest family is such a piece at most.

use keima_blocks::out_of_core::BOTH_WAYS_LANES;
use keima_blocks::pool::{Shares, in_shares};
use keima_blocks::rows::largest_buffer_rows;
use keima_coordinator::Plan;
use keima_model::{Directions, FamilyKind, Layout, ProblemInfo, Window};

/// Streams cut a family that has more records than this many tasks.
const CUT_TASKS: u128 = 2;

/// The families of one window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Families {
    /// Share of the states in the largest family. One worker takes it through the window.
    pub(super) share: f64,
    /// Threads that do the largest family.
    pub(super) threads: u32,
    /// Threads that make its tables, where they are made for each family: also those that find no memory beside it.
    pub(super) makers: u32,
    /// Lanes of the largest family that one task's memory holds.
    pub(super) most_lanes: f64,
    /// The same for the memory of all tasks whose threads do the family.
    largest_lanes: f64,
    /// Sum over all families of share x threads of a worker that wait for memory meanwhile.
    pub(super) waiting: f64,
    /// By size, the largest first.
    kinds: Vec<Kind>,
}

/// Families of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kind {
    /// Their size, relative to the largest family.
    size: f64,
    /// Their share of all states.
    share: f64,
}

/// Into how many slices of lanes families are cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slices {
    /// For the largest family.
    pub(super) largest: u32,
    /// Mean over all states.
    pub(super) mean: f64,
}

impl Families {
    /// Families of dense blocks, on workers with `tasks` tasks of `task_bytes` memory each.
    pub(super) fn of_blocks(info: &dyn ProblemInfo, plan: &Plan, window: Window, task_bytes: u64, tasks: u32) -> Self {
        let (largest, most) = largest(info.largest_family(window), plan, window);
        let share = part(largest, most);
        let (directions, ways) = match plan.middle() {
            Some(_) => (Directions::Both, BOTH_WAYS_LANES),
            None => (Directions::Forward, 0.0),
        };
        let rows = info.blocks().map_or(u64::MAX, |blocks| largest_buffer_rows(info, blocks, directions, window));
        let lane_bytes = rows.saturating_mul(8);
        let most_lanes = (task_bytes as f64 / lane_bytes.max(1) as f64 - ways).max(0.0);
        // As many threads as its share of all slots; if several, at least as many as the tasks whose memory it takes.
        let shares = Shares::of_tasks(tasks, 0.0);
        let worth = shares.worth(largest, most, plan.slots);
        let by_memory = shares.threads(in_shares(1.0 / most_lanes));
        let makers = worth.max(by_memory) as u32;
        let threads = if worth > 1 { makers } else { 1 };
        let largest_lanes = most_lanes * f64::from(threads);
        let kinds = kinds(share, &info.blocks().map_or_else(Vec::new, |blocks| blocks.family_kinds(window)));
        let waiting = waiting(&kinds, most_lanes, threads, tasks.max(1));
        Self { share, threads, makers, most_lanes, largest_lanes, waiting, kinds }
    }

    /// Families of streams, whose lanes are never cut.
    pub(super) fn of_streams(info: &dyn ProblemInfo, plan: &Plan, window: Window) -> Self {
        // A window of one cell has no families, and neither has a window that conserves nothing.
        let whole = window.len > 1 && info.family_bits(Layout::Stage(window)) < info.key_bits();
        let family = info.largest_family(window).filter(|_| whole);
        let piece = family.map(|states| states.min(CUT_TASKS * u128::from(plan.task_records)));
        let [most_lanes, largest_lanes] = [f64::INFINITY; 2];
        let (largest, most) = largest(piece, plan, window);
        let (threads, makers) = (1, 1);
        Self { share: part(largest, most), threads, makers, most_lanes, largest_lanes, waiting: 0.0, kinds: Vec::new() }
    }

    /// Slices of `lanes` lanes.
    pub(super) fn slices(&self, lanes: u32) -> Slices {
        if self.most_lanes.is_infinite() {
            return Slices { largest: 1, mean: 1.0 };
        }
        let of = |most_lanes: f64| {
            let fit = most_lanes.clamp(1.0, f64::from(lanes.max(1))) as u32;
            keima_blocks::lanes::slices(lanes.max(1), fit).len() as u32
        };
        let again = self.kinds.iter().map(|kind| kind.share * f64::from(of(self.most_lanes / kind.size) - 1));
        Slices { largest: of(self.largest_lanes), mean: 1.0 + again.sum::<f64>() }
    }
}

/// States of the largest family of a window (0 if unknown), and of the window's vector at its largest boundary, at least 1.
/// The first columns are taken to have the same share.
fn largest(family: Option<u128>, plan: &Plan, window: Window) -> (u64, u64) {
    let own = |column: u32| {
        let first = column * plan.board.height + window.first;
        plan.states.iter().skip(first as usize).take(window.len as usize + 1)
    };
    let most = (0..plan.board.length).flat_map(own).max().copied().unwrap_or(0);
    let most = most.max(1);
    (family.map_or(0, |family| u64::try_from(family).unwrap_or(u64::MAX).min(most)), most)
}

fn part(some: u64, all: u64) -> f64 {
    some as f64 / all as f64
}

/// Sum over all kinds of share x waiting threads. Threads wait while a family runs whose single lane exceeds a task's memory.
/// That memory holds `most_lanes` lanes of the largest family, which `threads` threads do.
fn waiting(kinds: &[Kind], most_lanes: f64, threads: u32, tasks: u32) -> f64 {
    let taken = |size: f64| size / most_lanes.max(f64::MIN_POSITIVE);
    let shares = Shares::of_tasks(tasks, taken(1.0));
    let of = |(number, &Kind { size, share }): (usize, &Kind)| {
        if taken(size) <= 1.0 {
            return 0.0;
        }
        let own = if number == 0 { threads } else { 1 };
        share * shares.waiting(in_shares(taken(size)), own) as f64
    };
    kinds.iter().enumerate().map(of).sum()
}

/// Kinds of families with their shares of the states, where one family of relative size 1 has `share`. All kinds together
/// have no more states than there are.
fn kinds(share: f64, kinds: &[FamilyKind]) -> Vec<Kind> {
    let mut left = 1.0_f64;
    let kind = |kind: &FamilyKind| {
        let of_kind = (share * kind.relative_size * kind.families).min(left);
        left -= of_kind;
        Kind { size: kind.relative_size, share: of_kind }
    };
    kinds.iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keima_coordinator::{Executor, PlanLimits, choose_plan};
    use keima_model::{AnyProblem, Family, ProblemRequest, Registry};
    use keima_problems::Problems;

    fn open(name: &str, size: &str) -> AnyProblem {
        Problems.open(&ProblemRequest { name: name.into(), size: size.into(), options: Vec::new() }).unwrap()
    }

    fn plan(problem: &AnyProblem, executor: Executor, window: u32, task_memory_bytes: u64) -> Plan {
        plan_of_slots(problem, executor, window, task_memory_bytes, 1)
    }

    fn plan_of_slots(
        problem: &AnyProblem,
        executor: Executor,
        window: u32,
        task_memory_bytes: u64,
        slots: u32,
    ) -> Plan {
        let limits = PlanLimits {
            task_memory_bytes,
            disk_bytes: None,
            residues_per_sweep: Some(1),
            window: Some(window),
            slots,
            worker_slots: 1,
            second_copies: false,
            series: false,
        };
        choose_plan(problem.info(), problem.key_bytes(), &limits, executor).unwrap()
    }

    /// Compares with the families of real tables, with memory for a quarter of a lane of the largest to eight lanes.
    #[test]
    fn slices_are_nearly_those_of_real_families() {
        let check = |height: u32, len: u32| {
            let problem = open("go", &format!("{height}x{height}"));
            let plan = plan(&problem, Executor::Block, len, 1 << 30);
            let column = problem.info().blocks().unwrap().column(&plan.windows, Directions::Forward).unwrap();
            for (number, &window) in plan.windows.iter().enumerate() {
                let tables = column.tables(number);
                let most = |family: &Family| family.size.iter().max().copied().unwrap() as f64;
                let largest = tables.families.iter().map(most).fold(1.0, f64::max);
                let blocks = problem.info().blocks().unwrap();
                let rows = largest_buffer_rows(problem.info(), blocks, Directions::Forward, window);
                let lane_bytes = rows as f64 * 8.0;
                let (steps, mut sum) = (40, 0.0);
                for step in 0..=steps {
                    // A little more than powers of two, where rounding would decide.
                    let held = (0.25 + 1e-9) * 32_f64.powf(f64::from(step) / f64::from(steps));
                    let real = |family: &Family| match held * largest / most(family) {
                        8.0.. => 1.0,
                        4.0.. => 2.0,
                        2.0.. => 4.0,
                        _ => 8.0,
                    };
                    let read = |family: &Family| family.size[0] as f64 * real(family);
                    let expected = tables.families.iter().map(read).sum::<f64>() / tables.states[0] as f64;
                    let task_bytes = (held * lane_bytes).ceil() as u64;
                    let got = Families::of_blocks(problem.info(), &plan, window, task_bytes, 1).slices(8).mean;
                    let off = got / expected - 1.0;
                    assert!(off.abs() < 0.35, "{height} {window:?} {held}: {got}, not {expected}");
                    sum += off;
                }
                let mean = sum / f64::from(steps + 1);
                assert!(mean.abs() < 0.07, "{height} {window:?}: {mean} on average");
            }
        };
        check(9, 5);
        check(10, 5);
        check(11, 4);
        check(12, 6);
    }

    /// With windows 7+6 of 13x13 the largest family has 0.168 of the states: less than one of five slots, more than one of six.
    #[test]
    fn large_families_have_several_threads() {
        let problem = open("go", "13x13");
        let check = |slots, tasks, task_mib: u64, threads| {
            let plan = plan_of_slots(&problem, Executor::Block, 7, 4 << 30, slots);
            let of = |window| Families::of_blocks(problem.info(), &plan, window, task_mib << 20, tasks).threads;
            assert_eq!(of(plan.windows[0]), threads, "{slots} slots, {tasks} of a worker, {task_mib} MiB");
        };
        check(1, 1, 4096, 1);
        check(5, 5, 4096, 1);
        check(6, 6, 4096, 2);
        check(16, 16, 4096, 3);
        check(64, 64, 4096, 11);
        check(64, 8, 4096, 8);
        // One lane takes at least 66 MB: as many threads as the tasks whose memory it takes, but only if its share is worth
        // several.
        check(16, 16, 10, 7);
        check(5, 5, 10, 1);
    }

    /// By hand: 2 cells outside, above the window or one on each side, 4 lanes.
    #[test]
    fn slices_by_hand() {
        let check = |share: f64, window: Window, most_lanes: f64, lanes: u32, largest: u32, mean: f64| {
            let problem = open("go", "6x6");
            let kinds = kinds(share, &problem.info().blocks().unwrap().family_kinds(window));
            let families =
                Families { share, threads: 1, makers: 1, most_lanes, largest_lanes: most_lanes, waiting: 0.0, kinds };
            let got = families.slices(lanes);
            assert_eq!(got.largest, largest, "{share} {window:?} {most_lanes}");
            assert!((got.mean - mean).abs() < 1e-9, "{share} {window:?} {most_lanes}: {}", got.mean);
        };
        let (top, end, middle) =
            (Window { first: 0, len: 4 }, Window { first: 2, len: 4 }, Window { first: 1, len: 4 });
        check(0.5, top, 4.0, 4, 1, 1.0);
        check(0.5, top, 3.9, 4, 2, 1.5);
        check(0.5, end, 3.9, 2, 1, 1.0);
        check(0.5, end, 1.9, 4, 4, 2.5);
        // The second kind, with 0.155 of the states, does not fit either: 0.31 x 4 is more than 1.2.
        check(0.5, end, 1.2, 4, 4, 1.0 + 0.5 * 3.0 + 0.155);
        check(0.5, end, 0.1, 8, 8, 1.0 + 0.5 * 7.0 + 0.155 * 7.0);
        check(0.5, top, 11.9, 12, 2, 1.5);
        check(0.5, top, 5.9, 12, 3, 2.0);
        check(0.2, middle, 1.2, 4, 4, 1.0 + 0.4 * 3.0);
        // No more states than there are.
        check(0.7, middle, 1.2, 4, 4, 4.0);
        check(1.0, Window { first: 0, len: 6 }, 0.5, 8, 8, 8.0);
    }

    /// By hand: two tasks' memory holds 0.6 lanes of the largest family each, so that it leaves a third of a share; ...
    #[test]
    fn threads_wait_for_memory() {
        let check = |most_lanes: f64, threads: u32, tasks: u32, expected: f64| {
            let kinds = [(1.0, 0.2), (0.5, 0.3), (0.25, 0.4)].map(|(size, share)| Kind { size, share });
            let got = waiting(&kinds, most_lanes, threads, tasks);
            assert!((got - expected).abs() < 1e-12, "{most_lanes} {threads} {tasks}: {got}, not {expected}");
        };
        check(0.6, 1, 2, 0.2);
        // ... with two threads nobody waits. It fits one share, or nearly: others do with three quarters of theirs then.
        check(0.6, 2, 2, 0.0);
        check(1.0, 1, 2, 0.0);
        check(0.81, 1, 2, 0.0);
        check(0.79, 1, 2, 0.2);
        // The second kind is more than a share, too: of four shares the largest takes 2.5, that one 1.25.
        check(0.4, 1, 4, 0.2 * 2.0 + 0.3 * 1.0);
        // All kinds are: 4.2, 2.1 and 1.04.
        check(0.24, 1, 4, 0.2 * 3.0 + 0.3 * 2.0 + 0.4 * 1.0);
        check(0.4, 1, 1, 0.0);
        check(0.0, 1, 2, 0.9);
    }

    #[test]
    fn streams_cut_what_is_larger_than_two_tasks() {
        let check = |name: &str, size: &str, window: u32, memory_mib: u64, states: fn(u128, u128) -> u128| {
            let problem = open(name, size);
            let plan = plan(&problem, Executor::Stream, window, memory_mib << 20);
            let &window = plan.windows.last().unwrap();
            let first = plan.states.len() - 1 - window.len as usize;
            let most = plan.states[first..].iter().max().copied().unwrap();
            let family = problem.info().largest_family(window).unwrap();
            let expected = states(family, u128::from(plan.task_records)) as f64 / most as f64;
            let families = Families::of_streams(problem.info(), &plan, window);
            assert!((families.share - expected).abs() < 1e-12, "{name} {size} {window:?}: {families:?} {expected}");
            // Problems with coefficients have many lanes.
            for lanes in [8, 400] {
                assert_eq!(families.slices(lanes), Slices { largest: 1, mean: 1.0 });
            }
        };
        check("go", "9x9", 3, 1024, |family, _| family);
        check("go", "13x13", 6, 64, |_, task| 2 * task);
        check("go", "9x9", 1, 1024, |_, _| 0);
    }
}
