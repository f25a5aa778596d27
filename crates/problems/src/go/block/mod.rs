//! Legal Go positions in dense blocks: the states, and the positions of their successors, without keys.
//!
//! ```text
//!   height 5, window of cells 2 and 3:          outside h                 inside l
//!      cell 0  needy black, below           }
//!      cell 1  free white                   }   upper part: stack B, last code free white
//!      cell 2  needy white                                                }  reads the stack B, leaves B:
//!      cell 3  needy black, above and below                               }  one of the list of this signature
//!      cell 4  needy black, above           }   lower part: demands B, first code needy black
//! ```
//!
//! - [`signature`]: outsides, signatures and lists of one window, by direct enumeration;
//! - [`passes`]: the transitions of each signature, found by expanding one sample outside;
//! - [`window`]: blocks and families with their positions, and the targets of far operations;
//! - [`parts`]: tables of a few families at a time; [`half_order`]: the blocks of a family in their order;
//! - [`exchange`]: positions of one window's states in the next;
//! - [`column`]: all of this for a column, as the engine sees it; [`problem`]: Go as a problem with dense blocks;
//! - [`cells`]: what the cells of a border say; [`numbering`]: numbers for words; [`cut`]: the check of a cut, and threads;
//! - [`memory`]: estimates of memory and time; [`family_sizes`]: kinds and bounds of families.
//!
//! States are counted singly, not by colour class. An outside with a stone is stored with its first stone black, and its
//! entries have half of the value of their class. The outside without a stone is stored with all colourings inside, so only
//! there a class has two entries. Nothing is ever reversed within a window.
//!
//! After the first column each colour pattern is exactly one state with the count 1. So the passes begin with the second
//! column, and no cell is ever an edge.
//!
//! Cost: time and memory grow with the lists of all signatures, the number of outsides and the number of far operations,
//! not with the number of states.

mod cells;
mod column;
mod cut;
mod exchange;
mod family_sizes;
mod half_order;
mod memory;
mod numbering;
mod parts;
mod passes;
mod problem;
mod signature;
#[cfg(test)]
mod tests;
mod window;

pub use column::GoColumn;
pub use parts::GoParts;

/// Largest height for tables of all families: a state's working form of four bits a cell must fit a u64.
const MAX_BLOCK_HEIGHT: u32 = 16;

/// Heights with a block form. Above [`MAX_BLOCK_HEIGHT`] tables are built in parts. Vectors of more than 21 cells have more
/// than 2^43 states, and a key has 43 bits for a row's position.
pub const HEIGHTS: std::ops::RangeInclusive<u32> = 2..=21;
