//! Arrangements of fences without pawns: what states with both pawns unplaced must add up to, after every pass.
//!
//! State: the V bit of the last intersection of each column, and "the left neighbour is H". Values: polynomials in the
//! number of fences. Cost: 2^n states a pass; milliseconds at n = 9.

/// Number of arrangements of `0..coefficients` fences on the intersections done after each pass, in the order of the
/// passes of an n x n board: entry `pass` has `coefficients` numbers. `None` where one of them does not fit 128 bits.
pub fn series(n: u32, coefficients: usize) -> Option<Vec<Vec<u128>>> {
    let side = n - 1;
    // Index: V bits << 1 | left is H.
    let mut vector = vec![None; 2 << side];
    let mut one = vec![0_u128; coefficients];
    one[0] = 1;
    vector[0] = Some(one);
    let mut series = Vec::new();
    for pass in 0..side * side {
        let place = pass % side;
        let bit = 2 << place;
        let mut next: Vec<Option<Vec<u128>>> = vec![None; vector.len()];
        for (state, value) in vector.iter().enumerate() {
            let Some(value) = value else { continue };
            let left = if place == 0 { 0 } else { state & 1 };
            let rest = state & !bit & !1;
            add(&mut next[rest], value, 0)?;
            if left == 0 {
                // At a row's end nothing remembers the H.
                add(&mut next[rest | usize::from(place + 1 < side)], value, 1)?;
            }
            if state & bit == 0 {
                add(&mut next[rest | bit], value, 1)?;
            }
        }
        vector = next;
        let mut sum = None;
        for value in vector.iter().flatten() {
            add(&mut sum, value, 0)?;
        }
        series.push(sum?);
    }
    Some(series)
}

/// `to += from x^shift`, dropping what leaves the range; `None` on overflow.
fn add(to: &mut Option<Vec<u128>>, from: &[u128], shift: usize) -> Option<()> {
    let to = to.get_or_insert_with(|| vec![0; from.len()]);
    for (to, from) in to.iter_mut().skip(shift).zip(from) {
        *to = to.checked_add(*from)?;
    }
    Some(())
}

/// Published numbers for the 8 x 8 intersections of a 9 x 9 board, by number of fences.
pub fn published(n: u32, fences: usize) -> Option<&'static str> {
    let rows = include_str!("../../../../tests/golden/quoridor_fences_9x9.csv");
    let mut rows = rows.lines().filter(|_| n == PUBLISHED_SIDE).filter_map(|line| line.split_once(','));
    rows.find(|(row, _)| row.parse() == Ok(fences)).map(|(_, count)| count)
}

/// Squares a side of the board whose arrangements of fences are published.
const PUBLISHED_SIDE: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_small_boards() {
        for (n, total) in [(2, 3), (3, 47), (4, 4715)] {
            let all = series(n, ((n - 1) * (n - 1) + 1) as usize).unwrap();
            assert_eq!(all.last().unwrap().iter().sum::<u128>(), total, "{n}");
        }
    }

    #[test]
    fn published_numbers() {
        let last = series(9, 21).unwrap().pop().unwrap();
        for (fences, count) in last.iter().enumerate() {
            assert_eq!(published(9, fences), Some(count.to_string().as_str()), "{fences} fences");
        }
        assert_eq!(last.iter().sum::<u128>().to_string(), "1375968129062134174771");
        assert_eq!((published(8, 3), published(9, 21)), (None, None));
    }

    #[test]
    fn each_pass_adds_one_intersection() {
        for (pass, row) in series(6, 5).unwrap().iter().enumerate() {
            assert_eq!(row[..2], [1, 2 * (pass as u128 + 1)], "after pass {pass}");
        }
    }

    #[test]
    fn what_does_not_fit_is_not_told() {
        assert!(series(11, 101).is_none());
        assert!(series(11, 21).is_some());
    }
}
