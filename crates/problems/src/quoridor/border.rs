//! Legal Quoridor positions by a border-state recurrence in a plain map: the rung to check by reading.
//!
//! The board is filled line by line, in scan coordinates: (line, place). One step chooses the fence on the intersection
//! between lines `line` and `line + 1` and places `place` and `place + 1`:
//!
//! ```text
//!                place  place+1                      Cross blocks the steps from line to line + 1 at place and place+1
//!   line           o ------ o      line's frontier   Split blocks the steps from place to place + 1 in both lines
//!                  |   X    |
//!   line + 1       n        .      n: the new square, which takes its predecessor's place on the frontier
//! ```
//!
//! Afterwards the edges (line, place)-(line, place+1) and (line, place)-(line+1, place) are known, and at the last place
//! also (line, n-1)-(line+1, n-1). Completions depend on these:
//!
//! - which frontier squares are connected so far, and which goals each component touches;
//! - the Split fences above each gap: they block the gap of the next line too, and no two may be in a row;
//! - whether the left neighbour is Cross;
//! - for each pawn whether it is unplaced, in a component, or has a way to its goal.
//!
//! A state is dead if a component leaves the frontier with a pawn that has no way to its goal.
//!
//! The recurrence scans along the goals (each line touches both: the engine's direction) or across them (the first line is
//! one goal, the last the other). Both must give the same numbers. Nothing is packed or reduced; only the place of a pawn
//! with a way to its goal is forgotten. Cost: some map operations a state.

use std::collections::BTreeMap;

use super::brute::Counts;

/// The direction in which lines follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Place 0 of every line touches the first player's goal, place n-1 the second's.
    Along,
    /// Line 0 is the first player's goal, line n-1 the second's.
    Across,
}

/// A fence on an intersection, in scan coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// None.
    Empty,
    /// Between two lines.
    Cross,
    /// Between two places.
    Split,
}

/// A pawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pawn {
    /// Not placed yet.
    Unplaced,
    /// On a square of this component, which does not touch its goal yet.
    In(u8),
    /// On a square with a way to its goal.
    Resolved,
}

/// A border state: all that completions depend on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Border {
    /// Component of each frontier square, numbered in the order of their first squares.
    pub component: Vec<u8>,
    /// For each component, whether it touches the goal of each player.
    pub touches: Vec<[bool; 2]>,
    /// For each gap between places, whether the last fence chosen there is Split.
    pub split: Vec<bool>,
    /// Whether the last fence chosen in this line is Cross.
    pub cross: bool,
    /// The players' pawns.
    pub pawns: [Pawn; 2],
}

/// A polynomial in the number of fences.
pub type Value = Vec<u128>;

/// All border states between two steps with the numbers of partial positions that lead to them.
pub struct Scan {
    n: usize,
    direction: Direction,
    /// Whether pawns may stand on their own goals.
    on_goals: bool,
    line: usize,
    place: usize,
    states: BTreeMap<Border, Value>,
}

impl Scan {
    /// Before the first step, on `n` x `n` squares with up to `max_fences` fences.
    pub fn new(n: usize, direction: Direction, max_fences: usize, on_goals: bool) -> Self {
        let mut scan = Self { n, direction, on_goals, line: 0, place: 0, states: BTreeMap::new() };
        let mut one = vec![0; max_fences.min((n - 1) * (n - 1)) + 1];
        one[0] = 1;
        let bare = Border {
            component: (0..n as u8).collect(),
            touches: (0..n).map(|place| scan.goals_at(0, place)).collect(),
            split: vec![false; n - 1],
            cross: false,
            pawns: [Pawn::Unplaced; 2],
        };
        let mut borders = vec![bare];
        for place in 0..n {
            borders = borders.iter().flat_map(|border| scan.with_pawns(border, 0, place)).collect();
        }
        for border in borders {
            add(scan.states.entry(normal(border)).or_default(), &one, 0);
        }
        scan
    }

    /// Which players' goals a square belongs to.
    fn goals_at(&self, line: usize, place: usize) -> [bool; 2] {
        let at = if self.direction == Direction::Along { place } else { line };
        [at == 0, at == self.n - 1]
    }

    /// Chooses the fence on one more intersection.
    pub fn advance(&mut self) {
        let mut next = BTreeMap::new();
        for (border, value) in &self.states {
            for fence in [Fence::Empty, Fence::Cross, Fence::Split] {
                for after in self.step(border, fence) {
                    let sum: &mut Value = next.entry(after).or_default();
                    add(sum, value, usize::from(fence != Fence::Empty));
                }
            }
        }
        self.states = next;
        self.place += 1;
        if self.place == self.n - 1 {
            (self.line, self.place) = (self.line + 1, 0);
        }
    }

    /// The borders that may follow; none where the fence is illegal or a pawn is cut off.
    pub fn step(&self, border: &Border, fence: Fence) -> Vec<Border> {
        let Self { n, line, place, .. } = *self;
        let overlaps = match fence {
            Fence::Empty => false,
            Fence::Cross => border.cross,
            Fence::Split => border.split[place],
        };
        if overlaps {
            return Vec::new();
        }
        let mut next = border.clone();
        if !border.split[place] && fence != Fence::Split {
            join(&mut next, place);
        }
        next.split[place] = fence == Fence::Split;
        next.cross = fence == Fence::Cross;
        let mut fresh = vec![(place, border.cross || fence == Fence::Cross)];
        if place == n - 2 {
            fresh.push((n - 1, fence == Fence::Cross));
            next.cross = false;
        }
        for &(place, blocked) in &fresh {
            if blocked {
                // The new square starts a component; the old one loses a square.
                let name = next.touches.len() as u8;
                let old = std::mem::replace(&mut next.component[place], name);
                next.touches.push(self.goals_at(line + 1, place));
                if !next.component.contains(&old) && next.pawns.contains(&Pawn::In(old)) {
                    return Vec::new();
                }
            } else {
                let touches = &mut next.touches[usize::from(next.component[place])];
                for (touches, goal) in touches.iter_mut().zip(self.goals_at(line + 1, place)) {
                    *touches |= goal;
                }
            }
        }
        let mut borders = vec![next];
        for (place, _) in fresh {
            borders = borders.iter().flat_map(|border| self.with_pawns(border, line + 1, place)).collect();
        }
        borders.into_iter().map(normal).collect()
    }

    /// The border without and with each unplaced pawn on a new square.
    fn with_pawns(&self, border: &Border, line: usize, place: usize) -> Vec<Border> {
        let goals = self.goals_at(line, place);
        let placed = (0..2).filter(|&player| border.pawns[player] == Pawn::Unplaced);
        let placed = placed.filter(|&player| self.on_goals || !goals[player]).map(|player| {
            let mut with = border.clone();
            with.pawns[player] = Pawn::In(border.component[place]);
            with
        });
        std::iter::once(border.clone()).chain(placed).collect()
    }

    /// The states with their values.
    pub fn states(&self) -> &BTreeMap<Border, Value> {
        &self.states
    }

    /// Sum over the states without pawns: arrangements of fences so far.
    pub fn without_pawns(&self) -> Value {
        self.sum(|border| border.pawns == [Pawn::Unplaced; 2])
    }

    /// After the last step: sum over the states whose pawns both have a way to their goals.
    pub fn legal(&self) -> Value {
        self.sum(|border| {
            // Nothing is below the last line: its gaps are blocked by the fences above them alone.
            let mut last = border.clone();
            (0..self.n - 1).filter(|&place| !border.split[place]).for_each(|place| join(&mut last, place));
            normal(last).pawns == [Pawn::Resolved; 2]
        })
    }

    fn sum(&self, counts: impl Fn(&Border) -> bool) -> Value {
        let mut sum = Vec::new();
        for (_, value) in self.states.iter().filter(|(border, _)| counts(border)) {
            add(&mut sum, value, 0);
        }
        sum
    }
}

/// Counts the legal positions on `n` x `n` squares with up to `max_fences` fences; two runs, one for the variant
/// with neither pawn on its goal.
pub fn count(n: usize, direction: Direction, max_fences: usize) -> Counts {
    let run = |on_goals: bool| {
        let mut scan = Scan::new(n, direction, max_fences, on_goals);
        (0..(n - 1) * (n - 1)).for_each(|_| scan.advance());
        scan
    };
    let scan = run(true);
    let (fences, all) = (scan.without_pawns(), scan.legal());
    let both = |fences: u128| (n * n) as u128 * fences;
    let not_both = all.iter().zip(&fences).map(|(&all, &fences)| all - both(fences)).collect();
    Counts { fences, all, not_both, neither: run(false).legal() }
}

/// `to += from x^shift`, dropping what leaves the range.
fn add(to: &mut Value, from: &[u128], shift: usize) {
    to.resize(from.len(), 0);
    for (to, from) in to[shift..].iter_mut().zip(from) {
        *to += from;
    }
}

/// Makes one component of those at `place` and `place + 1`.
fn join(border: &mut Border, place: usize) {
    let (to, from) = (border.component[place], border.component[place + 1]);
    border.component.iter_mut().filter(|component| **component == from).for_each(|component| *component = to);
    border.pawns.iter_mut().filter(|pawn| **pawn == Pawn::In(from)).for_each(|pawn| *pawn = Pawn::In(to));
    let more = border.touches[usize::from(from)];
    for (touches, more) in border.touches[usize::from(to)].iter_mut().zip(more) {
        *touches |= more;
    }
    resolve(border);
}

/// Resolves pawns whose component touches their goal.
fn resolve(border: &mut Border) {
    for (player, pawn) in border.pawns.iter_mut().enumerate() {
        if let Pawn::In(component) = *pawn
            && border.touches[usize::from(component)][player]
        {
            *pawn = Pawn::Resolved;
        }
    }
}

/// Resolves pawns, and numbers the components in the order of their first squares, so that equal borders compare equal.
fn normal(mut border: Border) -> Border {
    resolve(&mut border);
    let mut names: Vec<u8> = Vec::new();
    for component in &mut border.component {
        let place = names.iter().position(|name| name == component).unwrap_or_else(|| {
            names.push(*component);
            names.len() - 1
        });
        *component = place as u8;
    }
    for pawn in &mut border.pawns {
        if let Pawn::In(component) = pawn
            && let Some(place) = names.iter().position(|name| name == component)
        {
            *component = place as u8;
        }
    }
    border.touches = names.iter().map(|&name| border.touches[usize::from(name)]).collect();
    border
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quoridor::brute;

    #[test]
    fn agrees_with_every_arrangement_in_both_directions() {
        for n in 2..=4 {
            let expected = brute::count(n, 20).unwrap();
            for direction in [Direction::Along, Direction::Across] {
                assert_eq!(count(n as usize, direction, 20), expected, "{n} {direction:?}");
            }
        }
    }

    #[test]
    fn a_cross_fence_cuts_a_pawn_off() {
        let scan = Scan::new(2, Direction::Across, 20, true);
        let find = |pawns: [Pawn; 2]| scan.states().keys().find(|border| border.pawns == pawns).unwrap();
        // Two lines of two squares; the first player is home on line 0. The second needs line 1.
        let waiting = find([Pawn::Resolved, Pawn::In(1)]);
        assert_eq!(scan.step(waiting, Fence::Cross), []);
        let after = scan.step(waiting, Fence::Split);
        assert_eq!(after.len(), 1);
        assert_eq!(after[0].pawns, [Pawn::Resolved; 2]);
    }
}
