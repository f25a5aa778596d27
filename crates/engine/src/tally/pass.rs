//! Mass balance of one pass: sums of the entering states, by what their successors are.
//!
//! States with as many successors of each shift make a class. Each state's row is added to one class; all other sums
//! follow from the classes:
//!
//! ```text
//!   by degree d       sum of the classes with d successors
//!   by shift s        sum of class x (its successors with shift s)
//! ```
//!
//! So the two kinds agree from the start: they show what changes afterwards, on the way to the coordinator.
//!
//! Sums are kept without remainders, as sums of the low and of the high 32 bits of the values. So a lane costs two
//! additions, which vector instructions do for eight lanes at once.
//!
//! Cost: two additions for each lane and state; a look-up for each state.

use keima_runs::PassTally;
use pulp::{Simd, WithSimd};
use rustc_hash::FxHashMap;

use super::{LOW_HALF, LaneSums, whole};

/// Shifts that a class tells apart. Successors with greater ones are added one by one.
const CLASS_SHIFTS: usize = 7;
/// Classes beyond which they are added to the totals. Few problems have more than some dozen.
const MOST_CLASSES: usize = 1 << 10;
/// States whose values fit a sum of halves.
const MOST_STATES: u64 = 1 << 31;

/// The successors of a state: for each shift below [`CLASS_SHIFTS`] their number in a byte, from the lowest on; in the
/// highest byte the number of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Class(u64);

impl Class {
    fn add(&mut self, shift: u8) {
        self.0 += 1 << (8 * usize::from(shift).min(CLASS_SHIFTS));
    }
    fn with_shift(self, shift: usize) -> u64 {
        if shift < CLASS_SHIFTS { self.0 >> (8 * shift) & 0xff } else { 0 }
    }
    fn degree(self) -> usize {
        self.0.to_le_bytes().into_iter().map(usize::from).sum()
    }
}

/// Sums of the states that enter one pass.
pub(crate) struct PassSums {
    lanes: usize,
    pub(crate) states: u64,
    pub(crate) successors: u64,
    totals: Totals,
    /// Whether a batch had shifts.
    shifted: bool,
    classes: Vec<Class>,
    numbers: FxHashMap<Class, u32>,
    /// Class of the states with `d` successors without shifts.
    unmoved: Vec<u32>,
    /// For each class `lanes` sums of low halves, then as many of high halves.
    halves: Vec<u64>,
    /// States in the sums of classes.
    unsettled: u64,
    /// Class of each state of the present batch.
    batch: Vec<u32>,
}

/// Sums of states by what their successors are.
#[derive(Clone, Default)]
struct Totals {
    /// Sum of the values of the states with `d` successors.
    by_degree: Vec<LaneSums>,
    /// Sum of n x value, where n successors move their coefficients up by `s`.
    by_shift: Vec<LaneSums>,
}

impl PassSums {
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            lanes,
            states: 0,
            successors: 0,
            totals: Totals::default(),
            shifted: false,
            classes: Vec::new(),
            numbers: FxHashMap::default(),
            unmoved: Vec::new(),
            halves: Vec::new(),
            unsettled: 0,
            batch: Vec::new(),
        }
    }

    /// Adds a batch of at most 65,535 states. Where `shifts` is empty, no successor has a shift.
    pub(crate) fn add(&mut self, degrees: &[u8], shifts: &[u8], rows: &[u64], moduli: &[u64]) {
        self.states += degrees.len() as u64;
        self.successors += degrees.iter().map(|&d| u64::from(d)).sum::<u64>();
        if self.unsettled + degrees.len() as u64 > MOST_STATES || self.classes.len() > MOST_CLASSES {
            self.settle(moduli);
        }
        self.unsettled += degrees.len() as u64;
        self.batch.clear();
        if shifts.is_empty() {
            let most = degrees.iter().copied().max().unwrap_or(0);
            for degree in self.unmoved.len()..=most.into() {
                let number = self.number(Class(degree as u64));
                self.unmoved.push(number);
            }
            self.batch.extend(degrees.iter().map(|&degree| self.unmoved[usize::from(degree)]));
        } else {
            self.shifted = true;
            let mut rest = shifts;
            for &degree in degrees {
                let (own, others) = rest.split_at(usize::from(degree).min(rest.len()));
                rest = others;
                let mut class = Class::default();
                for &shift in own {
                    class.add(shift);
                }
                let number = self.number(class);
                self.batch.push(number);
            }
            if shifts.iter().any(|&shift| usize::from(shift) >= CLASS_SHIFTS) {
                self.add_far(degrees, shifts, rows, moduli);
            }
        }
        pulp::Arch::new().dispatch(AddToClasses {
            halves: &mut self.halves,
            lanes: self.lanes,
            classes: &self.batch,
            rows,
        });
    }

    /// Adds the successors with shifts that a class does not tell apart.
    fn add_far(&mut self, degrees: &[u8], shifts: &[u8], rows: &[u64], moduli: &[u64]) {
        let mut shifts = shifts.iter();
        for (&degree, row) in degrees.iter().zip(rows.chunks_exact(self.lanes)) {
            for &shift in shifts.by_ref().take(degree.into()) {
                if usize::from(shift) >= CLASS_SHIFTS {
                    add(&mut self.totals.by_shift, shift.into(), 1, row, moduli);
                }
            }
        }
    }

    /// The number of a class, new or not.
    fn number(&mut self, class: Class) -> u32 {
        let next = self.classes.len() as u32;
        let number = *self.numbers.entry(class).or_insert(next);
        if number == next {
            self.classes.push(class);
            self.halves.resize(self.classes.len() * 2 * self.lanes, 0);
        }
        number
    }

    /// Adds the classes to the totals, and forgets them.
    fn settle(&mut self, moduli: &[u64]) {
        self.totals = self.all(moduli);
        self.classes.clear();
        self.numbers.clear();
        self.unmoved.clear();
        self.halves.clear();
        self.unsettled = 0;
    }

    /// The totals with the classes added.
    fn all(&self, moduli: &[u64]) -> Totals {
        let mut totals = self.totals.clone();
        for (class, halves) in self.classes.iter().zip(self.halves.chunks_exact(2 * self.lanes)) {
            let (low, high) = halves.split_at(self.lanes);
            let sum = |((&low, &high), &p): ((&u64, &u64), &u64)| keima_residue::reduce_wide(whole(low, high), p);
            let sums: Vec<u64> = low.iter().zip(high).zip(moduli.iter().cycle()).map(sum).collect();
            add(&mut totals.by_degree, class.degree(), 1, &sums, moduli);
            for shift in 0..CLASS_SHIFTS {
                if class.with_shift(shift) > 0 {
                    add(&mut totals.by_shift, shift, class.with_shift(shift), &sums, moduli);
                }
            }
        }
        totals
    }

    /// The sum of the entering states, for each lane.
    pub(crate) fn old(&self, moduli: &[u64]) -> Vec<u64> {
        let mut total = vec![0; self.lanes];
        for sums in &self.all(moduli).by_degree {
            keima_residue::add_row(&mut total, &sums.values(moduli), moduli);
        }
        total
    }

    /// The sum that mass balance demands of the new states, for each lane.
    pub(crate) fn expected(&self, moduli: &[u64]) -> Vec<u64> {
        let mut total = vec![0; self.lanes];
        for (shift, sums) in self.all(moduli).by_shift.iter().enumerate() {
            let up = (shift * moduli.len()).min(self.lanes);
            keima_residue::add_row(&mut total[up..], &sums.values(moduli), moduli);
        }
        total
    }

    /// The report. It has no sums by shift where no batch had shifts.
    pub(crate) fn finish(&self, new_sums: Vec<u64>, moduli: &[u64]) -> PassTally {
        let Totals { by_degree, by_shift } = self.all(moduli);
        let values = |sums: Vec<LaneSums>| sums.iter().map(|sums| sums.values(moduli)).collect();
        PassTally {
            states: self.states,
            successors: self.successors,
            by_degree: values(by_degree),
            by_shift: if self.shifted { values(by_shift) } else { Vec::new() },
            new_sums,
        }
    }
}

/// Adds `weight` times the row to the sums with this number, which may be new.
fn add(sums: &mut Vec<LaneSums>, number: usize, weight: u64, row: &[u64], moduli: &[u64]) {
    while sums.len() <= number {
        sums.push(LaneSums::new(row.len()));
    }
    sums[number].add(weight, row);
    sums[number].fold(moduli);
}

/// Adds each state's row to the sums of its class.
struct AddToClasses<'a> {
    halves: &'a mut [u64],
    lanes: usize,
    classes: &'a [u32],
    rows: &'a [u64],
}

impl WithSimd for AddToClasses<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { halves, lanes, classes, rows } = self;
        macro_rules! of_lanes {
            ($($fixed:literal)*) => {
                match lanes {
                    $($fixed => fixed_lanes::<$fixed>(halves, classes, rows),)*
                    _ => any_lanes(halves, lanes, classes, rows),
                }
            };
        }
        of_lanes!(1 2 3 4 5 6 7 8);
    }
}

#[inline(always)]
fn fixed_lanes<const L: usize>(halves: &mut [u64], classes: &[u32], rows: &[u64]) {
    let (halves, _) = halves.as_chunks_mut::<L>();
    let (halves, _) = halves.as_chunks_mut::<2>();
    let (rows, _) = rows.as_chunks::<L>();
    for (&class, row) in classes.iter().zip(rows) {
        let [low, high] = &mut halves[class as usize];
        for lane in 0..L {
            low[lane] += row[lane] & LOW_HALF;
            high[lane] += row[lane] >> 32;
        }
    }
}

#[inline(always)]
fn any_lanes(halves: &mut [u64], lanes: usize, classes: &[u32], rows: &[u64]) {
    for (&class, row) in classes.iter().zip(rows.chunks_exact(lanes)) {
        let (low, high) = halves[2 * class as usize * lanes..][..2 * lanes].split_at_mut(lanes);
        for ((low, high), &value) in low.iter_mut().zip(high).zip(row) {
            *low += value & LOW_HALF;
            *high += value >> 32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MODULI: [u64; 2] = [1_000_000_007, 998_244_353];

    #[test]
    fn mass_balance_with_and_without_shifts() {
        let mut plain = PassSums::new(2);
        plain.add(&[2, 3, 0], &[], &[1, 10, 2, 20, 3, 30], &MODULI);
        assert_eq!(plain.old(&MODULI), [6, 60]);
        assert_eq!(plain.expected(&MODULI), [2 + 6, 20 + 60]);
        // Two coefficients, one modulus: (1, 10) and (2, 20); shifts 0, 1 | 1, 1, 2.
        let mut shifted = PassSums::new(2);
        shifted.add(&[2, 3], &[0, 1, 1, 1, 2], &[1, 10, 2, 20], &MODULI[..1]);
        assert_eq!(shifted.expected(&MODULI[..1]), [1, 10 + 1 + 2 + 2]);
        assert_eq!(shifted.successors, 5);
    }

    /// A problem may leave out the shifts of a batch in which nothing moves: any batch, in any order.
    #[test]
    fn batches_with_and_without_shifts_make_one_sum() {
        let batches: [(&[u8], &[u8], &[u64]); 3] =
            [(&[2], &[], &[1, 10]), (&[1, 1], &[0, 1], &[2, 20, 3, 30]), (&[3], &[], &[4, 40])];
        for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1]] {
            let mut sums = PassSums::new(2);
            for (degrees, shifts, rows) in order.map(|i| batches[i]) {
                sums.add(degrees, shifts, rows, &MODULI[..1]);
            }
            assert_eq!(sums.expected(&MODULI[..1]), [2 + 2 + 12, 20 + 20 + 3 + 120], "{order:?}");
            assert_eq!(sums.successors, 7);
        }
    }

    proptest! {
        /// Sums of classes against sums that are taken one successor at a time.
        #[test]
        fn classes_agree_with_sums_one_by_one(
            states in prop::collection::vec((prop::collection::vec(0_u8..12, 0..6), any::<u64>()), 0..60),
            lanes in 1_usize..20, settle_after in 0_usize..60,
        ) {
            let moduli = &[u64::MAX - 58][..];
            let p = moduli[0];
            let value = |seed: u64, lane: usize| seed.wrapping_mul(2 * lane as u64 + 1) % p;
            let mut sums = PassSums::new(lanes);
            let mut by_degree = vec![vec![0; lanes]; 6];
            let mut by_shift = vec![vec![0; lanes]; 12];
            for (i, (shifts, seed)) in states.iter().enumerate() {
                let row: Vec<u64> = (0..lanes).map(|lane| value(*seed, lane)).collect();
                sums.add(&[shifts.len() as u8], shifts, &row, moduli);
                if i == settle_after {
                    sums.settle(moduli);
                }
                keima_residue::add_row(&mut by_degree[shifts.len()], &row, moduli);
                for &shift in shifts {
                    keima_residue::add_row(&mut by_shift[usize::from(shift)], &row, moduli);
                }
            }
            let found = sums.finish(Vec::new(), moduli);
            let trimmed = |mut sums: Vec<Vec<u64>>, length| { sums.truncate(length); sums };
            prop_assert_eq!(&found.by_degree, &trimmed(by_degree.clone(), found.by_degree.len()));
            prop_assert_eq!(&found.by_shift, &trimmed(by_shift.clone(), found.by_shift.len()));
            prop_assert_eq!(found.by_degree.len(), states.iter().map(|s| s.0.len() + 1).max().unwrap_or(0));
            let most = states.iter().flat_map(|s| s.0.iter()).map(|&s| usize::from(s) + 1).max().unwrap_or(0);
            prop_assert_eq!(found.by_shift.len(), most);
        }
    }
}
