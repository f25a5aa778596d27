//! Arrangements of fences without pawns: the sums that states with both pawns unplaced must have after every pass.
//!
//! State: the V bit of the last intersection of each column, and "the left neighbour is H". Values: polynomials in the
//! number of fences. Cost: 2^n states a pass.

/// Number of arrangements of `0..coefficients` fences on the intersections done after each pass, in the order of the
/// passes of an n x n board: entry `pass` has `coefficients` numbers. They fit 128 bits up to n = 11.
pub fn series(n: u32, coefficients: usize) -> Vec<Vec<u128>> {
    let side = n - 1;
    // Index: V bits << 1 | left is H.
    let mut vector: Vec<Option<Vec<u128>>> = vec![None; 2 << side];
    let mut one = vec![0; coefficients];
    one[0] = 1;
    vector[0] = Some(one);
    let mut series = Vec::new();
    for pass in 0..side * side {
        let place = pass % side;
        let bit = 2 << place;
        let mut next = vec![None; vector.len()];
        for (state, value) in vector.iter().enumerate() {
            let Some(value) = value else { continue };
            let left = if place == 0 { 0 } else { state & 1 };
            let rest = state & !bit & !1;
            add(&mut next[rest], value, 0);
            if left == 0 {
                // At a row's end nothing remembers the H.
                add(&mut next[rest | usize::from(place + 1 < side)], value, 1);
            }
            if state & bit == 0 {
                add(&mut next[rest | bit], value, 1);
            }
        }
        vector = next;
        let mut sum = None;
        vector.iter().flatten().for_each(|value| add(&mut sum, value, 0));
        series.extend(sum);
    }
    series
}

/// `to += from x^shift`, dropping what leaves the range.
fn add(to: &mut Option<Vec<u128>>, from: &[u128], shift: usize) {
    let to = to.get_or_insert_with(|| vec![0; from.len()]);
    for (to, from) in to.iter_mut().skip(shift).zip(from) {
        *to += from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quoridor_fences::published;

    #[test]
    fn totals_of_small_boards() {
        for (n, total) in [(2, 3), (3, 47), (4, 4715)] {
            let all = series(n, ((n - 1) * (n - 1) + 1) as usize);
            assert_eq!(all.last().unwrap().iter().sum::<u128>(), total, "{n}");
        }
    }

    #[test]
    fn published_numbers() {
        let last = series(9, 21).pop().unwrap();
        for (fences, count) in (0..).zip(&last) {
            assert_eq!(published::known(8, 8, fences).map(str::to_owned), Some(count.to_string()), "{fences} fences");
        }
        assert_eq!(last.iter().sum::<u128>().to_string(), "1375968129062134174771");
    }

    #[test]
    fn each_pass_adds_one_intersection() {
        for (pass, row) in series(6, 5).iter().enumerate() {
            assert_eq!(row[..2], [1, 2 * (pass as u128 + 1)], "after pass {pass}");
        }
    }

    #[test]
    fn the_largest_board_fits() {
        // Checked: tests are built with overflow checks.
        let last = series(11, 101).pop().unwrap();
        assert_eq!(last[..2], [1, 200]);
        // Two boards full of fences, chequered, have every fence beside one of the other kind; others exist too.
        assert!(last[100] >= 2);
    }
}
