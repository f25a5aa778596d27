//! A family through a window in one buffer: the passes of the block executor out of core, where memory is scarce.
//!
//! ```text
//!   before pass p   . . . . | b0 b1 b2 b3 b4 ...        lead[p] rows in front of the states
//!   while it goes   . . | b0' b1' b2' . | b3 b4 ...      b2' = sums of b2, which may be written over from now on
//!   after it        . . | b0' b1' b2' b3' b4' ...        lead[p+1] rows, fewer or as many
//! ```
//!
//! Blocks go in ascending order. Most far operations lead to blocks that are already done (see
//! `FarTargets::descending`), so a pass may overwrite the rows that it has read. Blocks grow from one step to the
//! next. So the states begin far enough behind their final place that each block is written in front of its own
//! source. Values for blocks that are not yet done are set aside, and added later (`waiting`). This happens in the first
//! pass of a window that does not begin at the top.
//!
//! The families of a group are gathered side by side, and go through the window one after the other.
//!
//! ```text
//!   gathered           . . . . . . | family 0 | family 1 | family 2 ...
//!   family 1 is done   done 0 | done 1 | . . . . . . . . | family 2 ...
//! ```
//!
//! Memory: the family's largest step, about a block for each pass, and the rows set aside. Cost: that of the sums
//! (`rows::kernel`).

use std::ops::Range;

use keima_model::{BlockTables, Family, MOST_ENTRIES};

use crate::block::out_of_core::passes::buffer::FamilyLayout;
use crate::block::out_of_core::passes::waiting::{Waiting, rows_up};
use crate::block::rows::kernel::{add_far, local};
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::tables::{entry_count, far_operations};

/// All passes of a family.
pub(crate) struct Passes<'a, const K: usize> {
    pub(crate) tables: &'a BlockTables,
    pub(crate) family: &'a Family,
    pub(crate) layout: &'a FamilyLayout,
    /// The states begin after the first lead, and padding follows them. After all passes they begin at 0.
    pub(crate) rows: &'a mut [Row<K>],
    /// At least as many rows as [`FamilyLayout::aside`] says.
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
        let Self { tables, family, layout, .. } = *self;
        // A copy: the compiler then knows that writes do not change the moduli.
        let moduli = *self.moduli;
        let from = layout.leads[pass];
        let mut waiting = Waiting::new(tables, family, pass);
        for number in family.blocks.clone() {
            if waiting.rows + rows_up(tables, number, pass) > self.aside.len() {
                self.settle(&mut waiting, pass, number);
            }
            let start = from + tables.place(pass, number) as usize;
            let (done, rest) = self.rows.split_at_mut(start);
            let source: &[Row<K>; MOST_ENTRIES] = rest.first_chunk().expect("buffers are padded");
            let table = &tables.signatures[tables.signature_of[number as usize] as usize].passes[pass];
            local(table, source, &mut done[after(tables, layout, pass, number)], &moduli);
            for (far, target) in far_operations(tables, number, pass) {
                if target > number {
                    for (row, &(entry, _)) in self.aside[waiting.rows..].iter_mut().zip(&far.pairs) {
                        *row = source[usize::from(entry)];
                    }
                    waiting.rows += far.pairs.len();
                } else {
                    let values = far.pairs.iter().map(|&(entry, _)| &source[usize::from(entry)]);
                    add_far(far, values, &mut done[after(tables, layout, pass, target)], &moduli);
                }
            }
        }
        if waiting.rows > 0 {
            self.settle(&mut waiting, pass, family.blocks.end);
        }
    }

    /// Adds the rows that wait for blocks before `until`, which are done.
    #[inline(always)]
    fn settle(&mut self, waiting: &mut Waiting<'_>, pass: usize, until: u32) {
        let moduli = *self.moduli;
        for ready in waiting.operations(until).filter(|waiting| waiting.target < until) {
            let target = &mut self.rows[after(self.tables, self.layout, pass, ready.target)];
            add_far(ready.far, self.aside[ready.at..].iter(), target, &moduli);
        }
        waiting.settle(until, self.aside);
    }
}

/// The rows of a block after a pass.
#[inline(always)]
fn after(tables: &BlockTables, layout: &FamilyLayout, pass: usize, block: u32) -> Range<usize> {
    let start = layout.leads[pass + 1] + tables.place(pass + 1, block) as usize;
    start..start + entry_count(tables, block, pass + 1)
}

#[cfg(test)]
mod tests {
    use keima_model::{Far, FarTargets, PassTable, Signature};

    use super::*;
    use crate::block::out_of_core::passes::waiting::AsideRows;
    use keima_blocks::rows::PADDING;

    /// Two blocks of 2 entries, with 3 after a pass: 0, x0 + x1, x0, and the values of far operations.
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
        let layout = FamilyLayout::new(&tables, family);
        assert_eq!(layout, FamilyLayout { leads: vec![5, 0], aside: AsideRows { all: 2, least: 2 } });
        let mut rows: Vec<Row<1>> = [0, 0, 0, 0, 0, 1, 2, 10, 20, 100, 200].map(|value| [value]).into();
        let moduli = Moduli::new([(1 << 59) + 9]).unwrap();
        rows.resize(5 + 6 + PADDING, [0]);
        let mut aside = [[0]; 2];
        let (rows_of, aside, moduli) = (&mut rows, &mut aside[..], &moduli);
        let passes = Passes { tables: &tables, family, layout: &layout, rows: rows_of, aside, moduli };
        pulp::Arch::new().dispatch(passes);
        // Each block is (0, x0, x0 + x1) by its own sources.
        let own = [0, 1, 3, 0, 10, 30, 0, 100, 300];
        let far = [10 + 100, 0, 20 + 200, 0, 0, 0, 1, 0, 2];
        let expected: Vec<Row<1>> = own.iter().zip(far).map(|(own, far)| [own + far]).collect();
        assert_eq!(rows[..9], expected);
    }
}
