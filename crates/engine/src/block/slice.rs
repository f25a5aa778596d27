//! A group of families through a window, some lanes of it: gathered, and taken through the passes in one buffer.
//!
//! Laws: for every family the sum of what comes out is the sum over what goes in of value x ways; what was read is what
//! stands in the states; what is written is what came out. The fingerprint is over a sample of the states, one in 64,
//! whose key is the job's salt and the boundary: a state in a wrong place shows with that chance, a section that went
//! wrong all but for certain, and whatever goes wrong at every boundary too.
//!
//! Cost: the passes (see [`super::in_place`]), and 5 to 8 ns a state to read and place it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Instant;

use keima_model::{End, Family, Key as _};

use super::gather::{Gather, stands};
use super::groups::ends;
use super::in_place::{Lines, Memory, Passes};
use super::lanes::{Moduli, Row, Weighted};
use super::sums::{Enter, Total, add_up, merge};
use super::task::{Stage, nanos, refuse};
use super::view::View;
use crate::TaskError;

/// Sections that are asked for before they are read: the disk or another worker is at work on the next ones while one is
/// put in its place.
const OPEN_AHEAD: usize = 4;

/// Some lanes of a stage.
pub(super) struct Lanes<const J: usize> {
    /// The first of them.
    pub(super) first: usize,
    pub(super) moduli: Moduli<J>,
}

impl Stage<'_> {
    /// Takes lanes of a group through the window: the states at its end, family by family.
    pub(super) fn slice<'m, const J: usize>(
        &mut self,
        view: &View<'_>,
        lines: &Lines,
        lanes: &Lanes<J>,
        memory: &'m mut Memory<'_>,
    ) -> Result<&'m [Row<J>], TaskError> {
        let Some((states, aside)) = memory.rows::<J>(lines) else {
            return refuse(format!(
                "there is no memory for lanes {} to {} of group {}",
                lanes.first,
                lanes.first + J,
                view.number
            ));
        };
        let (tables, families) = (view.tables(), view.families());
        let before: u64 = families.iter().map(|family| ends(tables, family).0).sum();
        self.gather(view, lanes, &mut states[lines.lead..][..before as usize])?;
        let (mut from, mut done) = (lines.lead, 0);
        for (family, line) in families.iter().zip(&lines.families) {
            self.check_stop()?;
            let started = Instant::now();
            let (before, after) = ends(tables, family);
            let start = from - line.leads[0];
            from += before as usize;
            let (arch, moduli) = (pulp::Arch::new(), &lanes.moduli);
            let rows = &mut states[start..];
            let entering = &rows[line.leads[0]..][..before as usize];
            let expected = arch.dispatch(Enter { tables, family, rows: entering, moduli });
            arch.dispatch(Passes { tables, family, line, rows, aside, moduli });
            let rows = &states[start..start + after as usize];
            let got = arch.dispatch(Total { rows, moduli });
            self.balance(view, lanes, expected, got)?;
            if lanes.first == 0 {
                self.count_states(view, family);
            }
            self.read_off(view, family, lanes, rows);
            self.times.map_nanos += nanos(started);
            let started = Instant::now();
            self.sample((view, End::Last), family, lanes, rows);
            if start > done {
                states.copy_within(start..start + after as usize, done);
            }
            done += after as usize;
            self.times.write_nanos += nanos(started);
        }
        Ok(&states[..done])
    }

    fn check_stop(&self) -> Result<(), TaskError> {
        if self.is_to_stop() { Err(TaskError::Stopped) } else { Ok(()) }
    }

    /// Fills in the group's states at the start of the window, and takes up the input's tally.
    fn gather<const J: usize>(
        &mut self,
        view: &View<'_>,
        lanes: &Lanes<J>,
        states: &mut [Row<J>],
    ) -> Result<(), TaskError> {
        let started = Instant::now();
        let task = self.task;
        let (mut expected, mut rows) = ([0; J], 0);
        if task.order.from_start {
            states.fill([0; J]);
            for place in view.start() {
                states[place as usize] = [1; J];
            }
        } else {
            let mut gather = Gather::new(view, self.prepared.sources(self.window));
            let (mut to_open, mut opened) = (task.order.inputs.iter(), VecDeque::new());
            loop {
                self.check_stop()?;
                for run in to_open.by_ref().take(OPEN_AHEAD - opened.len()) {
                    opened.push_back(gather.open(run, &self.header_in, task)?);
                }
                let Some(section) = opened.pop_front() else { break };
                let widen = (&self.widen, lanes.first);
                let read = gather.read(section, &self.header_in, task.order, widen, states, &mut expected)?;
                rows += read.rows;
                self.bytes_read += read.bytes;
                if lanes.first == 0 {
                    task.states_done.fetch_add(read.rows, Ordering::Relaxed);
                }
            }
        }
        let (standing, got) = self.standing(view, lanes, states);
        if !task.order.from_start {
            if rows != standing {
                return refuse(format!(
                    "group {} has {standing} states, but its inputs have {rows}; they are not those of one boundary",
                    view.number
                ));
            }
            // What is made follows from what was read.
            for (lane, (expected, got)) in (lanes.first..).zip(expected.iter_mut().zip(got)) {
                if self.widen.is_made(lane) {
                    *expected = got;
                }
            }
            self.balance(view, lanes, expected, got)?;
        }
        if lanes.first == 0 {
            self.input.states += standing;
        }
        self.input.add_sums(&got, lanes.first, lanes.moduli.values());
        self.times.read_nanos += nanos(started);
        Ok(())
    }

    /// Completes the states that were read: of two entries for one key one was. The number and the sum of those that
    /// were, and their sample into the input's fingerprint.
    fn standing<const J: usize>(
        &mut self,
        view: &View<'_>,
        lanes: &Lanes<J>,
        states: &mut [Row<J>],
    ) -> (u64, [u128; J]) {
        let (column, tables) = (view.column(), view.tables());
        let (mut base, mut standing, mut got) = (0, 0, [0; J]);
        for family in view.families() {
            let own = &mut states[base..base + family.size[0] as usize];
            base += own.len();
            let mut place = 0;
            for block in family.blocks.clone() {
                let twins = column.twins(self.window, End::First, block);
                for (entry, &twin) in twins.iter().enumerate() {
                    if usize::from(twin) != entry {
                        own[place + entry] = own[place + usize::from(twin)];
                    }
                }
                place += tables.signatures[tables.signature_of[block as usize] as usize].entries[0] as usize;
            }
            let twins = family.blocks.clone().next().map(|block| column.twins(self.window, End::First, block));
            match twins.filter(|twins| !twins.is_empty()) {
                None => {
                    standing += own.len() as u64;
                    let total = pulp::Arch::new().dispatch(Total { rows: own, moduli: &lanes.moduli });
                    merge(&mut got, total, &lanes.moduli);
                }
                Some(twins) => {
                    let mut sum = Weighted::ZERO;
                    for (_, row) in (0..=u16::MAX).zip(&*own).filter(|(entry, _)| stands(&twins, *entry)) {
                        standing += 1;
                        sum.add(1, row);
                    }
                    add_up(&mut got, &sum, &lanes.moduli);
                }
            }
            self.sample((view, End::First), family, lanes, own);
        }
        (standing, got)
    }

    /// Which states of the boundary at `end` are sampled: what one task has written another reads, with the same key.
    fn sample_key(&self, end: End) -> u64 {
        let order = self.task.order;
        let boundary = order.first_pass + if end == End::First { 0 } else { order.window.len };
        u64::from(boundary).mix(order.salt) >> 32
    }

    /// The sampled states of a family into the fingerprint.
    fn sample<const J: usize>(
        &mut self,
        (view, end): (&View<'_>, End),
        family: &Family,
        lanes: &Lanes<J>,
        rows: &[Row<J>],
    ) {
        let key = self.sample_key(end);
        let (column, tables) = (view.column(), view.tables());
        let step = if end == End::First { 0 } else { tables.states.len() - 1 };
        let (mut entries, mut keys, mut sampled) = (Vec::new(), Vec::new(), Vec::new());
        let mut place = 0;
        let tally = if end == End::First { &mut self.input } else { &mut self.output };
        for block in family.blocks.clone() {
            column.sample(self.window, end, block, key, &mut entries);
            let twins = column.twins(self.window, end, block);
            entries.retain(|&entry| stands(&twins, entry));
            column.keys_of(self.window, end, block, &entries, &mut keys);
            sampled.clear();
            sampled.extend(entries.iter().flat_map(|&entry| rows[place + usize::from(entry)]));
            tally.add_sample(&keys, &sampled, lanes.first, lanes.moduli.values());
            place += tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        }
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

    /// Adds a family's part of the functionals at a column's end: accepting states, each with its weight.
    fn read_off<const J: usize>(&mut self, view: &View<'_>, family: &Family, lanes: &Lanes<J>, rows: &[Row<J>]) {
        if self.functionals.is_empty() {
            return;
        }
        let (column, tables) = (view.column(), view.tables());
        let step = tables.states.len() - 1;
        let (mut place, mut total) = (0, [0; J]);
        for block in family.blocks.clone() {
            let mut sum = Weighted::ZERO;
            let weight = column.weight(self.window, block) as u32;
            for &entry in column.accepting(block) {
                sum.add(weight, &rows[place + usize::from(entry)]);
            }
            add_up(&mut total, &sum, &lanes.moduli);
            place += tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        }
        for (_, sums) in &mut self.functionals {
            for ((sum, total), &modulus) in sums[lanes.first..].iter_mut().zip(total).zip(lanes.moduli.values()) {
                *sum = ((u128::from(*sum) + total) % u128::from(modulus)) as u64;
            }
        }
    }
}
