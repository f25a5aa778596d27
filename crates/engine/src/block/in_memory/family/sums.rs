//! What a family's states add up to before and after a window, and the laws that these sums obey.

use keima_model::{Direction, Family, Window};

use crate::block::error::BlockError;
use crate::block::in_memory::family::fingerprint::Sampled;
use crate::block::in_memory::family::stage::Place;

/// What went into a family and what came out, modulo each prime.
pub(crate) struct Sums<const K: usize> {
    pub(crate) taken: [u128; K],
    pub(crate) given: [u128; K],
    /// Of the rows that were read, and of those that came out and have an image that is not there, the sums in the last
    /// lane.
    pub(crate) read: u128,
    pub(crate) imaged: u128,
    /// Fingerprints of what was read and of what came out, in the last lane.
    pub(crate) read_print: u128,
    pub(crate) given_print: u128,
    pub(crate) sampled: Sampled,
}

impl<const K: usize> Default for Sums<K> {
    fn default() -> Self {
        let sampled = Sampled::default();
        Self { taken: [0; K], given: [0; K], read: 0, imaged: 0, read_print: 0, given_print: 0, sampled }
    }
}

/// The sums over all states, each as often as it counts ([`BlockColumn::weight`]), modulo the last lane's prime. What a
/// window has read is what stood in the vector before, whichever window wrote that and however its states are ordered:
/// a row that was read twice, or not at all, shows. With them go fingerprints, see [`crate::block::in_memory::family::fingerprint`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masses {
    /// Of the rows that were read, images added up where the column is folded.
    pub read: u64,
    /// Of the rows that were written, each image that is not there counted as if it were.
    pub written: u64,
    /// Fingerprint of the rows that were read.
    pub read_print: u64,
    /// Fingerprint of the rows that were written.
    pub written_print: u64,
}

impl Masses {
    /// What `window` has read is what the window `before` it has written, where that is known.
    pub(crate) fn hold(self, before: Option<Self>, window: Window, modulus: u64) -> Result<(), BlockError> {
        let Some(before) = before else { return Ok(()) };
        if before.written != self.read {
            return Err(BlockError::Exchange { window, modulus, expected: before.written, got: self.read });
        }
        if before.written_print != self.read_print {
            let (expected, got) = (before.written_print, self.read_print);
            return Err(BlockError::Fingerprint { window, modulus, expected, got });
        }
        Ok(())
    }

    /// Both together.
    pub(crate) fn and(self, other: Self, modulus: u64) -> Self {
        let sum = |one: u64, other: u64| ((u128::from(one) + u128::from(other)) % u128::from(modulus)) as u64;
        Self {
            read: sum(self.read, other.read),
            written: sum(self.written, other.written),
            read_print: sum(self.read_print, other.read_print),
            written_print: sum(self.written_print, other.written_print),
        }
    }
}

impl<const K: usize> Place<'_, K> {
    /// Holds a family's laws, and takes up its part of the masses.
    pub(crate) fn close(&self, family: &Family, sums: &Sums<K>, masses: &mut Masses) -> Result<(), BlockError> {
        self.balance(family, sums)?;
        *masses = masses.and(self.masses(family, sums), self.last_modulus());
        Ok(())
    }

    /// Mass balance: what came out is what went in, each state as often as there are ways through the window.
    fn balance(&self, family: &Family, sums: &Sums<K>) -> Result<(), BlockError> {
        if self.direction == Direction::Backward && self.arrivals.is_none() {
            return Ok(());
        }
        for ((&expected, &got), &modulus) in sums.taken.iter().zip(&sums.given).zip(self.fused.moduli.values()) {
            if expected != got {
                let (window, blocks) = (self.column.windows()[self.window], family.blocks.clone());
                return Err(BlockError::Balance { window, blocks, modulus, expected, got });
            }
        }
        Ok(())
    }

    /// A family's part of the masses.
    fn masses(&self, family: &Family, sums: &Sums<K>) -> Masses {
        let weight = u128::from(self.column.weight(self.window, family.blocks.start));
        let weighed = |sum: u128| (sum * weight % u128::from(self.last_modulus())) as u64;
        Masses {
            read: weighed(sums.read),
            written: weighed(sums.given[K - 1] + sums.imaged),
            read_print: weighed(sums.read_print),
            written_print: weighed(sums.given_print),
        }
    }

    /// Sums of all.
    pub(crate) fn all<'s>(&self, sums: impl Iterator<Item = &'s Sums<K>>) -> Sums<K> {
        let moduli = self.fused.moduli.values();
        sums.fold(Sums::default(), |all, sums| Sums {
            taken: std::array::from_fn(|lane| (all.taken[lane] + sums.taken[lane]) % u128::from(moduli[lane])),
            given: std::array::from_fn(|lane| (all.given[lane] + sums.given[lane]) % u128::from(moduli[lane])),
            read: (all.read + sums.read) % u128::from(moduli[K - 1]),
            imaged: (all.imaged + sums.imaged) % u128::from(moduli[K - 1]),
            read_print: (all.read_print + sums.read_print) % u128::from(moduli[K - 1]),
            given_print: (all.given_print + sums.given_print) % u128::from(moduli[K - 1]),
            sampled: Sampled::default(),
        })
    }
}
