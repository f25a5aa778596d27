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

use keima_model::{BlockTables, Family, MOST_ENTRIES};

use crate::block::out_of_core::passes::buffer::Line;
use crate::block::rows::kernel::{add_far, local};
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::tables::{entries, far, up};

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

#[cfg(test)]
mod tests {
    use keima_model::{Far, FarTargets, PassTable, Signature};

    use super::*;
    use keima_blocks::rows::PADDING;

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
