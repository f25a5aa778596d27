//! Minimax with alpha-beta to a fixed depth.
//!
//! A leaf's value is that of its features and a random number from [0, 1). The number is a hash of the seed and of the moves
//! that lead to the leaf: each leaf has its own, and it does not matter in which order leaves are looked at. So alpha-beta
//! chooses what plain minimax would, random numbers included. [`Noise::Move`] adds it to the moves at the root instead. A won
//! position is worth more than any sum of features, and more the sooner it is won.
//!
//! Cost: of b^d leaves for b moves and depth d about b^(d/2) or a few times as many. A *killer*, the last move that refuted a
//! sibling, is tried first.

use keima_model::mix::{GOLDEN, finalise};
use keima_problems::quoridor::game::{Game, Move};
use keima_problems::quoridor::rules::Direction;

use crate::features::Features;
use crate::player::{MAX_DEPTH, Noise};

/// The value of a won position.
const WON: f64 = 1e6;

/// A search for the move of the player whose turn it is.
pub(crate) struct Search {
    features: Features,
    /// The player for whom values are; the other one chooses the smallest.
    max: usize,
    noise: Noise,
    /// For each number of plies left, the last move that made others needless.
    killers: [Option<Move>; MAX_DEPTH as usize + 1],
}

impl Search {
    /// A search with values for the player `max`, 0 or 1.
    pub(crate) fn new(features: Features, max: usize, noise: Noise) -> Self {
        Self { features, max, noise, killers: [None; MAX_DEPTH as usize + 1] }
    }

    /// The first of the best moves, and its value; `None` if there is no move.
    pub(crate) fn best(&mut self, game: &Game, depth: u32, seed: u64) -> Option<(Move, f64)> {
        let is_max = game.turn() == self.max;
        let mut best: Option<(Move, f64)> = None;
        for (one, next) in game.moves() {
            let [mut alpha, mut beta] = [f64::NEG_INFINITY, f64::INFINITY];
            let path = then(seed, one);
            let random = if self.noise == Noise::Move { uniform(path) } else { 0.0 };
            if let Some((_, value)) = best {
                *(if is_max { &mut alpha } else { &mut beta }) = value - random;
            }
            let value = self.value(&next, depth.saturating_sub(1), path, alpha, beta) + random;
            if best.is_none_or(|(_, best)| if is_max { value > best } else { value < best }) {
                best = Some((one, value));
            }
        }
        best
    }

    /// The value of a position. Outside of alpha..beta it is only known to be there. `path` stands for the moves so far.
    fn value(&mut self, game: &Game, depth: u32, path: u64, mut alpha: f64, mut beta: f64) -> f64 {
        if depth == 0 || game.winner().is_some() {
            return self.leaf(game, depth, path);
        }
        let is_max = game.turn() == self.max;
        let killer = self.killers.get(depth as usize).copied().flatten();
        let first = killer.and_then(|one| Some((one, game.play(one).ok()?)));
        let others = game.moves().filter(|(one, _)| Some(*one) != killer);
        let mut best: Option<f64> = None;
        for (one, next) in first.into_iter().chain(others) {
            let value = self.value(&next, depth - 1, then(path, one), alpha, beta);
            if is_max {
                best = Some(best.map_or(value, |best| best.max(value)));
                alpha = alpha.max(value);
            } else {
                best = Some(best.map_or(value, |best| best.min(value)));
                beta = beta.min(value);
            }
            if alpha >= beta {
                if let Some(killer) = self.killers.get_mut(depth as usize) {
                    *killer = Some(one);
                }
                break;
            }
        }
        best.unwrap_or_else(|| self.leaf(game, 0, path))
    }

    fn leaf(&self, game: &Game, depth: u32, path: u64) -> f64 {
        match game.winner() {
            Some(winner) if winner == self.max => WON + f64::from(depth),
            Some(_) => -WON - f64::from(depth),
            None => self.features.value(game, self.max) + if self.noise == Noise::Leaf { uniform(path) } else { 0.0 },
        }
    }
}

/// The hash of a path with one more move.
pub(crate) fn then(path: u64, one: Move) -> u64 {
    let code = match one {
        Move::Pawn(square) => u64::from(square),
        Move::Fence(direction, row, column) => {
            let direction = if direction == Direction::Horizontal { 1 } else { 2 };
            direction << 32 | u64::from(row) << 16 | u64::from(column)
        }
    };
    finalise(path ^ (code + 1).wrapping_mul(GOLDEN))
}

/// A number from [0, 1) out of 64 random bits.
pub(crate) fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use keima_model::mix::split_mix;

    use super::*;

    impl Search {
        /// Plain minimax: every move.
        fn plain(&self, game: &Game, depth: u32, path: u64) -> f64 {
            if depth == 0 || game.winner().is_some() {
                return self.leaf(game, depth, path);
            }
            let values = game.moves().map(|(one, next)| self.plain(&next, depth - 1, then(path, one)));
            if game.turn() == self.max {
                values.fold(f64::NEG_INFINITY, f64::max)
            } else {
                values.fold(f64::INFINITY, f64::min)
            }
        }

        fn plain_best(&self, game: &Game, depth: u32, seed: u64) -> Option<(Move, f64)> {
            let random = |path| if self.noise == Noise::Move { uniform(path) } else { 0.0 };
            let values = game.moves().map(|(one, next)| {
                let path = then(seed, one);
                (one, self.plain(&next, depth - 1, path) + random(path))
            });
            let is_max = game.turn() == self.max;
            values.reduce(|best, next| {
                let is_better = if is_max { next.1 > best.1 } else { next.1 < best.1 };
                if is_better { next } else { best }
            })
        }
    }

    /// Positions of random games on small boards: the same move of the same value, for every set of features.
    #[test]
    fn alpha_beta_is_minimax() {
        const SEED: u64 = 11;
        let sets = ["f1", "f2+f3", "f1+f2+f4", "f3+f4", "f1+f2+f3+f4"].map(|set| set.parse::<Features>().unwrap());
        let mut random = SEED;
        let (mut searches, mut won) = (0, 0);
        for (n, hand, depth, games) in
            [(3, 2, 1, 6), (3, 2, 2, 6), (3, 1, 3, 4), (4, 1, 3, 2), (3, 1, 4, 2), (5, 3, 2, 3)]
        {
            for features in sets.iter().cycle().take(games * sets.len()) {
                let mut game = Game::new(n, hand).unwrap();
                for _ in 0..split_mix(&mut random) % 6 {
                    let moves: Vec<Game> = game.moves().map(|(_, next)| next).collect();
                    let Some(&next) = moves.get(split_mix(&mut random) as usize % moves.len().max(1)) else { break };
                    game = next;
                }
                let seed = split_mix(&mut random);
                let noise = if searches % 3 == 0 { Noise::Move } else { Noise::Leaf };
                let mut search = Search::new(*features, split_mix(&mut random) as usize % 2, noise);
                let expected = search.plain_best(&game, depth, seed);
                let got = search.best(&game, depth, seed);
                assert_eq!(got, expected, "seed {SEED}, depth {depth}, {features}: {game:?}");
                searches += usize::from(got.is_some());
                won += usize::from(got.is_some_and(|(_, value)| value.abs() >= WON));
            }
        }
        assert!(searches > 80 && won > 10 && won < searches, "{searches} searches, {won} decided");
    }

    #[test]
    fn the_quickest_win_is_taken_and_a_loss_put_off() {
        let start = Game::new(9, 0).unwrap();
        for (pawns, depth, expected) in [
            // One step from the goal; two, where Min needs three.
            ([66, 40], 2, Some((Move::Pawn(75), WON + 1.0))),
            ([57, 31], 3, Some((Move::Pawn(66), WON))),
        ] {
            let game = start.set_up(pawns, &[]).unwrap();
            let got = Search::new(Features::of(&[1]), game.turn(), Noise::Leaf).best(&game, depth, 5);
            assert_eq!(got, expected, "{pawns:?}");
        }
        // Min wins with its next step, whatever Max does.
        let game = start.set_up([40, 13], &[]).unwrap();
        let (_, value) = Search::new(Features::of(&[1]), game.turn(), Noise::Leaf).best(&game, 2, 5).unwrap();
        assert!((value + WON).abs() < 0.5, "{value}");
    }

    #[test]
    fn random_terms_are_uniform() {
        let mut path = 3;
        let mut tenths = [0; 10];
        for square in (0..80).cycle().take(10_000) {
            path = then(path, Move::Pawn(square));
            let number = uniform(path);
            assert!((0.0..1.0).contains(&number));
            tenths[(number * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|tenth| (850..1150).contains(tenth)), "{tenths:?}");
        assert!(uniform(u64::MAX) < 1.0);
    }
}
