//! From runs to a group's states where they come into a window: the reading half of the exchange.
//!
//! ```text
//!   run of group s:   ... | section for g | ...      rows in the order of s's families, blocks and entries,
//!                              |                     those entries only that belong to g's families
//!                              v  positions of these entries in the vector of the window to come
//!   states of g:      . . x . . x . x . .
//! ```
//!
//! A section has no keys: which entries its rows belong to, and where they go, follows from the tables. Each row goes
//! to one place, and there are as many rows as places; what stands in the wrong order shows in the fingerprint.
//!
//! Cost: 3 to 6 ns a row beside decoding. Memory: the block that is decoded, and lists of entries for the few classes
//! that meet the group.

use std::ops::Range;
use std::slice::Chunks;
use std::sync::Arc;

use keima_model::Family;
use keima_orders::TaskOrder;
use keima_runs::{Batch, BlockFeed, CursorBuffers, RunCursor, RunError, RunHeader, RunManifest, RunPart};
use rustc_hash::FxHashMap;

use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::groups::{Groups, place_of, section_key};
use crate::block::rows::tables::step_at;
use crate::block::rows::widen::{Misplaced, Seats, Widen};
use crate::{Task, TaskError};

/// The exchange from one window to a group of the next.
pub(crate) struct Gather<'a> {
    view: &'a View<'a>,
    /// The groups of the window that the runs come from.
    sources: &'a Groups,
    /// Where the group begins in the vector that comes into its window.
    start: u64,
    /// For blocks of one signature and class the entries that belong to the group, ascending.
    routes: FxHashMap<(u32, u32), Arc<[u16]>>,
    /// Memory for the next section.
    spare: (CursorBuffers, Batch<u64>),
}

/// A group's section of a run that is to be read.
pub(crate) struct Opened<'a> {
    run: &'a RunManifest,
    /// Families of the source that have rows for the group, if they have any; then there is a feed.
    met: Vec<&'a Family>,
    feed: Option<(Box<dyn BlockFeed>, RunPart)>,
}

/// What was read of the runs for one group.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl<'a> Gather<'a> {
    /// `sources` are the groups of the window that the runs come from.
    pub(crate) fn new(view: &'a View<'a>, sources: &'a Groups) -> Self {
        let step = step_at(view.tables(), view.direction.enters());
        let start = view.families().first().map_or(0, |family| family.start[step]);
        let (routes, spare) = (FxHashMap::default(), Default::default());
        Self { view, sources, start, routes, spare }
    }

    /// Opens `lanes` of the group's section of `run`, and says that they will be read soon. What a group wrote for others
    /// may be in other runs.
    pub(crate) fn open(
        &self,
        run: &'a RunManifest,
        header: &RunHeader,
        lanes: Range<usize>,
        task: &Task<'_>,
    ) -> Result<Opened<'a>, TaskError> {
        let (low, high) = self.section(run);
        if run.last_key < u128::from(low) || run.first_key >= u128::from(high) {
            return Ok(Opened { run, met: Vec::new(), feed: None });
        }
        let place = place_of(run.first_key as u64);
        let Some(source) = self.sources.at_place(place) else {
            return Err(TaskError::Refused(format!(
                "run {} begins at place {place}, where no group of window {} begins; it was written with other tables",
                run.id, self.view.source
            )));
        };
        let met: Vec<&Family> = source.families.clone().filter_map(|family| self.view.source_family(family)).collect();
        if met.is_empty() {
            return Ok(Opened { run, met, feed: None });
        }
        let part = RunPart { low: low.into(), high: Some(high.into()), lanes };
        let opened = task.feeds.open(run, header, part.clone());
        let mut feed = opened.map_err(|source| TaskError::Input { run: run.id.clone(), source })?;
        feed.prepare();
        Ok(Opened { run, met, feed: Some((feed, part)) })
    }

    /// Keys of the group's section of `run`: the first row's, and what they are below.
    fn section(&self, run: &RunManifest) -> (u64, u64) {
        let number = self.view.number;
        (section_key(number, place_of(run.first_key as u64)), section_key(number + 1, 0))
    }

    /// Reads a section, of which those lanes were opened that `widen` reads, into `states`: lanes `first .. first + J` of
    /// the rows that it makes. What was read is added to `total`.
    pub(crate) fn read<const J: usize>(
        &mut self,
        opened: Opened<'_>,
        header: &RunHeader,
        order: &TaskOrder,
        (widen, first): (&Widen, usize),
        states: &mut (impl Seats<J> + ?Sized),
        total: &mut [u128; J],
    ) -> Result<Read, TaskError> {
        let Opened { run, met, feed } = opened;
        let Some((feed, part)) = feed else { return Ok(Read::default()) };
        let failed = |source| TaskError::Input { run: run.id.clone(), source };
        let column = self.view.column();
        let mut read = Read::default();
        let mut positions = Vec::new();
        let (low, _) = self.section(run);
        let (buffers, batch) = std::mem::take(&mut self.spare);
        let lanes = part.lanes.len();
        let cursor = RunCursor::new(feed, header, &run.id, part).with_buffers(buffers);
        let mut section = Section::new(cursor, low, batch);
        for family in met {
            for block in family.blocks.clone() {
                let entries = self.route(block);
                column.positions_of(self.view.source, self.view.direction.leaves(), block, &entries, &mut positions);
                let mut positions = positions.as_slice();
                while !positions.is_empty() {
                    let rows = section
                        .rows(positions.len(), lanes, |batch| widen.add_up(first, batch, total))
                        .map_err(failed)?;
                    let (now, later) = positions.split_at(rows.len() / lanes);
                    let placed = widen.place(first, rows, now, self.start, states);
                    placed.map_err(|wrong| self.misplaced(order, rows.chunks(lanes), wrong))?;
                    read.rows += now.len() as u64;
                    positions = later;
                }
            }
        }
        section.end().map_err(failed)?;
        read.bytes = section.cursor.bytes_read();
        self.spare = (section.cursor.into_buffers(), section.batch);
        Ok(read)
    }

    fn misplaced(&self, order: &TaskOrder, mut rows: Chunks<'_, u64>, wrong: Misplaced) -> TaskError {
        match wrong {
            Misplaced::Position(position) => TaskError::Refused(format!(
                "position {position} is not in group {}; this is a fault of the program",
                self.view.number
            )),
            Misplaced::Spare(number) => {
                let row = rows.nth(number).unwrap_or_default();
                let detail = format!(
                    "a row {row:?} of an input, task {}: the spare is not what the others predict; the machine or its \
                     memory may be faulty",
                    order.attempt
                );
                TaskError::Check {
                    check: "spare prime of every state",
                    pass: order.first_pass,
                    modulus: order.moduli.last().copied().unwrap_or(0),
                    detail,
                }
            }
        }
    }

    /// The canonical keys of the rows of the section that the group at `place` wrote for this one, in their order; of more
    /// than `most` some are left out.
    pub(crate) fn keys(&mut self, place: u64, most: u64) -> Vec<u128> {
        let (view, mut keys, mut some) = (self.view, Vec::new(), Vec::new());
        let families = self.sources.at_place(place).map_or(0..0, |source| source.families.clone());
        for family in families.filter_map(|family| view.source_family(family)) {
            for block in family.blocks.clone() {
                if keys.len() as u64 > most {
                    return keys;
                }
                let entries = self.route(block);
                view.column().keys_of(view.source, view.direction.leaves(), block, &entries, &mut some);
                keys.extend_from_slice(&some);
            }
        }
        keys
    }

    /// Entries of a block of the source window that belong to the group, and that stand for their key.
    fn route(&mut self, block: u32) -> Arc<[u16]> {
        let (view, column, source) = (self.view, self.view.column(), self.view.source);
        let signature = column.tables(source).signature_of[block as usize];
        let end = view.direction.leaves();
        let class = column.exchange_class(source, end, block);
        let route = self.routes.entry((signature, class)).or_insert_with(|| {
            let mut families = Vec::new();
            column.families(source, end, block, &mut families);
            let twins = column.twins(source, end, block);
            (0..=u16::MAX)
                .zip(&families)
                .filter(|&(ref entry, &family)| view.has(family) && stands(&twins, *entry))
                .map(|(entry, _)| entry)
                .collect()
        });
        Arc::clone(route)
    }
}

/// Whether an entry stands for its key.
pub(crate) fn stands(twins: &[u16], entry: u16) -> bool {
    twins.get(usize::from(entry)).is_none_or(|&twin| twin == entry)
}

/// Rows of a section, in pieces.
struct Section {
    cursor: RunCursor<u64>,
    batch: Batch<u64>,
    /// Rows of the batch that are taken.
    taken: usize,
    /// Key of the next row.
    next: u64,
}

impl Section {
    /// `batch` is memory only.
    fn new(cursor: RunCursor<u64>, next: u64, mut batch: Batch<u64>) -> Self {
        batch.clear();
        Self { cursor, batch, taken: 0, next }
    }

    /// The next rows, `most` at most, one after the other; at least one. `seen` is given all rows once.
    fn rows(&mut self, most: usize, lanes: usize, seen: impl FnOnce(&[u64])) -> Result<&[u64], RunError> {
        if self.taken == self.batch.keys.len() {
            if !self.cursor.next_batch(&mut self.batch)? {
                return Err(self.wrong("it ends before all of the section's rows were read"));
            }
            self.taken = 0;
            let count = self.batch.keys.len() as u64;
            let ends = (self.batch.keys.first().copied(), self.batch.keys.last().copied());
            if ends != (Some(self.next), self.next.checked_add(count - 1)) {
                return Err(self.wrong("the keys of a section are not consecutive"));
            }
            self.next += count;
            seen(&self.batch.rows);
        }
        let from = self.taken;
        self.taken = self.batch.keys.len().min(from + most);
        Ok(&self.batch.rows[from * lanes..self.taken * lanes])
    }

    /// Nothing may be left.
    fn end(&mut self) -> Result<(), RunError> {
        if self.taken < self.batch.keys.len() || self.cursor.next_batch(&mut self.batch)? {
            return Err(self.wrong("it has more rows in a section than belong there"));
        }
        Ok(())
    }

    fn wrong(&self, what: &'static str) -> RunError {
        RunError::Malformed { place: self.cursor.id().0.clone(), what, at: self.next }
    }
}
