//! Filling in a group's states: from runs, or at the start of a vector.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use keima_model::Direction;
use keima_orders::InputRun;
use zerocopy::{FromBytes as _, IntoBytes as _};

use crate::TaskError;
use crate::block::out_of_core::gather::{Gather, OpenSection};
use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::task::stage::{BlockTask, refuse};
use crate::block::out_of_core::task::work::{GroupWork, LaneSlice};
use crate::block::rows::lanes::Row;
use crate::block::rows::sums::merge;
use crate::block::rows::threads::each;
use crate::block::rows::widen::{SharedStates, StateRows, WidenedLanes};

/// Sections that are opened ahead of reading, so that the disk or another worker prepares the next ones meanwhile.
const OPEN_AHEAD: usize = 4;

/// What one thread has read.
struct SliceReader<'a, const J: usize> {
    gather: Gather<'a>,
    /// The sum of each lane, and how many rows it was read of.
    sums: [u128; J],
    rows: [u64; J],
    bytes: u64,
}

/// What was read for a slice of a group's lanes: the rows and the sum of each lane.
pub(crate) struct ReadSlice<const J: usize> {
    pub(crate) rows: [u64; J],
    pub(crate) sums: [u128; J],
}

impl BlockTask<'_> {
    /// Fills in the group's states before the window. Returns what was read; `None` at the start of a vector.
    pub(crate) fn gather<const J: usize>(
        &mut self,
        work: &GroupWork<'_>,
        lanes: &LaneSlice<J>,
        states: &mut [Row<J>],
    ) -> Result<Option<ReadSlice<J>>, TaskError> {
        let started = Instant::now();
        if self.task.order.from_start {
            states.fill([0; J]);
            match self.direction {
                Direction::Forward => {
                    work.group_tables.start().iter().for_each(|&place| states[place as usize] = [1; J]);
                }
                Direction::Transposed => accept(&work.group_tables, states),
            }
            self.totals.times.read_nanos += work.nanos(started);
            return Ok(None);
        }
        let (mut read, mut bytes) = (ReadSlice { rows: [0; J], sums: [0; J] }, 0);
        for reader in self.read(work, lanes, states)? {
            merge(&mut read.sums, reader.sums, &lanes.moduli);
            read.rows.iter_mut().zip(reader.rows).for_each(|(all, rows)| *all += rows);
            bytes += reader.bytes;
        }
        self.totals.bytes_read += bytes;
        self.totals.times.read_nanos += work.nanos(started);
        Ok(Some(read))
    }

    /// Reads the group's sections of all runs into its states. Returns what each thread has read.
    fn read<'v, const J: usize>(
        &'v self,
        work: &'v GroupWork<'_>,
        lanes: &LaneSlice<J>,
        states: &mut [Row<J>],
    ) -> Result<Vec<SliceReader<'v, J>>, TaskError> {
        let sources = self.prepared.beside(self.direction, self.direction.enters(), self.window)?;
        let inputs = self.task.order.inputs.iter();
        let wanted = self.widen.reads(lanes.first, J);
        let reader =
            || SliceReader { gather: Gather::new(&work.group_tables, sources), sums: [0; J], rows: [0; J], bytes: 0 };
        let mut readers: Vec<SliceReader<'_, J>> = (0..work.threads).map(|_| reader()).collect();
        if let [reader] = readers.as_mut_slice() {
            let (mut to_open, mut opened) = (inputs, VecDeque::new());
            loop {
                for input in to_open.by_ref().take(OPEN_AHEAD - opened.len()) {
                    opened.push_back(reader.gather.open(input, &self.header_in, &wanted, self.task)?);
                }
                let Some(section) = opened.pop_front() else { break };
                self.read_section(section, lanes, reader, states)?;
            }
            return Ok(readers);
        }
        let words = states.as_flattened_mut().as_mut_bytes();
        let Ok(shared) = <[[AtomicU64; J]]>::mut_from_bytes(words) else {
            return refuse("rows are not made of words; this is a fault of the program, please report it".to_owned());
        };
        let shared: SharedStates<'_, J> = shared;
        each(&mut readers, None, longest_last(inputs.collect()), |input, reader| {
            let section = reader.gather.open(input, &self.header_in, &wanted, self.task)?;
            self.read_section(section, lanes, reader, &mut { shared })
        })?;
        Ok(readers)
    }

    fn read_section<const J: usize>(
        &self,
        section: OpenSection<'_>,
        lanes: &LaneSlice<J>,
        reader: &mut SliceReader<'_, J>,
        states: &mut (impl StateRows<J> + ?Sized),
    ) -> Result<(), TaskError> {
        self.check_stop()?;
        let order = self.task.order;
        let made = WidenedLanes { widener: &self.widen, first: lanes.first };
        let read = reader.gather.read(section, order, &made, states, &mut reader.sums)?;
        // Lanes that are computed count as those that they come from: then all lanes were read.
        let place = |lane: usize| lane.saturating_sub(lanes.first);
        let of = if self.widen.widens() { 0..J } else { place(read.lanes.start)..place(read.lanes.end) };
        reader.rows.iter_mut().take(of.end).skip(of.start).for_each(|rows| *rows += read.rows);
        reader.bytes += read.bytes;
        if of.start == 0 && lanes.first == 0 {
            self.task.states_done.fetch_add(read.rows, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Runs in the order in which threads take them from the end of a list, so that they read the longest first. It is not
/// generic, so there is one copy for all widths of rows.
pub(crate) fn longest_last(mut inputs: Vec<&InputRun>) -> Vec<&InputRun> {
    inputs.sort_by_key(|input| input.manifest.records);
    inputs
}

/// Sets the last boundary: each accepting state has one completion.
fn accept<const J: usize>(group_tables: &GroupTables<'_>, states: &mut [Row<J>]) {
    let (tables, column) = (group_tables.tables(), group_tables.column());
    let (last, mut start) = (tables.states.len() - 1, 0);
    for family in group_tables.families() {
        for block in family.blocks.clone() {
            let own = &mut states[start + tables.place(last, block) as usize..];
            column.accepting(block).iter().for_each(|&entry| own[usize::from(entry)] = [1; J]);
        }
        start += family.size[last] as usize;
    }
}
