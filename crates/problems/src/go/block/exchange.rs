//! Where a state of one window stands in the vector of the neighbouring window.
//!
//! At the boundary between window X and its neighbour Y a state has three parts: the codes x in X, the codes y in Y,
//! and the rest r. For X its outside is (y, r) and its inside x; for Y the outside is (x, r) and the inside y.
//!
//! ```text
//!   entries of an X-block (y, r):   x0 x1 x2 ...        the list of its signature
//!      route to Y                   b0 b1 b2 ...        of outside (xi, r): where its block begins in Y's vector, and its
//!                                                       signature; a row of a table for each r, shared by all X-blocks
//!                                                       with this r
//!      place in that block          p0 p1 p2 ...        of y in the list of that signature: a row of a table for each y,
//!                                                       one entry per signature
//!      position in Y's vector       start of bi + pi
//! ```
//!
//! So a position takes three small look-ups and no hashing, whatever the order of the blocks. Normalising: Y's outside
//! has its first stone black, so where that of (x, r) is white all three parts are reversed; the tables hold both.
//! Where r has no stone and x has none, Y keeps all colourings and nothing is reversed.
//!
//! Cost: 1 to 3 ns a state. Memory: (rests) x (codes of X) words and (codes of Y) x (signatures of Y) half-words: 24 MB at
//! m=13 with windows of 7 and 6 cells, for forward passes.

use std::sync::Arc;

use keima_model::{End, SAMPLE_ONE_IN, mix};
use rustc_hash::FxHashMap;

use super::super::state::{Word, normalise, reverse, stones};
use super::window::{Finder, GoWindow, colours, reverse_colours};

/// A family that no state of the boundary has, or a code that is not asked for.
const NONE: u32 = u32::MAX;

/// A place of a state that is in no list: where the column is folded, its image is. Folded lists are shorter.
pub(super) const MISSING: u16 = u16::MAX;

/// A position of such a state.
pub(super) const NOWHERE: u64 = u64::MAX;

/// A position but for the place in the block: where the block begins in the vector, and which row of a table of places
/// tells the place. Both in one word, `row << 40 | start`, since looking them up is what an exchange does most.
#[derive(Clone, Copy)]
pub(super) struct Route(u64);

impl Route {
    /// Bits of a start: a vector of so many rows takes 8 TiB at least.
    const START_BITS: u32 = 40;
    /// Bits of a signature: its row is twice its number, and the next one where the block's outside is reversed.
    const SIGNATURE_BITS: u32 = u64::BITS - Self::START_BITS - 1;
    /// To a block that no state of the boundary has.
    const NONE: Self = Self(u64::MAX);

    /// To a block that is not reversed; its numbers have room, see [`Starts::new`].
    fn new(signature: u32, start: u64) -> Self {
        Self(u64::from(signature) << (Self::START_BITS + 1) | start)
    }

    /// To the same block, where its outside is reversed.
    fn reversed_if(self, reversed: bool) -> Self {
        Self(self.0 | u64::from(reversed) << Self::START_BITS)
    }

    #[inline]
    pub(super) fn start(self) -> u64 {
        self.0 & ((1 << Self::START_BITS) - 1)
    }

    #[inline]
    pub(super) fn row(self) -> usize {
        (self.0 >> Self::START_BITS) as usize
    }
}

/// To each block of a vector, not reversed.
pub(super) struct Starts(Vec<Route>);

impl Starts {
    /// At the first (0) or the last step (1) of a window.
    pub(super) fn new<W: Word>(window: &GoWindow<W>, end: usize) -> Result<Self, String> {
        let tables = &window.tables;
        let step = if end == 0 { 0 } else { window.window.len as usize };
        let (states, signatures) = (tables.states[step], tables.signatures.len());
        if states >> Route::START_BITS != 0 || signatures >> Route::SIGNATURE_BITS != 0 {
            return Err(format!(
                "a vector of {states} states in blocks of {signatures} signatures: fewer than 2^{} states and \
                 2^{} signatures are possible, try shorter windows",
                Route::START_BITS,
                Route::SIGNATURE_BITS
            ));
        }
        let mut starts = Vec::with_capacity(tables.signature_of.len());
        for family in &tables.families {
            starts.extend(family.blocks.clone().map(|block| {
                let start = family.start[step] + tables.place(step, block);
                Route::new(tables.signature_of[block as usize], start)
            }));
        }
        Ok(Self(starts))
    }

    /// Where a block begins.
    fn of(&self, block: u32) -> u64 {
        self.0[block as usize].start()
    }

    /// To the block of an outside or its reversal, if `finder` knows one; `outside` as of [`outside_cells`].
    pub(super) fn route<W: Word>(&self, finder: &Finder<W>, outside: W, word: W) -> Route {
        let representative = normalise(word, outside);
        let block = finder.block_of.get(&representative);
        block.map_or(Route::NONE, |&block| self.0[block as usize].reversed_if(representative != word))
    }

    /// Memory that it takes.
    fn bytes(&self) -> u64 {
        size_of_val(self.0.as_slice()) as u64
    }
}

/// The low bit of the nibble of every cell outside a window.
pub(super) fn outside_cells<W: Word>(window: &GoWindow<W>) -> W {
    !window.inside & W::ONES
}

/// The way from X's blocks to Y's positions.
pub(super) struct Exchange {
    kind: Kind,
    /// For each X-block a number for the colours of its rest, and whether it has no stone: what decides, together with
    /// an entry's colours, where the entry belongs.
    classes: Vec<u32>,
    /// Numbers of the colours of the codes of X, for each signature's list.
    patterns: Vec<Vec<u16>>,
    pattern_count: usize,
    /// `families[rest * pattern_count + pattern]`: family of Y, or [`NONE`].
    families: Vec<u32>,
    /// Hashes of the codes of X, for each signature's list, and of the y of each X-block: see [`Exchange::sample`].
    code_hashes: Vec<Vec<u8>>,
    other_hashes: Vec<u8>,
}

enum Kind {
    /// X and Y are one window, the only one of the column: for each signature the places of X's entries in Y's list.
    Alone(Starts, Vec<Vec<u16>>),
    Neighbours(Tables),
    /// No positions.
    Unasked,
}

/// The tables drawn above.
struct Tables {
    /// For each X-block the row of `routes`, by its rest.
    rest_of: Vec<u32>,
    /// For each X-block the number of its y, unreversed.
    other_of: Vec<u32>,
    /// Codes of X: `codes[signature][i]` numbers entry i of the X-list; [`NONE`] if it is not asked for.
    codes: Vec<Vec<u32>>,
    /// `routes[rest * codes + code]`: to the block of Y.
    routes: Vec<Route>,
    code_count: usize,
    /// `places[2 * y * signatures + row]`: place of y, or where the block's outside is reversed of its reversal, in a list
    /// of Y.
    places: Vec<u16>,
    signature_count: usize,
}

/// Numbers things in the order in which they are first seen.
#[derive(Default)]
pub(super) struct Numbering<W> {
    numbers: FxHashMap<W, u32>,
    pub(super) words: Vec<W>,
}

impl<W: Word> Numbering<W> {
    pub(super) fn number(&mut self, word: W) -> u32 {
        *self.numbers.entry(word).or_insert_with(|| {
            self.words.push(word);
            self.words.len() as u32 - 1
        })
    }
}

/// A hash of the codes of some cells, and of their reversal, below [`SAMPLE_ONE_IN`].
fn hash<W: Word>(word: W) -> u8 {
    let mixed = mix::fold(word.min(reverse(word)).widen()).wrapping_mul(mix::GOLDEN);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u8 % SAMPLE_ONE_IN as u8
}

fn index(end: End) -> usize {
    match end {
        End::First => 0,
        End::Last => 1,
    }
}

/// What an exchange must know of the window Y.
pub(super) struct Side<'a, W> {
    /// All bits of its cells.
    pub(super) inside: W,
    /// The numbers of its families, by their colours.
    pub(super) families: &'a FxHashMap<W, u32>,
    /// Its blocks, where positions will be asked for; those of the families that have numbers.
    pub(super) blocks: Option<(&'a GoWindow<W>, &'a Finder<W>)>,
}

/// Numbers of the families of a window, by their colours.
pub(super) fn family_numbers<W: Word>(window: &GoWindow<W>) -> FxHashMap<W, u32> {
    let first = window.tables.families.iter().map(|family| window.outsides[family.blocks.start as usize]);
    first.map(|outside| colours(outside, W::ONES)).zip(0..).collect()
}

impl Exchange {
    /// From the blocks of `here` at its `end` to the vector of `there` at its other one.
    pub(super) fn new<W: Word>(here: &GoWindow<W>, end: End, there: &Side<'_, W>) -> Result<Self, String> {
        let there_end = 1 - index(end);
        let cells = W::ONES;
        let rest_cells = !(here.inside | there.inside) & cells;
        let (mut rests, mut inner) = (Numbering::default(), Numbering::default());
        let class = |&word: &W| 2 * rests.number(colours(word, rest_cells)) + u32::from(stones(word) == W::ZERO);
        let classes = here.outsides.iter().map(class).collect();
        let lists = here.lists[index(end)].iter();
        let patterns: Vec<Vec<u16>> =
            lists.map(|list| list.iter().map(|&code| inner.number(colours(code, cells)) as u16).collect()).collect();
        let alone = here.inside == there.inside;
        let family = |colours: W| {
            // The first stone of an outside is black.
            let first = (colours & (cells << 1)).lowest();
            let colours = if colours & first >> 1 == W::ZERO { colours } else { reverse_colours(colours) };
            there.families.get(&if alone { W::ZERO } else { colours }).copied().unwrap_or(NONE)
        };
        let pairs = rests.words.iter().flat_map(|rest| inner.words.iter().map(move |pattern| *rest | *pattern));
        let families: Vec<u32> = pairs.map(family).collect();
        let pattern_count = inner.words.len();
        let kind = match there.blocks {
            None => Kind::Unasked,
            Some((_, finder)) if alone => {
                let lists = here.lists[index(end)].iter().zip(&finder.places[there_end]);
                let places = lists.map(|(list, places)| list.iter().map(|code| places.get(*code).unwrap_or(MISSING)));
                Kind::Alone(Starts::new(here, there_end)?, places.map(Iterator::collect).collect())
            }
            Some((there, finder)) => {
                // Codes that go to families that there are not are not asked for.
                let leads = |pattern: usize| families.iter().skip(pattern).step_by(pattern_count).any(|&f| f != NONE);
                let leads: Vec<bool> = (0..pattern_count).map(leads).collect();
                let asked = |pattern: u16| leads[usize::from(pattern)];
                Kind::Neighbours(Tables::new((here, index(end), &patterns), asked, there, finder)?)
            }
        };
        let hashes = |list: &Arc<Vec<W>>| list.iter().map(|&code| hash(code)).collect();
        let code_hashes = here.lists[index(end)].iter().map(hashes).collect();
        let other = if alone { W::ZERO } else { there.inside };
        let other_hashes = here.outsides.iter().map(|&word| hash(word & other)).collect();
        Ok(Self { kind, classes, patterns, pattern_count, families, code_hashes, other_hashes })
    }

    /// Memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        fn of<T>(items: &[T]) -> usize {
            size_of_val(items)
        }
        let kind = match &self.kind {
            Kind::Unasked => 0,
            Kind::Alone(starts, places) => {
                starts.bytes() as usize + places.iter().map(|places| of(places)).sum::<usize>()
            }
            Kind::Neighbours(tables) => {
                of(&tables.rest_of)
                    + of(&tables.other_of)
                    + tables.codes.iter().map(|codes| of(codes)).sum::<usize>()
                    + of(&tables.routes)
                    + of(&tables.places)
            }
        };
        let lists = self.patterns.iter().map(|list| of(list)).chain(self.code_hashes.iter().map(|list| of(list)));
        let own = of(&self.classes) + of(&self.families) + of(&self.other_hashes);
        (kind + own + lists.sum::<usize>()) as u64
    }

    /// Overwrites `families` with those of Y that the entries of X-block `block` belong to.
    pub(super) fn families(&self, block: u32, signature: u32, families: &mut Vec<u32>) {
        let first = (self.classes[block as usize] / 2) as usize * self.pattern_count;
        let row = &self.families[first..first + self.pattern_count];
        families.clear();
        families.extend(self.patterns[signature as usize].iter().map(|&pattern| row[usize::from(pattern)]));
    }

    /// See `BlockColumn::exchange_class`.
    pub(super) fn class(&self, block: u32) -> u32 {
        self.classes[block as usize]
    }

    /// Overwrites `sample` with the entries of X-block `block` that are in the boundary's sample of `key`: those whose x
    /// and y have hashes that add up to it. Both windows find the same states, since reversed codes have the same hash.
    pub(super) fn sample(&self, block: u32, signature: u32, key: u64, sample: &mut Vec<u16>) {
        sample.clear();
        let key = (key % SAMPLE_ONE_IN) as u8;
        let wanted = key.wrapping_sub(self.other_hashes[block as usize]) % SAMPLE_ONE_IN as u8;
        let hashes = &self.code_hashes[signature as usize];
        // Lists have no more entries than `u16` has numbers.
        sample.extend(memchr::memchr_iter(wanted, hashes).map(|entry| entry as u16));
    }

    /// Overwrites `positions` with those of the entries of X-block `block`, whose signature is `signature`.
    pub(super) fn positions(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        self.all::<false>(block, signature, positions);
    }

    /// The same; [`NOWHERE`] for entries that Y does not have.
    pub(super) fn known_positions(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        self.all::<true>(block, signature, positions);
    }

    fn all<const FOLDED: bool>(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        match &self.kind {
            Kind::Neighbours(tables) => {
                let codes = tables.codes[signature as usize].iter().copied();
                tables.through::<FOLDED>(block, codes, positions);
            }
            Kind::Unasked => positions.clear(),
            Kind::Alone(starts, places) => {
                positions.clear();
                let start = starts.of(block);
                positions.extend(places[signature as usize].iter().map(|&place| position::<FOLDED>(start, place)));
            }
        }
    }

    /// The same for some entries.
    pub(super) fn positions_of(&self, block: u32, signature: u32, entries: &[u16], positions: &mut Vec<u64>) {
        match &self.kind {
            Kind::Neighbours(tables) => {
                let codes = &tables.codes[signature as usize];
                let codes = entries.iter().map(|&entry| codes[usize::from(entry)]);
                tables.through::<false>(block, codes, positions);
            }
            Kind::Unasked => positions.clear(),
            Kind::Alone(starts, places) => {
                positions.clear();
                let (start, places) = (starts.of(block), &places[signature as usize]);
                positions.extend(entries.iter().map(|&entry| start + u64::from(places[usize::from(entry)])));
            }
        }
    }
}

#[inline]
fn position<const FOLDED: bool>(start: u64, place: u16) -> u64 {
    if FOLDED && place == MISSING { NOWHERE } else { start + u64::from(place) }
}

impl Tables {
    /// From the lists of a window at one of its ends, with the pattern of each code and which of them are asked for.
    fn new<W: Word>(
        (here, here_end, patterns): (&GoWindow<W>, usize, &[Vec<u16>]),
        asked: impl Fn(u16) -> bool,
        there: &GoWindow<W>,
        finder: &Finder<W>,
    ) -> Result<Self, String> {
        let there_end = 1 - here_end;
        let (mut rests, mut others, mut codes) = (Numbering::default(), Numbering::default(), Numbering::default());
        let rest_cells = !(here.inside | there.inside);
        let (rest_of, other_of) = here
            .outsides
            .iter()
            .map(|&word| (rests.number(word & rest_cells), others.number(word & there.inside)))
            .unzip();
        let mut number = |(&code, &pattern)| if asked(pattern) { codes.number(code) } else { NONE };
        let lists = here.lists[here_end].iter().zip(patterns);
        let list_codes = lists.map(|(list, patterns)| list.iter().zip(patterns).map(&mut number).collect()).collect();

        let outside = outside_cells(there);
        let starts = Starts::new(there, there_end)?;
        let signature_count = there.tables.signatures.len();
        let mut routes = Vec::with_capacity(rests.words.len() * codes.words.len());
        for &rest in &rests.words {
            routes.extend(codes.words.iter().map(|&code| starts.route(finder, outside, rest | code)));
        }
        let mut places = vec![0; 2 * others.words.len() * signature_count];
        for (&word, rows) in others.words.iter().zip(places.chunks_exact_mut(2 * signature_count)) {
            for (pair, list) in rows.as_chunks_mut().0.iter_mut().zip(&finder.places[there_end]) {
                *pair = [word, reverse(word)].map(|word| list.get(word).unwrap_or(MISSING));
            }
        }
        let code_count = codes.words.len();
        Ok(Self { rest_of, other_of, codes: list_codes, routes, code_count, places, signature_count })
    }

    fn through<const FOLDED: bool>(&self, block: u32, codes: impl Iterator<Item = u32>, positions: &mut Vec<u64>) {
        positions.clear();
        let block = block as usize;
        let routes = &self.routes[self.rest_of[block] as usize * self.code_count..][..self.code_count];
        let rows = 2 * self.signature_count;
        let places = &self.places[self.other_of[block] as usize * rows..][..rows];
        positions.extend(codes.map(|code| {
            let route = routes[code as usize];
            position::<FOLDED>(route.start(), places[route.row()])
        }));
    }
}
