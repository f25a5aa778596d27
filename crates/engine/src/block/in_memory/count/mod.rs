//! Counting a board in memory: [`both_ends`] goes from both ends of the board to the middle, [`one_way`] from the first
//! column to the last.

pub(crate) mod both_ends;
pub(crate) mod one_way;
pub(crate) mod order;
pub(crate) mod residues;
pub(crate) mod widening;
