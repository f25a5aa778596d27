//! Where the mirror image of a state of one end window of a column stands in the vector of the other.
//!
//! At the end of a column, after the last window and before the first, a state of window X is an outside o and an inside
//! e. Its image's inside in window Y is made of the cells that the mirror brings there, here called *inner*, and its
//! outside of all others, *outer*:
//!
//! ```text
//!   7 cells, X = 0..4, Y = 4..7        cells of X-state   e e e e o o o
//!                                      inner or outer     i i i x x x x     cells 0..3 go to 6..4
//!      route to a block of Y        of the image of the outer codes of o and e: a row of a table for each o
//!      place in that block          of the image of the inner codes, one entry per signature of Y
//! ```
//!
//! Of o and e one has all inner codes and the other all outer ones, but for a cell or two where windows differ in length:
//! so tables are as small as those of [`crate::go::block::exchange`]. Normalising is as there.
//!
//! Cost: 2 ns an entry; entries of a block have few blocks of Y between them.

use keima_model::End;
use rustc_hash::FxHashSet;

use crate::go::block::exchange::{BlockStarts, NO_ENTRY, NO_POSITION, Numbering, Route, outside_cells};
use crate::go::block::signature::fold::mirror;
use crate::go::block::window::{GoWindow, StateIndex};
use crate::go::state::{Word, reverse};

/// From X's blocks to the places of the images in Y's vector.
pub(crate) struct Images {
    /// For each X-block the number of its outer codes, and of its inner ones.
    of_block: Vec<(u32, u32)>,
    /// The same for each entry of each signature's list.
    of_entry: Vec<Vec<(u32, u32)>>,
    /// `routes[outer of block * outer_count + outer of entry]`: to the block of Y.
    routes: Vec<Route>,
    outer_count: usize,
    /// `inners[inner of block * inner_count + inner of entry]`: number of the image's inside.
    inners: Vec<u32>,
    inner_count: usize,
    /// `places[row * inside_count + inside]`: the images of a block's entries have few signatures.
    places: Vec<u16>,
    inside_count: usize,
}

impl Images {
    /// From the blocks of `here` at its `end` to the vector of `there` at its other one.
    pub(crate) fn new<W: Word>(
        height: u32,
        here: &GoWindow<W>,
        end: End,
        (there, finder): &(GoWindow<W>, StateIndex<W>),
    ) -> Result<Self, String> {
        let (here_end, there_end) = if end == End::First { (0, 1) } else { (1, 0) };
        let inner = mirror(there.inside, height);
        let [mut outers, mut inners, mut outer_codes, mut inner_codes, mut insides] =
            std::array::from_fn(|_| Numbering::default());
        let of_block = here.outsides.iter();
        let of_block = of_block.map(|&word| (outers.number(word & !inner), inners.number(word & inner))).collect();
        let mut number = |&code: &W| (outer_codes.number(code & !inner), inner_codes.number(code & inner));
        let of_entry = here.lists[here_end].iter().map(|list| list.iter().map(&mut number).collect()).collect();

        let outside = outside_cells(there);
        let starts = BlockStarts::new(there, there_end)?;
        let image = |a: W, b: W| mirror(a | b, height);
        let routes = for_pairs(&outers.words, &outer_codes.words, |a, b| starts.route(finder, outside, image(a, b)));
        // Most pairs fit nowhere together, and have one number: no entry of a block is asked for them.
        let listed: FxHashSet<W> = there.lists[there_end].iter().flat_map(|list| list.iter().copied()).collect();
        let all_inners = for_pairs(&inners.words, &inner_codes.words, |a, b| {
            let word = image(a, b);
            let fits = listed.contains(&word) || listed.contains(&reverse(word));
            insides.number(if fits { word } else { W::ZERO })
        });
        let words = &insides.words;
        let lists = &finder.places[there_end];
        let mut places = Vec::with_capacity(2 * lists.len() * words.len());
        for list in lists {
            let all = words.iter().copied().chain(words.iter().map(|&word| reverse(word)));
            places.extend(all.map(|word| list.get(word).unwrap_or(NO_ENTRY)));
        }
        Ok(Self {
            of_block,
            of_entry,
            routes,
            outer_count: outer_codes.words.len(),
            inners: all_inners,
            inner_count: inner_codes.words.len(),
            places,
            inside_count: insides.words.len(),
        })
    }

    /// Overwrites `positions` with those of the images of the entries of X-block `block`, whose signature is `signature`.
    pub(crate) fn positions(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        positions.clear();
        positions.extend(self.of_entry[signature as usize].iter().map(self.position(block)));
    }

    /// Tells the image's position where that of an entry is [`NO_POSITION`].
    pub(crate) fn fill(&self, block: u32, signature: u32, positions: &mut [u64]) {
        let image = self.position(block);
        for (position, entry) in positions.iter_mut().zip(&self.of_entry[signature as usize]) {
            if *position == NO_POSITION {
                *position = image(entry);
            }
        }
    }

    /// The position of an entry's image, by the numbers of its outer and inner codes.
    fn position(&self, block: u32) -> impl Fn(&(u32, u32)) -> u64 {
        let (outer, inner) = self.of_block[block as usize];
        let routes = &self.routes[outer as usize * self.outer_count..][..self.outer_count];
        let inners = &self.inners[inner as usize * self.inner_count..][..self.inner_count];
        move |&(outer, inner)| {
            let route = routes[outer as usize];
            route.start() + u64::from(self.places[route.row() * self.inside_count + inners[inner as usize] as usize])
        }
    }

    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.of_entry.iter().map(|list| size_of_val(list.as_slice())).sum::<usize>();
        let tables = size_of_val(self.routes.as_slice()) + size_of_val(self.inners.as_slice());
        let places = size_of_val(self.places.as_slice()) + size_of_val(self.of_block.as_slice());
        (entries + tables + places) as u64
    }
}

/// What is made of each of `first` with each of `second`. Large, so that it is not made by growing.
fn for_pairs<W: Word, T>(first: &[W], second: &[W], mut make: impl FnMut(W, W) -> T) -> Vec<T> {
    let mut made = Vec::with_capacity(first.len() * second.len());
    for &a in first {
        made.extend(second.iter().map(|&b| make(a, b)));
    }
    made
}
