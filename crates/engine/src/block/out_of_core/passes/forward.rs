//! A family through a window in one buffer: the passes of the block executor out of core, where memory is scarce.
//!
//! ```text
//!   before pass p   . . . . | b0 b1 b2 b3 b4 ...        lead[p] rows in front of the states
//!   while it goes   . . | b0' b1' b2' . | b3 b4 ...      b2' = sums of b2, which may be written over from now on
//!   after it        . . | b0' b1' b2' b3' b4' ...        lead[p+1] rows, fewer or as many
//! ```
//!
//! Blocks are done in ascending order, and most far operations lead to blocks that are done already (see
//! `FarTargets::descending`), so a pass may write over what it has read. Blocks grow from one step to the next: the
//! states begin so far behind the place where they end up that each block is written in front of what is read for it.
//! What operations carry to blocks that are yet to be done is put aside, and added after the pass: those of the first
//! pass of a window that does not begin at the top.
//!
//! The families of a group are gathered one after the other, and go through the window one after the other.
//!
//! ```text
//!   gathered           . . . . . . | family 0 | family 1 | family 2 ...
//!   family 1 is done   done 0 | done 1 | . . . . . . . . | family 2 ...
//! ```
//!
//! Memory: 1.01 to 1.1 times the family's largest step and a block for each pass, and 0.28 times for what is put aside
//! in windows below the top (Go, heights 8 to 13). Cost: that of the sums, see [`crate::block::rows::kernel`].

use keima_blocks::rows::PADDING;
use keima_model::{BlockTables, Family, Far, MOST_ENTRIES};

use crate::block::out_of_core::groups::ends;
use crate::block::rows::kernel::local;
use crate::block::rows::lanes::{Moduli, Row};

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

/// Entries of a block at a step.
pub(crate) fn entries(tables: &BlockTables, block: u32, step: usize) -> usize {
    tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize
}

/// Where a block ends in its family.
fn end(tables: &BlockTables, block: u32, step: usize) -> usize {
    tables.place(step, block) as usize + entries(tables, block, step)
}

/// A block's far operations in a pass, with their targets.
#[inline(always)]
pub(crate) fn far(tables: &BlockTables, block: u32, pass: usize) -> impl Iterator<Item = (&Far, u32)> {
    let table = &tables.signatures[tables.signature_of[block as usize] as usize].passes[pass];
    let targets = &tables.far[pass];
    let first = targets.first[block as usize] as usize;
    table.far.iter().zip(targets.targets[first..].iter().copied())
}

/// Those that lead to blocks that are done later.
#[inline(always)]
pub(crate) fn up(tables: &BlockTables, block: u32, pass: usize) -> impl Iterator<Item = (&Far, u32)> {
    far(tables, block, pass).filter(move |&(_, target)| target > block)
}

/// All passes of a family.
pub(crate) struct Passes<'a, const K: usize> {
    pub(crate) tables: &'a BlockTables,
    pub(crate) family: &'a Family,
    pub(crate) line: &'a Line,
    /// The states begin after the first lead, and are followed by padding; when all is done they are at the beginning.
    pub(crate) rows: &'a mut [Row<K>],
    /// [`Line::aside`] rows at least.
    pub(crate) aside: &'a mut [Row<K>],
    pub(crate) moduli: &'a Moduli<K>,
}

impl<const K: usize> pulp::WithSimd for Passes<'_, K> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) {
        for pass in 0..self.tables.far.len() {
            self.pass(pass);
        }
    }
}

impl<const K: usize> Passes<'_, K> {
    #[inline(always)]
    fn pass(&mut self, pass: usize) {
        let Self { tables, family, line, .. } = *self;
        // A copy of its own: the rows that are written cannot be these.
        let moduli = *self.moduli;
        let (from, to) = (line.leads[pass], line.leads[pass + 1]);
        let after = |block: u32| {
            let start = to + tables.place(pass + 1, block) as usize;
            start..start + entries(tables, block, pass + 1)
        };
        let mut put = 0;
        for number in family.blocks.clone() {
            let start = from + tables.place(pass, number) as usize;
            let (done, rest) = self.rows.split_at_mut(start);
            let source: &[Row<K>; MOST_ENTRIES] = rest.first_chunk().expect("buffers are padded");
            let table = &tables.signatures[tables.signature_of[number as usize] as usize].passes[pass];
            local(table, source, &mut done[after(number)], &moduli);
            for (far, target) in far(tables, number, pass) {
                if target > number {
                    for (row, &(entry, _)) in self.aside[put..].iter_mut().zip(&far.pairs) {
                        *row = source[usize::from(entry)];
                    }
                    put += far.pairs.len();
                } else {
                    let values = far.pairs.iter().map(|&(entry, _)| &source[usize::from(entry)]);
                    add_far(far, values, &mut done[after(target)], &moduli);
                }
            }
        }
        let mut taken = 0;
        if put > 0 {
            for number in family.blocks.clone() {
                for (far, target) in up(tables, number, pass) {
                    add_far(far, self.aside[taken..].iter(), &mut self.rows[after(target)], &moduli);
                    taken += far.pairs.len();
                }
            }
        }
    }
}

/// Adds what an operation carries to the entries of its target.
#[inline(always)]
pub(crate) fn add_far<'v, const K: usize>(
    far: &Far,
    values: impl Iterator<Item = &'v Row<K>>,
    target: &mut [Row<K>],
    moduli: &Moduli<K>,
) {
    for (&(_, to), value) in far.pairs.iter().zip(values) {
        moduli.put(&mut target[usize::from(to)], value);
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{FarTargets, PassTable, Signature};

    use super::*;

    /// Two blocks of 2 entries that have 3 after a pass: 0, x0 + x1, x0, beside what far operations bring.
    fn tables(targets: &[u32]) -> BlockTables {
        let table = PassTable {
            in_degrees: vec![1, 1, 1],
            sources: vec![0, 0, 1],
            far: vec![Far { pairs: vec![(1, 2), (0, 0)] }],
            rows: Vec::new(),
        };
        let signature = Signature { entries: vec![2, 3], passes: vec![table], descendants: vec![1; 2] };
        let descending = false;
        BlockTables {
            signatures: vec![signature.into()],
            signature_of: vec![0; 3],
            base: vec![vec![0, 2, 4], vec![0, 3, 6]],
            base_upper: Vec::new(),
            far: vec![FarTargets { first: vec![0, 1, 2, 3], targets: targets.to_vec(), descending }],
            families: vec![Family { blocks: 0..3, start: vec![0, 0], size: vec![6, 9] }],
            states: vec![6, 9],
        }
    }

    #[test]
    fn a_pass_in_place_is_a_pass() {
        // Block 0 sends up, to block 2; 1 and 2 send down, to 0.
        let tables = tables(&[2, 0, 0]);
        let family = &tables.families[0];
        let line = Line::new(&tables, family);
        assert_eq!(line, Line { leads: vec![5, 0], aside: 2 });
        let mut rows: Vec<Row<1>> = [0, 0, 0, 0, 0, 1, 2, 10, 20, 100, 200].map(|value| [value]).into();
        let moduli = Moduli::new([(1 << 59) + 9]).unwrap();
        rows.resize(5 + 6 + PADDING, [0]);
        let mut aside = [[0]; 2];
        let (rows_of, aside, moduli) = (&mut rows, &mut aside[..], &moduli);
        let passes = Passes { tables: &tables, family, line: &line, rows: rows_of, aside, moduli };
        pulp::Arch::new().dispatch(passes);
        // Each block is (0, x0, x0 + x1) by its own sources.
        let own = [0, 1, 3, 0, 10, 30, 0, 100, 300];
        let far = [10 + 100, 0, 20 + 200, 0, 0, 0, 1, 0, 2];
        let expected: Vec<Row<1>> = own.iter().zip(far).map(|(own, far)| [own + far]).collect();
        assert_eq!(rows[..9], expected);
    }
}
