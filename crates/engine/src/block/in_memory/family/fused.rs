//! All passes of a window over one block, by tables and mail: the inner loops of a count in memory.
//!
//! ```text
//!   forward, blocks descending            transposed, blocks ascending
//!     for each pass, ascending:             for each pass, descending:
//!       y = sums of x within the block        box = x, those that blocks above will read
//!       y += box                              y = sums of x within the block
//!       boxes of blocks below += x            y += boxes of blocks below
//! ```
//!
//! The block lies in two halves of a buffer that stays in the cache; from memory come the rows that are gathered, the
//! mail and the tables. What early operations carry ([`crate::block::in_memory::mail`]) is in the boxes beforehand, or, transposed, is left
//! for afterwards.
//!
//! Cost: 3 to 4 ns a state and pass for 4 lanes, where the same passes one by one ([`crate::block::rows::kernel`]) take 7 if the
//! family does not fit the cache.

use keima_model::{BlockTables, Far};

use crate::block::in_memory::mail::delivery::{Added, Left};
use crate::block::in_memory::mail::{BoxAt, Mail};
use crate::block::rows::kernel::{BlockRows, local, local_transposed};
use crate::block::rows::lanes::Moduli;

/// A window's tables with its mail.
#[derive(Clone, Copy)]
pub(crate) struct Fused<'a, const K: usize> {
    pub(crate) tables: &'a BlockTables,
    pub(crate) mail: &'a Mail,
    pub(crate) moduli: &'a Moduli<K>,
}

impl<const K: usize> Fused<'_, K> {
    /// A block's far operations in a pass: pairs of entries, target, and the slots in the target's box.
    #[inline(always)]
    fn own(&self, block: u32, pass: usize) -> impl Iterator<Item = (&Far, u32, &[u16])> {
        let signature = self.tables.signature_of[block as usize] as usize;
        let targets = &self.tables.far[pass];
        let first = targets.first[block as usize] as usize;
        let far = self.tables.signatures[signature].passes[pass].far.iter().zip(&targets.targets[first..]);
        (first..).zip(far).map(move |(number, (far, &target))| (far, target, self.mail.slots(pass, number)))
    }

    /// The early ones of a block, with their targets' boxes, and slots there.
    pub(crate) fn early(&self, block: u32) -> impl Iterator<Item = (&Far, BoxAt, &[u16])> {
        let early = self.own(block, 0).filter(move |(_, target, _)| *target > block);
        early.map(move |(far, target, slots)| (far, self.mail.arriving(target, 0).0, slots))
    }

    /// Takes `block`, which is in `x`, through the window. The result is in the buffer that is returned.
    #[inline(always)]
    pub(crate) fn forward<'b>(
        &self,
        block: u32,
        mut x: &'b mut BlockRows<K>,
        mut y: &'b mut BlockRows<K>,
        mail: &mut Added<'_, K>,
    ) -> &'b BlockRows<K> {
        let signature = &self.tables.signatures[self.tables.signature_of[block as usize] as usize];
        for (pass, table) in signature.passes.iter().enumerate() {
            local(table, x, y, self.moduli);
            let (arriving, entries) = self.mail.arriving(block, pass);
            if !entries.is_empty() {
                mail.open(arriving, |rows| {
                    for (&entry, row) in entries.iter().zip(rows) {
                        self.moduli.put(&mut y[usize::from(entry)], row);
                    }
                });
            }
            for (far, target, slots) in self.own(block, pass).filter(|(_, target, _)| *target < block) {
                mail.open(self.mail.arriving(target, pass).0, |rows| {
                    for (&(entry, _), &slot) in far.pairs.iter().zip(slots) {
                        self.moduli.put(&mut rows[usize::from(slot)], &x[usize::from(entry)]);
                    }
                });
            }
            std::mem::swap(&mut x, &mut y);
        }
        x
    }

    /// Takes `block` back through the window, from `x` to the buffer that is returned.
    #[inline(always)]
    pub(crate) fn backward<'b>(
        &self,
        block: u32,
        mut x: &'b mut BlockRows<K>,
        mut y: &'b mut BlockRows<K>,
        mail: &mut Left<'_, K>,
    ) -> &'b BlockRows<K> {
        let signature = &self.tables.signatures[self.tables.signature_of[block as usize] as usize];
        for (pass, table) in signature.passes.iter().enumerate().rev() {
            let (arriving, entries) = self.mail.arriving(block, pass);
            for (&entry, row) in entries.iter().zip(mail.write(arriving)) {
                *row = x[usize::from(entry)];
            }
            local_transposed(table, x, y, self.moduli);
            for (far, target, slots) in self.own(block, pass).filter(|(_, target, _)| *target < block) {
                let rows = mail.read(self.mail.arriving(target, pass).0);
                for (&(entry, _), &slot) in far.pairs.iter().zip(slots) {
                    self.moduli.put(&mut y[usize::from(entry)], &rows[usize::from(slot)]);
                }
            }
            std::mem::swap(&mut x, &mut y);
        }
        x
    }
}
