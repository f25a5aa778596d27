//! All passes of a window over one block, by tables and mail: the inner loops of a count in memory.
//!
//! ```text
//!   forward, blocks descending            transposed, blocks ascending
//!     for each pass, ascending:             for each pass, descending:
//!       y = sums of x within the block        y = sums of x within the block
//!       y += what came for this pass          y += what came back by the block's own far operations
//!       mail x to the blocks below            mail y to the blocks above, for the pass before
//! ```
//!
//! The block lies in two halves of a buffer that stays in the cache; from memory come the rows that are gathered, the
//! mail and the tables. Mail of early operations ([`super::mail`]) is filled beforehand, or, transposed, left for
//! afterwards.
//!
//! Cost: 3 to 4 ns a state and pass for 4 lanes, where the same passes one by one ([`super::kernel`]) take 7 if the
//! family does not fit the cache.

use keima_model::{BlockTables, Direction, Far, MOST_ENTRIES};

use super::kernel::{local, local_transposed};
use super::lanes::{Moduli, Row, add};
use super::letters::Letters;
use super::mail::{Incoming, Mail};

/// Room for any block: every `u16` is an index of it.
pub(super) type Block<const K: usize> = [Row<K>; MOST_ENTRIES];

/// A window's tables with its mail.
#[derive(Clone, Copy)]
pub(super) struct Fused<'a, const K: usize> {
    pub(super) tables: &'a BlockTables,
    pub(super) mail: &'a Mail,
    pub(super) moduli: &'a Moduli<K>,
}

impl<const K: usize> Fused<'_, K> {
    /// A block's far operations in a pass: number, pairs of entries, target.
    #[inline(always)]
    fn own(&self, block: u32, pass: usize) -> impl Iterator<Item = (Incoming, &Far, u32)> {
        let signature = self.tables.signature_of[block as usize] as usize;
        let targets = &self.tables.far[pass];
        let first = targets.first[block as usize] as usize;
        let far = self.tables.signatures[signature].passes[pass].far.iter().zip(&targets.targets[first..]);
        (0..).zip(far).map(move |(operation, (far, &target))| (Incoming { source: block, operation }, far, target))
    }

    /// The early ones of a block, with the place of their mail.
    pub(super) fn early(&self, block: u32, direction: Direction) -> impl Iterator<Item = (usize, &Far)> {
        let early = self.own(block, 0).filter(move |(.., target)| *target > block);
        early.map(move |(operation, far, target)| {
            let place = match direction {
                Direction::Forward => self.place(0, operation),
                Direction::Backward => self.mail.transposed_place(self.tables, 0, operation, target),
            };
            (place, far)
        })
    }

    /// Where the mail begins that a block writes.
    pub(super) fn base(&self, block: u32, direction: Direction) -> usize {
        match direction {
            Direction::Forward => self.mail.base(block),
            Direction::Backward => self.mail.transposed_base(block),
        }
    }

    #[inline(always)]
    fn place(&self, pass: usize, operation: Incoming) -> usize {
        self.mail.place(self.tables, pass, operation)
    }

    #[inline(always)]
    fn pairs(&self, pass: usize, operation: Incoming) -> &Far {
        let signature = self.tables.signature_of[operation.source as usize] as usize;
        &self.tables.signatures[signature].passes[pass].far[usize::from(operation.operation)]
    }

    /// Takes `block`, which is in `x`, through the window. The result is in the buffer that is returned.
    #[inline(always)]
    pub(super) fn forward<'b>(
        &self,
        block: u32,
        mut x: &'b mut Block<K>,
        mut y: &'b mut Block<K>,
        mail: &mut Letters<'_, K>,
    ) -> &'b Block<K> {
        let signature = &self.tables.signatures[self.tables.signature_of[block as usize] as usize];
        for (pass, table) in signature.passes.iter().enumerate() {
            local(table, x, y, self.moduli);
            for &operation in self.mail.incoming(block, pass) {
                let far = self.pairs(pass, operation);
                self.add_mail(mail.read(self.place(pass, operation)), targets(far), y);
            }
            for (operation, far, _) in self.own(block, pass).filter(|(.., target)| *target < block) {
                put_mail(x, sources(far), mail.write(self.place(pass, operation)));
            }
            std::mem::swap(&mut x, &mut y);
        }
        x
    }

    /// Takes `block` back through the window, from `x` to the buffer that is returned.
    #[inline(always)]
    pub(super) fn backward<'b>(
        &self,
        block: u32,
        mut x: &'b mut Block<K>,
        mut y: &'b mut Block<K>,
        mail: &mut Letters<'_, K>,
    ) -> &'b Block<K> {
        let signature = &self.tables.signatures[self.tables.signature_of[block as usize] as usize];
        // The operations that lead to a block are met in the order in which its mail lies.
        let mut place = self.mail.transposed_base(block);
        for (pass, table) in signature.passes.iter().enumerate().rev() {
            for &operation in self.mail.incoming(block, pass) {
                let far = self.pairs(pass, operation);
                put_mail(x, targets(far), mail.write(place));
                place += far.pairs.len();
            }
            local_transposed(table, x, y, self.moduli);
            for (operation, far, target) in self.own(block, pass).filter(|(.., target)| *target < block) {
                let place = self.mail.transposed_place(self.tables, pass, operation, target);
                self.add_mail(mail.read(place), sources(far), y);
            }
            std::mem::swap(&mut x, &mut y);
        }
        x
    }

    /// Adds an operation's mail to a block's entries, one row for each.
    #[inline(always)]
    fn add_mail(&self, mail: &[Row<K>], entries: impl Iterator<Item = u16>, rows: &mut Block<K>) {
        for (entry, value) in entries.zip(mail) {
            self.put(&mut rows[usize::from(entry)], value);
        }
    }

    #[inline(always)]
    pub(super) fn put(&self, row: &mut Row<K>, value: &Row<K>) {
        let mut sum = *row;
        add(&mut sum, value);
        self.moduli.reduce::<2>(&mut sum);
        *row = sum;
    }
}

/// Copies a block's entries into an operation's mail, one row for each.
#[inline(always)]
fn put_mail<const K: usize>(rows: &Block<K>, entries: impl Iterator<Item = u16>, mail: &mut [Row<K>]) {
    for (entry, value) in entries.zip(mail) {
        *value = rows[usize::from(entry)];
    }
}

/// The entries of a far operation before the pass.
#[inline(always)]
fn sources(far: &Far) -> impl Iterator<Item = u16> {
    far.pairs.iter().map(|&(source, _)| source)
}

/// Its entries after the pass, in the target block.
#[inline(always)]
fn targets(far: &Far) -> impl Iterator<Item = u16> {
    far.pairs.iter().map(|&(_, target)| target)
}
