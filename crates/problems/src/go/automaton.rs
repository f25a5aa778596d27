//! The number of border states: an automaton with a stack reads a border from the top and accepts the valid ones.
//!
//! A border is valid if two things hold. Neighbouring cells agree: no needy stone is beside an empty cell or a free stone of
//! its colour, and needy neighbours of one colour are of one string. And the connection flags match as brackets whose two
//! ends have the same colour. The reader's state is the last code and the stack of the colours of open connections. A
//! dynamic program over the cells counts the ways to each, from the top and from the bottom. `kink.rs` has the rule for
//! neighbours at a kink.
//!
//! Colour reversal is divided out. A few valid classes are not constructible, so the numbers are upper bounds. Paper:
//! sections 5.2 and 5.3, table 1. Cost: about 2^(m/2+1) stacks x 13 codes x 11 per cell.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use keima_model::Window;

use super::kink::{neighbour_across_kink, neighbours_agree};
use super::state::{ABOVE, BELOW, COLOUR, EDGE, EMPTY, NEEDY};

/// A set of codes, bit `c` for code `c`.
type Codes = u16;

/// All codes after the first column.
const ANY: Codes = 0b1111_1111_0000_1110;
/// Codes of a black stone.
const BLACK: Codes = ANY & 0b0101_0101_0101_0101 & !(1 << EMPTY);
/// Codes of a white stone.
const WHITE: Codes = ANY & 0b1010_1010_1010_1010 & !(1 << EMPTY);

/// Numbers of valid classes of border states at the kinks 0 to `height - 1`, after the first column.
pub fn classes(height: u32) -> Vec<u128> {
    let reader = Reader::new(vec![ANY; height as usize]);
    // All states but the empty border come in pairs.
    reader.count(0..height).into_iter().map(|states| states.div_ceil(2)).collect()
}

/// Number of valid states in the largest family of a stage over `window`, at the boundary where it is largest. That family
/// has stones on all cells outside the window, and their colours alternate.
///
/// The planner asks for the same windows again and again, so results are kept.
pub fn largest_family(height: u32, window: Window) -> u128 {
    static KNOWN: Mutex<BTreeMap<(u32, u32, u32), u128>> = Mutex::new(BTreeMap::new());
    let what = (height, window.first, window.len);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&states) = known().get(&what) {
        return states;
    }
    let states = count_largest_family(height, window);
    known().insert(what, states);
    states
}

fn count_largest_family(height: u32, window: Window) -> u128 {
    if window.len >= height {
        return classes(height).into_iter().max().unwrap_or(0);
    }
    // Above and below the window the colours alternate. The window's width decides how the two sides meet.
    [0, 1]
        .into_iter()
        .map(|swap| {
            let cells = 0..height;
            let colour = |cell: u32| if cell < window.first { cell % 2 } else { (cell + swap) % 2 };
            let allowed = cells.map(|cell| match () {
                () if (window.first..window.end()).contains(&cell) => ANY,
                () if colour(cell) == 0 => BLACK,
                () => WHITE,
            });
            largest_of(allowed.collect(), window)
        })
        .max()
        .unwrap_or(0)
}

/// Largest number of states with these codes over the boundaries of the window's passes.
fn largest_of(allowed: Vec<Codes>, window: Window) -> u128 {
    let kinks = window.first..window.end() + 1;
    Reader::new(allowed).count(kinks).into_iter().max().unwrap_or(0)
}

/// The automaton for one set of allowed codes per cell.
struct Reader {
    allowed: Vec<Codes>,
    /// Number of stacks. A stack is its colours in binary behind a leading 1, the top last; 0 is never one.
    stacks: usize,
}

/// The stack of no open connections.
const EMPTY_STACK: usize = 1;

impl Reader {
    fn new(allowed: Vec<Codes>) -> Self {
        // A connection takes two cells, so no more than m/2 are open at a time in a border that can be completed.
        let stacks = 2 << (allowed.len() / 2);
        Self { allowed, stacks }
    }

    /// Numbers of valid states at each of `kinks`; kink m is kink 0 of the next column.
    fn count(&self, kinks: Range<u32>) -> Vec<u128> {
        let height = self.allowed.len();
        let nothing = || vec![0_u128; 16 * self.stacks];

        // completions[i]: ways to read cells i.. to the end, from each (code of cell i-1, stack).
        let mut completions = vec![nothing(); height + 1];
        for last in 0..16 {
            completions[height][self.index(last, EMPTY_STACK)] = 1;
        }
        for cell in (0..height).rev() {
            let mut ways = nothing();
            for (last, stack) in self.readers() {
                let sum =
                    self.moves(cell, last, stack).map(|(code, stack)| completions[cell + 1][self.index(code, stack)]);
                ways[self.index(last, stack)] = sum.sum();
            }
            completions[cell] = ways;
        }

        // across[y]: valid states at kink y; prefixes: ways to read cells 0..cell and come to each (last code, stack).
        let without_kink = completions[0][self.index(EDGE, EMPTY_STACK)];
        let mut across = vec![without_kink; height + 1];
        let mut prefixes = nothing();
        prefixes[self.index(EDGE, EMPTY_STACK)] = 1;
        for cell in 0..height.saturating_sub(1) {
            let mut next = nothing();
            across[cell + 1] = 0;
            for (last, stack) in self.readers() {
                let ways = prefixes[self.index(last, stack)];
                if ways == 0 {
                    continue;
                }
                for (code, stack) in self.moves(cell, last, stack) {
                    next[self.index(code, stack)] += ways;
                    let neighbour = neighbour_across_kink(last, code);
                    across[cell + 1] += ways * completions[cell + 1][self.index(neighbour, stack)];
                }
            }
            prefixes = next;
        }
        kinks.map(|kink| across[kink as usize]).collect()
    }

    fn index(&self, last: u32, stack: usize) -> usize {
        last as usize * self.stacks + stack
    }

    /// All states of the reader.
    fn readers(&self) -> impl Iterator<Item = (u32, usize)> {
        (0..16).flat_map(|last| (EMPTY_STACK..self.stacks).map(move |stack| (last, stack)))
    }

    /// The codes that `cell` may have, each with the stack after it.
    fn moves(&self, cell: usize, last: u32, stack: usize) -> impl Iterator<Item = (u32, usize)> {
        let allowed = self.allowed[cell];
        (EMPTY..16)
            .filter(move |&code| allowed >> code & 1 == 1 && neighbours_agree(last, code))
            .filter_map(move |code| Some((code, self.follow(stack, code)?)))
    }

    /// The stack after `code`: its connection above closes the last one open, which must have its colour.
    fn follow(&self, mut stack: usize, code: u32) -> Option<usize> {
        let colour = (code & COLOUR) as usize;
        if code >= NEEDY {
            if code & ABOVE != 0 {
                if stack == EMPTY_STACK || stack & 1 != colour {
                    return None;
                }
                stack >>= 1;
            }
            if code & BELOW != 0 {
                stack = stack << 1 | colour;
            }
        }
        (stack < self.stacks).then_some(stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reproduces_the_published_table() {
        let mut rows = 0;
        for line in include_str!("../../../../tests/golden/go_border_state_classes.csv").lines() {
            let fields: Vec<u128> = line.split(',').map_while(|field| field.parse().ok()).collect();
            let [height, first, last] = fields[..] else { continue };
            let classes = classes(height as u32);
            assert_eq!((classes.first(), classes.last()), (Some(&first), Some(&last)), "m={height}");
            rows += 1;
        }
        assert_eq!(rows, 19);
    }

    /// The largest family over all 3^(m-w) colour patterns outside the window.
    fn largest_by_enumeration(height: u32, window: Window) -> u128 {
        let outside = height - window.len;
        let families = (0..3_u32.pow(outside)).map(|family| {
            let mut digits = family;
            let allowed = (0..height).map(|cell| {
                if (window.first..window.end()).contains(&cell) {
                    return ANY;
                }
                let digit = digits % 3;
                digits /= 3;
                [1 << EMPTY, BLACK, WHITE][digit as usize]
            });
            largest_of(allowed.collect(), window)
        });
        families.max().unwrap_or(0)
    }

    #[test]
    fn alternating_colours_make_the_largest_family() {
        for height in 2..=7 {
            for len in 1..height {
                for first in 0..=height - len {
                    let window = Window { first, len };
                    let expected = largest_by_enumeration(height, window);
                    assert_eq!(largest_family(height, window), expected, "m={height} {window:?}");
                }
            }
        }
    }
}
