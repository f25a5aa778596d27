//! The gather: reading a group's states from runs to their places before a window.
//!
//! ```text
//!   run of group s:   ... | section for g | ...      rows in the order of s's families, blocks and entries,
//!                              |                     those entries only that belong to g's families
//!                              v  positions of these entries in the vector of the window to come
//!   states of g:      . . x . . x . x . .
//! ```
//!
//! A section has no keys. The tables tell which entries its rows belong to, and where the rows go. Each row goes to
//! one place, and there are as many rows as places. Rows in wrong order show in the fingerprint. Where tables are made in
//! parts, the source window has none: its blocks go by one after the other ([`BlockSources`]), as they do with tables.
//!
//! Cost: decoding, and placing each row. Memory: the block that is being decoded, and what the reader of blocks keeps.

use std::ops::Range;
use std::slice::Chunks;

use keima_model::BlockSources;
use keima_orders::{InputRun, TaskOrder};
use keima_runs::{Batch, BlockFeed, CursorBuffers, RunCursor, RunError, RunHeader, RunManifest, RunPart};

use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::groups::{Groups, place_of, section_key};
use crate::block::rows::tables::step_at;
use crate::block::rows::widen::{PlaceError, StateRows, WidenedLanes, place_some};
use crate::{Task, TaskError};

/// Reads the runs of the window before into the states of one group.
pub(crate) struct Gather<'a> {
    group_tables: &'a GroupTables<'a>,
    /// The groups of the window that wrote the runs.
    sources: &'a Groups,
    /// Start of the group in the vector before its window.
    start: u64,
    blocks: Box<dyn BlockSources + 'a>,
    /// Memory for the next section.
    spare: (CursorBuffers, Batch<u64>),
}

/// A group's section of a run, ready to read.
pub(crate) struct OpenSection<'a> {
    run: &'a RunManifest,
    /// Numbers of the source's families that have rows for the group.
    families: Vec<u32>,
    /// `None` if the run has nothing for the group.
    feed: Option<LaneFeed>,
}

impl<'a> OpenSection<'a> {
    const fn nothing(run: &'a RunManifest) -> Self {
        Self { run, families: Vec::new(), feed: None }
    }
}

/// Where the rows of a section come from.
struct LaneFeed {
    feed: Box<dyn BlockFeed>,
    /// Of the run, which may have some lanes of its vector only.
    header: RunHeader,
    part: RunPart,
    /// The lanes of the vector that are read.
    lanes: Range<usize>,
}

/// What was read for one group.
#[derive(Debug, Default)]
pub(crate) struct SectionTotals {
    pub(crate) rows: u64,
    /// The lanes of the vector that the rows have.
    pub(crate) lanes: Range<usize>,
    pub(crate) bytes: u64,
}

impl<'a> Gather<'a> {
    /// `sources` are the groups of the window that wrote the runs.
    pub(crate) fn new(group_tables: &'a GroupTables<'a>, sources: &'a Groups) -> Self {
        let step = step_at(group_tables.tables(), group_tables.direction.enters());
        let start = group_tables.families().first().map_or(0, |family| family.start[step]);
        Self { group_tables, sources, start, blocks: group_tables.sources(), spare: Default::default() }
    }

    /// Opens those of the vector's lanes `wanted` that `input` has, in the group's section, and announces the reading. The
    /// run may have none of these lanes, and no section for the group. `header` is that of runs with all lanes.
    pub(crate) fn open(
        &self,
        input: &'a InputRun,
        header: &RunHeader,
        wanted: &Range<usize>,
        task: &Task<'_>,
    ) -> Result<OpenSection<'a>, TaskError> {
        let (run, has) = (&input.manifest, input.lanes());
        let lanes = wanted.start.max(has.start)..wanted.end.min(has.end);
        let Range { start: low, end: high } = self.section(run);
        if lanes.is_empty() || run.last_key < u128::from(low) || run.first_key >= u128::from(high) {
            return Ok(OpenSection::nothing(run));
        }
        let Some(moduli) = header.moduli.get(has.clone()) else {
            let (lanes, id) = (header.moduli.len(), &run.id);
            return Err(TaskError::Refused(format!("run {id} has lanes {has:?} of a vector that has {lanes}")));
        };
        let header = RunHeader { moduli: moduli.to_vec(), ..header.clone() };
        let place = place_of(run.first_key as u64);
        let Some(source) = self.sources.at_place(place) else {
            // Where the report of the task that wrote it was changed on its way, the file says so.
            let opened = task.feeds.open(run, &header, RunPart::all(&header)).map(drop);
            opened.map_err(|source| TaskError::Input { run: run.id.clone(), source })?;
            let detail = format!(
                "run {} begins at place {place}, where no group of window {} begins; the memory of its writer may be faulty, or \
                 it was written with other tables",
                run.id, self.group_tables.source
            );
            return Err(TaskError::check(task.order, "place of a run", detail));
        };
        let families = self.group_tables.source_families(source.families.clone());
        if families.is_empty() {
            return Ok(OpenSection::nothing(run));
        }
        let own = lanes.start - has.start..lanes.end - has.start;
        let part = RunPart { low: low.into(), high: Some(high.into()), lanes: own };
        let opened = task.feeds.open(run, &header, part.clone());
        let mut feed = opened.map_err(|source| TaskError::Input { run: run.id.clone(), source })?;
        feed.prepare();
        Ok(OpenSection { run, families, feed: Some(LaneFeed { feed, header, part, lanes }) })
    }

    /// Keys of the group's section of `run`.
    fn section(&self, run: &RunManifest) -> Range<u64> {
        let number = self.group_tables.number;
        section_key(number, place_of(run.first_key as u64))..section_key(number + 1, 0)
    }

    /// Reads a section into `states`: the lanes from `lanes.first` on of its widened rows. The section was opened
    /// with the lanes that the widener reads, and may have some of them only. Adds the lanes that were read to `total`.
    pub(crate) fn read<const J: usize>(
        &mut self,
        opened: OpenSection<'_>,
        order: &TaskOrder,
        lanes: &WidenedLanes<'_>,
        states: &mut (impl StateRows<J> + ?Sized),
        total: &mut [u128; J],
    ) -> Result<SectionTotals, TaskError> {
        let OpenSection { run, families, feed } = opened;
        let Some(LaneFeed { feed, header, part, lanes: some }) = feed else { return Ok(SectionTotals::default()) };
        let failed = |source| TaskError::Input { run: run.id.clone(), source };
        let WidenedLanes { widener, first } = *lanes;
        let is_whole = some == widener.reads(first, J);
        if !is_whole && widener.widens() {
            return Err(TaskError::Refused(format!(
                "run {} has lanes {some:?} only, and its rows are to be widened, which takes all; this is a fault of the \
                 program, please report it",
                run.id
            )));
        }
        let mut read = SectionTotals { lanes: some.clone(), ..SectionTotals::default() };
        let mut positions = Vec::new();
        let low = self.section(run).start;
        let (buffers, batch) = std::mem::take(&mut self.spare);
        let width = some.len();
        let cursor = RunCursor::new(feed, &header, &run.id, part).with_buffers(buffers);
        let mut section = SectionReader::new(cursor, low, batch);
        for family in families {
            self.blocks.open(family).map_err(TaskError::Refused)?;
            while self.blocks.advance() {
                self.blocks.positions(&mut positions);
                let mut positions = positions.as_slice();
                while !positions.is_empty() {
                    let rows = section
                        .rows(positions.len(), width, |batch| widener.add_up(first, &some, batch, total))
                        .map_err(failed)?;
                    let (now, later) = positions.split_at(rows.len() / width);
                    let placed = if is_whole {
                        widener.place(first, rows, now, self.start, states)
                    } else {
                        place_some(first, &some, rows, now, self.start, states)
                    };
                    placed.map_err(|wrong| self.misplaced(order, rows.chunks(width), wrong))?;
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

    fn misplaced(&self, order: &TaskOrder, mut rows: Chunks<'_, u64>, wrong: PlaceError) -> TaskError {
        match wrong {
            PlaceError::Position(position) => TaskError::Refused(format!(
                "position {position} is not in group {}; this is a fault of the program",
                self.group_tables.number
            )),
            PlaceError::Spare(number) => {
                let row = rows.nth(number).unwrap_or_default();
                let detail = format!(
                    "row {row:?} of an input of task {}: the spare residue does not match the others; the machine or its \
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

    /// Canonical keys of the section that the group at `place` wrote for this group, in the order of its rows. Stops
    /// once there are more than `most`.
    pub(crate) fn keys(&mut self, place: u64, most: u64) -> Result<Vec<u128>, TaskError> {
        let (mut keys, mut some) = (Vec::new(), Vec::new());
        let families = self.sources.at_place(place).map_or(0..0, |source| source.families.clone());
        for family in self.group_tables.source_families(families) {
            self.blocks.open(family).map_err(TaskError::Refused)?;
            while keys.len() as u64 <= most && self.blocks.advance() {
                self.blocks.keys(&mut some);
                keys.extend_from_slice(&some);
            }
        }
        Ok(keys)
    }
}

/// Whether an entry represents its key: of several entries for one key exactly one does.
pub(crate) fn stands(twins: &[u16], entry: u16) -> bool {
    twins.get(usize::from(entry)).is_none_or(|&twin| twin == entry)
}

/// Reads the rows of a section in pieces.
struct SectionReader {
    cursor: RunCursor<u64>,
    batch: Batch<u64>,
    /// Rows of the batch that are used up.
    taken: usize,
    /// Key of the next row.
    next: u64,
}

impl SectionReader {
    /// `batch` only provides memory.
    fn new(cursor: RunCursor<u64>, next: u64, mut batch: Batch<u64>) -> Self {
        batch.clear();
        Self { cursor, batch, taken: 0, next }
    }

    /// The next rows, at least one and at most `most`. Passes each batch to `seen` once.
    fn rows(&mut self, most: usize, lanes: usize, seen: impl FnOnce(&[u64])) -> Result<&[u64], RunError> {
        if self.taken == self.batch.keys.len() {
            if !self.cursor.next_batch(&mut self.batch)? {
                return Err(self.wrong("it ends in the middle of a section"));
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

    /// Checks that no row is left.
    fn end(&mut self) -> Result<(), RunError> {
        if self.taken < self.batch.keys.len() || self.cursor.next_batch(&mut self.batch)? {
            return Err(self.wrong("a section has too many rows"));
        }
        Ok(())
    }

    fn wrong(&self, what: &'static str) -> RunError {
        RunError::Malformed { place: self.cursor.id().0.clone(), what, at: self.next }
    }
}
