//! The working form of a border state, and its successors by bit operations.
//!
//! Four bits a cell, cell 0 (the top) in the lowest nibble:
//!
//! ```text
//!   bit    3       2       1       0
//!          0       0       0       0        edge: west of the first column
//!          0       0       0       1        empty
//!          0       0       1     colour     free stone: its string has a liberty       (black 0, white 1)
//!          1     below   above   colour     needy stone: its string has none so far; below, above: its
//!                                           string has another border stone below, above
//! ```
//!
//! Strings of needy stones do not cross, so the flags are brackets, read from cell 0 on and `above` before `below` within a
//! cell. Each `below` opens a bracket, and the next stone of the same string closes it with its `above`. That is the order
//! of the bits, so a walk along a string is a walk over set bits.
//!
//! A state and its colour reversal are one class, whose value counts the partial positions of both. Hence every class has
//! the successors empty, black and white of its representative, each with the full value, though two of them may be the
//! same class. L(m,n) is the plain sum over accepting classes. The first stone of a representative is black. Within a stage
//! the first stone outside the window counts, if there is one: no pass of the stage can change it.
//!
//! The successors at cell y, with `west` the code of cell y and `north` that of cell y-1:
//! - empty: the strings of west and north become free;
//! - stone: joins the strings of its colour at west and north, free if one of them is or if one of them is empty. A needy
//!   west stone of the other colour leaves the border; it must not be the last of its string there.
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), sections 5.1 to 5.4. Cost: this is the stream executor's inner
//! loop; a few bit walks a state, no allocation, no panic and no endless loop on any bit pattern.

use keima_model::{Key, Successors};

pub use crate::word::Word;

/// Nibble of a cell to the west of the first column.
pub const EDGE: u32 = 0;
/// Nibble of an empty cell.
pub const EMPTY: u32 = 1;
/// Nibble of a free stone, to be combined with its colour.
pub const FREE: u32 = 2;
/// Nibble of a needy stone, to be combined with its flags and colour.
pub const NEEDY: u32 = 8;
/// Flag of a needy stone: its string has a border stone above.
pub const ABOVE: u32 = 2;
/// Flag of a needy stone: its string has a border stone below.
pub const BELOW: u32 = 4;
/// Bit of a stone's colour.
pub const COLOUR: u32 = 1;

/// The low bit of the nibble of every stone.
#[inline]
pub fn stones<W: Word>(state: W) -> W {
    (state >> 1 | state >> 3) & W::ONES
}

/// The same state with black and white exchanged.
#[inline]
pub fn reverse<W: Word>(state: W) -> W {
    state ^ stones(state)
}

/// Whether no string of the border still waits for a liberty.
#[inline]
pub fn accepts<W: Word>(state: W) -> bool {
    (state >> 3) & W::ONES == W::ZERO
}

/// Number of strings of the border that still wait for a liberty: each has one needy stone with no other above it.
#[inline]
pub fn needy_strings<W: Word>(state: W) -> u32 {
    (state >> 3 & !(state >> 1) & W::ONES).count()
}

/// The representative of `{state, reverse(state)}`: its first stone in `first_cells` is black, or its first stone of all if
/// there is none there. `first_cells` has the low bit of the nibble of each of its cells.
#[inline]
pub fn normalise<W: Word>(state: W, first_cells: W) -> W {
    let all = stones(state);
    let preferred = all & first_cells;
    let first = if preferred == W::ZERO { all } else { preferred }.lowest();
    if state & first == W::ZERO { state } else { state ^ all }
}

/// Appends the successors at cell `cell` of each of `keys` to `out`. `outside` has the low bit of the nibble of every
/// cell outside the window; the keys are normalised by it, and so are the successors.
pub fn expand<W: Word, K: Key>(cell: u32, outside: W, keys: &[K], out: &mut Successors<K>) {
    let start = out.keys.len();
    out.keys.resize(start + 3 * keys.len(), K::default());
    out.degrees.reserve(keys.len());
    let place = Place::new(cell);
    let mut written = 0;
    let slots = &mut out.keys[start..];
    for &key in keys {
        let state = W::truncate(key.widen());
        let (mut next, degree) = place.successors(state);
        if stones(state) & outside == W::ZERO {
            next = next.map(|state| normalise(state, outside));
        }
        // Writes three; if there are only two, the next state overwrites the third.
        for (slot, state) in slots[written..written + 3].iter_mut().zip(next) {
            *slot = K::truncate(state.widen());
        }
        written += degree;
        out.degrees.push(degree as u8);
    }
    out.keys.truncate(start + written);
}

/// The successors of one state at cell `cell`, not normalised, and their number (2 or 3): empty, a stone of the colour that
/// is always legal, and one of the other.
#[inline]
pub fn successors<W: Word>(cell: u32, state: W) -> ([W; 3], usize) {
    Place::new(cell).successors(state)
}

/// The cell that a pass fills.
#[derive(Clone, Copy)]
struct Place<W> {
    /// Four times the cell's number.
    shift: u32,
    /// Low bit of the cell's nibble.
    here: W,
    /// Low bit of the nibble above it; none at the top.
    above: W,
    /// The cell's nibble.
    nibble: W,
}

impl<W: Word> Place<W> {
    fn new(cell: u32) -> Self {
        let shift = 4 * cell;
        let here = W::ONE << shift;
        Self { shift, here, above: here >> 4, nibble: W::truncate(0xf) << shift }
    }

    /// The successors and their number: see [`successors`].
    #[inline]
    fn successors(&self, state: W) -> ([W; 3], usize) {
        let west = (state >> self.shift).low() & 0xf;
        let north = if self.shift == 0 { EDGE } else { (state >> (self.shift - 4)).low() & 0xf };
        let brackets = Brackets::of(state);
        let west_string = if west >= NEEDY { brackets.string(self.here) } else { W::ZERO };
        let north_string = if north < NEEDY {
            W::ZERO
        } else if west_string & self.above != W::ZERO {
            west_string
        } else {
            brackets.string(self.above)
        };
        let around = Around { west, north, west_string, north_string };

        let empty = self.set(free(state, west_string | north_string), EMPTY);
        let colour = west & COLOUR;
        let like_west = self.stone(state, colour, &around);
        // A stone of the other colour removes a needy west stone from the border.
        let (left, legal) = self.drop_west(state, &around);
        let unlike_west = self.stone(left, colour ^ COLOUR, &around);
        ([empty, like_west, unlike_west], 2 + usize::from(legal))
    }

    /// `state` with `code` at this cell.
    #[inline]
    fn set(&self, state: W, code: u32) -> W {
        state & !self.nibble | W::truncate(code.into()) << self.shift
    }

    /// Takes a needy west stone out of its string; false if it was alone there. The cell's own flags stay.
    #[inline]
    fn drop_west(&self, state: W, around: &Around<W>) -> (W, bool) {
        if around.west < NEEDY {
            return (state, true);
        }
        let rest = around.west_string & !self.here;
        match around.west & (ABOVE | BELOW) {
            // Its neighbours in the string become neighbours of each other: the brackets say so by themselves.
            flags if flags == ABOVE | BELOW => (state, true),
            BELOW => (state & !((rest & !self.here.below()).lowest() << 1), rest != W::ZERO),
            ABOVE => (state & !((rest & self.here.below()).highest() << 2), rest != W::ZERO),
            _ => (state, false),
        }
    }

    /// Puts a stone of `colour` here; a west stone of the other colour is already out of its string.
    #[inline]
    fn stone(&self, state: W, colour: u32, around: &Around<W>) -> W {
        let Around { west, north, west_string, north_string } = *around;
        let friend = |code: u32| code & (NEEDY | COLOUR) == NEEDY | colour;
        let gives = |code: u32| code == EMPTY || code == FREE | colour;
        let (west_friend, north_friend) = (friend(west), friend(north));
        if gives(west) || gives(north) {
            let mut freed = if west_friend { west_string } else { W::ZERO };
            if north_friend {
                freed = freed | north_string;
            }
            return self.set(free(state, freed), FREE | colour);
        }
        match (west_friend, north_friend) {
            (false, false) => self.set(state, NEEDY | colour),
            // The new stone takes the west stone's place.
            (true, false) => state,
            // The new stone comes next after the north stone in its string.
            (false, true) => self.set(state, NEEDY | colour | ABOVE | north & BELOW) | self.above << 2,
            (true, true) if west_string == north_string => state,
            // Two strings, side by side or one within a bracket of the other, become one.
            (true, true) => {
                let first = if west & ABOVE == 0 { self.here } else { north_string.lowest() };
                let last = if north & BELOW == 0 { self.above } else { west_string.highest() };
                state | first << 1 | last << 2
            }
        }
    }
}

/// The neighbours of a new stone: the codes at west and north, and the cells of their strings (low bits of the nibbles;
/// none without a needy stone).
#[derive(Clone, Copy)]
struct Around<W> {
    west: u32,
    north: u32,
    west_string: W,
    north_string: W,
}

/// The needy stones at `cells` become free.
#[inline]
fn free<W: Word>(state: W, cells: W) -> W {
    state & !(cells << 3 | cells << 2) | cells << 1
}

/// The connections of the needy stones of a state.
#[derive(Clone, Copy)]
struct Brackets<W> {
    /// `below` flags, bit 2 of a nibble.
    opening: W,
    /// `above` flags, bit 1 of a nibble.
    closing: W,
}

impl<W: Word> Brackets<W> {
    #[inline]
    fn of(state: W) -> Self {
        let needy = state & W::ONES << 3;
        Self { opening: state & needy >> 1, closing: state & needy >> 2 }
    }

    /// The cells of the string of the needy stone at `cell`.
    #[inline]
    fn string(self, cell: W) -> W {
        let mut cells = cell;
        let mut at = cell;
        while at << 1 & self.closing != W::ZERO {
            at = self.before(at);
            cells = cells | at;
        }
        at = cell;
        while at << 2 & self.opening != W::ZERO {
            at = self.after(at);
            cells = cells | at;
        }
        cells
    }

    /// The stone before `cell` in its string: the last unmatched opening flag of the cells above it, or none.
    #[inline]
    fn before(self, cell: W) -> W {
        let mut opening = self.opening & cell.below();
        let mut closing = self.closing & cell.below();
        loop {
            let last = opening.highest();
            // Each closing flag after it is matched by this or a later opening flag: drop them in pairs.
            let inside = closing & !(last | last.below());
            if inside == W::ZERO {
                return last >> 2;
            }
            opening = opening ^ last;
            closing = closing ^ inside.lowest();
        }
    }

    /// The stone after `cell` in its string: the first unmatched closing flag of the cells below it, or none.
    #[inline]
    fn after(self, cell: W) -> W {
        let beyond = !(cell << 4).below();
        let mut opening = self.opening & beyond;
        let mut closing = self.closing & beyond;
        loop {
            let first = closing.lowest();
            let inside = opening & first.below();
            if inside == W::ZERO {
                return first >> 1;
            }
            opening = opening ^ inside.lowest();
            closing = closing ^ first;
        }
    }
}
