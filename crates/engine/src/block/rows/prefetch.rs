//! Prefetching rows that are read from all over a vector.
//!
//! A processor keeps only a limited number of instructions in flight, and all of them wait for the oldest row that is
//! not in the cache. A prefetched row arrives on its own. A plain load in place of the hint does not help: the
//! processor waits for it as for any other. The hint takes an address, so it needs unsafe code.
//!
//! On processors other than x86-64 nothing is prefetched: stable Rust has no such hint there.
#![allow(unsafe_code)]

use crate::block::rows::lanes::Row;

/// Distance in a list of positions between a row that is prefetched and the row that is read.
const AHEAD: usize = 32;

/// Prefetches the cache line in which a row begins. Does nothing for a position outside the vector.
#[inline(always)]
pub(crate) fn ask_for<const K: usize>(rows: &[Row<K>], position: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let row = rows.as_ptr().wrapping_add(position as usize);
        // SAFETY: the hint accepts any address. It reads nothing that the program can see, and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (rows, position);
}

/// Row number `number` of those at `positions`. Prefetches a later one.
#[inline(always)]
pub(crate) fn read_on<'r, const K: usize>(rows: &'r [Row<K>], positions: &[u64], number: usize) -> &'r Row<K> {
    if let Some(&later) = positions.get(number + AHEAD) {
        ask_for(rows, later);
    }
    &rows[positions[number] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_position_may_be_asked_for() {
        let rows = [[7; 4]; 3];
        for position in [0, 2, 3, 1 << 40, u64::MAX] {
            ask_for(&rows, position);
            ask_for::<4>(&[], position);
        }
        assert_eq!(rows, [[7; 4]; 3]);
    }

    #[test]
    fn rows_are_read_at_their_positions() {
        let rows: Vec<Row<2>> = (0..100).map(|number| [number, number * number]).collect();
        let positions: Vec<u64> = (0..100).map(|number| number * 37 % 100).collect();
        for (number, &position) in positions.iter().enumerate() {
            assert_eq!(read_on(&rows, &positions, number), &[position, position * position]);
        }
    }
}
