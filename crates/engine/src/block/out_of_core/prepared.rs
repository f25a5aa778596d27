//! What all tasks of a job on one worker share: tables, or the source of partial tables; groups; start vector;
//! memory.

use std::sync::OnceLock;

use keima_blocks::limits::PLACE_BITS;
use keima_blocks::out_of_core::kept_product_words;
use keima_blocks::rows::buffer_rows;
use keima_model::{BlockColumn, BlockParts, Direction, Directions, End, FamilyList, Window};
use keima_runs::RunManifest;

use crate::TaskError;
use crate::block::out_of_core::gather::Gather;
use crate::block::out_of_core::group_tables::GroupTables;
use crate::block::out_of_core::groups::{Group, GroupId, Groups, place_of, section_key};
use crate::block::out_of_core::memory::demand::arrival_words;
use crate::block::out_of_core::memory::pool::MemoryPool;
use crate::block::out_of_core::passes::buffer::GroupLayout;

/// The tables of a job with the groups of its tasks. All tasks of a worker share one.
pub struct Prepared {
    tables: PreparedTables,
    /// Groups for forward passes.
    pub(crate) groups: Vec<Groups>,
    /// Groups for transposed passes. Empty if the tables have none.
    transposed_groups: Vec<Groups>,
    /// Positions of the first column's states in the vector before the first window, ascending.
    start: OnceLock<Vec<u64>>,
    pub(crate) pool: MemoryPool,
}

/// What is known of a group before its tables are there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExpectedGroup {
    /// States at the end of the window that has more.
    pub(crate) records: u64,
    /// Memory that its tables take while they are made, and rows of its buffer: estimates on the high side, 0 where there are
    /// tables of all families.
    pub(crate) part_bytes: u64,
    pub(crate) rows: usize,
}

enum PreparedTables {
    Whole(Box<dyn BlockColumn>),
    ByPart(Box<dyn BlockParts>),
}

impl PreparedTables {
    fn windows(&self) -> &[Window] {
        match self {
            Self::Whole(column) => column.windows(),
            Self::ByPart(parts) => parts.windows(),
        }
    }
}

impl Prepared {
    /// Groups of at most `group_records` records, as far as families allow. The tables and `tasks` tasks at a time
    /// stay within `memory_bytes`.
    pub fn new(column: Box<dyn BlockColumn>, group_records: u64, memory_bytes: u64, tasks: u32) -> Self {
        let groups = |direction| {
            let windows = 0..column.windows().len();
            let group = |window| Groups::new(&FamilyList::of(column.as_ref(), window), group_records, direction);
            windows.map(group).collect::<Vec<Groups>>()
        };
        let transposed = (0..column.windows().len()).all(|window| column.tables(window).are_transposed());
        let transposed_groups = if transposed { groups(Direction::Transposed) } else { Vec::new() };
        let groups = groups(Direction::Forward);
        let left = memory_bytes.saturating_sub(column.bytes());
        let pool = MemoryPool::new(left, tasks, most_rows(column.as_ref(), &groups, transposed));
        Self { tables: PreparedTables::Whole(column), groups, transposed_groups, start: OnceLock::new(), pool }
    }

    /// The same, with tables made for each group. A group's tables count as its task's memory.
    pub fn by_part(parts: Box<dyn BlockParts>, group_records: u64, memory_bytes: u64, tasks: u32) -> Self {
        let windows = 0..parts.windows().len();
        let group = |window| Groups::new(parts.families(window), group_records, Direction::Forward);
        let groups: Vec<Groups> = windows.clone().map(group).collect();
        let left = memory_bytes.saturating_sub(parts.bytes());
        let bounds = parts.family_bounds();
        let rows = windows.zip(&groups).flat_map(|(window, groups)| {
            let window = parts.windows()[window];
            let rows = move |group: &Group| buffer_rows(&bounds, Directions::Forward, window, group.records) as usize;
            groups.all.iter().map(rows)
        });
        let pool = MemoryPool::new(left, tasks, rows.max().unwrap_or(0));
        let tables = PreparedTables::ByPart(parts);
        Self { tables, groups, transposed_groups: Vec::new(), start: OnceLock::new(), pool }
    }

    /// Reserves `bytes` of the tasks' memory for the rest of the process, as far as the largest group can do without.
    #[must_use]
    pub fn reserving(self, bytes: u64) -> Self {
        Self { pool: self.pool.reserving(bytes), ..self }
    }

    /// The windows of a column.
    pub fn windows(&self) -> &[Window] {
        self.tables.windows()
    }

    /// Frees the memory that is kept for the next task.
    pub fn free_kept(&self) {
        self.pool.free_kept();
    }

    /// Number of groups of window number `window`.
    pub fn groups(&self, window: usize) -> usize {
        self.groups[window].all.len()
    }

    /// Makes the tables of a group as a forward task of one thread would, without waiting for others, lets the blocks of its
    /// sources go by, and drops them. Returns the group's number of states. For measurements.
    pub fn make(&self, window: usize, number: u32) -> Result<u64, TaskError> {
        let group_tables = self.group_tables(GroupId { direction: Direction::Forward, window, number }, 1)?;
        let mut sources = group_tables.sources();
        let all = self.beside(Direction::Forward, End::First, window)?.group_of.len() as u32;
        for family in group_tables.source_families(0..all) {
            sources.open(family).map_err(TaskError::Refused)?;
            while sources.advance() {}
        }
        drop(sources);
        Ok(group_tables.group.records)
    }

    /// Rows of memory that the largest group needs for each residue.
    pub fn most_rows(&self) -> usize {
        match &self.tables {
            PreparedTables::Whole(column) => {
                most_rows(column.as_ref(), &self.groups, !self.transposed_groups.is_empty())
            }
            PreparedTables::ByPart(_) => self.pool.most_words(),
        }
    }

    /// Groups of window number `window` for which a run may have sections.
    pub fn readers(&self, window: usize, run: &RunManifest) -> impl Iterator<Item = u32> + use<> {
        let readers = run.first_key >> PLACE_BITS..=run.last_key >> PLACE_BITS;
        (0..self.groups(window) as u32).filter(move |&number| readers.contains(&u128::from(number)))
    }

    /// The section of a run for a group: its first key, and the canonical keys of its records in their order. The
    /// run's first key tells which group wrote it. Leaves out some of the keys if there are more than the run has
    /// records.
    pub fn keys(&self, group: GroupId, run: &RunManifest) -> Result<(u128, Vec<u128>), TaskError> {
        let place = place_of(run.first_key as u64);
        let GroupId { direction, window, number } = group;
        let group_tables = self.group_tables(group, 1)?;
        let sources = self.beside(direction, direction.enters(), window)?;
        let keys = Gather::new(&group_tables, sources).keys(place, run.records)?;
        Ok((section_key(number, place).into(), keys))
    }

    /// The groups of all windows, for one direction.
    fn all_groups(&self, direction: Direction) -> Result<&[Groups], TaskError> {
        match direction {
            Direction::Forward => Ok(&self.groups),
            Direction::Transposed if self.transposed_groups.is_empty() => Err(TaskError::Refused(
                "tables for forward passes alone were made; this is a fault of the program".into(),
            )),
            Direction::Transposed => Ok(&self.transposed_groups),
        }
    }

    /// The groups of the neighbouring window.
    pub(crate) fn beside(&self, direction: Direction, end: End, window: usize) -> Result<&Groups, TaskError> {
        Ok(&self.all_groups(direction)?[end.neighbour(window, self.groups.len())])
    }

    /// What a forward task expects of a group. Nothing of one that there is not.
    pub(crate) fn expected(&self, window: usize, number: u32) -> ExpectedGroup {
        let Some(group) = self.groups[window].all.get(number as usize) else { return ExpectedGroup::default() };
        let records = group.records;
        match &self.tables {
            PreparedTables::Whole(_) => ExpectedGroup { records, ..ExpectedGroup::default() },
            PreparedTables::ByPart(parts) => ExpectedGroup {
                records,
                part_bytes: parts.part_bytes(window, group.families.clone()),
                rows: buffer_rows(&parts.family_bounds(), Directions::Forward, parts.windows()[window], records)
                    as usize,
            },
        }
    }

    /// The tables of a group. Where they are made for it, `threads` threads do it.
    pub(crate) fn group_tables(&self, id: GroupId, threads: usize) -> Result<GroupTables<'_>, TaskError> {
        let GroupId { direction, window, number } = id;
        let Some(group) = self.all_groups(direction)?[window].all.get(number as usize) else {
            return Err(TaskError::Refused(format!("window {window} has no group {number}")));
        };
        match &self.tables {
            PreparedTables::Whole(column) => {
                let starts = window == 0 && direction == Direction::Forward;
                let start = if starts { self.start(column.as_ref()) } else { &[] };
                Ok(GroupTables::whole(column.as_ref(), start, id, group))
            }
            PreparedTables::ByPart(parts) => {
                let part = parts.part(window, group.families.clone(), threads).map_err(TaskError::Refused)?;
                Ok(GroupTables::part(part, id, group))
            }
        }
    }

    /// Legal states of the first column.
    pub(crate) fn one_column(&self) -> u64 {
        match &self.tables {
            PreparedTables::Whole(column) => column.one_column(),
            PreparedTables::ByPart(parts) => parts.one_column(),
        }
    }

    fn start(&self, column: &dyn BlockColumn) -> &[u64] {
        self.start.get_or_init(|| {
            let mut start = column.start(0, End::First);
            start.sort_unstable();
            start
        })
    }
}

fn most_rows(column: &dyn BlockColumn, groups: &[Groups], transposed: bool) -> usize {
    let rows = groups.iter().enumerate().flat_map(|(window, groups)| {
        let tables = column.tables(window);
        groups.all.iter().map(move |group| {
            let families = group.families.start as usize..group.families.end as usize;
            let families = &tables.families[families];
            let direction = if transposed { Direction::Transposed } else { Direction::Forward };
            let mut rows = GroupLayout::new(tables, families, direction).rows();
            if transposed {
                let kept_product = kept_product_words(group.records as usize);
                rows += arrival_words(tables, families) + kept_product.per_lane + kept_product.beside;
            }
            rows
        })
    });
    rows.max().unwrap_or(0)
}
