//! The layout of a group's families in one buffer while they go through a window.

use keima_model::{BlockTables, Family};

use crate::block::rows::lanes::Row;
use crate::block::rows::tables::{entry_count, family_ends, far_operations_up};
use keima_blocks::rows::PADDING;

/// The layout of a family's states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FamilyLayout {
    /// `leads[step]`: rows in front of the states at this step, 0 at the last.
    pub(crate) leads: Vec<usize>,
    /// Most rows that are set aside in a pass.
    pub(crate) aside: usize,
}

impl FamilyLayout {
    pub(crate) fn new(tables: &BlockTables, family: &Family) -> Self {
        let passes = tables.far.len();
        let mut leads = vec![0; passes + 1];
        let mut aside = 0;
        for pass in (0..passes).rev() {
            let (mut shift, mut rows) = (0, 0);
            for block in family.blocks.clone() {
                let read = tables.place(pass, block) as usize;
                shift = shift.max(end(tables, block, pass + 1).saturating_sub(read));
                rows += far_operations_up(tables, block, pass).map(|(far, _)| far.pairs.len()).sum::<usize>();
            }
            leads[pass] = leads[pass + 1] + shift;
            aside = aside.max(rows);
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
    /// Rows of the buffer, and of the rows set aside in a pass.
    rows: usize,
    aside: usize,
}

impl GroupLayout {
    pub(crate) fn new(tables: &BlockTables, families: &[Family]) -> Self {
        let layout: Vec<FamilyLayout> = families.iter().map(|family| FamilyLayout::new(tables, family)).collect();
        let (mut lead, mut before, mut after) = (0, 0, 0);
        for (family, layout) in families.iter().zip(&layout) {
            // A family begins its passes behind the families that are done.
            lead = lead.max((layout.leads[0] + after).saturating_sub(before));
            let (first, last) = family_ends(tables, family);
            (before, after) = (before + first as usize, after + last as usize);
        }
        let aside = layout.iter().map(|layout| layout.aside).max().unwrap_or(0);
        Self { families: layout, lead, rows: lead + before, aside }
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
