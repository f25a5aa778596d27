//! Widening a vector when its values need more lanes.

use crate::block::error::BlockError;
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::threads::crew;
use crate::block::rows::vector::Rows;
use crate::block::rows::widen::Widening;

/// Rows that a thread widens at a time. Few, because some memory is touched for the first time, which is slow, and
/// threads must share it.
const ROWS_AT_A_TIME: usize = if cfg!(test) { 8 } else { 1 << 16 };

/// A vector with one of the possible numbers of lanes.
pub(crate) enum AnyRows {
    Two(Rows<2>),
    Four(Rows<4>),
    Eight(Rows<8>),
}

/// Does the same for any number of lanes.
macro_rules! with_rows {
    ($lanes:expr, $rows:ident => $body:expr) => {
        match $lanes {
            AnyRows::Two($rows) => $body,
            AnyRows::Four($rows) => $body,
            AnyRows::Eight($rows) => $body,
        }
    };
}
pub(crate) use with_rows;

macro_rules! lanes_from {
    ($($lanes:literal $variant:ident),*) => {$(
        impl From<Rows<$lanes>> for AnyRows {
            fn from(rows: Rows<$lanes>) -> Self {
                Self::$variant(rows)
            }
        }
    )*};
}
lanes_from!(2 Two, 4 Four, 8 Eight);

/// Writes the widened rows to the front of `wide`. Rows after them are not touched.
pub(crate) fn widen<const K: usize, const L: usize>(
    rows: &[Row<K>],
    moduli: &Moduli<K>,
    wide: &mut [Row<L>],
    wide_moduli: &Moduli<L>,
    threads: usize,
) -> Result<(), BlockError> {
    let widening = Widening::new(moduli, wide_moduli.values());
    let pieces = rows.chunks(ROWS_AT_A_TIME).zip(wide.chunks_mut(ROWS_AT_A_TIME)).enumerate();
    crew(threads, pieces, |(number, (rows, wider))| {
        for (place, (row, wider)) in rows.iter().zip(wider).enumerate() {
            let position = (number * ROWS_AT_A_TIME + place) as u64;
            *wider = widening.lanes(row, 0).ok_or(BlockError::Spare { position })?;
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

    /// Any number of threads gives the same rows. An error names the place of the row whose spare lane is wrong.
    #[test]
    fn rows_are_widened_at_their_places() {
        let numbers: Vec<u64> = (0..37).map(|place| place * 31_415_926_535).collect();
        let rows: Vec<Row<2>> = numbers.iter().map(|&number| row(number)).collect();
        let expected: Vec<Row<4>> = numbers.iter().map(|&number| row(number)).collect();
        for threads in [0, 1, 2, 5, 40] {
            let mut wider = vec![[7; 4]; rows.len() + 2];
            widen(&rows, &moduli(), &mut wider, &moduli(), threads).unwrap();
            assert_eq!(wider[..rows.len()], expected, "{threads} threads");
            assert_eq!(wider[rows.len()..], [[7; 4]; 2], "{threads} threads");
            let mut wide = vec![[7; 8]; rows.len()];
            widen(&wider[..rows.len()], &moduli(), &mut wide, &moduli(), threads).unwrap();
            assert_eq!(wide, numbers.iter().map(|&number| row::<8>(number)).collect::<Vec<_>>(), "{threads} threads");
            for (false_place, lane) in [(0, 0), (18, 1), (36, 0)] {
                let mut rows = rows.clone();
                rows[false_place][lane] ^= 1;
                let error = widen(&rows, &moduli(), &mut wider, &moduli(), threads).unwrap_err();
                let found = matches!(error, BlockError::Spare { position } if position == false_place as u64);
                assert!(found, "{threads} threads, {false_place}: {error}");
            }
        }
    }
}
