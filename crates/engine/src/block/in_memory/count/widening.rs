//! Vectors whose lanes become more as their numbers grow.
//!
//! ```text
//!   lanes   2 : p0, spare  --->  4 : p0 p1 p2, spare  --->  8 : p0 ... p6, spare
//! ```
//!
//! Each row is widened by itself, and held against its spare lane then (see [`crate::block::rows::widen`]).
//!
//! Cost: 10 to 40 ns a row, shared by threads.

use crate::block::error::BlockError;
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::threads::crew;
use crate::block::rows::vector::Rows;
use crate::block::rows::widen::Growth;

/// Rows that a thread widens at a time. Not all that it does in one piece: where memory is touched for the first time, as
/// the second half of what held fewer lanes is, that takes ten times as long as the rest.
const PIECE: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// A vector with any number of lanes.
pub(crate) enum Lanes {
    Two(Rows<2>),
    Four(Rows<4>),
    Eight(Rows<8>),
}

/// Does the same with a vector whatever its lanes.
macro_rules! with_rows {
    ($lanes:expr, $rows:ident => $body:expr) => {
        match $lanes {
            Lanes::Two($rows) => $body,
            Lanes::Four($rows) => $body,
            Lanes::Eight($rows) => $body,
        }
    };
}
pub(crate) use with_rows;

macro_rules! lanes_from {
    ($($lanes:literal $variant:ident),*) => {$(
        impl From<Rows<$lanes>> for Lanes {
            fn from(rows: Rows<$lanes>) -> Self {
                Self::$variant(rows)
            }
        }
    )*};
}
lanes_from!(2 Two, 4 Four, 8 Eight);

/// Writes the rows of a vector, with `wider` lanes, to `grown`. What lies there behind them is not touched.
pub(crate) fn widen<const K: usize, const L: usize>(
    rows: &[Row<K>],
    moduli: &Moduli<K>,
    grown: &mut [Row<L>],
    wider: &Moduli<L>,
    threads: usize,
) -> Result<(), BlockError> {
    let growth = Growth::new(moduli, wider.values());
    let pieces = rows.chunks(PIECE).zip(grown.chunks_mut(PIECE)).enumerate();
    crew(threads, pieces, |(number, (rows, grown))| {
        for (place, (row, grown)) in rows.iter().zip(grown).enumerate() {
            let position = (number * PIECE + place) as u64;
            *grown = growth.lanes(row, 0).ok_or(BlockError::Spare { position })?;
        }
        Ok::<_, BlockError>(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use keima_residue::primes_below;

    use super::*;
    use keima_blocks::limits::MODULUS_LIMIT;

    fn moduli<const K: usize>() -> Moduli<K> {
        let primes: Vec<u64> = primes_below(MODULUS_LIMIT.into()).take(8).collect();
        let mut row = [primes[7]; K];
        row[..K - 1].copy_from_slice(&primes[..K - 1]);
        Moduli::new(row).unwrap()
    }

    fn row<const K: usize>(number: u64) -> Row<K> {
        moduli::<K>().values().map(|prime| number % prime)
    }

    /// However many threads share the rows; a row that is not what its spare lane says is named by its place.
    #[test]
    fn rows_are_widened_at_their_places() {
        let numbers: Vec<u64> = (0..37).map(|place| place * 31_415_926_535).collect();
        let rows: Vec<Row<2>> = numbers.iter().map(|&number| row(number)).collect();
        let expected: Vec<Row<4>> = numbers.iter().map(|&number| row(number)).collect();
        for threads in [0, 1, 2, 5, 40] {
            let mut grown = vec![[7; 4]; rows.len() + 2];
            widen(&rows, &moduli(), &mut grown, &moduli(), threads).unwrap();
            assert_eq!(grown[..rows.len()], expected, "{threads} threads");
            assert_eq!(grown[rows.len()..], [[7; 4]; 2], "{threads} threads");
            let mut wide = vec![[7; 8]; rows.len()];
            widen(&grown[..rows.len()], &moduli(), &mut wide, &moduli(), threads).unwrap();
            assert_eq!(wide, numbers.iter().map(|&number| row::<8>(number)).collect::<Vec<_>>(), "{threads} threads");
            for (false_place, lane) in [(0, 0), (18, 1), (36, 0)] {
                let mut rows = rows.clone();
                rows[false_place][lane] ^= 1;
                let error = widen(&rows, &moduli(), &mut grown, &moduli(), threads).unwrap_err();
                let found = matches!(error, BlockError::Spare { position } if position == false_place as u64);
                assert!(found, "{threads} threads, {false_place}: {error}");
            }
        }
    }
}
