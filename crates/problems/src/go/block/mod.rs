//! Legal Go positions in dense blocks: which states there are, and where their successors stand, without keys.
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
//! - [`parts`]: signatures of the upper and lower parts, by which the list of inside codes is determined;
//! - [`lists`]: outsides, signatures and lists of one window, by direct enumeration;
//! - [`tables`]: the transitions of each signature, found by expanding one sample outside;
//! - [`window`]: blocks and families with their places, and the targets of far operations;
//! - [`places`]: where each code of a list stands;
//! - [`families`]: the families with their sizes, where their blocks are too many to have all of them;
//! - [`parted`]: tables of a few families at a time; [`catalogue`]: the signatures that were made before;
//! - [`exchange`]: where a state of one window stands in the next;
//! - [`fold`]: of two mirror images one is enough at the start of a column; [`image`]: where the other one stands;
//! - [`memory`]: an estimate of what all this takes.
//!
//! States are counted singly, not by colour class: an outside with a stone is stored with its first stone black, and
//! its entries have half of the value of their class; the outside without a stone is stored with all colourings inside.
//! So nothing is ever reversed within a window, and only there classes have two entries.
//!
//! After the first column each colour pattern is exactly one state with the count 1: the passes begin with the second
//! column, and no cell is ever an edge.
//!
//! Cost: time and memory in proportion to the lists of all signatures, to the number of outsides and to the number of
//! far operations; nothing in proportion to the states.

mod building;
mod catalogue;
mod column;
#[cfg(test)]
mod drawn;
mod exchange;
mod families;
mod fold;
mod image;
mod lists;
mod memory;
mod parted;
mod parts;
mod places;
mod tables;
#[cfg(test)]
mod tests;
mod window;

pub use column::GoColumn;
pub use parted::GoParts;

/// Largest height for tables of all families: a state's working form of four bits a cell must fit a u64.
const MAX_BLOCK_HEIGHT: u32 = 16;

/// Heights for which there are blocks. Above [`MAX_BLOCK_HEIGHT`] tables are made a part at a time; vectors of more than 21
/// cells have more than 2^43 states, and a key has 43 bits for a row's place.
pub const HEIGHTS: std::ops::RangeInclusive<u32> = 2..=21;
