//! Avoid the square, cell by cell, row by row: a plain list of all boards that are still alive.
//!
//! Nothing of a partial board can be forgotten, so there is no border: each board is its own state, and a pass is a
//! filter. A cell gets each counter that does not complete a square of four equal ones. Cost: side^2 squares a cell and board.

/// The counters of the cells filled so far, row by row; `true` is x.
pub type Filled = Vec<bool>;

/// The one board without cells.
pub fn start() -> Vec<Filled> {
    vec![Vec::new()]
}

/// Fills the next cell of all boards of this side.
pub fn pass(side: usize, boards: &[Filled]) -> Vec<Filled> {
    let mut next = Vec::new();
    for board in boards {
        for counter in [false, true] {
            let mut after = board.clone();
            after.push(counter);
            if !completes_a_square(side, &after) {
                next.push(after);
            }
        }
    }
    next
}

/// Whether the last cell is a corner of a square whose corners are all filled and equal.
fn completes_a_square(side: usize, board: &Filled) -> bool {
    let last = board.len() - 1;
    let at = |row: i64, column: i64| {
        let inside = row >= 0 && column >= 0 && column < side as i64;
        inside.then(|| board.get(row as usize * side + column as usize)).flatten()
    };
    let (row, column) = ((last / side) as i64, (last % side) as i64);
    let counter = Some(&board[last]);
    let reach = side as i64;
    // From the last cell along (down, right), and along that turned by 90 degrees: all squares with this corner.
    (-reach..=reach).flat_map(|down| (-reach..=reach).map(move |right| (down, right))).any(|(down, right)| {
        (down, right) != (0, 0)
            && at(row + down, column + right) == counter
            && at(row + down + right, column + right - down) == counter
            && at(row + right, column - down) == counter
    })
}

/// All boards of this side without a square of four equal counters, in lexicographic order, or `None` where more than
/// `most` partial boards are alive at once.
pub fn boards(side: usize, most: usize) -> Option<Vec<Filled>> {
    (0..side * side).try_fold(start(), |boards, _| Some(pass(side, &boards)).filter(|boards| boards.len() <= most))
}

/// A full board as text: rows of x and o.
pub fn drawn(side: usize, board: &Filled) -> String {
    let row = |row: &[bool]| row.iter().map(|&x| if x { 'x' } else { 'o' }).collect::<String>();
    board.chunks(side).map(row).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::square_free::brute;

    #[test]
    fn agrees_with_every_colouring() {
        for side in 1..=4 {
            let mut counts = vec![0; (side * side + 1) as usize];
            for board in boards(side as usize, usize::MAX).unwrap() {
                counts[board.iter().filter(|&&x| x).count()] += 1;
            }
            assert_eq!(brute::counts(side), Some(counts), "{side}");
        }
    }

    #[test]
    fn listings() {
        let boards = boards(2, 16).unwrap();
        assert_eq!(boards.len(), 14);
        assert_eq!(drawn(2, &boards[0]), "oo\nox");
        assert_eq!(super::boards(4, 100), None);
    }
}
