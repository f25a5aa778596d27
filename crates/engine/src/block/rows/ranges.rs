//! Cutting a family's blocks into ranges of similar size, for threads to take.
//!
//! ```text
//!   rows of a family   block block block | block block | block block block block | ...
//!   ranges             0                 | 1           | 2                       |
//! ```

use std::ops::Range;

use keima_model::{BlockTables, Family};

/// Fewest rows for which a range of their own pays.
pub(crate) const LEAST_RANGE_ROWS: usize = 1 << 12;

/// Ranges for each thread. More than one, so that no thread waits long for the last.
pub(crate) const RANGES_PER_THREAD: usize = 4;

/// Place of a block among its family's rows at a step. For the block after the last: the end of the rows.
pub(crate) fn place_or_end(tables: &BlockTables, family: &Family, step: usize, block: u32) -> usize {
    let place = if block == family.blocks.end { family.size[step] } else { tables.place(step, block) };
    place as usize
}

/// The first block in `blocks` that begins at or after `place` at a step. The end of the range if there is none.
pub(crate) fn block_at(tables: &BlockTables, step: usize, blocks: &Range<u32>, place: usize) -> u32 {
    let (mut low, mut high) = (blocks.start, blocks.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if (tables.place(step, middle) as usize) < place {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Cuts `blocks` into ranges of similar numbers of rows at a step. One thread gets a single range. Several threads
/// get several ranges each, where each range has at least `least_rows` rows.
pub(crate) fn ranges(
    tables: &BlockTables,
    family: &Family,
    step: usize,
    blocks: &Range<u32>,
    threads: usize,
    least_rows: usize,
) -> Vec<Range<u32>> {
    let first = place_or_end(tables, family, step, blocks.start);
    let rows = place_or_end(tables, family, step, blocks.end) - first;
    let count = if threads == 1 { 1 } else { (rows / least_rows).clamp(1, RANGES_PER_THREAD * threads) };
    let mut ranges = Vec::with_capacity(count);
    let mut start = blocks.start;
    for number in 1..=count {
        let last = number == count;
        let end = if last { blocks.end } else { block_at(tables, step, blocks, first + rows * number / count) };
        if end > start {
            ranges.push(start..end);
            start = end;
        }
    }
    ranges
}
