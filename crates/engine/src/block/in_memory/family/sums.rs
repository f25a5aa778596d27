//! Sums of a family's states before and after a window, and the laws that they obey.

use keima_model::{Direction, Family, Window};
use serde::{Deserialize, Serialize};

use crate::block::error::BlockError;
use crate::block::in_memory::family::fingerprint::BlockSample;
use crate::block::in_memory::family::stage::WindowStage;

/// Sums of the rows that entered and left a family, modulo each prime.
pub(crate) struct FamilySums<const K: usize> {
    pub(crate) expected: [u128; K],
    pub(crate) written: [u128; K],
    /// Sums of the last lane: of the rows that were read, and of those that left and whose images have no entry.
    pub(crate) read: u128,
    pub(crate) images: u128,
    /// Fingerprints of the rows that were read and written, in the last lane.
    pub(crate) read_fingerprint: u128,
    pub(crate) written_fingerprint: u128,
    pub(crate) sample: BlockSample,
}

impl<const K: usize> Default for FamilySums<K> {
    fn default() -> Self {
        let sample = BlockSample::default();
        Self {
            expected: [0; K],
            written: [0; K],
            read: 0,
            images: 0,
            read_fingerprint: 0,
            written_fingerprint: 0,
            sample,
        }
    }
}

/// Sums over all states, each times its weight ([`BlockColumn::weight`](keima_model::BlockColumn::weight)), modulo
/// the last lane's prime. A window must read what stood in the vector before, whichever window wrote that and in
/// whatever order. A row that is read twice, or not at all, shows. The fingerprints show rows in wrong places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Masses {
    /// Of the rows that were read. Where the column is folded, images are added.
    pub read: u64,
    /// Of the rows that were written. An image without an entry is counted too.
    pub written: u64,
    /// Fingerprint of the rows that were read.
    pub read_fingerprint: u64,
    /// Fingerprint of the rows that were written.
    pub written_fingerprint: u64,
}

impl Masses {
    /// Checks that `window` has read what the window `before` it wrote, where that is known.
    pub(crate) fn hold(self, before: Option<Self>, window: Window, modulus: u64) -> Result<(), BlockError> {
        let Some(before) = before else { return Ok(()) };
        if before.written != self.read {
            return Err(BlockError::Exchange { window, modulus, expected: before.written, got: self.read });
        }
        if before.written_fingerprint != self.read_fingerprint {
            let (expected, got) = (before.written_fingerprint, self.read_fingerprint);
            return Err(BlockError::Fingerprint { window, modulus, expected, got });
        }
        Ok(())
    }

    /// The sums of both.
    pub(crate) fn plus(self, other: Self, modulus: u64) -> Self {
        let sum = |one: u64, other: u64| ((u128::from(one) + u128::from(other)) % u128::from(modulus)) as u64;
        Self {
            read: sum(self.read, other.read),
            written: sum(self.written, other.written),
            read_fingerprint: sum(self.read_fingerprint, other.read_fingerprint),
            written_fingerprint: sum(self.written_fingerprint, other.written_fingerprint),
        }
    }
}

/// What the families of a window add up to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowSums<const K: usize> {
    pub(crate) masses: Masses,
    /// Both sides of mass balance, in each lane.
    pub(crate) expected: [u64; K],
    pub(crate) got: [u64; K],
}

impl<const K: usize> Default for WindowSums<K> {
    fn default() -> Self {
        Self { masses: Masses::default(), expected: [0; K], got: [0; K] }
    }
}

impl<const K: usize> WindowSums<K> {
    /// The sums of both.
    pub(crate) fn plus(self, other: &Self, moduli: &[u64; K]) -> Self {
        let add = |one: [u64; K], other: [u64; K]| {
            std::array::from_fn(|lane| keima_residue::add_mod(one[lane], other[lane], moduli[lane]))
        };
        Self {
            masses: self.masses.plus(other.masses, moduli[K - 1]),
            expected: add(self.expected, other.expected),
            got: add(self.got, other.got),
        }
    }
}

impl<const K: usize> WindowStage<'_, K> {
    /// Checks a family's laws, and adds its part to the window's sums.
    pub(crate) fn close(
        &self,
        family: &Family,
        sums: &FamilySums<K>,
        window: &mut WindowSums<K>,
    ) -> Result<(), BlockError> {
        self.balance(family, sums)?;
        let moduli = self.fused.moduli.values();
        let narrow = |wide: &[u128; K]| std::array::from_fn(|lane| (wide[lane] % u128::from(moduli[lane])) as u64);
        let own = WindowSums {
            masses: self.masses(family, sums),
            expected: narrow(&sums.expected),
            got: narrow(&sums.written),
        };
        *window = window.plus(&own, moduli);
        Ok(())
    }

    /// Mass balance: sum of outputs = sum of inputs x ways through the window.
    fn balance(&self, family: &Family, sums: &FamilySums<K>) -> Result<(), BlockError> {
        if self.direction == Direction::Transposed && self.arrivals.is_none() {
            return Ok(());
        }
        for ((&expected, &got), &modulus) in sums.expected.iter().zip(&sums.written).zip(self.fused.moduli.values()) {
            if expected != got {
                let (window, blocks) = (self.column.windows()[self.window], family.blocks.clone());
                return Err(BlockError::Balance { window, blocks, modulus, expected, got });
            }
        }
        Ok(())
    }

    /// A family's part of the masses.
    fn masses(&self, family: &Family, sums: &FamilySums<K>) -> Masses {
        let weight = u128::from(self.column.weight(self.window, family.blocks.start));
        let weighed = |sum: u128| (sum * weight % u128::from(self.last_modulus())) as u64;
        Masses {
            read: weighed(sums.read),
            written: weighed(sums.written[K - 1] + sums.images),
            read_fingerprint: weighed(sums.read_fingerprint),
            written_fingerprint: weighed(sums.written_fingerprint),
        }
    }

    /// The sums of several workers.
    pub(crate) fn sum_all<'s>(&self, sums: impl Iterator<Item = &'s FamilySums<K>>) -> FamilySums<K> {
        let moduli = self.fused.moduli.values();
        sums.fold(FamilySums::default(), |all, sums| FamilySums {
            expected: std::array::from_fn(|lane| (all.expected[lane] + sums.expected[lane]) % u128::from(moduli[lane])),
            written: std::array::from_fn(|lane| (all.written[lane] + sums.written[lane]) % u128::from(moduli[lane])),
            read: (all.read + sums.read) % u128::from(moduli[K - 1]),
            images: (all.images + sums.images) % u128::from(moduli[K - 1]),
            read_fingerprint: (all.read_fingerprint + sums.read_fingerprint) % u128::from(moduli[K - 1]),
            written_fingerprint: (all.written_fingerprint + sums.written_fingerprint) % u128::from(moduli[K - 1]),
            sample: BlockSample::default(),
        })
    }
}
