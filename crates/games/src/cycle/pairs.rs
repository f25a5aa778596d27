//! Positions of 1xn in pairs of colour reversals, and the moves between pairs.
//!
//! A cycle whose opposite nodes are each other's reversals is a cycle through all pairs. Each pair is named by its position
//! with a black first stone. A move leads from that to such a position, or to the reversal of one: then it *flips*. A cycle
//! through all pairs with an odd number of flips ends in the reversal of its start: gone through twice, it visits every
//! position once. With an even number it visits half of them.
//!
//! The paper makes the same choice by a gadget of four nodes for each pair, for a program that solves symmetric problems.

use keima_problems::go::rules::{Move, Position, Rules};
use rustc_hash::FxHashMap;

/// A move from a pair to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) to: u32,
    pub(super) flips: bool,
    pub(super) by: Move,
}

/// All pairs with their moves.
pub(super) struct Pairs {
    pub(super) rules: Rules,
    /// Of each pair, the position with a black first stone.
    pub(super) positions: Vec<Position>,
    pub(super) edges: Vec<Vec<Edge>>,
}

/// The member of a pair that names it, and whether it is the reversal.
fn named(position: Position) -> (Position, bool) {
    let stones = position.stones();
    let flips = position.white & stones & stones.wrapping_neg() != 0;
    (if flips { position.reversed() } else { position }, flips)
}

impl Pairs {
    pub(super) fn new(rules: Rules) -> Self {
        let all = rules.legal_positions().filter(|position| position.stones() != 0);
        let positions: Vec<Position> = all.filter(|&position| !named(position).1).collect();
        let numbers: FxHashMap<Position, u32> = positions.iter().copied().zip(0..).collect();
        let edges = positions.iter().zip(0..).map(|(&position, from)| {
            let moves = rules.moves(position).filter_map(|(by, next)| {
                let (name, flips) = named(next);
                numbers.get(&name).map(|&to| Edge { to, flips, by })
            });
            moves.filter(|edge| edge.to != from).collect()
        });
        let edges = edges.collect();
        Self { rules, positions, edges }
    }
}
