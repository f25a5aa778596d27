//! The boards themselves, for sides at which they are few.
//!
//! The filter of the count, breadth first, with all live boards in memory. A final state is one board, and the one with the
//! colours exchanged is another. Cost: the live boards of all passes times the squares that a cell completes. It gives up
//! when too many boards are alive.

use keima_model::{Key, Problem, Successors, Window};

use super::{SquareFree, border};

/// Most states alive at once in a listing: enough for 7x7, which has 255,911.
const MOST_ALIVE: usize = 300_000;

/// All boards, drawn as rows of x and o, in lexicographic order (o before x, along the rows).
pub(super) fn boards<K: Key>(problem: &SquareFree<K>, most: usize) -> Result<Vec<String>, String> {
    let side = problem.side;
    let mut alive: Vec<K> = problem.start().into_iter().map(|(key, _)| key).collect();
    let mut out = Successors::default();
    for pass in 0..problem.cells() {
        out.clear();
        problem.expand(pass, Window { first: 0, len: side }, &alive, &mut out);
        std::mem::swap(&mut alive, &mut out.keys);
        if alive.len() > MOST_ALIVE {
            return Err(format!(
                "the boards of side {side} cannot be listed: more than {MOST_ALIVE} partial boards are alive on the way; \
                 leave out --list"
            ));
        }
    }
    if 2 * alive.len() > most {
        return Err(format!(
            "there are {} boards of side {side}, and at most {most} are listed; leave out --list",
            2 * alive.len()
        ));
    }
    let filled =
        |board: u128| -> border::Filled { (0..problem.cells()).map(|place| board >> place & 1 == 1).collect() };
    let whole = u128::MAX >> (u128::BITS - problem.cells());
    let both = alive.into_iter().map(Key::widen).flat_map(|board| [board, board ^ whole]);
    let mut boards: Vec<border::Filled> = both.map(filled).collect();
    boards.sort_unstable();
    Ok(boards.iter().map(|board| border::drawn(side as usize, board)).collect())
}

#[cfg(test)]
mod tests {
    use keima_model::ProblemInfo;

    use super::*;
    use crate::square_free::brute;

    #[test]
    fn listings_are_those_of_the_plain_filter_and_as_many_as_by_definition() {
        for side in 1..=5_usize {
            let got = SquareFree::<u64>::new(side as u32).objects(10_000).unwrap();
            let expected = border::boards(side, usize::MAX).unwrap();
            let expected: Vec<String> = expected.iter().map(|board| border::drawn(side, board)).collect();
            assert_eq!(got, expected, "{side}");
            assert_eq!(got, SquareFree::<u128>::new(side as u32).objects(10_000).unwrap());
            if side < 5 {
                let counts = brute::counts(side as u32).unwrap();
                assert_eq!(got.len() as u64, counts.iter().sum::<u64>(), "{side}");
                for (x, count) in counts.into_iter().enumerate() {
                    let with = got.iter().filter(|board| board.matches('x').count() == x).count();
                    assert_eq!(with as u64, count, "{side} with {x} x");
                }
            }
        }
    }

    #[test]
    fn too_many_boards_are_refused() {
        let problem = SquareFree::<u64>::new(4);
        assert_eq!(problem.objects(5006).map(|boards| boards.len()), Ok(5006));
        let error = problem.objects(5005).unwrap_err();
        assert!(error.contains("5006 boards") && error.contains("at most 5005"), "{error}");
        let error = SquareFree::<u64>::new(8).objects(10_000).unwrap_err();
        assert!(error.contains("partial boards"), "{error}");
        // The largest that is searched through, and has none.
        assert_eq!(SquareFree::<u64>::new(7).objects(0), Ok(Vec::new()));
    }
}
