//! What the cells of a border say, read off its word of four bits a cell.
//!
//! ```text
//!   colours      0 empty, 2 black, 3 white, in the low two bits of each nibble
//!   family       the stones outside a window and their colours: no pass of the window changes them
//!   rest         the colours of some cells in two bits a cell; a border and its colour reversal have the same
//!   potential    32 x (needy stones) + (open connections): far operations lower it
//! ```
//!
//! Cost: a few bit operations, or a step per cell.

use std::ops::Range;

use keima_model::Window;

use crate::go::state::{ABOVE, BELOW, NEEDY, Word, stones};

/// All bits of some cells.
pub(crate) fn cell_bits<W: Word>(cells: Range<u32>) -> W {
    cells.fold(W::ZERO, |bits, cell| bits | W::truncate(0xf) << (4 * cell))
}

/// All bits of a window's cells.
pub(crate) fn inside_of<W: Word>(window: Window) -> W {
    cell_bits(window.first..window.end())
}

/// The stones of an outside, and which of them are white.
pub(crate) fn family<W: Word>(outside: W) -> (W, W) {
    let all = stones(outside);
    (all, outside & all)
}

/// The colours of some cells. `cells` has the low bit of the nibble of each.
pub(crate) fn colours<W: Word>(word: W, cells: W) -> W {
    let all = stones(word) & cells;
    all << 1 | word & all
}

/// The same colours with black and white exchanged.
pub(crate) fn reverse_colours<W: Word>(colours: W) -> W {
    colours ^ (colours >> 1 & W::ONES)
}

/// The same colours if the first stone is black, and reversed if it is white.
pub(crate) fn normal_colours<W: Word>(colours: W) -> W {
    let first = (colours & (W::ONES << 1)).lowest();
    if colours & first >> 1 == W::ZERO { colours } else { reverse_colours(colours) }
}

/// The rest: the colours of some cells, the same for both colourings of a class, in two bits a cell.
pub(crate) fn rest<W: Word>(word: W, cells: W) -> u64 {
    let colours = colours(word, cells);
    compact(colours.min(reverse_colours(colours)))
}

/// The low two bits of each nibble, side by side.
fn compact<W: Word>(colours: W) -> u64 {
    let half = |half: u64| {
        let pairs = (half | half >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
        let bytes = (pairs | pairs >> 4) & 0x00ff_00ff_00ff_00ff;
        let words = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
        (words | words >> 16) & 0xffff_ffff
    };
    let wide = colours.widen();
    half(wide as u64) | half((wide >> 64) as u64) << 32
}

/// The potential of the part of `word` in `cells`. An outside has the sum over its two parts.
pub(crate) fn potential<W: Word>(word: W, cells: Range<u32>) -> u32 {
    let needy = cells.clone().filter(|&cell| (word >> (4 * cell + 3)).low() & 1 != 0).count() as u32;
    32 * needy + open_connections(word, cells)
}

/// Number of connections that lead out of the part of `word` in `cells`, at both of its ends.
fn open_connections<W: Word>(word: W, cells: Range<u32>) -> u32 {
    let (mut unmatched, mut open) = (0, 0_u32);
    for cell in cells {
        let code = (word >> (4 * cell)).low() & 0xf;
        if code < NEEDY {
            continue;
        }
        if code & ABOVE != 0 {
            match open.checked_sub(1) {
                Some(rest) => open = rest,
                None => unmatched += 1,
            }
        }
        open += u32::from(code & BELOW != 0);
    }
    unmatched + open
}

/// The mirror image, top to bottom, of a border of `height` cells. Any of its nibbles may be 0.
pub(crate) fn mirror<W: Word>(state: W, height: u32) -> W {
    let image = (0..height)
        .fold(W::ZERO, |image, cell| image | (state >> (4 * cell) & W::truncate(0xf)) << (4 * (height - 1 - cell)));
    // Needy stones: the flags above and below change places.
    let needy = image >> 3 & W::ONES;
    let flags = needy << 1 | needy << 2;
    image & !flags | (image & needy << 1) << 1 | (image & needy << 2) >> 1
}
