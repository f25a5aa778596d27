//! Rows that are asked for before they are read: a hint to the processor, without which it waits for each.
//!
//! A processor has only so many instructions under way, some 30 rows' worth, and all of them wait for the oldest row that is
//! not in the cache. A row that was asked for is under way by itself. What that needs is unsafe code, since the hint takes an
//! address; a plain load of the same row instead does not help, it is waited for like any other.
//!
//! Measured: see [`crate::block::in_memory::family::exchange`]. On processors other than x86-64 nothing is asked for: the hint is not in stable Rust.
#![allow(unsafe_code)]

use crate::block::rows::lanes::Row;

/// In a list of its own a row is asked for so many rows before it is read.
const AHEAD: usize = 32;

/// Asks for the line in which a row begins. For a position that there is not, nothing happens.
#[inline(always)]
pub(crate) fn ask_for<const K: usize>(rows: &[Row<K>], position: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let row = rows.as_ptr().wrapping_add(position as usize);
        // SAFETY: a hint takes any address: it reads nothing that the program sees, and faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (rows, position);
}

/// Row number `number` of those at `positions`; one that comes later is asked for.
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
