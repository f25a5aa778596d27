//! A game: whose turn it is, fences in hand, which moves are legal.
//!
//! A fence may not overlap or cross another, and both pawns must keep a way to their goals. Intersections are bits,
//! intersection (row, column) is bit `row * (n-1) + column`. A player whose pawn stands on its goal has won.
//!
//! From 3 squares a side on a player always has a move. If not, the only way out would lead over the other pawn, which would
//! stand on this one's goal without another exit; so its way would lead over this pawn, which would stand on a goal as well.
//!
//! Cost: a move of a fence takes two floods ([`Open::distance`]). It takes none where the fence touches what stands already,
//! or the edge, with fewer than two of its ends and its middle: then it closes no circle, and cuts nothing off.

use thiserror::Error;

use super::rules::{Direction, Fence, Open, Squares, has_room};

/// A move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// The pawn goes to this square's number.
    Pawn(u32),
    /// A fence on the intersection (row, column).
    Fence(Direction, u32, u32),
}

/// Why a move breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// A pawn stands on its goal.
    #[error("the game is over")]
    Over,
    /// No step and no jump leads there.
    #[error("the pawn cannot go there: it takes one step that no fence blocks, or jumps over the other pawn")]
    OutOfReach,
    /// No fence in hand.
    #[error("no fence is left in hand; move the pawn")]
    NoFenceInHand,
    /// There is no such intersection.
    #[error("the fence would not lie on the board: there are {0} x {0} intersections")]
    OffBoard(u32),
    /// Another fence lies there.
    #[error("the fence would overlap or cross another")]
    NoRoom,
    /// A pawn would lose its last way.
    #[error("the fence would cut player {} off from the goal", .player + 1)]
    CutsOff {
        /// 0 or 1.
        player: usize,
    },
}

/// A position of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Game {
    open: Open,
    /// Intersections with a horizontal fence, and with a vertical one.
    fences: [Squares; 2],
    /// Intersections that a fence lies on or ends at.
    touched: Squares,
    /// Squares of the pawns.
    pawns: [Squares; 2],
    /// Fences in hand.
    hands: [u32; 2],
    /// Whose turn it is, 0 or 1.
    turn: usize,
}

impl Game {
    /// The beginning on n x n squares with so many fences for each player, pawns in the middle of their base lines. `None`
    /// where n is not in 2..=[`MAX_SIDE`](super::rules::MAX_SIDE).
    pub fn new(n: u32, hand: u32) -> Option<Self> {
        let open = Open::new(n)?;
        let middle = n / 2;
        let pawns = [1 << middle, 1 << (n * (n - 1) + middle)];
        Some(Self { open, fences: [0; 2], touched: 0, pawns, hands: [hand; 2], turn: 0 })
    }

    /// This game with pawns on these squares' numbers, and with more fences, which come out of no hand. Refused if the pawns
    /// share a square or stand off the board, and as the fences would be in play.
    pub fn set_up(&self, pawns: [u32; 2], fences: &[Fence]) -> Result<Self, Refused> {
        let squares = self.open.side() * self.open.side();
        if pawns[0] == pawns[1] || pawns.iter().any(|&pawn| pawn >= squares) {
            return Err(Refused::OutOfReach);
        }
        let mut game = Self { pawns: pawns.map(|pawn| 1 << pawn), ..*self };
        for &(direction, row, column) in fences {
            game.may_lie(direction, row, column)?;
            game.lay(direction, row, column);
        }
        game.cut_off().map_or(Ok(game), |player| Err(Refused::CutsOff { player }))
    }

    /// Squares a side.
    pub fn side(&self) -> u32 {
        self.open.side()
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
        let side = self.side() - 1;
        row < side && column < side && self.fences[direction as usize] >> (row * side + column) & 1 == 1
    }
    /// The fences on the board, horizontal ones first.
    pub fn fences(&self) -> impl Iterator<Item = Fence> + '_ {
        let side = self.side() - 1;
        let all = [Direction::Horizontal, Direction::Vertical].map(|one| (one, self.fences[one as usize]));
        all.into_iter().flat_map(move |(one, set)| {
            (0..side * side).filter(move |at| set >> at & 1 == 1).map(move |at| (one, at / side, at % side))
        })
    }
    /// The player whose pawn stands on its goal, if one does.
    pub fn winner(&self) -> Option<usize> {
        (0..2).find(|&player| self.pawns[player] & self.open.goal(player) != 0)
    }

    /// Whether the fence would lie on the board without overlap and crossing.
    fn may_lie(&self, direction: Direction, row: u32, column: u32) -> Result<(), Refused> {
        let side = self.side() - 1;
        if row >= side || column >= side {
            return Err(Refused::OffBoard(side));
        }
        let lies = |(direction, row, column): Fence| self.has_fence(direction, row, column);
        if has_room((direction, row, column), lies) { Ok(()) } else { Err(Refused::NoRoom) }
    }

    /// Ends and middle of a fence: the intersection's bit, or `None` at the edge.
    fn points(&self, direction: Direction, row: u32, column: u32) -> [Option<u32>; 3] {
        let side = self.side() - 1;
        let at = row * side + column;
        let (along, step) = match direction {
            Direction::Horizontal => (column, 1),
            Direction::Vertical => (row, side),
        };
        [(along > 0).then(|| at.wrapping_sub(step)), Some(at), (along + 1 < side).then_some(at + step)]
    }

    /// Whether the fence would join things: at two or three of its points stands a fence or the edge. Only such fences can
    /// cut something off.
    fn joins(&self, direction: Direction, row: u32, column: u32) -> bool {
        let touches = |point: Option<u32>| point.is_none_or(|point| self.touched >> point & 1 == 1);
        self.points(direction, row, column).into_iter().filter(|&point| touches(point)).count() >= 2
    }

    /// Puts a fence down, whatever it does.
    fn lay(&mut self, direction: Direction, row: u32, column: u32) {
        for point in self.points(direction, row, column).into_iter().flatten() {
            self.touched |= 1 << point;
        }
        self.fences[direction as usize] |= 1 << (row * (self.side() - 1) + column);
        self.open = self.open.with_fence(direction, row, column);
    }

    /// A player without a way to the goal.
    fn cut_off(&self) -> Option<usize> {
        (0..2).find(|&player| self.open.distance(self.pawns[player], self.open.goal(player)).is_none())
    }

    /// The position after a move.
    pub fn play(&self, one: Move) -> Result<Self, Refused> {
        if self.winner().is_some() {
            return Err(Refused::Over);
        }
        let (own, other) = (self.turn, 1 - self.turn);
        let mut next = Self { turn: other, ..*self };
        match one {
            Move::Pawn(square) => {
                let to = 1_u128.checked_shl(square).unwrap_or(0);
                if self.open.pawn_moves(self.pawns[own], self.pawns[other]) & to == 0 {
                    return Err(Refused::OutOfReach);
                }
                next.pawns[own] = to;
            }
            Move::Fence(direction, row, column) => {
                if self.hands[own] == 0 {
                    return Err(Refused::NoFenceInHand);
                }
                self.may_lie(direction, row, column)?;
                next.hands[own] -= 1;
                next.lay(direction, row, column);
                if self.joins(direction, row, column)
                    && let Some(player) = next.cut_off()
                {
                    return Err(Refused::CutsOff { player });
                }
            }
        }
        Ok(next)
    }

    /// All moves with the positions after them: pawns first, then fences by row, column and direction.
    pub fn moves(&self) -> impl Iterator<Item = (Move, Self)> + '_ {
        let side = self.side() - 1;
        let steps = self.open.pawn_moves(self.pawns[self.turn], self.pawns[1 - self.turn]);
        let pawns = (0..self.side() * self.side()).filter(move |square| steps >> square & 1 == 1).map(Move::Pawn);
        let places = if self.hands[self.turn] == 0 { 0 } else { side * side };
        let fences = (0..places).flat_map(move |place| {
            [Direction::Horizontal, Direction::Vertical].map(|one| Move::Fence(one, place / side, place % side))
        });
        pawns.chain(fences).filter_map(|one| Some((one, self.play(one).ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use keima_model::mix::split_mix;

    use super::*;
    use crate::quoridor::brute;

    const SEED: u64 = 77;

    #[test]
    fn what_is_refused_and_why() {
        use Direction::{Horizontal, Vertical};
        let start = Game::new(5, 1).unwrap();
        let room = [(Horizontal, 1, 1), (Vertical, 2, 3)];
        // The first pawn's row is closed but for column 0.
        let cage = [(Horizontal, 0, 1), (Horizontal, 0, 3)];
        for (fences, one, expected) in [
            (&[][..], Move::Pawn(7), None),
            (&[], Move::Pawn(2), Some(Refused::OutOfReach)),
            (&[], Move::Pawn(12), Some(Refused::OutOfReach)),
            (&[], Move::Pawn(200), Some(Refused::OutOfReach)),
            (&[], Move::Fence(Vertical, 3, 3), None),
            (&[], Move::Fence(Vertical, 4, 0), Some(Refused::OffBoard(4))),
            (&[], Move::Fence(Horizontal, 0, u32::MAX), Some(Refused::OffBoard(4))),
            // Crossing, the same place, half over at either end; and end to end or in a T, which are legal.
            (&room, Move::Fence(Vertical, 1, 1), Some(Refused::NoRoom)),
            (&room, Move::Fence(Horizontal, 1, 1), Some(Refused::NoRoom)),
            (&room, Move::Fence(Horizontal, 1, 0), Some(Refused::NoRoom)),
            (&room, Move::Fence(Horizontal, 1, 2), Some(Refused::NoRoom)),
            (&room, Move::Fence(Vertical, 1, 3), Some(Refused::NoRoom)),
            (&room, Move::Fence(Vertical, 3, 3), Some(Refused::NoRoom)),
            (&room, Move::Fence(Horizontal, 1, 3), None),
            (&room, Move::Fence(Vertical, 0, 1), None),
            (&room, Move::Fence(Vertical, 2, 1), None),
            (&cage, Move::Fence(Vertical, 0, 2), None),
            (&cage, Move::Fence(Vertical, 0, 0), Some(Refused::CutsOff { player: 0 })),
            (
                &[(Horizontal, 0, 0), (Horizontal, 0, 2)],
                Move::Fence(Vertical, 0, 3),
                Some(Refused::CutsOff { player: 0 }),
            ),
            (
                &[(Horizontal, 3, 0), (Horizontal, 3, 2)],
                Move::Fence(Vertical, 3, 3),
                Some(Refused::CutsOff { player: 1 }),
            ),
        ] {
            let game = start.set_up([2, 22], fences).unwrap();
            assert_eq!(game.play(one).err(), expected, "{fences:?} {one:?}");
        }
        let later = start.play(Move::Fence(Horizontal, 1, 1)).unwrap().play(Move::Pawn(17)).unwrap();
        assert_eq!((later.hand(0), later.hand(1), later.turn()), (0, 1, 0));
        assert_eq!(later.play(Move::Fence(Horizontal, 3, 1)), Err(Refused::NoFenceInHand));
        let over = start.set_up([21, 10], &[]).unwrap();
        assert_eq!((over.winner(), over.play(Move::Pawn(16)), over.moves().count()), (Some(0), Err(Refused::Over), 0));
        assert_eq!(start.set_up([3, 3], &[]), Err(Refused::OutOfReach));
        assert_eq!(start.set_up([3, 25], &[]), Err(Refused::OutOfReach));
        assert_eq!(start.set_up([2, 22], &[(Horizontal, 1, 1), (Vertical, 1, 1)]), Err(Refused::NoRoom));
    }

    /// The other pawn must stand on the only way, on both goals' squares and without another exit, and still have its way.
    #[test]
    fn a_player_without_a_move() {
        let game = Game::new(2, 0).unwrap().set_up([1, 3], &[(Direction::Vertical, 0, 0)]).unwrap();
        assert_eq!((game.winner(), game.moves().count()), (None, 0));
        let fences = [(Direction::Horizontal, 1, 0), (Direction::Vertical, 2, 0)];
        assert_eq!(Game::new(4, 0).unwrap().set_up([8, 12], &fences), Err(Refused::CutsOff { player: 1 }));
    }

    /// All arrangements of fences with all pawns, found by putting down legal fences one by one: as many as are counted.
    #[test]
    fn positions_of_the_rules_are_those_of_the_count() {
        for n in 2..=4 {
            let counted = brute::count(n, 20).unwrap().all;
            let mut by_fences = vec![0; counted.len()];
            for pawns in (0..n * n).flat_map(|first| (0..n * n).map(move |second| [first, second])) {
                // A won game goes on here: what is counted does not ask who has won.
                let Ok(start) = Game::new(n, 0).unwrap().set_up(pawns, &[]) else { continue };
                let mut level = HashSet::from([start.fences]);
                for count in &mut by_fences {
                    *count += level.len() as u128;
                    level = level.iter().flat_map(|&fences| fenced(start, fences)).collect();
                }
            }
            assert_eq!(by_fences, counted, "{n}");
        }
    }

    /// The arrangements with one more legal fence.
    fn fenced(start: Game, fences: [Squares; 2]) -> Vec<[Squares; 2]> {
        let mut game = start;
        for (direction, row, column) in (Game { fences, ..start }).fences() {
            game.lay(direction, row, column);
        }
        let side = game.side() - 1;
        let places = (0..side * side).flat_map(|at| [Direction::Horizontal, Direction::Vertical].map(|one| (one, at)));
        let after = places.filter_map(|(direction, at)| {
            let (row, column) = (at / side, at % side);
            game.may_lie(direction, row, column).ok()?;
            let mut next = game;
            next.lay(direction, row, column);
            (!game.joins(direction, row, column) || next.cut_off().is_none()).then_some(next.fences)
        });
        after.collect()
    }

    /// Random play reaches only positions that the count's own test accepts, and leaves out no move that it would accept.
    #[test]
    fn random_games_keep_to_what_is_counted() {
        let mut random = SEED;
        let (mut positions, mut cut_off) = (0, 0);
        for (n, hand, games) in [(9, 10, 15), (7, 10, 15), (5, 10, 20), (3, 4, 20), (2, 1, 20)] {
            for _ in 0..games {
                let mut game = Game::new(n, hand).unwrap();
                for _ in 0..60 {
                    let moves: Vec<(Move, Game)> = game.moves().collect();
                    let is_fence = |one: &Move| matches!(one, Move::Fence(..));
                    let fences = moves.iter().filter(|(one, _)| is_fence(one)).count();
                    let accepted = legal_fences(&game);
                    assert_eq!(fences, accepted, "seed {SEED}: {game:?}");
                    cut_off += usize::from(game.hand(game.turn()) > 0) * (room(&game) - accepted);
                    let Some(&(one, next)) = moves.get(split_mix(&mut random) as usize % moves.len().max(1)) else {
                        break;
                    };
                    assert!(is_counted(&next), "seed {SEED}: {game:?} {one:?}");
                    let laid = next.fences().count() as u32;
                    assert_eq!(laid + next.hand(0) + next.hand(1), 2 * hand, "seed {SEED}: {game:?} {one:?}");
                    assert_eq!((next.turn(), game.play(one)), (1 - game.turn(), Ok(next)), "seed {SEED}: {one:?}");
                    game = next;
                    positions += 1;
                }
            }
        }
        assert!(positions > 1000 && cut_off > 100, "{positions} positions, {cut_off} fences that would cut off");
        assert_eq!(Game::new(9, 10).unwrap().moves().count(), 128 + 3);
    }

    fn is_counted(game: &Game) -> bool {
        let fences: Vec<Fence> = game.fences().collect();
        brute::is_counted(game.side(), &fences, [game.pawn(0), game.pawn(1)].map(Squares::trailing_zeros))
    }

    /// Fences that may lie on the board, whether or not they cut off.
    fn room(game: &Game) -> usize {
        let side = game.side() - 1;
        let places = (0..side * side).flat_map(|at| [Direction::Horizontal, Direction::Vertical].map(|one| (one, at)));
        places.filter(|&(one, at)| game.may_lie(one, at / side, at % side).is_ok()).count()
    }

    /// Fences after which the count's own test accepts the position.
    fn legal_fences(game: &Game) -> usize {
        if game.hand(game.turn()) == 0 || game.winner().is_some() {
            return 0;
        }
        let side = game.side() - 1;
        let pawns = [game.pawn(0), game.pawn(1)].map(Squares::trailing_zeros);
        let places = (0..side * side).flat_map(|at| [Direction::Horizontal, Direction::Vertical].map(|one| (one, at)));
        let fits = |&(one, at): &(Direction, u32)| {
            let fences: Vec<Fence> = game.fences().chain([(one, at / side, at % side)]).collect();
            brute::is_counted(game.side(), &fences, pawns)
        };
        places.filter(fits).count()
    }
}
