//! How a column is cut into windows.

use keima_blocks::lanes::MOST_LANES;
use keima_blocks::limits::{LONGEST_WINDOW, LONGEST_WINDOW_AT_END};
use keima_model::Window;

use super::Request;
use super::memory::Memory;
use crate::plan::PlanError;

/// Time of one thread to write a state with eight lanes and to read it again.
const EXCHANGE_NANOS: f64 = 130.0;

/// Most windows of a column whose lengths are tried in every order.
const MOST_ORDERED: u32 = 6;

/// Longest window of a column. Where there are two windows, each is at an end.
pub(in crate::plan) fn longest_window(height: u32) -> u32 {
    if (LONGEST_WINDOW_AT_END + 1..=2 * LONGEST_WINDOW_AT_END).contains(&height) {
        LONGEST_WINDOW_AT_END
    } else {
        LONGEST_WINDOW
    }
}

/// The longest windows whose tables and largest family fit a worker. One lane of that family may take the memory of all
/// tasks: an exchange between windows costs more than passing over lanes a few at a time.
///
/// Where no such tables fit, they are made a part at a time: see [`in_parts`].
pub(super) fn windows(request: &Request<'_>, residues: u32) -> Result<Memory, PlanError> {
    let height = request.info.board().height;
    let longest = longest_window(height);
    let lengths = request.limits.window.map_or(1..=longest, |len| len..=len).rev();
    let got_bytes = request.limits.task_memory_bytes;
    let mut least_bytes = u64::MAX;
    for len in lengths.clone() {
        let memory = Memory::whole(request, Window::cut(height, len.min(longest)));
        if memory.needs.least_bytes() <= got_bytes {
            return Ok(memory);
        }
        least_bytes = least_bytes.min(memory.needs.least_bytes());
    }
    let cuts = lengths.flat_map(|len| cuts(height, len.min(LONGEST_WINDOW)));
    in_parts(request, residues, cuts)
        .map_err(|least| PlanError::Family { got_bytes, least_bytes: least_bytes.min(least) })
}

/// The fastest of the cuts that fit. The time of a cut: making the parts of a column, and writing and reading its states
/// once a window. The error is the least memory of any cut.
fn in_parts(request: &Request<'_>, residues: u32, cuts: impl Iterator<Item = Vec<Window>>) -> Result<Memory, u64> {
    let (blocks, limits) = (request.blocks, request.limits);
    let peak_states = request.peak_states();
    let lanes = residues.min(limits.residues_per_sweep.unwrap_or(MOST_LANES)).clamp(1, MOST_LANES);
    let (mut least_bytes, mut best) = (u64::MAX, None::<(f64, Memory)>);
    for windows in cuts.filter(|windows| windows.len() > 1) {
        let memory = Memory::parted(request, windows);
        if memory.needs.least_bytes() > limits.task_memory_bytes {
            least_bytes = least_bytes.min(memory.needs.least_bytes());
            continue;
        }
        let records = memory.group_records(request, lanes);
        let seconds = |window| blocks.parts_seconds(&memory.windows, window, peak_states, records);
        let tables = (0..memory.windows.len()).map(seconds);
        let exchanges = EXCHANGE_NANOS * 1e-9 * peak_states as f64 * memory.windows.len() as f64;
        let seconds = tables.sum::<f64>() + exchanges;
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, memory));
        }
    }
    best.map(|(_, memory)| memory).ok_or(least_bytes)
}

/// Cuts of a column into windows of at most `len` cells: even ones in every order of their lengths, and some with shorter
/// windows at both ends, where families are larger.
fn cuts(height: u32, len: u32) -> Vec<Vec<Window>> {
    let even = |height| Window::cut(height, len).into_iter().map(|window| window.len);
    let lengths: Vec<u32> = even(height).collect();
    let count = lengths.len() as u32;
    let mut cuts: Vec<Vec<u32>> = if count > MOST_ORDERED {
        vec![lengths.clone(), lengths.into_iter().rev().collect()]
    } else {
        // Lengths differ by one at most. A bit of an order says whether a window is one of the longer ones.
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let longer = lengths.iter().filter(|&&len| len == longest).count() as u32;
        let orders = (0..1_u32 << count).filter(|order| order.count_ones() == longer);
        orders.map(|order| (0..count).map(|at| longest - u32::from(order >> at & 1 == 0)).collect()).collect()
    };
    for end in (1..len).rev().filter(|end| 2 * end < height) {
        cuts.push(std::iter::once(end).chain(even(height - 2 * end)).chain([end]).collect());
    }
    cuts.iter().map(|lengths| Window::of_lengths(lengths)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two windows up to 16 cells, and of eight cells at its ends alone.
    #[test]
    fn columns_have_few_windows() {
        for (height, expected) in [
            (2, &[2][..]),
            (7, &[7]),
            (8, &[4, 4]),
            (9, &[5, 4]),
            (14, &[7, 7]),
            (15, &[8, 7]),
            (16, &[8, 8]),
            (17, &[6, 6, 5]),
            (21, &[7, 7, 7]),
        ] {
            let windows = Window::cut(height, longest_window(height));
            assert_eq!(windows, Window::of_lengths(expected), "{height} cells");
        }
    }

    /// Every cut covers the column, with windows of no more than the length, and none longer than it need be.
    #[test]
    fn cuts_cover_the_column() {
        for height in 2..=21 {
            for len in 1..=LONGEST_WINDOW.min(height) {
                let cuts = cuts(height, len);
                for windows in &cuts {
                    let case = format!("{height} cells by {len}: {windows:?}");
                    let mut next = 0;
                    for window in windows {
                        assert!(window.first == next && (1..=len).contains(&window.len), "{case}");
                        next = window.end();
                    }
                    assert_eq!(next, height, "{case}");
                }
                let fewest = height.div_ceil(len) as usize;
                assert!(cuts.iter().any(|windows| windows.len() == fewest), "{height} cells by {len}");
                assert!(cuts.iter().all(|windows| windows.len() <= fewest + 2), "{height} cells by {len}");
            }
        }
        let of = |lengths: &[u32]| Window::of_lengths(lengths);
        assert!([[4, 4, 5], [4, 5, 4], [5, 4, 4]].iter().all(|lengths| cuts(13, 5).contains(&of(lengths))));
        assert!(cuts(13, 5).contains(&of(&[2, 5, 4, 2])), "{:?}", cuts(13, 5));
    }
}
