//! Legal Quoridor positions by a test of every arrangement of fences: the lowest rung of the ladder.
//!
//! For each arrangement of up to K fences a flood from each goal row finds the squares from which that goal can be
//! reached; pawns do not block. With R1 and R2 these sets for the two players, the legal placements of two pawns on
//! different squares number |R1| |R2| - |R1 and R2|. The variants leave goal squares out.
//!
//! Cost: two floods an arrangement; 5 x 5 squares have 1.3 million arrangements.

pub use super::rules::MAX_SIDE;
use super::rules::{Direction, Fence, Open, Squares, has_room};

/// Numbers of legal positions by number of fences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Arrangements of fences alone.
    pub fences: Vec<u128>,
    /// All pairs of different squares for the pawns.
    pub all: Vec<u128>,
    /// Pairs without those that have both pawns on their goal rows.
    pub not_both: Vec<u128>,
    /// Pairs with neither pawn on its goal row.
    pub neither: Vec<u128>,
}

/// Counts the legal positions on `n` x `n` squares with up to `max_fences` fences; `None` where `n` is not in
/// 2..=[`MAX_SIDE`].
pub fn count(n: u32, max_fences: u32) -> Option<Counts> {
    let open = Open::new(n)?;
    let rows = max_fences.min((n - 1) * (n - 1)) as usize + 1;
    let zero = || vec![0; rows];
    let counts = Counts { fences: zero(), all: zero(), not_both: zero(), neither: zero() };
    let mut search = Search { n, fences: [0; 2], counts };
    search.fill(0, open);
    Some(search.counts)
}

/// Whether the enumeration meets these fences and counts this pair of squares, both given by their numbers: the test of one
/// position, for players to be held against.
pub fn is_counted(n: u32, fences: &[Fence], pawns: [u32; 2]) -> bool {
    let Some(mut open) = Open::new(n) else { return false };
    let side = n - 1;
    let is_on_board = fences.iter().all(|&(_, row, col)| row < side && col < side);
    let mut search = Search { n, fences: [0; 2], counts: Counts::default() };
    for (row, col) in (0..side).flat_map(|row| (0..side).map(move |col| (row, col))) {
        let mut here = fences.iter().filter(|fence| (fence.1, fence.2) == (row, col));
        let (fence, other) = (here.next(), here.next());
        let Some(&(direction, ..)) = fence else { continue };
        if other.is_some() || !search.fits(direction, row, col) {
            return false;
        }
        search.flip((direction, row, col));
        open = open.with_fence(direction, row, col);
    }
    let reached = reached(&open);
    let has_way = |player: usize| pawns[player] < n * n && reached[player] >> pawns[player] & 1 == 1;
    is_on_board && pawns[0] != pawns[1] && has_way(0) && has_way(1)
}

/// The squares from which each player's goal can be reached.
fn reached(open: &Open) -> [Squares; 2] {
    [open.goal(0), open.goal(1)].map(|goal| open.reaches(goal))
}

struct Search {
    n: u32,
    /// Intersections with a horizontal fence so far, and with a vertical one.
    fences: [Squares; 2],
    counts: Counts,
}

impl Search {
    /// Fills the intersections from number `from` on in all legal ways.
    fn fill(&mut self, from: u32, open: Open) {
        let side = self.n - 1;
        if from == side * side {
            self.place_pawns(open);
            return;
        }
        self.fill(from + 1, open);
        if self.laid() + 1 >= self.counts.all.len() {
            return;
        }
        let (row, col) = (from / side, from % side);
        for direction in [Direction::Horizontal, Direction::Vertical] {
            if self.fits(direction, row, col) {
                self.flip((direction, row, col));
                self.fill(from + 1, open.with_fence(direction, row, col));
                self.flip((direction, row, col));
            }
        }
    }

    /// The bit of an intersection.
    fn bit(&self, row: u32, col: u32) -> Squares {
        1 << (row * (self.n - 1) + col)
    }

    /// Puts a fence down, or takes it away again.
    fn flip(&mut self, (direction, row, col): Fence) {
        self.fences[direction as usize] ^= self.bit(row, col);
    }

    /// Whether a fence has room among those so far.
    fn fits(&self, direction: Direction, row: u32, col: u32) -> bool {
        let side = self.n - 1;
        let lies = |(direction, row, col): Fence| {
            row < side && col < side && self.fences[direction as usize] & self.bit(row, col) != 0
        };
        has_room((direction, row, col), lies)
    }

    /// The number of fences so far.
    fn laid(&self) -> usize {
        self.fences.iter().map(|set| set.count_ones() as usize).sum()
    }

    fn place_pawns(&mut self, open: Open) {
        let goals = [open.goal(0), open.goal(1)];
        let [first, second] = reached(&open);
        let pairs = |first: Squares, second: Squares| {
            let count = |set: Squares| u128::from(set.count_ones());
            count(first) * count(second) - count(first & second)
        };
        let all = pairs(first, second);
        let fences = self.laid();
        self.counts.fences[fences] += 1;
        self.counts.all[fences] += all;
        self.counts.not_both[fences] += all - pairs(first & goals[0], second & goals[1]);
        self.counts.neither[fences] += pairs(first & !goals[0], second & !goals[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_boards() {
        // 2x2: 12 pairs of squares for each of 3 arrangements, less those cut off. By hand: H leaves each pawn its goal's
        // half (2 x 2 pairs, never the same square); V cuts nothing off.
        let two = count(2, 20).unwrap();
        assert_eq!((two.fences, two.all), (vec![1, 2], vec![12, 16]));
        let three = count(3, 20).unwrap();
        assert_eq!(three.all, [72, 576, 1184, 536, 32]);
        assert_eq!(count(4, 20).unwrap().all.iter().sum::<u128>(), 604_222);
        assert_eq!(count(9, 2).unwrap().all, [6480, 829_440, 51_526_400]);
    }

    #[test]
    fn a_limit_cuts_the_table() {
        let (full, cut) = (count(4, 20).unwrap(), count(4, 3).unwrap());
        assert_eq!(cut.all, full.all[..4]);
        assert_eq!(cut.neither, full.neither[..4]);
        assert_eq!(full.all.len(), 10);
    }

    #[test]
    fn single_positions() {
        use Direction::{Horizontal, Vertical};
        for (fences, pawns, expected) in [
            (&[][..], [1, 7], true),
            (&[], [4, 4], false),
            (&[], [1, 9], false),
            // A pocket of two squares in the first row: bad for the first player alone.
            (&[(Horizontal, 0, 0), (Vertical, 0, 1)], [1, 7], false),
            (&[(Horizontal, 0, 0), (Vertical, 0, 1)], [2, 7], true),
            (&[(Horizontal, 0, 0), (Vertical, 0, 1)], [3, 0], true),
            (&[(Vertical, 0, 1), (Horizontal, 0, 0)], [8, 7], true),
            (&[(Horizontal, 0, 0), (Horizontal, 0, 1)], [1, 7], false),
            (&[(Vertical, 1, 0), (Vertical, 0, 0)], [1, 7], false),
            (&[(Horizontal, 0, 0), (Vertical, 0, 0)], [1, 7], false),
            (&[(Vertical, 2, 0)], [1, 7], false),
        ] {
            assert_eq!(is_counted(3, fences, pawns), expected, "{fences:?} {pawns:?}");
        }
        assert!(!is_counted(1, &[], [0, 0]) && !is_counted(12, &[], [0, 1]));
    }

    #[test]
    fn boards_out_of_reach_are_refused() {
        for n in [0, 1, 12] {
            assert_eq!(count(n, 1), None, "{n}");
        }
    }
}
