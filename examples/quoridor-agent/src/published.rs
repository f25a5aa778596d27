//! What Mertens printed (*A Quoridor-playing Agent*, 2006): the matches of his table 3, and the sizes of the game.

use crate::features::Features;

/// A set of features with its name here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) features: Features,
}

const fn named(name: &'static str, numbers: &[usize]) -> Named {
    Named { name, features: Features::of(numbers) }
}

const C1: Named = named("c1", &[1, 2, 4]);
const C2: Named = named("c2", &[1, 2, 3]);
const C3: Named = named("c3", &[2, 3, 4]);
const C4: Named = named("c4", &[1, 3, 4]);
const C5: Named = named("c5", &[1, 2, 3, 4]);

/// Half a match: one side starts all of these games.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    pub(crate) starter: Named,
    pub(crate) other: Named,
    /// Games won by the starter, and by the other.
    pub(crate) wins: [u32; 2],
    /// Average number of plies.
    pub(crate) plies: f64,
}

const fn half(starter: Named, other: Named, wins: [u32; 2], plies: f64) -> Half {
    Half { starter, other, wins, plies }
}

/// The halves of the three matches, in his order.
pub(crate) const MATCHES: [Half; 6] = [
    half(C1, C2, [27, 23], 98.70),
    half(C2, C1, [49, 1], 76.60),
    half(C3, C4, [24, 26], 110.00),
    half(C4, C3, [2, 48], 89.64),
    half(C3, C5, [37, 13], 113.94),
    half(C5, C3, [9, 41], 92.82),
];

/// The average number of plies of these matches, as printed.
pub(crate) const PLIES: f64 = 96.85;
/// Average number of plies, and of moves in a position, which he quotes from elsewhere.
pub(crate) const QUOTED_PLIES: f64 = 91.1;
/// See [`QUOTED_PLIES`].
pub(crate) const QUOTED_BRANCHING: f64 = 60.4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_figures_agree_with_each_other() {
        let mean = MATCHES.iter().map(|half| half.plies).sum::<f64>() / MATCHES.len() as f64;
        // 96.95: what he printed differs by a tenth.
        assert!((mean - PLIES).abs() < 0.11, "{mean}");
        assert!(MATCHES.iter().all(|half| half.wins.iter().sum::<u32>() == 50));
        for pair in MATCHES.chunks(2) {
            assert_eq!((pair[0].starter.features, pair[0].other.name), (pair[1].other.features, pair[1].starter.name));
        }
    }
}
