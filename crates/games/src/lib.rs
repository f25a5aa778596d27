//! Games of Go on small boards: the graph of all positions, and paths in it.
//!
//! ```text
//!   graph    positions, edges, out-degrees, symmetries
//!   files    the graph as GraphML, DOT or JSON
//!   exact    numbers of games by length
//!   walks    the tree of games, for estimates
//!   cycle    Hamiltonian cycles of 1xn: search, file, check
//! ```
//!
//! A game is a simple path from the empty board: no position comes twice, and colours need not alternate, since a player may
//! pass. Tromp and Farnebäck, *Combinatorics of Go* (2016), sections 4, 7 and 8.

#![forbid(unsafe_code)]

pub mod cycle;
mod exact;
mod files;
mod graph;
mod walks;

pub use exact::{MAX_POSITIONS, games_by_length};
pub use files::{GraphFormat, write};
pub use graph::{Degrees, GameGraph, MAX_DEGREE_POINTS, MAX_GRAPH_POINTS, TooLarge};
pub use walks::{Game, Games};
