//! The agent: it searches while there are fences to place, and then walks a shortest way.
//!
//! It walks to the square from which the fewest steps lead to its goal, pawns left out; a random number decides between
//! equals. A jump is taken where it is such a move.
//!
//! Paper: Mertens (2006): minimax of depth 2, then breadth-first search. Cost of a walk: one flood a move.

use clap::ValueEnum;
use keima_model::mix::split_mix;
use keima_problems::quoridor::game::{Game, Move};

use crate::features::Features;
use crate::search::{Search, then};

/// Most plies of a search.
pub(crate) const MAX_DEPTH: u32 = 5;

/// When the agent stops to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Walk {
    /// Both players' fences
    All,
    /// The agent's own fences
    Own,
    /// Nobody's: the agent searches to the end
    Never,
}

/// Where the random number is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Noise {
    /// To the value of each leaf; the least of some 60 replies has hardly any of it
    Leaf,
    /// To the value of each move of the agent, after the search
    Move,
}

/// Whose value the features tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Max {
    /// That of the player who searches
    Searcher,
    /// That of the player who began the game; the other one searches for the smallest value
    Starter,
}

/// An agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Player {
    pub(crate) features: Features,
    /// Plies of the search.
    pub(crate) depth: u32,
    pub(crate) walk: Walk,
    pub(crate) max: Max,
    pub(crate) noise: Noise,
}

impl Player {
    /// The agent's move; `None` if there is none. `random` is the state of its generator.
    pub(crate) fn choose(&self, game: &Game, random: &mut u64) -> Option<Move> {
        let seed = split_mix(random);
        let walks = match self.walk {
            Walk::All => game.hand(0) + game.hand(1) == 0,
            Walk::Own => game.hand(game.turn()) == 0,
            Walk::Never => false,
        };
        if walks {
            return walk(game, seed);
        }
        let max = if self.max == Max::Searcher { game.turn() } else { 0 };
        Search::new(self.features, max, self.noise).best(game, self.depth, seed).map(|(one, _)| one)
    }
}

/// A move of the pawn after which the way to the goal is shortest.
fn walk(game: &Game, seed: u64) -> Option<Move> {
    let player = game.turn();
    let steps = game.moves().filter(|(one, _)| matches!(one, Move::Pawn(_)));
    let rank = |one: Move, next: &Game| {
        let open = next.open();
        (open.distance(next.pawn(player), open.goal(player)), then(seed, one))
    };
    steps.min_by_key(|(one, next)| rank(*one, next)).map(|(one, _)| one)
}

#[cfg(test)]
mod tests {
    use keima_problems::quoridor::rules::Direction::{Horizontal, Vertical};

    use super::*;

    #[test]
    fn walks_are_shortest() {
        let start = Game::new(9, 0).unwrap();
        for (pawns, fences, expected) in [
            // Ahead; round a wall by its nearer end; a jump; a diagonal jump towards the goal.
            ([4, 76], &[][..], 13),
            ([4, 76], &[(Horizontal, 0, 3), (Horizontal, 0, 1)], 5),
            ([31, 40], &[], 49),
            ([31, 40], &[(Horizontal, 4, 4), (Vertical, 4, 3), (Horizontal, 3, 2)], 41),
        ] {
            let game = start.set_up(pawns, fences).unwrap();
            for seed in 0..20 {
                let player = Player {
                    features: Features::of(&[1]),
                    depth: 2,
                    walk: Walk::All,
                    max: Max::Searcher,
                    noise: Noise::Leaf,
                };
                assert_eq!(player.choose(&game, &mut { seed }), Some(Move::Pawn(expected)), "{pawns:?} {fences:?}");
            }
        }
        // Two ways round, equally long: both are taken.
        let game = start.set_up([4, 76], &[(Horizontal, 0, 3), (Horizontal, 0, 5), (Horizontal, 0, 1)]).unwrap();
        let first: Vec<Option<Move>> = (0..20).map(|seed| walk(&game, seed)).collect();
        assert!(first.iter().all(|one| *one == Some(Move::Pawn(5)) || *one == Some(Move::Pawn(3))), "{first:?}");
    }

    #[test]
    fn when_the_agent_walks() {
        // The first has placed all fences, the second none. Only a search for f4 moves sideways or back at random.
        let mut game = Game::new(9, 1).unwrap();
        game = game.play(Move::Fence(Vertical, 7, 0)).unwrap().play(Move::Pawn(67)).unwrap();
        let moves = |walk| {
            let player =
                Player { features: Features::of(&[4]), depth: 1, walk, max: Max::Searcher, noise: Noise::Leaf };
            (0..30).filter(|&seed| player.choose(&game, &mut { seed }) == Some(Move::Pawn(13))).count()
        };
        assert_eq!(moves(Walk::Own), 30);
        assert!(moves(Walk::All) < 25, "{}", moves(Walk::All));
    }
}
