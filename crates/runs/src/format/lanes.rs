//! Transposes rows to columns and back: a block stores each lane as one plain column of u64.
//!
//! ```text
//!   rows     r0l0 r0l1 r0l2 | r1l0 r1l1 r1l2 | ...
//!   columns  r0l0 r1l0 ...  | r0l1 r1l1 ...  | r0l2 ...      each number little-endian
//! ```
//!
//! Both directions work on tiles of at most eight lanes and [`TILE`] rows, with loops of constant width. They check
//! that every value is below its modulus. pulp compiles them for the machine's widest vector instructions. Cost:
//! about half a nanosecond per value.

// Code for the machine's vector instructions must be inlined into the dispatched function.
#![allow(clippy::inline_always)]

/// A value that is not below its modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreduced {
    pub(crate) lane: usize,
    pub(crate) value: u64,
    pub(crate) modulus: u64,
}

/// Rows per tile. With eight lanes a tile fits the registers of wide machines, and any cache.
const TILE: usize = 8;

/// Calls `$group::<W>` for each group of eight lanes, and for one smaller group.
macro_rules! by_groups {
    ($lanes:expr, |$start:ident, $width:ident| $group:expr) => {{
        let mut $start = 0;
        while $start < $lanes {
            by_groups!(@ 1, 2, 3, 4, 5, 6, 7; $lanes - $start, $width => $group)?;
            $start += 8;
        }
        Ok(())
    }};
    (@ $($few:literal),*; $left:expr, $width:ident => $group:expr) => {
        match $left {
            $($few => {
                const $width: usize = $few;
                $group
            })*
            _ => {
                const $width: usize = 8;
                $group
            }
        }
    };
}

/// Overwrites `out` with the columns of `rows`: 8 bytes a value, as many values as `rows`. Adds each column to its
/// entry of `sums`; with fewer than 2^32 rows, 128 bits suffice. `moduli` has one entry per lane.
pub(crate) fn to_columns(rows: &[u64], moduli: &[u64], out: &mut [u8], sums: &mut [u128]) -> Result<(), Unreduced> {
    let arch = pulp::Arch::new();
    by_groups!(moduli.len(), |start, W| arch.dispatch(ToColumns::<W> { rows, moduli, start, out, sums }))
}

/// Overwrites `rows` with the rows of `columns`: 8 bytes a value, as many values as `rows`.
pub(crate) fn to_rows(columns: &[u8], moduli: &[u64], rows: &mut [u64]) -> Result<(), Unreduced> {
    let arch = pulp::Arch::new();
    by_groups!(moduli.len(), |start, W| arch.dispatch(ToRows::<W> { columns, moduli, start, rows }))
}

/// Lanes `start .. start + W`.
struct ToColumns<'a, const W: usize> {
    rows: &'a [u64],
    moduli: &'a [u64],
    start: usize,
    out: &'a mut [u8],
    sums: &'a mut [u128],
}

impl<const W: usize> pulp::WithSimd for ToColumns<'_, W> {
    type Output = Result<(), Unreduced>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { rows, moduli, start, out, sums } = self;
        let records = rows.len() / moduli.len();
        let out = &mut out.as_chunks_mut::<8>().0[start * records..(start + W) * records];
        let (mut largest, mut low, mut high) = ([0; W], [0; W], [0; W]);
        for (number, rows) in rows.chunks(TILE * moduli.len()).enumerate() {
            let mut tile = [[[0; 8]; TILE]; W];
            for (i, row) in rows.chunks_exact(moduli.len()).enumerate().take(TILE) {
                for (k, &value) in row[start..start + W].iter().enumerate() {
                    tile[k][i] = value.to_le_bytes();
                    largest[k] = value.max(largest[k]);
                    low[k] += value & 0xffff_ffff;
                    high[k] += value >> 32;
                }
            }
            for (column, tile) in out.chunks_exact_mut(records).zip(&tile) {
                let column = &mut column[number * TILE..];
                match column.first_chunk_mut() {
                    Some(column) => *column = *tile,
                    None => column.copy_from_slice(&tile[..column.len()]),
                }
            }
        }
        for ((sum, low), high) in sums[start..].iter_mut().zip(low).zip(high) {
            *sum += u128::from(low) + (u128::from(high) << 32);
        }
        bounded(&largest, moduli, start)
    }
}

/// Lanes `start .. start + W`.
struct ToRows<'a, const W: usize> {
    columns: &'a [u8],
    moduli: &'a [u64],
    start: usize,
    rows: &'a mut [u64],
}

impl<const W: usize> pulp::WithSimd for ToRows<'_, W> {
    type Output = Result<(), Unreduced>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { columns, moduli, start, rows } = self;
        let records = rows.len() / moduli.len();
        let numbers = &columns.as_chunks::<8>().0[start * records..(start + W) * records];
        let mut largest = [0; W];
        for (number, rows) in rows.chunks_mut(TILE * moduli.len()).enumerate() {
            let mut tile = [[[0; 8]; TILE]; W];
            for (column, tile) in numbers.chunks_exact(records).zip(&mut tile) {
                let column = &column[number * TILE..];
                match column.first_chunk() {
                    Some(column) => *tile = *column,
                    None => tile[..column.len()].copy_from_slice(column),
                }
            }
            for (i, row) in rows.chunks_exact_mut(moduli.len()).enumerate().take(TILE) {
                for (k, value) in row[start..start + W].iter_mut().enumerate() {
                    *value = u64::from_le_bytes(tile[k][i]);
                    largest[k] = largest[k].max(*value);
                }
            }
        }
        bounded(&largest, moduli, start)
    }
}

fn bounded(largest: &[u64], moduli: &[u64], start: usize) -> Result<(), Unreduced> {
    for (k, (&value, &modulus)) in largest.iter().zip(&moduli[start..]).enumerate() {
        if value >= modulus {
            return Err(Unreduced { lane: start + k, value, modulus });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_as_rows() {
        for lanes in 1..=20 {
            for records in [0, 1, 2, 7, 33] {
                let moduli: Vec<u64> = (0..lanes as u64).map(|l| 1000 + l).collect();
                let rows: Vec<u64> = (0..(records * lanes) as u64).map(|i| i * 7919 % 1000).collect();
                let mut columns = vec![0; rows.len() * 8];
                let mut sums = vec![0; lanes];
                to_columns(&rows, &moduli, &mut columns, &mut sums).unwrap();
                for lane in 0..lanes {
                    let sum: u128 = rows.iter().skip(lane).step_by(lanes).map(|&v| u128::from(v)).sum();
                    assert_eq!(sums[lane], sum);
                    for record in 0..records {
                        let at = (lane * records + record) * 8;
                        assert_eq!(columns[at..at + 8], rows[record * lanes + lane].to_le_bytes());
                    }
                }
                let mut back = vec![9; rows.len()];
                to_rows(&columns, &moduli, &mut back).unwrap();
                assert_eq!(back, rows);
            }
        }
    }

    #[test]
    fn values_that_reach_their_modulus_are_told() {
        for lanes in [1, 4, 9, 17] {
            for lane in 0..lanes {
                let moduli = vec![100; lanes];
                let mut rows = vec![99; lanes * 3];
                rows[lanes + lane] = 100;
                let expected = Unreduced { lane, value: 100, modulus: 100 };
                let mut columns = vec![0; rows.len() * 8];
                let mut sums = vec![0; lanes];
                assert_eq!(to_columns(&rows, &moduli, &mut columns, &mut sums), Err(expected));
                for (i, value) in rows.iter().enumerate() {
                    let at = (i % lanes * 3 + i / lanes) * 8;
                    columns[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
                let mut back = vec![0; rows.len()];
                assert_eq!(to_rows(&columns, &moduli, &mut back), Err(expected));
            }
        }
    }
}
