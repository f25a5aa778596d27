//! Widening rows: from residues modulo few primes to residues modulo more.
//!
//! A number below the product of the first F-1 primes is converted to mixed radix (see `mixed_radix`) and evaluated
//! modulo the new primes. The spare lane is kept. Each row that is widened is checked: its spare lane must match the
//! digits. Callers can ask for a few of the new row's lanes at a time.
//!
//! ```text
//!   F lanes       p0 p1 .. p(F-2)                    spare
//!   K lanes       p0 p1 .. p(F-2) p(F-1) .. p(K-2)   spare
//!                                 from digits
//! ```
//!
//! Cost: F^2 / 2 + F (K - F) multiplications a row.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::rows::lanes::{Moduli, Row, of_width};
use crate::block::rows::mixed_radix::{Evaluation, Radix};
use crate::block::rows::sums::Total;

/// Widens rows of F lanes. The first F-1 primes and the spare are the same before and after.
pub(crate) struct Widening<const F: usize> {
    radix: Radix<F>,
    new_primes: Vec<Evaluation<F>>,
}

impl<const F: usize> Widening<F> {
    pub(crate) fn new(from: &Moduli<F>, to: &[u64]) -> Self {
        let new_primes = to[F - 1..to.len() - 1].iter().map(|&prime| Evaluation::new(from.values(), prime)).collect();
        Self { radix: Radix::new(*from.values()), new_primes }
    }

    /// Lanes `first .. first + J` of the wider row. `None` if the spare lane does not match the others.
    #[inline(always)]
    pub(crate) fn lanes<const J: usize>(&self, row: &Row<F>, first: usize) -> Option<Row<J>> {
        if *row == [0; F] {
            return Some([0; J]);
        }
        let digits = self.radix.digits(row)?;
        let mut wider = [0; J];
        for (lane, place) in wider.iter_mut().zip(first..) {
            *lane = match row[..F - 1].get(place) {
                Some(&same) => same,
                None => self.new_primes.get(place + 1 - F).map_or(row[F - 1], |evaluation| evaluation.of(&digits)),
            };
        }
        Some(wider)
    }
}

/// Widens the rows of runs to the lanes of a stage.
pub(crate) struct RowWidener {
    /// Moduli before and after.
    from: Vec<u64>,
    to: Vec<u64>,
    widths: Widths,
}

/// The widening for each number of lanes that rows may have.
macro_rules! widths {
    ($($lanes:literal $name:ident),*) => {
        enum Widths {
            Same,
            $($name(Box<Widening<$lanes>>)),*
        }

        impl Widths {
            /// `None` if rows cannot have that many lanes.
            fn new(from: &[u64], to: &[u64]) -> Option<Self> {
                Some(match from.len() {
                    _ if from == to => Self::Same,
                    $($lanes => Self::$name(Box::new(Widening::new(&Moduli::new(from.try_into().ok()?)?, to))),)*
                    _ => return None,
                })
            }

            fn place<const J: usize>(
                &self,
                first: usize,
                rows: &[u64],
                positions: &[u64],
                start: u64,
                states: &mut (impl StateRows<J> + ?Sized),
            ) -> Result<(), PlaceError> {
                match self {
                    Self::Same => place(rows, positions, start, states, |row: &Row<J>| Some(*row)),
                    $(Self::$name(widening) => place(rows, positions, start, states, |row| widening.lanes(row, first)),)*
                }
            }
        }
    };
}
widths!(2 Two, 4 Four, 6 Six, 8 Eight, 10 Ten, 12 Twelve);

/// Why a row could not be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceError {
    /// The row's position is not among the states.
    Position(u64),
    /// The spare lane of the row with this number does not match its other lanes.
    Spare(usize),
}

/// States that receive rows.
pub(crate) trait StateRows<const J: usize> {
    /// Stores a row at a place. False if there is no such place.
    fn put(&mut self, place: usize, row: Row<J>) -> bool;
    /// Stores the lanes of a row from number `first` on.
    fn put_some(&mut self, place: usize, first: usize, lanes: &[u64]) -> bool;
}

impl<const J: usize> StateRows<J> for [Row<J>] {
    #[inline(always)]
    fn put(&mut self, place: usize, row: Row<J>) -> bool {
        self.get_mut(place).map(|state| *state = row).is_some()
    }
    #[inline(always)]
    fn put_some(&mut self, place: usize, first: usize, lanes: &[u64]) -> bool {
        let some = self.get_mut(place).and_then(|state| state.get_mut(first..first + lanes.len()));
        some.map(|some| some.copy_from_slice(lanes)).is_some()
    }
}

/// States that several threads fill at the same time. Each state is written once, and read only after all are
/// written.
pub(crate) type SharedStates<'s, const J: usize> = &'s [[AtomicU64; J]];

impl<const J: usize> StateRows<J> for SharedStates<'_, J> {
    #[inline(always)]
    fn put(&mut self, place: usize, row: Row<J>) -> bool {
        let state = self.get(place);
        state
            .map(|state| state.iter().zip(row).for_each(|(lane, value)| lane.store(value, Ordering::Relaxed)))
            .is_some()
    }
    #[inline(always)]
    fn put_some(&mut self, place: usize, first: usize, lanes: &[u64]) -> bool {
        let some = self.get(place).and_then(|state| state.get(first..first + lanes.len()));
        some.map(|some| some.iter().zip(lanes).for_each(|(lane, &value)| lane.store(value, Ordering::Relaxed)))
            .is_some()
    }
}

/// Lanes that a widener makes, from `first` on.
#[derive(Clone, Copy)]
pub(crate) struct WidenedLanes<'w> {
    pub(crate) widener: &'w RowWidener,
    /// The first lane.
    pub(crate) first: usize,
}

impl RowWidener {
    pub(crate) fn new(from: &[u64], to: &[u64]) -> Option<Self> {
        let (from, to) = (from.to_vec(), to.to_vec());
        // The common primes come first, and the spare last, in both lists.
        let kept = from.len().checked_sub(1).filter(|_| from.len() < to.len() || from == to)?;
        if from[..kept] != to[..kept] || from.last() != to.last() {
            return None;
        }
        let widths = Widths::new(&from, &to)?;
        Some(Self { from, to, widths })
    }

    /// Whether a lane is computed from digits. All others are copied.
    pub(crate) fn is_new_lane(&self, lane: usize) -> bool {
        (self.from.len() - 1..self.to.len() - 1).contains(&lane)
    }

    /// Whether rows get more lanes.
    pub(crate) const fn widens(&self) -> bool {
        !matches!(self.widths, Widths::Same)
    }

    /// Lanes to read for lanes `first .. first + count` of the result.
    pub(crate) fn reads(&self, first: usize, count: usize) -> Range<usize> {
        match &self.widths {
            Widths::Same => first..first + count,
            _ => 0..self.from.len(),
        }
    }

    /// Places lanes `first .. first + J` of each widened row at its position. `rows` have the lanes that
    /// [`RowWidener::reads`] names; `states` begins at the position `start`.
    pub(crate) fn place<const J: usize>(
        &self,
        first: usize,
        rows: &[u64],
        positions: &[u64],
        start: u64,
        states: &mut (impl StateRows<J> + ?Sized),
    ) -> Result<(), PlaceError> {
        self.widths.place(first, rows, positions, start, states)
    }

    /// Adds the lanes `read` of `rows` to `total`, whose lanes are `first ..`. Leaves out lanes that are computed from digits.
    pub(crate) fn add_up<const J: usize>(
        &self,
        first: usize,
        read: &Range<usize>,
        rows: &[u64],
        total: &mut [u128; J],
    ) {
        let sums = of_width!(read.len(), F => self.sums::<F>(read, rows), _ => self.few_sums(read, rows));
        for (total, lane) in total.iter_mut().zip(first..).filter(|(_, lane)| !self.is_new_lane(*lane)) {
            let place = if lane + 1 == self.to.len() { self.from.len() - 1 } else { lane };
            let sum = place.checked_sub(read.start).and_then(|place| sums.get(place));
            *total = (*total + sum.copied().unwrap_or(0)) % u128::from(self.to[lane]);
        }
    }

    /// The sums of rows whose width no kernel has.
    fn few_sums(&self, read: &Range<usize>, rows: &[u64]) -> Vec<u128> {
        let lane = |(place, &modulus): (usize, &u64)| {
            let lane = rows.iter().skip(place).step_by(read.len());
            lane.fold(0, |sum, &value| (sum + u128::from(value)) % u128::from(modulus))
        };
        self.from.get(read.clone()).unwrap_or_default().iter().enumerate().map(lane).collect()
    }

    fn sums<const F: usize>(&self, read: &Range<usize>, rows: &[u64]) -> Vec<u128> {
        let moduli = self.from.get(read.clone()).unwrap_or_default().try_into().ok().and_then(Moduli::<F>::new);
        let Some(moduli) = moduli else { return Vec::new() };
        pulp::Arch::new().dispatch(Total::<F> { rows: rows.as_chunks().0, moduli: &moduli }).to_vec()
    }
}

/// Places the lanes `some` of rows of which only these were read, in states whose lanes are `first ..`. Rows are not widened.
pub(crate) fn place_some<const J: usize>(
    first: usize,
    some: &Range<usize>,
    rows: &[u64],
    positions: &[u64],
    start: u64,
    states: &mut (impl StateRows<J> + ?Sized),
) -> Result<(), PlaceError> {
    let lane = some.start - first;
    for (row, &position) in rows.chunks_exact(some.len()).zip(positions) {
        let place = usize::try_from(position.wrapping_sub(start)).unwrap_or(usize::MAX);
        if !states.put_some(place, lane, row) {
            return Err(PlaceError::Position(position));
        }
    }
    Ok(())
}

#[inline(always)]
fn place<const F: usize, const J: usize>(
    rows: &[u64],
    positions: &[u64],
    start: u64,
    states: &mut (impl StateRows<J> + ?Sized),
    lanes: impl Fn(&Row<F>) -> Option<Row<J>>,
) -> Result<(), PlaceError> {
    for (number, (row, &position)) in rows.as_chunks().0.iter().zip(positions).enumerate() {
        let place = usize::try_from(position.wrapping_sub(start)).unwrap_or(usize::MAX);
        let Some(row) = lanes(row) else { return Err(PlaceError::Spare(number)) };
        if !states.put(place, row) {
            return Err(PlaceError::Position(position));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use keima_residue::primes_below;

    /// Widens rows to `K` lanes, whole and in slices. A wrong lane must be found, whichever it is.
    fn check<const K: usize>(cases: &[(usize, u128)]) {
        let primes: Vec<u64> = primes_below(1 << 60).take(K).collect();
        let lanes = |count: usize| -> Vec<u64> { primes[1..count].iter().chain(&primes[..1]).copied().collect() };
        let to = lanes(K);
        for &(from, value) in cases {
            let read = lanes(from);
            let residues =
                |moduli: &[u64]| -> Vec<u64> { moduli.iter().map(|&p| (value % u128::from(p)) as u64).collect() };
            let (row, expected) = (residues(&read), residues(&to));
            let widen = RowWidener::new(&read, &to).unwrap();
            let mut whole = [[0; K]; 2];
            widen.place(0, &row, &[11], 10, &mut whole[..]).unwrap();
            assert_eq!(whole, [[0; K], expected.as_slice().try_into().unwrap()], "{from} lanes, {value}");
            for first in (0..K).step_by(2) {
                let mut slice = [[0; 2]];
                let row = row[widen.reads(first, 2)].to_vec();
                widen.place(first, &row, &[10], 10, &mut slice[..]).unwrap();
                assert_eq!(slice[0][..], expected[first..first + 2], "{from} lanes, {value}");
                let mut total = [0; 2];
                widen.add_up(first, &widen.reads(first, 2), &[row.clone(), row.clone()].concat(), &mut total);
                for ((lane, total), &p) in (first..).zip(total).zip(&to[first..]) {
                    let twice = u128::from(expected[lane]) * 2 % u128::from(p);
                    assert_eq!(total, if widen.is_new_lane(lane) { 0 } else { twice });
                }
            }
            assert_eq!(widen.place(0, &row, &[12], 10, &mut whole[..]), Err(PlaceError::Position(12)));
            assert_eq!(widen.place(0, &row, &[9], 10, &mut whole[..]), Err(PlaceError::Position(9)));
            for lane in 0..if from < K { from } else { 0 } {
                let mut wrong = row.clone();
                wrong[lane] = (wrong[lane] + 1) % read[lane];
                assert_eq!(widen.place(0, &wrong, &[10], 10, &mut whole[..]), Err(PlaceError::Spare(0)));
            }
        }
        assert!(RowWidener::new(&lanes(4), &lanes(2)).is_none());
        assert!(RowWidener::new(&lanes(3), &to).is_none(), "no such rows");
        assert!(RowWidener::new(&to[..2], &to).is_none(), "another spare");
    }

    #[test]
    fn rows_are_widened_whole_and_in_slices() {
        check::<8>(&[(2, 12_345_u128), (2, (1 << 59) - 1), (4, 1 << 100), (4, 7), (8, u128::MAX), (4, 0)]);
        check::<12>(&[(2, 1 << 58), (4, 1 << 100), (8, u128::MAX), (8, 5), (12, u128::MAX), (8, 0)]);
        check::<16>(&[(2, 99), (8, u128::MAX - 7), (12, u128::MAX), (12, 11), (10, 1 << 90), (6, 8), (16, 3)]);
    }
}
