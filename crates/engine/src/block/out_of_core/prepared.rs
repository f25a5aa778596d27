//! What all tasks of a job on one worker share: the tables, or what parts of them are made of; the groups, the start
//! vector, and memory.

use std::sync::OnceLock;

use keima_blocks::limits::PLACE_BITS;
use keima_blocks::out_of_core::meeting_words;
use keima_blocks::rows::buffer_rows;
use keima_model::{BlockColumn, BlockParts, Direction, End, FamilyList, Sources, Window};
use keima_runs::RunManifest;

use crate::TaskError;
use crate::block::out_of_core::gather::Gather;
use crate::block::out_of_core::group_tables::View;
use crate::block::out_of_core::groups::{Groups, place_of, section_key};
use crate::block::out_of_core::memory::allowance::{Allowance, Making};
use crate::block::out_of_core::memory::demand::arrival_words;
use crate::block::out_of_core::memory::pool::Pool;
use crate::block::out_of_core::passes::buffer::Lines;

/// The tables of a job with the groups that its tasks are made of. One for all tasks of a worker.
pub struct Prepared {
    tables: Tables,
    /// For forward passes.
    pub(crate) groups: Vec<Groups>,
    /// For transposed ones; none where the tables have none.
    backward: Vec<Groups>,
    /// States of the first column, in the vector at the start of the first window, ascending.
    start: OnceLock<Vec<u64>>,
    pub(crate) pool: Pool,
    making: Making,
}

enum Tables {
    Whole(Box<dyn BlockColumn>),
    Parted(Box<dyn BlockParts>),
}

impl Tables {
    fn windows(&self) -> &[Window] {
        match self {
            Self::Whole(column) => column.windows(),
            Self::Parted(parts) => parts.windows(),
        }
    }
}

impl Prepared {
    /// Groups of at most `group_records` records, where families allow. The tables and `tasks` tasks at a time stay
    /// within `memory_bytes`.
    pub fn new(column: Box<dyn BlockColumn>, group_records: u64, memory_bytes: u64, tasks: u32) -> Self {
        let groups = |direction| {
            let windows = 0..column.windows().len();
            let group = |window| Groups::new(&FamilyList::of(column.as_ref(), window), group_records, direction);
            windows.map(group).collect::<Vec<Groups>>()
        };
        let transposed = (0..column.windows().len()).all(|window| column.tables(window).are_transposed());
        let backward = if transposed { groups(Direction::Backward) } else { Vec::new() };
        let groups = groups(Direction::Forward);
        let left = memory_bytes.saturating_sub(column.bytes());
        let pool = Pool::new(left, tasks, most_rows(column.as_ref(), &groups, transposed));
        let making = Making::new(u64::MAX);
        Self { tables: Tables::Whole(column), groups, backward, start: OnceLock::new(), pool, making }
    }

    /// The same where tables are made for each group: they count as a part of its task's memory.
    pub fn parted(parts: Box<dyn BlockParts>, group_records: u64, memory_bytes: u64, tasks: u32) -> Self {
        let windows = 0..parts.windows().len();
        let group = |window| Groups::new(parts.families(window), group_records, Direction::Forward);
        let groups: Vec<Groups> = windows.clone().map(group).collect();
        let left = memory_bytes.saturating_sub(parts.bytes());
        let bounds = parts.family_bounds();
        let rows = windows.zip(&groups).flat_map(|(window, groups)| {
            let window = parts.windows()[window];
            groups.all.iter().map(move |group| buffer_rows(&bounds, window, group.records) as usize)
        });
        let pool = Pool::new(left, tasks, rows.max().unwrap_or(0));
        let (tables, start, making) = (Tables::Parted(parts), OnceLock::new(), Making::new(u64::MAX));
        Self { tables, groups, backward: Vec::new(), start, pool, making }
    }

    /// Leaves so much of the tasks' memory to the rest of the process, where the largest group can do without.
    #[must_use]
    pub fn leaving(self, bytes: u64) -> Self {
        Self { pool: self.pool.leaving(bytes), ..self }
    }

    /// Parts of tables that are not yet charged as a task's memory, because they are being made, take no more than this,
    /// or are one at a time.
    #[must_use]
    pub fn making_within(self, bytes: u64) -> Self {
        Self { making: Making::new(bytes), ..self }
    }

    /// The windows of a column.
    pub fn windows(&self) -> &[Window] {
        self.tables.windows()
    }

    /// Frees the memory that is kept for the next task.
    pub fn let_go(&self) {
        self.pool.let_go();
    }

    /// Number of groups of window number `window`.
    pub fn groups(&self, window: usize) -> usize {
        self.groups[window].all.len()
    }

    /// Makes the tables of a group as a task of forward passes would, without waiting for others, and drops them: for who
    /// measures what that takes. How many states the group has.
    pub fn make(&self, window: usize, number: u32) -> Result<u64, TaskError> {
        self.view((Direction::Forward, window), number, None).map(|view| view.group.records)
    }

    /// Rows of memory that the group of the most needs for each residue.
    pub fn most_rows(&self) -> usize {
        match &self.tables {
            Tables::Whole(column) => most_rows(column.as_ref(), &self.groups, !self.backward.is_empty()),
            Tables::Parted(_) => self.pool.most_words(),
        }
    }

    /// Groups of window number `window` that a run may have sections for.
    pub fn readers(&self, window: usize, run: &RunManifest) -> impl Iterator<Item = u32> + use<> {
        let readers = run.first_key >> PLACE_BITS..=run.last_key >> PLACE_BITS;
        (0..self.groups(window) as u32).filter(move |&number| readers.contains(&u128::from(number)))
    }

    /// For the section of a run that group `number` of window number `window` reads: its first key as it stands in the
    /// run, and the canonical keys of its records in their order. They follow from the run's first key, which says who
    /// wrote it. Of more than the run has records some are left out.
    pub fn keys(
        &self,
        (direction, window): (Direction, usize),
        number: u32,
        run: &RunManifest,
    ) -> Result<(u128, Vec<u128>), TaskError> {
        let place = place_of(run.first_key as u64);
        let view = self.view((direction, window), number, None)?;
        let keys = Gather::new(&view, self.beside(direction, direction.enters(), window)?).keys(place, run.records);
        Ok((section_key(number, place).into(), keys))
    }

    /// The groups of all windows, for vectors that go one way.
    fn all_groups(&self, direction: Direction) -> Result<&[Groups], TaskError> {
        match direction {
            Direction::Forward => Ok(&self.groups),
            Direction::Backward if self.backward.is_empty() => Err(TaskError::Refused(
                "tables for forward passes alone were made; this is a fault of the program".into(),
            )),
            Direction::Backward => Ok(&self.backward),
        }
    }

    /// The groups of the window beside one.
    pub(crate) fn beside(&self, direction: Direction, end: End, window: usize) -> Result<&Groups, TaskError> {
        Ok(&self.all_groups(direction)?[end.neighbour(window, self.groups.len())])
    }

    /// Waits until a group's tables may be made, where they are made for it; `None` where `stop` says not to go on
    /// waiting.
    pub(crate) fn may_make(&self, window: usize, number: u32, stop: impl Fn() -> bool) -> Option<Allowance<'_>> {
        let group = self.groups[window].all.get(number as usize);
        let bytes = match &self.tables {
            Tables::Whole(_) => 0,
            Tables::Parted(parts) => group.map_or(0, |group| parts.part_bytes(window, group.families.clone())),
        };
        self.making.take(bytes, stop)
    }

    /// The tables for a group of a window; `last` is what those for the group before have to offer.
    pub(crate) fn view(
        &self,
        (direction, window): (Direction, usize),
        number: u32,
        last: Option<Sources>,
    ) -> Result<View<'_>, TaskError> {
        let Some(group) = self.all_groups(direction)?[window].all.get(number as usize) else {
            return Err(TaskError::Refused(format!("window {window} has no group {number}")));
        };
        match &self.tables {
            Tables::Whole(column) => {
                let starts = window == 0 && direction == Direction::Forward;
                let start = if starts { self.start(column.as_ref()) } else { &[] };
                Ok(View::whole(column.as_ref(), start, direction, (window, number), group))
            }
            Tables::Parted(parts) => {
                let part = parts.part(window, group.families.clone(), last).map_err(TaskError::Refused)?;
                Ok(View::part(part, (window, number), group))
            }
        }
    }

    /// Legal states of the first column.
    pub(crate) fn one_column(&self) -> u64 {
        match &self.tables {
            Tables::Whole(column) => column.one_column(),
            Tables::Parted(parts) => parts.one_column(),
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
            let mut rows = Lines::new(tables, families).rows();
            if transposed {
                let (lane, beside) = meeting_words(group.records as usize);
                rows += arrival_words(tables, families) + lane + beside;
            }
            rows
        })
    });
    rows.max().unwrap_or(0)
}
