//! Rows to columns and back: a block keeps each lane as one plain column of u64.
//!
//! ```text
//!   rows     r0l0 r0l1 r0l2 | r1l0 r1l1 r1l2 | ...
//!   columns  r0l0 r1l0 ...  | r0l1 r1l1 ...  | r0l2 ...      each number little-endian
//! ```
//!
//! Both ways go through groups of at most eight lanes with loops of known width, and check on the way that every value
//! is below its modulus. Cost: about a nanosecond a lane.

/// A value that is not below its modulus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreduced {
    pub(crate) lane: usize,
    pub(crate) value: u64,
    pub(crate) modulus: u64,
}

/// Calls `$group::<W>` for lanes in groups of eight and one smaller group.
macro_rules! by_groups {
    ($group:ident, $lanes:expr, |$start:ident| ($($argument:expr),*)) => {{
        let mut $start = 0;
        while $start < $lanes {
            match $lanes - $start {
                1 => $group::<1>($($argument),*)?,
                2 => $group::<2>($($argument),*)?,
                3 => $group::<3>($($argument),*)?,
                4 => $group::<4>($($argument),*)?,
                5 => $group::<5>($($argument),*)?,
                6 => $group::<6>($($argument),*)?,
                7 => $group::<7>($($argument),*)?,
                _ => $group::<8>($($argument),*)?,
            }
            $start += 8;
        }
    }};
}

/// Writes the columns of `rows` over `out` (8 bytes a number, of the same size as `rows`) and adds each column to its
/// entry of `sums` (fewer than 2^64 terms, so that 128 bits suffice). `moduli` has one entry per lane.
pub(crate) fn to_columns(rows: &[u64], moduli: &[u64], out: &mut [u8], sums: &mut [u128]) -> Result<(), Unreduced> {
    let lanes = moduli.len();
    let records = rows.len() / lanes.max(1);
    by_groups!(group_to_columns, lanes, |start| (rows, moduli, start, records, out, sums));
    Ok(())
}

fn group_to_columns<const W: usize>(
    rows: &[u64],
    moduli: &[u64],
    start: usize,
    records: usize,
    out: &mut [u8],
    sums: &mut [u128],
) -> Result<(), Unreduced> {
    let mut largest = [0_u64; W];
    let mut totals = [0_u128; W];
    let out = &mut out.as_chunks_mut::<8>().0[start * records..(start + W) * records];
    let mut columns = out.chunks_exact_mut(records.max(1));
    let columns: [&mut [[u8; 8]]; W] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    for (i, row) in rows.chunks_exact(moduli.len()).enumerate() {
        let row = &row[start..start + W];
        for k in 0..W {
            columns[k][i] = row[k].to_le_bytes();
            largest[k] = largest[k].max(row[k]);
            totals[k] += u128::from(row[k]);
        }
    }
    for (sum, total) in sums[start..].iter_mut().zip(totals) {
        *sum += total;
    }
    bounded(&largest, moduli, start)
}

/// Writes the rows of `columns` (8 bytes a number) over `rows`, which has as many numbers.
pub(crate) fn to_rows(columns: &[u8], moduli: &[u64], rows: &mut [u64]) -> Result<(), Unreduced> {
    let lanes = moduli.len();
    let records = rows.len() / lanes.max(1);
    by_groups!(group_to_rows, lanes, |start| (columns, moduli, start, records, rows));
    Ok(())
}

fn group_to_rows<const W: usize>(
    columns: &[u8],
    moduli: &[u64],
    start: usize,
    records: usize,
    rows: &mut [u64],
) -> Result<(), Unreduced> {
    let mut largest = [0_u64; W];
    let numbers = &columns.as_chunks::<8>().0[start * records..(start + W) * records];
    let mut columns = numbers.chunks_exact(records.max(1));
    let columns: [&[[u8; 8]]; W] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    for (i, row) in rows.chunks_exact_mut(moduli.len()).enumerate() {
        let row = &mut row[start..start + W];
        for k in 0..W {
            let value = u64::from_le_bytes(columns[k][i]);
            largest[k] = largest[k].max(value);
            row[k] = value;
        }
    }
    bounded(&largest, moduli, start)
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
