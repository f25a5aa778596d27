//! Bracket words: the third trait, for curves whose border states are all words of brackets.
//!
//! A word has one letter for each cell of the border, from the top: none, an opening or a closing bracket. The brackets of
//! a pair are the two ends of one partial path. A closing bracket without a partner is a path that begins at an end of the
//! curve. All words with so many of these occur, so a vector needs no keys and no lists: a state's position is the rank of
//! its word ([`counts`]).
//!
//! The engine knows the rules by which paths meet in a cell, since these are the same for all such curves ([`problem`]).
//! A problem says which ends there are, whether a cell may stay empty, how a column may begin, and what is read off.

pub(crate) mod counts;
pub(crate) mod problem;
