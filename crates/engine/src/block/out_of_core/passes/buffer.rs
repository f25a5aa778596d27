//! Where the families of a group stand in one buffer while they go through a window.

use keima_model::{BlockTables, Family};

use crate::block::rows::lanes::Row;
use crate::block::rows::tables::{ends, entries, up};
use keima_blocks::rows::PADDING;

/// Where a family's states stand in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// `leads[step]`: rows in front of the states at this step, 0 at the last.
    pub(crate) leads: Vec<usize>,
    /// Rows that are put aside in a pass, at most.
    pub(crate) aside: usize,
}

impl Line {
    pub(crate) fn new(tables: &BlockTables, family: &Family) -> Self {
        let passes = tables.far.len();
        let mut leads = vec![0; passes + 1];
        let mut aside = 0;
        for pass in (0..passes).rev() {
            let (mut shift, mut rows) = (0, 0);
            for block in family.blocks.clone() {
                let read = tables.place(pass, block) as usize;
                shift = shift.max(end(tables, block, pass + 1).saturating_sub(read));
                rows += up(tables, block, pass).map(|(far, _)| far.pairs.len()).sum::<usize>();
            }
            leads[pass] = leads[pass + 1] + shift;
            aside = aside.max(rows);
        }
        Self { leads, aside }
    }
}

/// How the families of a group stand in one buffer: gathered at its end, and one after the other taken to its front.
#[derive(Debug)]
pub(crate) struct Lines {
    /// For each family.
    pub(crate) families: Vec<Line>,
    /// Rows in front of the gathered states.
    pub(crate) lead: usize,
    /// Rows of the buffer, and of what is put aside in a pass.
    rows: usize,
    aside: usize,
}

impl Lines {
    pub(crate) fn new(tables: &BlockTables, families: &[Family]) -> Self {
        let lines: Vec<Line> = families.iter().map(|family| Line::new(tables, family)).collect();
        let (mut lead, mut before, mut after) = (0, 0, 0);
        for (family, line) in families.iter().zip(&lines) {
            // A family begins its passes behind those that are done.
            lead = lead.max((line.leads[0] + after).saturating_sub(before));
            let (first, last) = ends(tables, family);
            (before, after) = (before + first as usize, after + last as usize);
        }
        let aside = lines.iter().map(|line| line.aside).max().unwrap_or(0);
        Self { families: lines, lead, rows: lead + before, aside }
    }

    /// Rows in all.
    pub(crate) fn rows(&self) -> usize {
        self.rows + self.aside
    }

    /// With room between what a pass has read and what it has written, beside what it needs: `room` rows for each pass.
    pub(crate) fn with_room(mut self, room: usize) -> Self {
        for line in &mut self.families {
            let passes = line.leads.len() - 1;
            line.leads.iter_mut().zip((0..=passes).rev()).for_each(|(lead, left)| *lead += room * left);
        }
        let all = room * self.passes();
        (self.lead, self.rows) = (self.lead + all, self.rows + all);
        self
    }

    /// Passes of the window.
    pub(crate) fn passes(&self) -> usize {
        self.families.first().map_or(0, |line| line.leads.len() - 1)
    }
}

/// Words for a group's rows, and padding.
pub(crate) struct Memory<'a>(pub(crate) &'a mut [u64]);

impl Memory<'_> {
    /// As rows of `J` lanes: the buffer with its padding, what is put aside. `None` if there is not enough.
    pub(crate) fn rows<const J: usize>(&mut self, lines: &Lines) -> Option<(&mut [Row<J>], &mut [Row<J>])> {
        let (aside, states) = self.0.as_chunks_mut::<J>().0.split_at_mut_checked(lines.aside)?;
        (states.len() >= lines.rows + PADDING).then_some((states, aside))
    }
}

/// Where a block ends in its family.
fn end(tables: &BlockTables, block: u32, step: usize) -> usize {
    tables.place(step, block) as usize + entries(tables, block, step)
}
