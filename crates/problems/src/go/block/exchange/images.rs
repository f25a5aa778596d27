//! Positions of the mirror images of one end window's states in the vector of the other end window.
//!
//! At the end of a column, after the last window and before the first, a state of window X is an outside o and an inside
//! e. The mirror brings some cells into window Y: these are *inner*, all others *outer*. The image's inside comes from the
//! inner cells, its outside from the outer ones:
//!
//! ```text
//!   7 cells, X = 0..4, Y = 4..7        cells of X-state   e e e e o o o
//!                                      inner or outer     i i i x x x x     cells 0..3 go to 6..4
//!      route to a block of Y        of the image of the outer codes of o and e: a row of a table for each o
//!      entry in that block          of the image of the inner codes, one column per signature of Y
//! ```
//!
//! Of o and e one has all inner codes and the other all outer ones, but for a cell or two where windows differ in length.
//! So tables are as small as those of [`super`]. Normalising is the same as there.
//!
//! Cost: three look-ups an entry.

use keima_model::End;
use rustc_hash::FxHashSet;

use super::route::{BlockStarts, NO_ENTRY, NO_POSITION, Route, index, outside_cells};
use crate::go::block::cells::mirror;
use crate::go::block::numbering::Numbering;
use crate::go::block::window::{GoWindow, StateIndex};
use crate::go::state::{Word, reverse};

/// The way from X's blocks to the positions of the images in Y's vector.
pub(crate) struct Images {
    of_block: Vec<CodePair>,
    of_entry: Vec<Vec<CodePair>>,
    /// `routes[outer of block * outer_count + outer of entry]`: the route to the block of Y.
    routes: Vec<Route>,
    outer_count: usize,
    /// `inners[inner of block * inner_count + inner of entry]`: number of the image's inside.
    inners: Vec<u32>,
    inner_count: usize,
    /// `entries[row * inside_count + inside]`. In this order, since the images of a block's entries have few signatures.
    entries: Vec<u16>,
    inside_count: usize,
}

/// Numbers of the outer and the inner codes of an outside or an inside.
#[derive(Clone, Copy)]
struct CodePair {
    outer: u32,
    inner: u32,
}

impl Images {
    /// The images of the blocks of `here` at its `end`, in the vector of `there` at its other one.
    pub(crate) fn new<W: Word>(
        height: u32,
        here: &GoWindow<W>,
        end: End,
        there: &GoWindow<W>,
        index_there: &StateIndex<W>,
    ) -> Result<Self, String> {
        let (here_end, there_end) = (index(end), 1 - index(end));
        let inner = mirror(there.inside, height);
        let [mut outers, mut inners, mut outer_codes, mut inner_codes, mut insides] =
            std::array::from_fn(|_| Numbering::default());
        let of_block = here.outsides.iter();
        let of_block = of_block
            .map(|&word| CodePair { outer: outers.number(word & !inner), inner: inners.number(word & inner) })
            .collect();
        let mut number =
            |&code: &W| CodePair { outer: outer_codes.number(code & !inner), inner: inner_codes.number(code & inner) };
        let of_entry = here.lists[here_end].iter().map(|list| list.iter().map(&mut number).collect()).collect();

        let outside = outside_cells(there);
        let starts = BlockStarts::new(there, there_end)?;
        let image = |a: W, b: W| mirror(a | b, height);
        let routes =
            for_pairs(&outers.items, &outer_codes.items, |a, b| starts.route(index_there, outside, image(a, b)));
        // Most pairs fit nowhere together. They share one number, which no entry of a block has.
        let listed: FxHashSet<W> = there.lists[there_end].iter().flat_map(|list| list.iter().copied()).collect();
        let all_inners = for_pairs(&inners.items, &inner_codes.items, |a, b| {
            let word = image(a, b);
            let fits = listed.contains(&word) || listed.contains(&reverse(word));
            insides.number(if fits { word } else { W::ZERO })
        });
        let words = &insides.items;
        let lists = &index_there.entries[there_end];
        let mut entries = Vec::with_capacity(2 * lists.len() * words.len());
        for list in lists {
            let all = words.iter().copied().chain(words.iter().map(|&word| reverse(word)));
            entries.extend(all.map(|word| list.get(word).unwrap_or(NO_ENTRY)));
        }
        Ok(Self {
            of_block,
            of_entry,
            routes,
            outer_count: outer_codes.items.len(),
            inners: all_inners,
            inner_count: inner_codes.items.len(),
            entries,
            inside_count: insides.items.len(),
        })
    }

    /// Overwrites `positions` with those of the images of all entries of X-block `block`, which has signature
    /// `signature`.
    pub(crate) fn positions(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        positions.clear();
        positions.extend(self.of_entry[signature as usize].iter().map(self.position(block)));
    }

    /// Overwrites each [`NO_POSITION`] with the position of the entry's image.
    pub(crate) fn fill(&self, block: u32, signature: u32, positions: &mut [u64]) {
        let image = self.position(block);
        for (position, entry) in positions.iter_mut().zip(&self.of_entry[signature as usize]) {
            if *position == NO_POSITION {
                *position = image(entry);
            }
        }
    }

    /// The position of an entry's image.
    fn position(&self, block: u32) -> impl Fn(&CodePair) -> u64 {
        let CodePair { outer, inner } = self.of_block[block as usize];
        let routes = &self.routes[outer as usize * self.outer_count..][..self.outer_count];
        let inners = &self.inners[inner as usize * self.inner_count..][..self.inner_count];
        move |&CodePair { outer, inner }| {
            let route = routes[outer as usize];
            route.start() + u64::from(self.entries[route.row() * self.inside_count + inners[inner as usize] as usize])
        }
    }

    /// Memory that the tables take.
    pub(crate) fn bytes(&self) -> u64 {
        let of_entry = self.of_entry.iter().map(|list| size_of_val(list.as_slice())).sum::<usize>();
        let tables = size_of_val(self.routes.as_slice()) + size_of_val(self.inners.as_slice());
        let entries = size_of_val(self.entries.as_slice()) + size_of_val(self.of_block.as_slice());
        (of_entry + tables + entries) as u64
    }
}

/// `make` of each of `first` with each of `second`. The result is large, so it is allocated once.
fn for_pairs<W: Word, T>(first: &[W], second: &[W], mut make: impl FnMut(W, W) -> T) -> Vec<T> {
    let mut made = Vec::with_capacity(first.len() * second.len());
    for &a in first {
        made.extend(second.iter().map(|&b| make(a, b)));
    }
    made
}
