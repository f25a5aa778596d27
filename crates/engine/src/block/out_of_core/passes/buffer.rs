//! The layout of a group's families in one buffer while they go through a window.

use keima_blocks::rows::PADDING;
use keima_model::{BlockTables, Direction, Family};

use crate::block::out_of_core::passes::waiting::AsideRows;
use crate::block::rows::lanes::Row;
use crate::block::rows::tables::{entry_count, family_ends};

/// Part of the least rows to set aside, in percent, that is added: with none, rows would be moved after every block.
const MORE_ASIDE_PERCENT: usize = 25;

/// The layout of a family's states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FamilyLayout {
    /// `leads[step]`: rows in front of the states at this step, 0 at the last.
    pub(crate) leads: Vec<usize>,
    /// Rows to set aside in any of the passes.
    pub(crate) aside: AsideRows,
}

impl FamilyLayout {
    pub(crate) fn new(tables: &BlockTables, family: &Family) -> Self {
        let passes = tables.far.len();
        let mut leads = vec![0; passes + 1];
        let mut aside = AsideRows::default();
        for pass in (0..passes).rev() {
            let shift = |block| end(tables, block, pass + 1).saturating_sub(tables.place(pass, block) as usize);
            leads[pass] = leads[pass + 1] + family.blocks.clone().map(shift).max().unwrap_or(0);
            aside = aside.max(AsideRows::of_pass(tables, family, pass));
        }
        Self { leads, aside }
    }
}

/// The layout of a group's families: gathered at the end of the buffer, then moved to its front one after the other.
#[derive(Debug)]
pub(crate) struct GroupLayout {
    /// For each family.
    pub(crate) families: Vec<FamilyLayout>,
    /// Rows in front of the gathered states.
    pub(crate) lead: usize,
    /// Rows of the buffer.
    rows: usize,
    /// Rows to set aside, and how many of them would be of use.
    aside: usize,
    most_aside: usize,
}

impl GroupLayout {
    /// With the least rows to set aside. Transposed passes set all aside at once.
    pub(crate) fn new(tables: &BlockTables, families: &[Family], direction: Direction) -> Self {
        let layout: Vec<FamilyLayout> = families.iter().map(|family| FamilyLayout::new(tables, family)).collect();
        let (mut lead, mut before, mut after) = (0, 0, 0);
        for (family, layout) in families.iter().zip(&layout) {
            // A family begins its passes behind the families that are done.
            lead = lead.max((layout.leads[0] + after).saturating_sub(before));
            let (first, last) = family_ends(tables, family);
            (before, after) = (before + first as usize, after + last as usize);
        }
        let AsideRows { all, least } =
            layout.iter().map(|layout| layout.aside).reduce(AsideRows::max).unwrap_or_default();
        let aside = match direction {
            Direction::Forward => all.min(least + least * MORE_ASIDE_PERCENT / 100),
            Direction::Transposed => all,
        };
        Self { families: layout, lead, rows: lead + before, aside, most_aside: all }
    }

    /// Number of rows, those set aside included.
    pub(crate) fn rows(&self) -> usize {
        self.rows + self.aside
    }

    /// Adds `room` rows for each pass between the rows that are read and the rows that are written.
    pub(crate) fn with_room(mut self, room: usize) -> Self {
        for layout in &mut self.families {
            let passes = layout.leads.len() - 1;
            layout.leads.iter_mut().zip((0..=passes).rev()).for_each(|(lead, left)| *lead += room * left);
        }
        let all = room * self.passes();
        (self.lead, self.rows) = (self.lead + all, self.rows + all);
        self
    }

    /// Adds up to `rows` rows to those that can be set aside.
    pub(crate) fn with_aside(mut self, rows: usize) -> Self {
        self.aside = self.aside.saturating_add(rows).min(self.most_aside);
        self
    }

    /// Passes of the window.
    pub(crate) fn passes(&self) -> usize {
        self.families.first().map_or(0, |layout| layout.leads.len() - 1)
    }
}

/// Words for a group's rows and padding.
pub(crate) struct GroupMemory<'a>(pub(crate) &'a mut [u64]);

impl GroupMemory<'_> {
    /// The memory as rows of `J` lanes: the buffer with its padding, and the rows to set aside. `None` if it is too
    /// small.
    pub(crate) fn rows<const J: usize>(&mut self, layout: &GroupLayout) -> Option<(&mut [Row<J>], &mut [Row<J>])> {
        let (aside, states) = self.0.as_chunks_mut::<J>().0.split_at_mut_checked(layout.aside)?;
        (states.len() >= layout.rows + PADDING).then_some((states, aside))
    }
}

/// End of a block in its family.
fn end(tables: &BlockTables, block: u32, step: usize) -> usize {
    tables.place(step, block) as usize + entry_count(tables, block, step)
}
