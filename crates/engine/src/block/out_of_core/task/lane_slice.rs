//! Some lanes of a group on the way through a window: gathered, and taken through the passes in one buffer.
//!
//! ```text
//!   forward      . . . . . . | family 0 | family 1 | ...      done 0 | done 1 | ... . . . . . .
//!   transposed   family 0 | family 1 | ... . . . . . .        . . . . . . | done 0 | done 1 | ...     the last one first
//! ```
//!
//! Laws:
//!
//! - for every family: sum of outputs = sum of inputs x ways; forward these are the ways from the state through the window,
//!   transposed the ways that lead to it;
//! - the rows that enter add up to the rows that were read;
//! - the coordinator compares the rows that leave with the sums of the written runs.
//!
//! The fingerprint covers a sample of one state in 64. Its key depends on the job's salt and on the boundary. A
//! single state in a wrong place shows with this chance. A section in the wrong place, or a fault that repeats at
//! every boundary, almost certainly shows.
//!
//! Several threads may work on a group ([`GroupWork::threads`]). Each reads other runs and scans other blocks
//! (`end_scan`); for the passes see `passes::batches`.
//!
//! Cost: reading and placing each state, and the passes (`passes::forward`).

use std::time::Instant;

use keima_model::{Direction, Family};
use keima_runs::Balance;

use crate::TaskError;
use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::passes::batches::Batches;
use crate::block::out_of_core::passes::buffer::GroupMemory;
use crate::block::out_of_core::passes::forward::Passes;
use crate::block::out_of_core::task::end_scan::{EndScan, ScanSums, Scanned};
use crate::block::out_of_core::task::read_group::ReadSlice;
use crate::block::out_of_core::task::stage::{BlockTask, refuse};
use crate::block::out_of_core::task::work::{GroupWork, LaneSlice};
use crate::block::rows::lanes::{Row, dispatch};
use crate::block::rows::ranges::LEAST_RANGE_ROWS;
use crate::block::rows::tables::step_at;
use crate::tally::EndTally;

/// The near ends of the families to come and of the families that are done, as rows of the buffer. Forward both ends
/// move up, transposed both move down.
struct NearEnds {
    direction: Direction,
    next: usize,
    done: usize,
}

impl NearEnds {
    /// Row at which the next family begins, which has `rows` rows.
    const fn enter(&mut self, rows: usize) -> usize {
        Self::step(self.direction, &mut self.next, rows)
    }

    /// Row to which a family of `rows` rows goes when it is done.
    const fn leave(&mut self, rows: usize) -> usize {
        Self::step(self.direction, &mut self.done, rows)
    }

    /// Moves an end past `rows` rows. Returns the first of these.
    const fn step(direction: Direction, end: &mut usize, rows: usize) -> usize {
        match direction {
            Direction::Forward => std::mem::replace(end, *end + rows),
            Direction::Transposed => {
                *end -= rows;
                *end
            }
        }
    }
}

impl BlockTask<'_> {
    /// Takes lanes of a group through the window, family by family. Returns the states at its end.
    pub(crate) fn lane_slice<'m, const J: usize>(
        &mut self,
        work: &GroupWork<'_>,
        lanes: &LaneSlice<J>,
        memory: &'m mut GroupMemory<'_>,
    ) -> Result<&'m [Row<J>], TaskError> {
        let (group_tables, layout, threads) = (&work.group_tables, &work.layout, work.threads);
        let (direction, order) = (self.direction, self.task.order);
        let scan = |end| EndScan { group_tables, order, end, lanes };
        let (coming_in, going_out) = (scan(direction.enters()), scan(direction.leaves()));
        let Some((states, aside)) = memory.rows::<J>(layout) else {
            return refuse(format!(
                "there is no memory for lanes {} to {} of group {}",
                lanes.first,
                lanes.first + J,
                group_tables.number
            ));
        };
        let (tables, families) = (group_tables.tables(), group_tables.families());
        let steps = [direction.enters(), direction.leaves()].map(|end| step_at(tables, end));
        let all = |step: usize| families.iter().map(|family| family.size[step] as usize).sum::<usize>();
        let (before, after) = (all(steps[0]), all(steps[1]));
        let mut ends = match direction {
            Direction::Forward => NearEnds { direction, next: layout.lead, done: 0 },
            Direction::Transposed => NearEnds { direction, next: before, done: layout.lead + after },
        };
        let gathered = if direction == Direction::Forward { layout.lead } else { 0 };
        let read = self.gather(work, lanes, &mut states[gathered..][..before])?;
        let (mut entered, mut left) = (coming_in.nothing(), going_out.nothing());
        let mut numbers: Vec<usize> = (0..families.len()).collect();
        if direction == Direction::Transposed {
            numbers.reverse();
        }
        for number in numbers {
            self.check_stop()?;
            let started = Instant::now();
            let (family, layout) = (&families[number], &layout.families[number]);
            let [before, after] = steps.map(|step| family.size[step] as usize);
            let leads = steps.map(|step| layout.leads[step]);
            let moduli = &lanes.moduli;
            let start = ends.enter(before) - leads[0];
            let rows = &mut states[start..];
            let arrivals = work.arrivals.get(number).copied();
            let entering = &mut rows[leads[0]..][..before];
            let goes_in = coming_in.family(threads, family, entering, Scanned::Enters { arrivals })?;
            let alone = threads == 1 || before.max(after) < 2 * LEAST_RANGE_ROWS;
            let threads_here = if alone { 1 } else { threads };
            let batches =
                Batches { tables, family, layout, moduli, threads: threads_here, least_rows: LEAST_RANGE_ROWS };
            take_through(direction, &batches, rows, aside)?;
            let rows = &mut rows[leads[1]..][..after];
            let read_off = direction == Direction::Forward && !self.totals.functionals.is_empty();
            let comes_out = going_out.family(threads, family, rows, Scanned::Leaves { read_off })?;
            self.balance(group_tables, lanes, goes_in.conserved, comes_out.conserved)?;
            let Balance { expected, got } = &mut self.totals.balance;
            add_lanes(expected, lanes, goes_in.conserved);
            add_lanes(got, lanes, comes_out.conserved);
            if lanes.first == 0 {
                self.count_states(group_tables, family);
            }
            entered = coming_in.and(entered, &goes_in);
            left = going_out.and(left, &comes_out);
            self.totals.times.map_nanos += work.nanos(started);
            let started = Instant::now();
            let out = start + leads[1];
            let to = ends.leave(after);
            if out != to {
                states.copy_within(out..out + after, to);
            }
            self.totals.times.write_nanos += work.nanos(started);
        }
        self.close_entering(work, lanes, read.as_ref(), &entered)?;
        if direction == Direction::Forward {
            self.read_off(lanes, &left.accepted);
        }
        add_to_tally(&mut self.totals.output, &left, lanes, &self.task.order.moduli);
        let first = if direction == Direction::Forward { 0 } else { ends.done };
        Ok(&states[first..first + after])
    }

    /// Adds the scan of the states that entered to the tally. Checks it against the rows that were read.
    fn close_entering<const J: usize>(
        &mut self,
        work: &GroupWork<'_>,
        lanes: &LaneSlice<J>,
        read: Option<&ReadSlice<J>>,
        entered: &ScanSums<J>,
    ) -> Result<(), TaskError> {
        if let Some(&ReadSlice { rows, sums: mut expected }) = read {
            if let Some(rows) = rows.into_iter().find(|&rows| rows != entered.states) {
                return self.other_rows("its inputs", work, entered.states, rows);
            }
            // New lanes follow from the lanes that were read.
            for (lane, (expected, got)) in (lanes.first..).zip(expected.iter_mut().zip(entered.standing)) {
                if self.widen.is_new_lane(lane) {
                    *expected = got;
                }
            }
            self.balance(&work.group_tables, lanes, expected, entered.standing)?;
        }
        add_to_tally(&mut self.totals.input, entered, lanes, &self.task.order.moduli);
        Ok(())
    }

    /// Inputs have other rows than the group: some run is missing, or is not what its writer reported.
    pub(crate) fn other_rows<T>(
        &self,
        inputs: &str,
        work: &GroupWork<'_>,
        states: u64,
        rows: u64,
    ) -> Result<T, TaskError> {
        let number = work.group_tables.number;
        let detail = format!(
            "group {number} has {states} states, but {inputs} have {rows}; the runs are not those of one boundary, or not what \
             was reported of them"
        );
        Err(TaskError::check(self.task.order, "rows of a group", detail))
    }

    /// Checks that two sums are equal.
    fn balance<const J: usize>(
        &self,
        group_tables: &GroupTables<'_>,
        lanes: &LaneSlice<J>,
        expected: [u128; J],
        got: [u128; J],
    ) -> Result<(), TaskError> {
        let order = self.task.order;
        for ((&expected, &got), &modulus) in expected.iter().zip(&got).zip(lanes.moduli.values()) {
            if expected != got {
                let detail = format!(
                    "group {} of window {:?}, task {}: expected {expected}, got {got}; the machine or its memory may \
                     be faulty",
                    group_tables.number, order.window, order.attempt
                );
                return Err(TaskError::Check { check: "mass balance", pass: order.first_pass, modulus, detail });
            }
        }
        Ok(())
    }

    /// Counts states, by canonical keys, before each pass.
    fn count_states(&mut self, group_tables: &GroupTables<'_>, family: &Family) {
        for (states, &entries) in self.totals.states.iter_mut().zip(&family.size) {
            *states += group_tables.column().family_keys(self.window, family.blocks.start, entries);
        }
    }

    /// Adds a family's part to the functionals at a column's end.
    fn read_off<const J: usize>(&mut self, lanes: &LaneSlice<J>, accepted: &[u128; J]) {
        for (_, sums) in &mut self.totals.functionals {
            add_lanes(sums, lanes, *accepted);
        }
    }
}

/// Adds sums of some lanes to those of all lanes.
fn add_lanes<const J: usize>(all: &mut [u64], lanes: &LaneSlice<J>, sums: [u128; J]) {
    for ((all, sum), &modulus) in all.iter_mut().skip(lanes.first).zip(sums).zip(lanes.moduli.values()) {
        *all = ((u128::from(*all) + sum) % u128::from(modulus)) as u64;
    }
}

/// Takes a family through all passes of the window.
fn take_through<const J: usize>(
    direction: Direction,
    batches: &Batches<'_, J>,
    rows: &mut [Row<J>],
    aside: &mut [Row<J>],
) -> Result<(), TaskError> {
    let Batches { tables, family, layout, moduli, threads, .. } = *batches;
    match direction {
        Direction::Forward if threads == 1 => {
            dispatch::<J, _>(Passes { tables, family, layout, rows, aside, moduli });
            Ok(())
        }
        Direction::Forward => batches.run(rows, aside),
        Direction::Transposed => batches.run_transposed(rows, aside),
    }
}

/// Adds a scan of some lanes of a group to the tally of that end. States are counted once.
fn add_to_tally<const J: usize>(end: &mut EndTally, sums: &ScanSums<J>, lanes: &LaneSlice<J>, moduli: &[u64]) {
    if lanes.first == 0 {
        end.states += sums.states;
    }
    end.add_sums(&sums.standing, lanes.first, lanes.moduli.values());
    end.merge(&sums.tally, moduli);
}
