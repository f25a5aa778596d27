//! The rules of play: fences, ways to the goals, moves of pawns. The brute-force count and players share them.
//!
//! Squares are bits, square (row, column) is bit `row * n + column`; intersections are bits alike, `row * (n-1) + column`. The
//! first player's goal is row n-1, the second's row 0. A fence lies on one intersection and blocks two edges; it may not
//! overlap or cross another, and both pawns must keep a way to their goals. Pawns do not block ways.
//!
//! A pawn moves to a neighbouring square that no fence cuts off. If the other pawn stands there, it jumps: straight over, or
//! where a fence or the edge of the board stands behind, to the squares beside that pawn.
//!
//! ```text
//!   . . . .       . . # .      A stands below B: it jumps to x.
//!   . . x .       . x B x      # a fence, or the edge
//!   . . B .       . . A .
//!   . . A .
//! ```
//!
//! Cost: a flood of up to n^2 steps of a few operations for each way; a move of a fence takes two.

/// A set of squares, or of intersections.
pub type Squares = u128;

/// Most squares a side: n^2 bits must fit [`Squares`].
pub const MAX_SIDE: u32 = 11;

/// Direction of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Between two rows.
    Horizontal,
    /// Between two columns.
    Vertical,
}

/// Squares whose edge to the square at their right, or below them, is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    n: u32,
    right: Squares,
    down: Squares,
}

impl Open {
    /// A board of n x n squares without fences; `None` where n is not in 2..=[`MAX_SIDE`].
    pub fn new(n: u32) -> Option<Self> {
        if !(2..=MAX_SIDE).contains(&n) {
            return None;
        }
        let all: Squares = (1 << (n * n)) - 1;
        let last_column: Squares = (0..n).fold(0, |set, row| set | 1 << (row * n + n - 1));
        Some(Self { n, right: all & !last_column, down: all >> n })
    }

    /// The board with one more fence at the intersection (row, column).
    #[must_use]
    pub fn with_fence(self, direction: Direction, row: u32, column: u32) -> Self {
        let square: Squares = 1 << (row * self.n + column);
        match direction {
            Direction::Horizontal => Self { down: self.down & !(square | square << 1), ..self },
            Direction::Vertical => Self { right: self.right & !(square | square << self.n), ..self },
        }
    }

    /// The squares one step from a square of `set`.
    pub fn neighbours(&self, set: Squares) -> Squares {
        let sideways = (set & self.right) << 1 | set >> 1 & self.right;
        let upright = (set & self.down) << self.n | set >> self.n & self.down;
        sideways | upright
    }

    /// The squares from which a square of `goal` can be reached, pawns left out.
    pub fn reaches(&self, goal: Squares) -> Squares {
        let mut reached = goal;
        loop {
            let next = reached | self.neighbours(reached);
            if next == reached {
                return reached;
            }
            reached = next;
        }
    }

    /// Fewest steps from a square of `from` to one of `goal`, pawns left out.
    pub fn distance(&self, from: Squares, goal: Squares) -> Option<u32> {
        let mut reached = from;
        let mut steps = 0;
        while reached & goal == 0 {
            let next = reached | self.neighbours(reached);
            if next == reached {
                return None;
            }
            reached = next;
            steps += 1;
        }
        Some(steps)
    }

    /// The goal row of a player, 0 or 1.
    pub fn goal(&self, player: usize) -> Squares {
        let row: Squares = (1 << self.n) - 1;
        if player == 0 { row << (self.n * (self.n - 1)) } else { row }
    }

    /// The squares to which the pawn on `pawn` moves, where the other one stands on `other`. Both are single squares.
    pub fn pawn_moves(&self, pawn: Squares, other: Squares) -> Squares {
        let near = self.neighbours(pawn);
        if near & other == 0 {
            return near;
        }
        // Straight on from the other pawn: as far as it is from this one.
        let around = self.neighbours(other) & !pawn;
        let (from, over) = (pawn.trailing_zeros(), other.trailing_zeros());
        let behind = (2 * over).checked_sub(from).and_then(|to| 1_u128.checked_shl(to)).unwrap_or(0);
        let straight = around & behind;
        near & !other | if straight == 0 { around } else { straight }
    }
}

/// A move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// The pawn goes to this square's number.
    Pawn(u32),
    /// A fence on the intersection (row, column).
    Fence(Direction, u32, u32),
}

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Game {
    open: Open,
    /// Intersections with a horizontal fence, and with a vertical one.
    fences: [Squares; 2],
    /// Squares of the pawns.
    pawns: [Squares; 2],
    /// Fences in hand.
    hands: [u32; 2],
    /// Whose turn it is, 0 or 1.
    turn: usize,
}

impl Game {
    /// The beginning on n x n squares with so many fences for each player, pawns in the middle of their base lines. `None`
    /// where n is not in 2..=[`MAX_SIDE`].
    pub fn new(n: u32, hand: u32) -> Option<Self> {
        let open = Open::new(n)?;
        let middle = n / 2;
        let pawns = [1 << middle, 1 << (n * (n - 1) + middle)];
        Some(Self { open, fences: [0; 2], pawns, hands: [hand; 2], turn: 0 })
    }

    /// Squares a side.
    pub fn side(&self) -> u32 {
        self.open.n
    }
    /// The open edges.
    pub fn open(&self) -> &Open {
        &self.open
    }
    /// The square of a player's pawn.
    pub fn pawn(&self, player: usize) -> Squares {
        self.pawns[player & 1]
    }
    /// A player's fences in hand.
    pub fn hand(&self, player: usize) -> u32 {
        self.hands[player & 1]
    }
    /// Whose turn it is, 0 or 1.
    pub fn turn(&self) -> usize {
        self.turn
    }
    /// Whether a fence of this direction lies on the intersection (row, column).
    pub fn has_fence(&self, direction: Direction, row: u32, column: u32) -> bool {
        let side = self.open.n - 1;
        row < side && column < side && self.fences[direction as usize] >> (row * side + column) & 1 == 1
    }
    /// The player whose pawn stands on its goal, if one does.
    pub fn winner(&self) -> Option<usize> {
        (0..2).find(|&player| self.pawns[player] & self.open.goal(player) != 0)
    }

    /// Whether the fence would lie on the board without overlap and crossing.
    fn has_room(&self, direction: Direction, row: u32, column: u32) -> bool {
        let side = self.open.n - 1;
        let taken =
            |along: u32, across: u32| self.has_fence(direction, row.wrapping_add(along), column.wrapping_add(across));
        let (before, after) = match direction {
            Direction::Horizontal => (taken(0, u32::MAX), taken(0, 1)),
            Direction::Vertical => (taken(u32::MAX, 0), taken(1, 0)),
        };
        let crossed = [Direction::Horizontal, Direction::Vertical].iter().any(|&one| self.has_fence(one, row, column));
        row < side && column < side && !before && !after && !crossed
    }

    /// Whether both pawns have a way to their goals.
    pub fn is_legal(&self) -> bool {
        (0..2).all(|player| self.open.distance(self.pawns[player], self.open.goal(player)).is_some())
    }

    /// The position after a move; `None` if it breaks the rules, or the game is over.
    pub fn play(&self, one: Move) -> Option<Self> {
        if self.winner().is_some() {
            return None;
        }
        let (own, other) = (self.turn, 1 - self.turn);
        let mut next = Self { turn: other, ..*self };
        match one {
            Move::Pawn(square) => {
                let to = 1_u128.checked_shl(square)?;
                if self.open.pawn_moves(self.pawns[own], self.pawns[other]) & to == 0 {
                    return None;
                }
                next.pawns[own] = to;
            }
            Move::Fence(direction, row, column) => {
                if self.hands[own] == 0 || !self.has_room(direction, row, column) {
                    return None;
                }
                next.hands[own] -= 1;
                next.fences[direction as usize] |= 1 << (row * (self.open.n - 1) + column);
                next.open = self.open.with_fence(direction, row, column);
                if !next.is_legal() {
                    return None;
                }
            }
        }
        Some(next)
    }

    /// All moves with the positions after them: pawns first, then fences by row, column and direction.
    pub fn moves(&self) -> impl Iterator<Item = (Move, Self)> + '_ {
        let side = self.open.n - 1;
        let steps = self.open.pawn_moves(self.pawns[self.turn], self.pawns[1 - self.turn]);
        let pawns = (0..self.open.n * self.open.n).filter(move |square| steps >> square & 1 == 1).map(Move::Pawn);
        let places = if self.hands[self.turn] == 0 { 0 } else { side * side };
        let fences = (0..places).flat_map(move |place| {
            [Direction::Horizontal, Direction::Vertical].map(|one| Move::Fence(one, place / side, place % side))
        });
        pawns.chain(fences).filter_map(|one| Some((one, self.play(one)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use keima_model::mix::split_mix;

    use super::*;
    use crate::quoridor::brute;

    /// A game with pawns and fences put where they are said to be; squares as (row, column).
    fn game(n: u32, pawns: [(u32, u32); 2], fences: &[(Direction, u32, u32)]) -> Game {
        let mut game = Game::new(n, 10).unwrap();
        game.pawns = pawns.map(|(row, column)| 1 << (row * n + column));
        for &(direction, row, column) in fences {
            assert!(game.has_room(direction, row, column));
            game.fences[direction as usize] |= 1 << (row * (n - 1) + column);
            game.open = game.open.with_fence(direction, row, column);
        }
        game
    }

    #[test]
    fn pawns_move_and_jump() {
        use Direction::{Horizontal, Vertical};
        for (pawns, fences, expected) in [
            ([(2, 2), (4, 4)], &[][..], &[(1, 2), (2, 1), (2, 3), (3, 2)][..]),
            ([(0, 0), (4, 4)], &[], &[(0, 1), (1, 0)]),
            ([(2, 2), (4, 4)], &[(Horizontal, 1, 2), (Vertical, 2, 2)], &[(2, 1), (3, 2)]),
            // Straight over the other pawn.
            ([(1, 2), (2, 2)], &[], &[(0, 2), (1, 1), (1, 3), (3, 2)]),
            ([(2, 3), (2, 2)], &[], &[(1, 3), (2, 1), (2, 4), (3, 3)]),
            // A fence behind it, or the edge; and one of the diagonals closed.
            ([(1, 2), (2, 2)], &[(Horizontal, 2, 2)], &[(0, 2), (1, 1), (1, 3), (2, 1), (2, 3)]),
            ([(2, 1), (2, 0)], &[], &[(1, 0), (1, 1), (2, 2), (3, 0), (3, 1)]),
            ([(2, 1), (2, 0)], &[(Horizontal, 1, 0)], &[(2, 2), (3, 0), (3, 1)]),
            // A fence between the pawns.
            ([(1, 2), (2, 2)], &[(Horizontal, 1, 1)], &[(0, 2), (1, 1), (1, 3)]),
        ] {
            let game = game(5, pawns, fences);
            let moves = game.open.pawn_moves(game.pawns[0], game.pawns[1]);
            let got: Vec<(u32, u32)> = (0..25).filter(|s| moves >> s & 1 == 1).map(|s| (s / 5, s % 5)).collect();
            assert_eq!(got, expected, "{pawns:?} {fences:?}");
        }
    }

    /// All arrangements of fences with all pawns, found by putting down legal fences one by one: as many as are counted.
    #[test]
    fn positions_of_the_rules_are_those_of_the_count() {
        for n in 2..=3 {
            let counted = brute::count(n, 20).unwrap().all;
            let mut by_fences = vec![0; counted.len()];
            for (first, second) in (0..n * n).flat_map(|first| (0..n * n).map(move |second| (first, second))) {
                if first == second {
                    continue;
                }
                let start = game(n, [(first / n, first % n), (second / n, second % n)], &[]);
                let mut level = HashSet::from([start.fences]);
                for count in &mut by_fences {
                    *count += level.len() as u128;
                    level = level.iter().flat_map(|fences| fenced(start, *fences)).collect();
                }
            }
            assert_eq!(by_fences, counted, "{n}");
        }
    }

    /// The arrangements with one more legal fence.
    fn fenced(start: Game, fences: [Squares; 2]) -> Vec<[Squares; 2]> {
        let side = start.side() - 1;
        let places = |set: Squares| (0..side * side).filter(move |place| set >> place & 1 == 1);
        let mut all = Vec::new();
        let mut game = Game { fences, ..start };
        for (direction, set) in [Direction::Horizontal, Direction::Vertical].into_iter().zip(fences) {
            for place in places(set) {
                game.open = game.open.with_fence(direction, place / side, place % side);
            }
        }
        for place in 0..side * side {
            for direction in [Direction::Horizontal, Direction::Vertical] {
                let (row, column) = (place / side, place % side);
                if game.has_room(direction, row, column) && {
                    let next = Game { open: game.open.with_fence(direction, row, column), ..game };
                    next.is_legal()
                } {
                    let mut more = fences;
                    more[direction as usize] |= 1 << place;
                    all.push(more);
                }
            }
        }
        all
    }

    /// Random play on the real board: every position is legal, and `moves` are the moves that `play` takes.
    #[test]
    fn random_games_keep_the_rules() {
        const SEED: u64 = 77;
        let mut random = SEED;
        for _ in 0..20 {
            let mut game = Game::new(9, 10).unwrap();
            for _ in 0..60 {
                let moves: Vec<(Move, Game)> = game.moves().collect();
                let Some(&(one, next)) = moves.get(split_mix(&mut random) as usize % moves.len().max(1)) else { break };
                assert!(next.is_legal(), "seed {SEED}: {game:?} {one:?}");
                assert_ne!(next.pawns[0], next.pawns[1], "seed {SEED}: {game:?} {one:?}");
                let fences = next.fences.iter().map(|set| set.count_ones()).sum::<u32>();
                assert_eq!(fences + next.hands.iter().sum::<u32>(), 20, "seed {SEED}: {game:?} {one:?}");
                game = next;
            }
        }
        let start = Game::new(9, 10).unwrap();
        assert_eq!(start.moves().count(), 128 + 3);
        assert_eq!(start.play(Move::Pawn(200)), None);
        assert_eq!(start.play(Move::Fence(Direction::Vertical, 8, 0)), None);
    }
}
