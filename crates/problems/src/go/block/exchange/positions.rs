//! The tables of an exchange, from an entry of a block to its position in the neighbour's vector.
//!
//! [`super`] draws them. X is the window whose blocks ask, Y its neighbour.
//!
//! Cost: three look-ups a state.

use std::sync::Arc;

use keima_model::End;
use rustc_hash::FxHashMap;

use super::route::{BlockStarts, NO_ENTRY, NO_POSITION, NONE, Route, index, outside_cells};
use crate::go::block::numbering::Numbering;
use crate::go::block::window::{GoWindow, StateIndex};
use crate::go::state::{Word, reverse};

/// How to find positions in Y.
pub(crate) enum Positions {
    /// X and Y are one window, the only one of the column: `entries[signature]` has the entries of X's list in Y's.
    Alone { starts: BlockStarts, entries: Vec<Vec<u16>> },
    /// Two windows.
    Neighbours(PositionTables),
    /// Nobody asks for positions.
    None,
}

/// The codes of X at one end, and which of them anybody asks for.
pub(crate) struct Codes<'a, W> {
    pub(crate) here: &'a GoWindow<W>,
    pub(crate) end: End,
    /// `patterns[signature][entry]`: number of the entry's colours.
    pub(crate) patterns: &'a [Vec<u16>],
    /// `asked[pattern]`: codes that lead to no family of Y are not asked for.
    pub(crate) asked: &'a [bool],
}

/// The tables for two windows.
pub(crate) struct PositionTables {
    /// The number of the rest, for each X-block.
    rest_of: Vec<u32>,
    /// The number of y, unreversed, for each X-block.
    other_of: Vec<u32>,
    /// `codes[signature][i]`: the number of entry i of the X-list; [`NONE`] if nobody asks for it.
    codes: Vec<Vec<u32>>,
    landing: Landing,
}

/// Where states land in Y, by the numbers of their three parts.
pub(crate) struct Landing {
    /// `routes[rest * code_count + code]`: the route to the block of Y.
    routes: Vec<Route>,
    code_count: usize,
    /// `entries[2 * y * signature_count + row]`: the entry of y in a list of Y; of y's reversal where the block's outside
    /// is reversed.
    entries: Vec<u16>,
    signature_count: usize,
}

impl Positions {
    /// Positions where the window is its own neighbour.
    pub(crate) fn alone<W: Word>(here: &GoWindow<W>, end: End, index_there: &StateIndex<W>) -> Result<Self, String> {
        let there_end = 1 - index(end);
        let lists = here.lists[index(end)].iter().zip(&index_there.entries[there_end]);
        let entries = lists.map(|(list, entries)| list.iter().map(|code| entries.get(*code).unwrap_or(NO_ENTRY)));
        Ok(Self::Alone {
            starts: BlockStarts::new(here, there_end)?,
            entries: entries.map(Iterator::collect).collect(),
        })
    }

    /// Overwrites `positions` with those of all entries of X-block `block`. `FOLDED`: [`NO_POSITION`] for entries that Y
    /// does not have.
    pub(crate) fn all<const FOLDED: bool>(&self, block: u32, signature: u32, positions: &mut Vec<u64>) {
        match self {
            Self::Neighbours(tables) => {
                let codes = tables.codes[signature as usize].iter().copied();
                tables.through::<FOLDED>(block, codes, positions);
            }
            Self::None => positions.clear(),
            Self::Alone { starts, entries } => {
                positions.clear();
                let start = starts.of(block);
                positions.extend(entries[signature as usize].iter().map(|&entry| position::<FOLDED>(start, entry)));
            }
        }
    }

    /// The same for some entries.
    pub(crate) fn some(&self, block: u32, signature: u32, entries: &[u16], positions: &mut Vec<u64>) {
        match self {
            Self::Neighbours(tables) => {
                let codes = &tables.codes[signature as usize];
                let codes = entries.iter().map(|&entry| codes[usize::from(entry)]);
                tables.through::<false>(block, codes, positions);
            }
            Self::None => positions.clear(),
            Self::Alone { starts, entries: there } => {
                positions.clear();
                let (start, there) = (starts.of(block), &there[signature as usize]);
                positions.extend(entries.iter().map(|&entry| start + u64::from(there[usize::from(entry)])));
            }
        }
    }

    /// Memory that the tables take.
    pub(crate) fn bytes(&self) -> u64 {
        fn of<T>(items: &[T]) -> usize {
            size_of_val(items)
        }
        match self {
            Self::None => 0,
            Self::Alone { starts, entries } => {
                starts.bytes() + entries.iter().map(|entries| of(entries)).sum::<usize>() as u64
            }
            Self::Neighbours(tables) => {
                let codes: usize = tables.codes.iter().map(|codes| of(codes)).sum();
                (of(&tables.rest_of) + of(&tables.other_of) + codes) as u64 + tables.landing.bytes()
            }
        }
    }
}

#[inline]
fn position<const FOLDED: bool>(start: u64, entry: u16) -> u64 {
    if FOLDED && entry == NO_ENTRY { NO_POSITION } else { start + u64::from(entry) }
}

impl PositionTables {
    /// The tables from X's codes to the blocks of `there`.
    pub(crate) fn new<W: Word>(
        codes_here: &Codes<'_, W>,
        there: &GoWindow<W>,
        index_there: &StateIndex<W>,
    ) -> Result<Self, String> {
        let Codes { here, end, patterns, asked } = *codes_here;
        let here_end = index(end);
        let there_end = 1 - here_end;
        let (mut rests, mut others, mut codes) = (Numbering::default(), Numbering::default(), Numbering::default());
        let rest_cells = !(here.inside | there.inside);
        let (rest_of, other_of) = here
            .outsides
            .iter()
            .map(|&word| (rests.number(word & rest_cells), others.number(word & there.inside)))
            .unzip();
        let mut number = |(&code, &pattern)| if asked[usize::from(pattern)] { codes.number(code) } else { NONE };
        let lists = here.lists[here_end].iter().zip(patterns);
        let list_codes = lists.map(|(list, patterns)| list.iter().zip(patterns).map(&mut number).collect()).collect();

        let outside = outside_cells(there);
        let starts = BlockStarts::new(there, there_end)?;
        let mut routes = Vec::with_capacity(rests.items.len() * codes.items.len());
        for &rest in &rests.items {
            routes.extend(codes.items.iter().map(|&code| starts.route(index_there, outside, rest | code)));
        }
        let landing = Landing::new(routes, codes.items.len(), &others.into_numbers(), &there.lists[there_end]);
        Ok(Self { rest_of, other_of, codes: list_codes, landing })
    }

    fn through<const FOLDED: bool>(&self, block: u32, codes: impl Iterator<Item = u32>, positions: &mut Vec<u64>) {
        let block = block as usize;
        self.landing.positions::<FOLDED>(self.rest_of[block], self.other_of[block], codes, positions);
    }
}

impl Landing {
    /// `routes` has a row of `code_count` routes for each rest. `others` numbers all y; `lists` are those of Y by signature.
    pub(crate) fn new<W: Word>(
        routes: Vec<Route>,
        code_count: usize,
        others: &FxHashMap<W, u32>,
        lists: &[Arc<Vec<W>>],
    ) -> Self {
        let signature_count = lists.len();
        let mut entries = vec![NO_ENTRY; 2 * others.len() * signature_count];
        for (signature, list) in lists.iter().enumerate() {
            for (&code, entry) in list.iter().zip(0..=u16::MAX) {
                for (reversed, word) in [code, reverse(code)].into_iter().enumerate() {
                    if let Some(&other) = others.get(&word) {
                        entries[2 * (other as usize * signature_count + signature) + reversed] = entry;
                    }
                }
            }
        }
        Self { routes, code_count, entries, signature_count }
    }

    /// Overwrites `positions` with those of the states of one rest, one y, and several codes of X.
    #[inline]
    pub(crate) fn positions<const FOLDED: bool>(
        &self,
        rest: u32,
        other: u32,
        codes: impl Iterator<Item = u32>,
        positions: &mut Vec<u64>,
    ) {
        positions.clear();
        let routes = &self.routes[rest as usize * self.code_count..][..self.code_count];
        let rows = 2 * self.signature_count;
        let entries = &self.entries[other as usize * rows..][..rows];
        positions.extend(codes.map(|code| {
            let route = routes[code as usize];
            position::<FOLDED>(route.start(), entries[route.row()])
        }));
    }

    /// Memory that the tables take.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of_val(self.routes.as_slice()) + size_of_val(self.entries.as_slice())) as u64
    }
}
