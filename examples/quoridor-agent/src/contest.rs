//! Games between agents, and series of games with the same starter.
//!
//! Every game has a seed of its own, made from the series' seed and the game's number. Games that are not over after the most
//! plies are left out, and the next numbers are played instead. So a series is the same on any number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use keima_model::mix::{GOLDEN, finalise};
use keima_problems::quoridor::game::Game;

use crate::player::Player;

/// Squares a side.
pub(crate) const SQUARES: u32 = 9;
/// Fences of each player.
pub(crate) const HAND: u32 = 10;
/// A series ends when this many times the wanted games have been played, however many were left out.
const ATTEMPTS: u32 = 10;

/// The beginning of a game on the real board.
pub(crate) fn beginning() -> Game {
    // Nine squares a side are within the rules' limits.
    Game::new(SQUARES, HAND).unwrap_or_else(|| unreachable!("{SQUARES} squares a side"))
}

/// How a game went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Played {
    /// `None` where the game was not over.
    pub(crate) winner: Option<usize>,
    pub(crate) plies: u32,
    /// Legal moves of all positions in which a move was made.
    pub(crate) choices: u64,
}

/// Plays one game. The first of the players starts.
pub(crate) fn play(players: [&Player; 2], most_plies: u32, seed: u64) -> Played {
    let mut game = beginning();
    let mut random = seed;
    let mut played = Played { winner: None, plies: 0, choices: 0 };
    while played.plies < most_plies {
        let Some(one) = players[game.turn()].choose(&game, &mut random) else { break };
        let Ok(next) = game.play(one) else { break };
        played.plies += 1;
        played.choices += game.moves().count() as u64;
        game = next;
        if game.winner().is_some() {
            break;
        }
    }
    Played { winner: game.winner(), ..played }
}

/// Games with the same starter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Series {
    /// Games won by the starter, and by the other.
    pub(crate) wins: [u32; 2],
    /// Plies of each game.
    pub(crate) plies: Vec<u32>,
    /// Games that were not over after the most plies.
    pub(crate) left_out: u32,
    /// Legal moves of all positions in which a move was made.
    pub(crate) choices: u64,
}

impl Series {
    /// Games that count.
    pub(crate) fn games(&self) -> u32 {
        self.wins[0] + self.wins[1]
    }
    /// Positions in which a move was made.
    pub(crate) fn positions(&self) -> u64 {
        self.plies.iter().copied().map(u64::from).sum()
    }

    fn add(&mut self, played: Played) {
        match played.winner {
            Some(winner) => {
                self.wins[winner] += 1;
                self.plies.push(played.plies);
                self.choices += played.choices;
            }
            None => self.left_out += 1,
        }
    }
}

/// What all games of a series have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) games: u32,
    pub(crate) most_plies: u32,
    pub(crate) threads: u32,
    pub(crate) seed: u64,
}

/// Plays a series. Games that are left out are replaced, up to [`ATTEMPTS`] times the number of games.
pub(crate) fn series(players: [&Player; 2], plan: Plan) -> Series {
    let mut series = Series::default();
    let mut next = 0;
    while series.games() < plan.games && next < plan.games.saturating_mul(ATTEMPTS) {
        let end = next + plan.games - series.games();
        for played in games(players, plan, next, end) {
            series.add(played);
        }
        next = end;
    }
    series
}

/// The games of these numbers, in this order.
fn games(players: [&Player; 2], plan: Plan, first: u32, end: u32) -> Vec<Played> {
    let next = AtomicU32::new(first);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.min(end - first) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        break;
                    }
                    let seed = finalise(plan.seed ^ (u64::from(number) + 1).wrapping_mul(GOLDEN));
                    let played = play(players, plan.most_plies, seed);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, played));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, played)| played).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::player::{Max, Noise, Walk};

    fn player(numbers: &[usize]) -> Player {
        Player { features: Features::of(numbers), depth: 1, walk: Walk::Own, max: Max::Searcher, noise: Noise::Leaf }
    }

    #[test]
    fn a_series_does_not_depend_on_threads() {
        let (one, other) = (player(&[1, 2, 4]), player(&[1, 2, 3]));
        let plan = Plan { games: 6, most_plies: 300, threads: 1, seed: 4 };
        let expected = series([&one, &other], plan);
        assert_eq!(expected.games(), 6);
        assert_eq!((expected.plies.len(), expected.positions() > 6 * 16), (6, true), "{expected:?}");
        // From 1 to 131 legal moves a position.
        let moves = expected.choices / expected.positions();
        assert!((2..131).contains(&moves), "{expected:?}");
        assert_eq!(series([&one, &other], Plan { threads: 3, ..plan }), expected);
        assert_ne!(series([&one, &other], Plan { seed: 5, ..plan }), expected);
    }

    #[test]
    fn long_games_are_left_out() {
        let (one, other) = (player(&[1]), player(&[1]));
        // Four moves of one pawn and three of the other lead nobody over eight rows.
        let plan = Plan { games: 2, most_plies: 7, threads: 2, seed: 1 };
        let expected = Series { left_out: 2 * ATTEMPTS, ..Series::default() };
        assert_eq!(series([&one, &other], plan), expected);
    }
}
