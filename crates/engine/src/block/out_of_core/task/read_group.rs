//! Filling in a group's states: from runs, or at the start of a vector's way.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use keima_model::Direction;
use keima_runs::RunManifest;
use zerocopy::{FromBytes as _, IntoBytes as _};

use crate::TaskError;
use crate::block::out_of_core::gather::{Gather, Opened};
use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::task::stage::{Stage, refuse};
use crate::block::out_of_core::task::work::{Lanes, Work};
use crate::block::rows::lanes::Row;
use crate::block::rows::sums::merge;
use crate::block::rows::threads::each;
use crate::block::rows::widen::{Seats, SharedSeats};

/// Sections that are asked for before they are read: the disk or another worker is at work on the next ones while one is
/// put in its place.
const OPEN_AHEAD: usize = 4;

/// What a thread has read.
struct Reader<'a, const J: usize> {
    gather: Gather<'a>,
    /// The sum of each lane.
    sums: [u128; J],
    rows: u64,
    bytes: u64,
}

impl Stage<'_> {
    /// Fills in the group's states where they come into the window; how many rows were read, and their sums. Nothing is
    /// read at the start of a vector's way.
    pub(crate) fn gather<const J: usize>(
        &mut self,
        work: &Work<'_>,
        lanes: &Lanes<J>,
        states: &mut [Row<J>],
    ) -> Result<Option<(u64, [u128; J])>, TaskError> {
        let started = Instant::now();
        if self.task.order.from_start {
            states.fill([0; J]);
            match self.direction {
                Direction::Forward => work.view.start().iter().for_each(|&place| states[place as usize] = [1; J]),
                Direction::Backward => accept(&work.view, states),
            }
            self.times.read_nanos += work.nanos(started);
            return Ok(None);
        }
        let (mut rows, mut sums, mut bytes) = (0, [0; J], 0);
        for reader in self.read(work, lanes, states)? {
            merge(&mut sums, reader.sums, &lanes.moduli);
            rows += reader.rows;
            bytes += reader.bytes;
        }
        self.bytes_read += bytes;
        self.times.read_nanos += work.nanos(started);
        Ok(Some((rows, sums)))
    }

    /// Reads the group's sections of all runs into its states; what each thread has read.
    fn read<'v, const J: usize>(
        &'v self,
        work: &'v Work<'_>,
        lanes: &Lanes<J>,
        states: &mut [Row<J>],
    ) -> Result<Vec<Reader<'v, J>>, TaskError> {
        let sources = self.prepared.beside(self.direction, self.direction.enters(), self.window)?;
        let runs = self.task.order.inputs.iter().map(|input| &input.manifest);
        let wanted = self.widen.reads(lanes.first, J);
        let reader = || Reader { gather: Gather::new(&work.view, sources), sums: [0; J], rows: 0, bytes: 0 };
        let mut readers: Vec<Reader<'_, J>> = (0..work.threads).map(|_| reader()).collect();
        if let [reader] = readers.as_mut_slice() {
            let (mut to_open, mut opened) = (runs, VecDeque::new());
            loop {
                for run in to_open.by_ref().take(OPEN_AHEAD - opened.len()) {
                    opened.push_back(reader.gather.open(run, &self.header_in, wanted.clone(), self.task)?);
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
        let shared: SharedSeats<'_, J> = shared;
        // The longest ones are taken first.
        let mut runs: Vec<&RunManifest> = runs.collect();
        runs.sort_by_key(|run| run.records);
        each(&mut readers, None, runs, |run, reader| {
            let section = reader.gather.open(run, &self.header_in, wanted.clone(), self.task)?;
            self.read_section(section, lanes, reader, &mut { shared })
        })?;
        Ok(readers)
    }

    fn read_section<const J: usize>(
        &self,
        section: Opened<'_>,
        lanes: &Lanes<J>,
        reader: &mut Reader<'_, J>,
        states: &mut (impl Seats<J> + ?Sized),
    ) -> Result<(), TaskError> {
        self.check_stop()?;
        let (widen, order) = ((&self.widen, lanes.first), self.task.order);
        let read = reader.gather.read(section, &self.header_in, order, widen, states, &mut reader.sums)?;
        reader.rows += read.rows;
        reader.bytes += read.bytes;
        if lanes.first == 0 {
            self.task.states_done.fetch_add(read.rows, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Nothing is left to do: each accepting state is completed in one way.
fn accept<const J: usize>(view: &View<'_>, states: &mut [Row<J>]) {
    let (tables, column) = (view.tables(), view.column());
    let (last, mut start) = (tables.states.len() - 1, 0);
    for family in view.families() {
        for block in family.blocks.clone() {
            let own = &mut states[start + tables.place(last, block) as usize..];
            column.accepting(block).iter().for_each(|&entry| own[usize::from(entry)] = [1; J]);
        }
        start += family.size[last] as usize;
    }
}
