//! A group of families through a window, some lanes of it: gathered, and taken through the passes in one buffer.
//!
//! ```text
//!   forward      . . . . . . | family 0 | family 1 | ...      done 0 | done 1 | ... . . . . . .
//!   transposed   family 0 | family 1 | ... . . . . . .        . . . . . . | done 0 | done 1 | ...     the last one first
//! ```
//!
//! Laws: for every family the sum of what comes out is the sum over what goes in of value x ways, forward those on through
//! the window, transposed those that lead to the state; what was read is what
//! has gone in; what is written is what came out, which the coordinator sees by the sums of runs. The fingerprint is over a sample of the states, one in 64,
//! whose key is the job's salt and the boundary: a state in a wrong place shows with that chance, a section that went
//! wrong all but for certain, and whatever goes wrong at every boundary too.
//!
//! Where a group is more than one thread's share of the stage ([`Work::threads`]) several read, each other runs, and
//! look at states, each those of other blocks ([`crate::block::out_of_core::task::end_scan`]); for passes see [`crate::block::out_of_core::passes::batches`].
//!
//! Cost: the passes (see [`crate::block::out_of_core::passes::forward`]), and 5 to 8 ns a state to read and place it.

use std::time::Instant;

use keima_model::{Direction, Family};

use crate::TaskError;
use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::passes::batches::Batches;
use crate::block::out_of_core::passes::buffer::Memory;
use crate::block::out_of_core::passes::forward::Passes;
use crate::block::out_of_core::task::end_scan::{Look, Told, What};
use crate::block::out_of_core::task::stage::{Stage, refuse};
use crate::block::out_of_core::task::work::{Lanes, Work};
use crate::block::rows::lanes::{Row, dispatch};
use crate::block::rows::ranges::WORTH;
use crate::block::rows::tables::step_at;
use crate::tally::EndTally;

impl Stage<'_> {
    /// Takes lanes of a group through the window: the states at its end, family by family.
    pub(crate) fn slice<'m, const J: usize>(
        &mut self,
        work: &Work<'_>,
        lanes: &Lanes<J>,
        memory: &'m mut Memory<'_>,
    ) -> Result<&'m [Row<J>], TaskError> {
        let (view, lines, threads) = (&work.view, &work.lines, work.threads);
        let (direction, order) = (self.direction, self.task.order);
        let look = |end| Look { view, order, end, lanes };
        let (coming_in, going_out) = (look(direction.enters()), look(direction.leaves()));
        let Some((states, aside)) = memory.rows::<J>(lines) else {
            return refuse(format!(
                "there is no memory for lanes {} to {} of group {}",
                lanes.first,
                lanes.first + J,
                view.number
            ));
        };
        let (tables, families) = (view.tables(), view.families());
        let steps = [direction.enters(), direction.leaves()].map(|end| step_at(tables, end));
        let all = |step: usize| families.iter().map(|family| family.size[step] as usize).sum::<usize>();
        let (before, after) = (all(steps[0]), all(steps[1]));
        // Where the families stand that are next and that are done, at their near ends.
        let (mut next, mut done) = match direction {
            Direction::Forward => (lines.lead, 0),
            Direction::Backward => (before, lines.lead + after),
        };
        let gathered = if direction == Direction::Forward { next } else { 0 };
        let read = self.gather(work, lanes, &mut states[gathered..][..before])?;
        let (mut entered, mut left) = (coming_in.nothing(), going_out.nothing());
        let mut numbers: Vec<usize> = (0..families.len()).collect();
        if direction == Direction::Backward {
            numbers.reverse();
        }
        for number in numbers {
            self.check_stop()?;
            let started = Instant::now();
            let (family, line) = (&families[number], &lines.families[number]);
            let [before, after] = steps.map(|step| family.size[step] as usize);
            let leads = steps.map(|step| line.leads[step]);
            let moduli = &lanes.moduli;
            if direction == Direction::Backward {
                next -= before;
            }
            let start = next - leads[0];
            let rows = &mut states[start..];
            let arrivals = work.arrivals.get(number).copied();
            let entering = &mut rows[leads[0]..][..before];
            let goes_in = coming_in.family(threads, family, entering, What::Enters { arrivals })?;
            let alone = threads == 1 || before.max(after) < 2 * WORTH;
            match direction {
                Direction::Forward if alone => {
                    dispatch::<J, _>(Passes { tables, family, line, rows, aside, moduli });
                }
                _ => {
                    let threads = if alone { 1 } else { threads };
                    let batches = Batches { tables, family, line, moduli, threads, worth: WORTH };
                    match direction {
                        Direction::Forward => batches.run(rows, aside)?,
                        Direction::Backward => batches.run_transposed(rows, aside)?,
                    }
                }
            }
            let rows = &mut rows[leads[1]..][..after];
            let read_off = direction == Direction::Forward && !self.functionals.is_empty();
            let comes_out = going_out.family(threads, family, rows, What::Leaves { read_off })?;
            self.balance(view, lanes, goes_in.conserved, comes_out.conserved)?;
            if lanes.first == 0 {
                self.count_states(view, family);
            }
            entered = coming_in.and(entered, &goes_in);
            left = going_out.and(left, &comes_out);
            self.times.map_nanos += work.nanos(started);
            let started = Instant::now();
            let out = start + leads[1];
            let to = match direction {
                Direction::Forward => done,
                Direction::Backward => done - after,
            };
            if out != to {
                states.copy_within(out..out + after, to);
            }
            match direction {
                Direction::Forward => (next, done) = (next + before, done + after),
                Direction::Backward => done = to,
            }
            self.times.write_nanos += work.nanos(started);
        }
        self.take_up(work, lanes, read, &entered)?;
        if direction == Direction::Forward {
            self.read_off(lanes, &left.accepted);
        }
        tell(&mut self.output, &left, lanes, &self.task.order.moduli);
        let first = if direction == Direction::Forward { 0 } else { done };
        Ok(&states[first..first + after])
    }

    /// Takes up what has gone into the passes, and holds it against what was read.
    fn take_up<const J: usize>(
        &mut self,
        work: &Work<'_>,
        lanes: &Lanes<J>,
        read: Option<(u64, [u128; J])>,
        entered: &Told<J>,
    ) -> Result<(), TaskError> {
        if let Some((rows, mut expected)) = read {
            if rows != entered.states {
                return refuse(format!(
                    "group {} has {} states, but its inputs have {rows}; they are not those of one boundary",
                    work.view.number, entered.states
                ));
            }
            // What is made follows from what was read.
            for (lane, (expected, got)) in (lanes.first..).zip(expected.iter_mut().zip(entered.standing)) {
                if self.widen.is_made(lane) {
                    *expected = got;
                }
            }
            self.balance(&work.view, lanes, expected, entered.standing)?;
        }
        tell(&mut self.input, entered, lanes, &self.task.order.moduli);
        Ok(())
    }

    /// Two sums that must be the same.
    fn balance<const J: usize>(
        &self,
        view: &View<'_>,
        lanes: &Lanes<J>,
        expected: [u128; J],
        got: [u128; J],
    ) -> Result<(), TaskError> {
        let order = self.task.order;
        for ((&expected, &got), &modulus) in expected.iter().zip(&got).zip(lanes.moduli.values()) {
            if expected != got {
                let detail = format!(
                    "group {} of window {:?}, task {}: expected {expected}, got {got}; the machine or its memory may \
                     be faulty",
                    view.number, order.window, order.attempt
                );
                return Err(TaskError::Check { check: "mass balance", pass: order.first_pass, modulus, detail });
            }
        }
        Ok(())
    }

    /// States by their canonical keys before each pass.
    fn count_states(&mut self, view: &View<'_>, family: &Family) {
        let single = view.column().weight(self.window, family.blocks.start) == 1;
        for (states, &size) in self.states.iter_mut().zip(&family.size) {
            *states += if single { size.div_ceil(2) } else { size };
        }
    }

    /// Adds a family's part of the functionals at a column's end.
    fn read_off<const J: usize>(&mut self, lanes: &Lanes<J>, accepted: &[u128; J]) {
        for (_, sums) in &mut self.functionals {
            for ((sum, total), &modulus) in sums[lanes.first..].iter_mut().zip(accepted).zip(lanes.moduli.values()) {
                *sum = ((u128::from(*sum) + total) % u128::from(modulus)) as u64;
            }
        }
    }
}

/// Adds what was told of lanes of a group to the tally of an end; states are counted once.
fn tell<const J: usize>(end: &mut EndTally, told: &Told<J>, lanes: &Lanes<J>, moduli: &[u64]) {
    if lanes.first == 0 {
        end.states += told.states;
    }
    end.add_sums(&told.standing, lanes.first, lanes.moduli.values());
    end.merge(&told.tally, moduli);
}
