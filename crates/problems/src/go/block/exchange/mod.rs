//! The exchange: positions of a window's states in the vector of the neighbouring window.
//!
//! At the boundary between window X and its neighbour Y a state has three parts: the codes x in X, the codes y in Y,
//! and the rest r. For X its outside is (y, r) and its inside x; for Y the outside is (x, r) and the inside y.
//!
//! ```text
//!   entries of an X-block (y, r):   x0 x1 x2 ...        the list of its signature
//!      route to Y                   b0 b1 b2 ...        of outside (xi, r): where its block begins in Y's vector, and its
//!                                                       signature; a row of a table for each r, shared by all X-blocks
//!                                                       with this r
//!      entry in that block          p0 p1 p2 ...        of y in the list of that signature: a row of a table for each y,
//!                                                       one column per signature
//!      position in Y's vector       start of bi + pi
//! ```
//!
//! So a position takes three small look-ups and no hashing, whatever the order of the blocks. Normalising: Y's outside has
//! its first stone black. Where the first stone of (x, r) is white, all three parts are reversed; the tables hold both.
//! Where neither r nor x has a stone, Y keeps all colourings and nothing is reversed.
//!
//! Cost: three look-ups a state. Memory: (rests) x (codes of X) words and (codes of Y) x (signatures of Y) half-words.
//!
//! - [`route`]: the way to a block of Y; [`positions`]: the tables drawn above;
//! - [`images`]: the same for mirror images at the ends of a column.

pub(crate) mod images;
pub(crate) mod positions;
pub(crate) mod route;

use std::sync::Arc;

use keima_model::{End, SAMPLE_ONE_IN, mix};
use rustc_hash::FxHashMap;

use crate::go::block::cells::{colours, normal_colours};
use crate::go::block::numbering::Numbering;
use crate::go::block::window::{GoWindow, StateIndex};
use crate::go::state::{Word, reverse, stones};
use positions::{Codes, PositionTables, Positions};
use route::{NONE, index};

/// The way from X's blocks to Y's positions.
pub(crate) struct Exchange {
    positions: Positions,
    /// For each X-block twice the number of its rest's colours, plus 1 where its outside has no stone. Together with an
    /// entry's colours this decides where the entry belongs.
    classes: Vec<u32>,
    /// `patterns[signature][entry]`: number of the colours of a code of X.
    patterns: Vec<Vec<u16>>,
    pattern_count: usize,
    /// `families[rest * pattern_count + pattern]`: family of Y, or [`NONE`].
    families: Vec<u32>,
    /// Hashes of the codes of X, for each signature's list; and of y, for each X-block. See [`Exchange::sample`].
    code_hashes: Vec<Vec<u8>>,
    other_hashes: Vec<u8>,
}

/// A hash of the codes of some cells, the same for their reversal, below [`SAMPLE_ONE_IN`].
fn hash<W: Word>(word: W) -> u8 {
    let mixed = mix::fold(word.min(reverse(word)).widen()).wrapping_mul(mix::GOLDEN);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u8 % SAMPLE_ONE_IN as u8
}

/// What an exchange must know of the window Y.
pub(crate) struct Neighbour<'a, W> {
    /// All bits of its cells.
    pub(crate) inside: W,
    /// The numbers of its families, by their colours.
    pub(crate) families: &'a FxHashMap<W, u32>,
    /// Its blocks, where anybody asks for positions: those of the families that have numbers.
    pub(crate) blocks: Option<(&'a GoWindow<W>, &'a StateIndex<W>)>,
}

/// The numbers of a window's families, by their colours.
pub(crate) fn family_numbers<W: Word>(window: &GoWindow<W>) -> FxHashMap<W, u32> {
    let first = window.tables.families.iter().map(|family| window.outsides[family.blocks.start as usize]);
    first.map(|outside| colours(outside, W::ONES)).zip(0..).collect()
}

impl Exchange {
    /// The exchange from the blocks of `here` at its `end` to the vector of `there` at its other one.
    pub(crate) fn new<W: Word>(here: &GoWindow<W>, end: End, there: &Neighbour<'_, W>) -> Result<Self, String> {
        let cells = W::ONES;
        let rest_cells = !(here.inside | there.inside) & cells;
        let (mut rests, mut inner) = (Numbering::default(), Numbering::default());
        // The blocks of a family have its colours.
        let mut classes = Vec::with_capacity(here.outsides.len());
        for family in &here.tables.families {
            let word = here.pattern(family);
            let class = 2 * rests.number(colours(word, rest_cells)) + u32::from(stones(word) == W::ZERO);
            classes.resize(family.blocks.end as usize, class);
        }
        let lists = here.lists[index(end)].iter();
        let patterns: Vec<Vec<u16>> =
            lists.map(|list| list.iter().map(|&code| inner.number(colours(code, cells)) as u16).collect()).collect();
        let alone = here.inside == there.inside;
        let family = |colours: W| {
            there.families.get(&if alone { W::ZERO } else { normal_colours(colours) }).copied().unwrap_or(NONE)
        };
        let pairs = rests.items.iter().flat_map(|rest| inner.items.iter().map(move |pattern| *rest | *pattern));
        let families: Vec<u32> = pairs.map(family).collect();
        let pattern_count = inner.items.len();
        let positions = match there.blocks {
            None => Positions::None,
            Some((_, index_there)) if alone => Positions::alone(here, end, index_there)?,
            Some((there, index_there)) => {
                let leads = |pattern: usize| families.iter().skip(pattern).step_by(pattern_count).any(|&f| f != NONE);
                let asked: Vec<bool> = (0..pattern_count).map(leads).collect();
                let codes = Codes { here, end, patterns: &patterns, asked: &asked };
                Positions::Neighbours(PositionTables::new(&codes, there, index_there)?)
            }
        };
        let hashes = |list: &Arc<Vec<W>>| list.iter().map(|&code| hash(code)).collect();
        let code_hashes = here.lists[index(end)].iter().map(hashes).collect();
        let other = if alone { W::ZERO } else { there.inside };
        let other_hashes = here.outsides.iter().map(|&word| hash(word & other)).collect();
        Ok(Self { positions, classes, patterns, pattern_count, families, code_hashes, other_hashes })
    }

    /// Memory that the exchange takes.
    pub(crate) fn bytes(&self) -> u64 {
        fn of<T>(items: &[T]) -> usize {
            size_of_val(items)
        }
        let lists = self.patterns.iter().map(|list| of(list)).chain(self.code_hashes.iter().map(|list| of(list)));
        let own = of(&self.classes) + of(&self.families) + of(&self.other_hashes);
        self.positions.bytes() + (own + lists.sum::<usize>()) as u64
    }

    /// Overwrites `families` with those of Y that the entries of X-block `block` belong to.
    pub(crate) fn families(&self, block: u32, signature: u32, families: &mut Vec<u32>) {
        let first = (self.classes[block as usize] / 2) as usize * self.pattern_count;
        let row = &self.families[first..first + self.pattern_count];
        families.clear();
        families.extend(self.patterns[signature as usize].iter().map(|&pattern| row[usize::from(pattern)]));
    }

    /// See `BlockColumn::exchange_class`.
    pub(crate) fn class(&self, block: u32) -> u32 {
        self.classes[block as usize]
    }

    /// Overwrites `sample` with the entries of X-block `block` in the boundary's sample of `key`: the hashes of their x and
    /// y add up to the key. Both windows find the same states, since reversed codes have the same hash.
    pub(crate) fn sample(&self, block: u32, signature: u32, key: u64, sample: &mut Vec<u16>) {
        sample.clear();
        let key = (key % SAMPLE_ONE_IN) as u8;
        let wanted = key.wrapping_sub(self.other_hashes[block as usize]) % SAMPLE_ONE_IN as u8;
        let hashes = &self.code_hashes[signature as usize];
        // A list has at most 2^16 entries.
        sample.extend(memchr::memchr_iter(wanted, hashes).map(|entry| entry as u16));
    }

    /// Overwrites `positions` with those of the entries of X-block `block`, which has signature `signature`.
    pub(crate) fn positions(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        self.positions.all::<false>(block, signature, positions);
    }

    /// The same; [`NO_POSITION`](route::NO_POSITION) for entries that Y does not have.
    pub(crate) fn known_positions(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        self.positions.all::<true>(block, signature, positions);
    }

    /// The same for some entries.
    pub(crate) fn positions_of(&self, block: u32, signature: u32, entries: &[u16], positions: &mut Vec<u64>) {
        self.positions.some(block, signature, entries, positions);
    }
}
