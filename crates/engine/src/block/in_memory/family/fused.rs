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
//! The block lies in two buffers that stay in the cache. The rows before, the mail and the tables come from memory.
//! Forward, the values of early operations (`mail`) are in the boxes beforehand. Transposed, they are added
//! afterwards.
//!
//! Cost: the sums within the block (`rows::kernel`), and a row read and written for each slot of mail.

use keima_model::{BlockTables, Far};

use crate::block::in_memory::mail::delivery::{ForwardMail, TransposedMail};
use crate::block::in_memory::mail::{BoxAt, MailLayout};
use crate::block::rows::kernel::{BlockRows, local, local_transposed};
use crate::block::rows::lanes::Moduli;

/// A window's tables and mail.
#[derive(Clone, Copy)]
pub(crate) struct Fused<'a, const K: usize> {
    pub(crate) tables: &'a BlockTables,
    pub(crate) mail: &'a MailLayout,
    pub(crate) moduli: &'a Moduli<K>,
}

impl<const K: usize> Fused<'_, K> {
    /// A block's far operations in a pass: pairs of entries, target block, slots in the target's box.
    #[inline(always)]
    fn own(&self, block: u32, pass: usize) -> impl Iterator<Item = (&Far, u32, &[u16])> {
        let signature = self.tables.signature_of[block as usize] as usize;
        let targets = &self.tables.far[pass];
        let first = targets.first[block as usize] as usize;
        let far = self.tables.signatures[signature].passes[pass].far.iter().zip(&targets.targets[first..]);
        (first..).zip(far).map(move |(number, (far, &target))| (far, target, self.mail.slots(pass, number)))
    }

    /// A block's early operations, with the targets' boxes and the slots there.
    pub(crate) fn early(&self, block: u32) -> impl Iterator<Item = (&Far, BoxAt, &[u16])> {
        let early = self.own(block, 0).filter(move |(_, target, _)| *target > block);
        early.map(move |(far, target, slots)| (far, self.mail.arriving(target, 0).0, slots))
    }

    /// Takes `block`, which is in `x`, through the window. Returns the buffer with the result.
    #[inline(always)]
    pub(crate) fn forward<'b>(
        &self,
        block: u32,
        mut x: &'b mut BlockRows<K>,
        mut y: &'b mut BlockRows<K>,
        mail: &mut ForwardMail<'_, K>,
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

    /// Takes `block`, which is in `x`, back through the window. Returns the buffer with the result.
    #[inline(always)]
    pub(crate) fn transposed<'b>(
        &self,
        block: u32,
        mut x: &'b mut BlockRows<K>,
        mut y: &'b mut BlockRows<K>,
        mail: &mut TransposedMail<'_, K>,
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
