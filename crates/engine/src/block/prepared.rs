//! What all tasks of a job on one worker share: the tables, the groups, the start vector, and memory.

use std::sync::OnceLock;

use keima_model::{BlockColumn, End};
use keima_runs::RunManifest;

use super::gather::Gather;
use super::groups::{Groups, place_of};
use super::in_place::Lines;
use super::pool::Pool;

/// The tables of a job with the groups that its tasks are made of. One for all tasks of a worker.
pub struct Prepared {
    pub(super) column: Box<dyn BlockColumn>,
    pub(super) groups: Vec<Groups>,
    /// States of the first column, in the vector at the start of the first window, ascending.
    start: OnceLock<Vec<u64>>,
    pub(super) pool: Pool,
}

impl Prepared {
    /// Groups of at most `group_records` records, where families allow. The tables and `tasks` tasks at a time stay
    /// within `memory_bytes`.
    pub fn new(column: Box<dyn BlockColumn>, group_records: u64, memory_bytes: u64, tasks: u32) -> Self {
        let windows = 0..column.windows().len();
        let groups: Vec<Groups> = windows.map(|window| Groups::new(column.as_ref(), window, group_records)).collect();
        let left = memory_bytes.saturating_sub(column.bytes());
        let pool = Pool::new(left, tasks, most_rows(column.as_ref(), &groups));
        Self { column, groups, start: OnceLock::new(), pool }
    }

    /// Leaves so much of the tasks' memory to the rest of the process, where the largest group can do without.
    #[must_use]
    pub fn leaving(self, bytes: u64) -> Self {
        Self { pool: self.pool.leaving(bytes), ..self }
    }

    /// The tables.
    pub fn column(&self) -> &dyn BlockColumn {
        self.column.as_ref()
    }

    /// Frees the memory that is kept for the next task.
    pub fn let_go(&self) {
        self.pool.let_go();
    }

    /// Number of groups of window number `window`.
    pub fn groups(&self, window: usize) -> usize {
        self.groups[window].groups.len()
    }

    /// Rows of memory that the group of the most needs for each residue.
    pub fn most_rows(&self) -> usize {
        most_rows(self.column(), &self.groups)
    }

    /// Canonical keys of the records of a run that window number `window` reads, in the order of the records: they
    /// follow from the run's keys, which say who wrote them and who reads them.
    pub fn keys(&self, window: usize, run: &RunManifest) -> Vec<u128> {
        let (column, windows) = (self.column(), self.groups.len());
        let (groups, sources) = (&self.groups[window], &self.groups[(window + windows - 1) % windows]);
        let of = |group: usize| {
            Gather::new(column, window, groups, sources, group as u32).keys(place_of(run.first_key as u64))
        };
        (0..groups.groups.len()).flat_map(of).collect()
    }

    pub(super) fn start(&self) -> &[u64] {
        self.start.get_or_init(|| {
            let mut start = self.column.start(0, End::First);
            start.sort_unstable();
            start
        })
    }
}

fn most_rows(column: &dyn BlockColumn, groups: &[Groups]) -> usize {
    let rows = groups.iter().enumerate().flat_map(|(window, groups)| {
        let tables = column.tables(window);
        groups.groups.iter().map(move |group| {
            let families = group.families.start as usize..group.families.end as usize;
            Lines::new(tables, &tables.families[families]).rows()
        })
    });
    rows.max().unwrap_or(0)
}
