//! The blocks of a column, window by window, and how the states of one window are numbered in the next.
//!
//! ```text
//!   window k, last step       (outside, inside)     position p
//!                                  |  positions(k, End::Last, block)
//!   window k+1, step 0        (outside, inside)     position q: another cut of the same border
//! ```
//!
//! The last window of a column is followed by the first of the next. Cost: [`BlockColumn::positions`] is the inner loop of
//! every exchange; a few look-ups per state are right for it.

use crate::{BlockTables, End, Window};

/// Largest weight of a canonical key: of all its entries together, see [`BlockColumn::weight`]. A word holds this many
/// residues below 2^60.
pub const MOST_WEIGHT: u64 = 15;

/// One state in this number is in the sample of a boundary, which is fingerprinted.
pub const SAMPLE_ONE_IN: u64 = 64;

/// The tables of a column, and the exchanges between its windows.
///
/// The functions that take a `block` take one of window number `window`. "Entries at `end`" are those of its list at step
/// 0 or at the last step.
pub trait BlockColumn: Send + Sync {
    /// The windows, from the top of the column to its end.
    fn windows(&self) -> &[Window];
    /// The tables of window number `window`.
    fn tables(&self, window: usize) -> &BlockTables;
    /// Memory of the tables of all windows and of the exchanges between them, with what the allocator keeps after building
    /// them.
    fn bytes(&self) -> u64;
    /// The exchange: overwrites `positions` with those of the entries of `block` at `end` in the vector of the
    /// neighbouring window that shares this boundary. That is the window before at its last step for [`End::First`], the
    /// window after at step 0 for [`End::Last`].
    fn positions(&self, window: usize, end: End, block: u32, positions: &mut Vec<u64>);
    /// The same for some of the block's entries only, ascending or not. Not for the last window of a folded column at its
    /// end.
    fn positions_of(&self, window: usize, end: End, block: u32, entries: &[u16], positions: &mut Vec<u64>);

    /// Folding, by a symmetry of the board that maps the end of a column to itself. Of two states that are *images* of each
    /// other only one, the representative, enters the column; some pairs may keep both. `None` where the column is not
    /// folded ([`Directions::Folded`](crate::Directions::Folded)).
    ///
    /// Overwrites `positions` with those of the images of the entries of `block` of the first window at step 0, in the
    /// vector of the last window at its last step. Returns [`BlockColumn::tied`].
    ///
    /// The value that enters the first window is the sum of an entry's value and its image's, or half of it where both are
    /// kept. So values are up to twice as large. For an entry of the last window that is no entry of the first,
    /// [`BlockColumn::positions`] tells the position of its image.
    fn images(&self, _block: u32, _positions: &mut Vec<u64>) -> Option<&[bool]> {
        None
    }
    /// For each entry of `block` of the first window at step 0: whether its image is kept too. `None` where the column is
    /// not folded.
    fn tied(&self, _block: u32) -> Option<&[bool]> {
        None
    }

    /// Overwrites `keys` with the canonical keys of the entries of `block` at `end`.
    fn keys(&self, window: usize, end: End, block: u32, keys: &mut Vec<u128>);
    /// The same for some of the block's entries only.
    fn keys_of(&self, window: usize, end: End, block: u32, entries: &[u16], keys: &mut Vec<u128>);
    /// How often the value of an entry of `block` counts in the value of its canonical key. It is the number of states of the
    /// key's symmetry class for which the entry stands; for all entries of a key together at most [`MOST_WEIGHT`]. Few
    /// different weights occur. Without symmetry it is 1.
    fn weight(&self, window: usize, block: u32) -> u64;
    /// Number of canonical keys of a family that begins with `block` and has `entries` entries at some step.
    fn family_keys(&self, _window: usize, _block: u32, entries: u64) -> u64 {
        entries
    }
    /// Where several entries of `block` at `end` have one canonical key: for each entry the one that stands for its key,
    /// itself or another, with the same value. Empty where each key has one entry.
    fn twins(&self, window: usize, end: End, block: u32) -> Vec<u16>;

    /// Overwrites `families` with the family of the neighbouring window that each entry of `block` at `end` belongs to.
    fn families(&self, window: usize, end: End, block: u32, families: &mut Vec<u32>);
    /// Blocks of one signature and one class at `end` lead, entry by entry, to the same families.
    fn exchange_class(&self, window: usize, end: End, block: u32) -> u32;
    /// A number for the part of the border that no pass of either window at `end` changes. Families exchange states only
    /// with families of the same number, and both windows give the same. A window's families are in ascending order of
    /// their numbers at [`End::First`].
    fn rest(&self, window: usize, end: End, family: u32) -> u64;
    /// Overwrites `sample` with the entries of `block` at `end` that are in the boundary's sample for `key`: about one state
    /// in [`SAMPLE_ONE_IN`]. Both neighbouring windows find the same states. Each state is in the sample of one `key` in
    /// [`SAMPLE_ONE_IN`].
    fn sample(&self, window: usize, end: End, block: u32, key: u64, sample: &mut Vec<u16>);

    /// Positions, in the vector at `end` of a window, of the states after a first column. Each has the value 1 there.
    fn start(&self, window: usize, end: End) -> Vec<u64>;
    /// The entries of `block` of the last window at its last step that are accepting.
    fn accepting(&self, block: u32) -> &[u16];
    /// The count of a board of one column.
    fn one_column(&self) -> u64;
}
