//! More lanes for a row: from the residues modulo few primes to those modulo more.
//!
//! A number below the product of the first K-1 primes is written in mixed radix (see [`super::digits`]) and evaluated
//! modulo the primes that are new. The spare lane stays, and is held against what the digits predict: each row that is
//! widened is checked. Cost: K^2 / 2 + K (L - K) multiplications, 10 to 40 ns.

use std::ops::Range;

use super::digits::{Evaluation, Radix};
use super::lanes::{Moduli, Row};
use super::sums::Total;

/// From K lanes to L: the first K-1 primes and the spare are the same in both.
pub(super) struct Growth<const K: usize, const L: usize> {
    radix: Radix<K>,
    new: Vec<Evaluation<K>>,
}

impl<const K: usize, const L: usize> Growth<K, L> {
    pub(super) fn new(from: &Moduli<K>, to: &Moduli<L>) -> Self {
        let new = to.values()[K - 1..L - 1].iter().map(|&prime| Evaluation::new(from.values(), prime)).collect();
        Self { radix: Radix::new(*from.values()), new }
    }

    /// The wider row; `None` if the spare lane is not what the others predict.
    #[inline(always)]
    pub(super) fn row(&self, row: &Row<K>) -> Option<Row<L>> {
        let mut grown = [0; L];
        if *row == [0; K] {
            return Some(grown);
        }
        let digits = self.radix.digits(row)?;
        grown[..K - 1].copy_from_slice(&row[..K - 1]);
        for (lane, evaluation) in grown[K - 1..].iter_mut().zip(&self.new) {
            *lane = evaluation.of(&digits);
        }
        grown[L - 1] = row[K - 1];
        Some(grown)
    }
}

/// Makes rows of as many lanes as the stage has of those that were read.
pub(super) enum Widen<const K: usize> {
    Same,
    One(Box<Growth<2, K>>),
    Two(Box<Growth<4, K>>),
}

/// A row that could not be put where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// Its position is not among the states.
    Position(u64),
    /// Row number so many of those that were given: its spare lane is not what the others predict.
    Spare(usize),
}

impl<const K: usize> Widen<K> {
    pub(super) fn new(from: &[u64], to: &Moduli<K>) -> Option<Self> {
        if from == to.values() {
            return Some(Self::Same);
        }
        // The primes that both have stand in the same places, the spare at the end of both.
        let kept = from.len().checked_sub(1).filter(|_| from.len() < K)?;
        if from[..kept] != to.values()[..kept] || from.last() != to.values().last() {
            return None;
        }
        Some(match kept {
            1 => Self::One(Box::new(Growth::new(&Moduli::new(from.try_into().ok()?)?, to))),
            3 => Self::Two(Box::new(Growth::new(&Moduli::new(from.try_into().ok()?)?, to))),
            _ => return None,
        })
    }

    /// Lanes of the rows that are read.
    pub(super) fn lanes(&self) -> usize {
        match self {
            Self::Same => K,
            Self::One(_) => 2,
            Self::Two(_) => 4,
        }
    }

    /// Lanes that are made: all others are taken as they are.
    pub(super) fn made(&self) -> Range<usize> {
        self.lanes() - 1..K - 1
    }

    /// Puts each of `rows` where its position says; `states` begins at the position `start`.
    pub(super) fn place(
        &self,
        rows: &[u64],
        positions: &[u64],
        start: u64,
        states: &mut [Row<K>],
    ) -> Result<(), Misplaced> {
        match self {
            Self::Same => place(rows.as_chunks().0, positions, start, states, |row| Some(*row)),
            Self::One(growth) => place(rows.as_chunks().0, positions, start, states, |row| growth.row(row)),
            Self::Two(growth) => place(rows.as_chunks().0, positions, start, states, |row| growth.row(row)),
        }
    }

    /// Adds up `rows` lane by lane, those that are made left out.
    pub(super) fn add_up(&self, rows: &[u64], total: &mut [u128; K], moduli: &Moduli<K>) {
        match self {
            Self::Same => self.add::<K>(rows, total, moduli),
            Self::One(_) => self.add::<2>(rows, total, moduli),
            Self::Two(_) => self.add::<4>(rows, total, moduli),
        }
    }

    fn add<const F: usize>(&self, rows: &[u64], total: &mut [u128; K], moduli: &Moduli<K>) {
        let Some(read) = Moduli::new(std::array::from_fn(|lane| moduli.values()[self.stands_in(lane)])) else { return };
        let sums = pulp::Arch::new().dispatch(Total::<F> { rows: rows.as_chunks().0, moduli: &read });
        for (lane, sum) in sums.into_iter().enumerate() {
            let place = self.stands_in(lane);
            let modulus = u128::from(moduli.values()[place]);
            total[place] = (total[place] + sum) % modulus;
        }
    }

    /// Where a lane that was read stands.
    fn stands_in(&self, lane: usize) -> usize {
        if lane + 1 == self.lanes() { K - 1 } else { lane }
    }
}

#[inline(always)]
fn place<const F: usize, const K: usize>(
    rows: &[Row<F>],
    positions: &[u64],
    start: u64,
    states: &mut [Row<K>],
    widen: impl Fn(&Row<F>) -> Option<Row<K>>,
) -> Result<(), Misplaced> {
    for (number, (row, &position)) in rows.iter().zip(positions).enumerate() {
        let place = usize::try_from(position.wrapping_sub(start)).unwrap_or(usize::MAX);
        let Some(state) = states.get_mut(place) else { return Err(Misplaced::Position(position)) };
        let Some(row) = widen(row) else { return Err(Misplaced::Spare(number)) };
        *state = row;
    }
    Ok(())
}
