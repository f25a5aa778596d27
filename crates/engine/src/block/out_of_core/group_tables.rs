//! The tables that a task uses for one group: those of all families, or a part made for this group.
//!
//! ```text
//!                   tables of all families                   a part
//!   own families    by their numbers in the window           0 to n - 1
//!   sources         families with a rest of the group        families that the part names, without tables
//! ```

use std::ops::Range;

use keima_model::{BlockColumn, BlockPart, BlockSources, BlockTables, Direction, End, Family};

use crate::block::out_of_core::groups::{Group, GroupId};
use crate::block::out_of_core::whole_sources::WholeSources;

/// The tables of a group.
pub(crate) struct GroupTables<'a> {
    /// Number of the group, and the group.
    pub(crate) number: u32,
    pub(crate) group: &'a Group,
    /// Its window, and the window that its states come from.
    pub(crate) window: usize,
    pub(crate) source: usize,
    /// Direction of the vector.
    pub(crate) direction: Direction,
    column: GroupColumn<'a>,
}

enum GroupColumn<'a> {
    Whole {
        column: &'a dyn BlockColumn,
        /// Positions of the first column's states, ascending. Empty except for the first window of a forward vector.
        start: &'a [u64],
    },
    Part(Box<dyn BlockPart + 'a>),
}

impl<'a> GroupTables<'a> {
    /// On tables of all families.
    pub(crate) fn whole(column: &'a dyn BlockColumn, start: &'a [u64], id: GroupId, group: &'a Group) -> Self {
        let GroupId { direction, window, number } = id;
        let source = direction.enters().neighbour(window, column.windows().len());
        Self { number, group, window, source, direction, column: GroupColumn::Whole { column, start } }
    }

    /// On a part made for this group.
    pub(crate) fn part(part: Box<dyn BlockPart + 'a>, id: GroupId, group: &'a Group) -> Self {
        let GroupId { direction, window, number } = id;
        let source = direction.enters().neighbour(window, part.column().windows().len());
        Self { number, group, window, source, direction, column: GroupColumn::Part(part) }
    }

    pub(crate) fn column(&self) -> &dyn BlockColumn {
        match &self.column {
            GroupColumn::Whole { column, .. } => *column,
            GroupColumn::Part(part) => part.column(),
        }
    }

    /// Tables of the group's window.
    pub(crate) fn tables(&self) -> &BlockTables {
        self.column().tables(self.window)
    }

    /// The group's families, by their numbers in the tables.
    fn own(&self) -> Range<u32> {
        let Range { start, end } = self.group.families;
        match &self.column {
            GroupColumn::Whole { .. } => start..end,
            GroupColumn::Part(_) => 0..end - start,
        }
    }

    /// The group's families.
    pub(crate) fn families(&self) -> &[Family] {
        let own = self.own();
        self.tables().families.get(own.start as usize..own.end as usize).unwrap_or_default()
    }

    /// Whether a family of the source window has states for the group.
    fn has_source(&self, family: u32) -> bool {
        match &self.column {
            GroupColumn::Whole { column, .. } => {
                let rest = column.rest(self.source, self.direction.leaves(), family);
                self.group.rests.binary_search(&rest).is_ok()
            }
            GroupColumn::Part(part) => part.source_families().binary_search(&family).is_ok(),
        }
    }

    /// A reader of the blocks that have states for the group. Each thread takes its own.
    pub(crate) fn sources(&self) -> Box<dyn BlockSources + '_> {
        match &self.column {
            GroupColumn::Whole { column, .. } => {
                Box::new(WholeSources::new(*column, self.source, self.direction.leaves(), self.own()))
            }
            GroupColumn::Part(part) => part.sources(),
        }
    }

    /// The families of the source window, out of `families`, that have states for the group.
    pub(crate) fn source_families(&self, families: Range<u32>) -> Vec<u32> {
        families.filter(|&family| self.has_source(family)).collect()
    }

    /// Places of the first column's states among the group's.
    pub(crate) fn start(&self) -> Vec<u64> {
        match &self.column {
            GroupColumn::Whole { start, .. } => {
                let own = |family: &Family| family.start[0]..family.start[0] + family.size[0];
                let ends = self.families().first().zip(self.families().last());
                let Some((first, last)) = ends else { return Vec::new() };
                let (low, high) = (own(first).start, own(last).end);
                let range = start.partition_point(|&at| at < low)..start.partition_point(|&at| at < high);
                start[range].iter().map(|at| at - low).collect()
            }
            GroupColumn::Part(part) => part.column().start(self.window, End::First),
        }
    }

    /// Memory of the part; 0 for tables of all families.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.column {
            GroupColumn::Whole { .. } => 0,
            GroupColumn::Part(part) => part.column().bytes(),
        }
    }
}
