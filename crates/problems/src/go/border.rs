//! Legal Go positions by a border-state recurrence in a plain map: the rung to check by reading.
//!
//! The board is filled point by point, down a column, then the next. The completions of a partial position depend on the
//! border, the `m` points last filled. Of each stone they depend on its colour, on whether its string already has a
//! liberty, and if not, on which other border stones belong to that string. A stone may leave the border unless it is the
//! last border stone of a string without a liberty.
//!
//! ```text
//!          column x-1   column x
//!   row 0      .          b0        the border b0 b1 | b2 b3: rows 0 and 1 of column x,
//!   row 1      .          b1        rows 2 and 3 of column x-1;
//!   row 2      b2        (new)      the new point has b1 at north and b2 at west,
//!   row 3      b3                   and takes b2's place
//! ```
//!
//! Nothing is packed, no symmetry is used, and nothing is shared with the working form in `state.rs`: strings have names,
//! not brackets. Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), section 5.1. Cost: some map operations a state
//! and pass, with twice as many states as classes.

use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Black or white.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Black.
    Black,
    /// White.
    White,
}

/// Name of a string without a liberty: strings are numbered in the order of their first border stone.
pub type StringName = u8;

/// One point of the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// Off the board: west of the first column.
    Edge,
    /// An empty point.
    Empty,
    /// A stone whose string has a liberty.
    Free(Colour),
    /// A needy stone: its string has no liberty so far.
    Needy(Colour, StringName),
}

/// The content of the new point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Nothing.
    Empty,
    /// A stone.
    Stone(Colour),
}

/// All contents of a point.
pub const CHOICES: [Put; 3] = [Put::Empty, Put::Stone(Colour::Black), Put::Stone(Colour::White)];

/// The border: one [`Point`] per row, from the top.
pub type Border = Vec<Point>;

/// The border before the first point of a board of this height.
pub fn start(height: usize) -> Border {
    vec![Point::Edge; height]
}

/// The border after `put` on row `row`, or `None` if a string without a liberty leaves the border.
pub fn step(border: &[Point], row: usize, put: Put) -> Option<Border> {
    let west = border[row];
    let north = if row == 0 { Point::Edge } else { border[row - 1] };
    let mut next = border.to_vec();
    match put {
        Put::Empty => {
            next[row] = Point::Empty;
            for neighbour in [west, north] {
                give_liberty(&mut next, neighbour);
            }
        }
        Put::Stone(colour) => {
            // The new string starts with a name that no other has, then joins its neighbours.
            let name = StringName::MAX;
            next[row] = Point::Needy(colour, name);
            for neighbour in [west, north] {
                if let Point::Needy(c, string) = neighbour
                    && c == colour
                {
                    rename(&mut next, string, name);
                }
            }
            if [west, north].iter().any(|&p| p == Point::Empty || p == Point::Free(colour)) {
                give_liberty(&mut next, Point::Needy(colour, name));
            }
            // The west stone has left the border.
            if let Point::Needy(c, string) = west
                && c != colour
                && !next.contains(&west)
            {
                debug_assert!(string != name);
                return None;
            }
        }
    }
    name_in_order(&mut next);
    Some(next)
}

/// Whether a position may end here: no string still waits for a liberty.
pub fn accepts(border: &[Point]) -> bool {
    !border.iter().any(|point| matches!(point, Point::Needy(..)))
}

/// All border states after each of the `height * length` steps, with the number of partial positions that lead to them;
/// entry 0 is the start.
pub struct Scan<C> {
    height: usize,
    row: usize,
    states: BTreeMap<Border, C>,
}

impl<C> Scan<C>
where
    C: Clone + From<u8> + for<'a> AddAssign<&'a C>,
{
    /// Before the first point.
    pub fn new(height: usize) -> Self {
        Self { height, row: 0, states: BTreeMap::from([(start(height), C::from(1))]) }
    }

    /// Fills one more point.
    pub fn advance(&mut self) {
        let mut next = BTreeMap::new();
        for (border, count) in &self.states {
            for put in CHOICES {
                if let Some(after) = step(border, self.row, put) {
                    *next.entry(after).or_insert_with(|| C::from(0)) += count;
                }
            }
        }
        self.states = next;
        self.row = (self.row + 1) % self.height;
    }

    /// The row that the next step fills.
    pub fn row(&self) -> usize {
        self.row
    }

    /// The states with their counts.
    pub fn states(&self) -> &BTreeMap<Border, C> {
        &self.states
    }

    /// Sum over the accepting states: the number of legal positions, at the end of a column.
    pub fn legal(&self) -> C {
        let mut sum = C::from(0);
        for (border, count) in &self.states {
            if accepts(border) {
                sum += count;
            }
        }
        sum
    }
}

/// Counts the legal positions on `height` x 1, `height` x 2, ..., `height` x `length`. The count type must hold
/// 3^(height * length): `u128` serves up to 80 points.
pub fn series<C>(height: usize, length: usize) -> Vec<C>
where
    C: Clone + From<u8> + for<'a> AddAssign<&'a C>,
{
    let mut scan = Scan::new(height);
    let mut column = || {
        (0..height).for_each(|_| scan.advance());
        scan.legal()
    };
    (0..length).map(|_| column()).collect()
}

/// Where `of` is a needy stone, its whole string becomes free.
fn give_liberty(border: &mut [Point], of: Point) {
    if let Point::Needy(colour, string) = of {
        for point in border.iter_mut().filter(|p| **p == Point::Needy(colour, string)) {
            *point = Point::Free(colour);
        }
    }
}

/// The string `from` takes the name `to`.
fn rename(border: &mut [Point], from: StringName, to: StringName) {
    for point in border {
        if let Point::Needy(_, string) = point
            && *string == from
        {
            *string = to;
        }
    }
}

/// Numbers the strings in the order of their first stone, so that equal borders compare equal.
fn name_in_order(border: &mut [Point]) {
    let mut names = Vec::new();
    for point in border {
        if let Point::Needy(_, string) = point {
            let place = names.iter().position(|name| name == string).unwrap_or_else(|| {
                names.push(*string);
                names.len() - 1
            });
            *string = place as StringName;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::brute;

    #[test]
    fn agrees_with_every_colouring() {
        for height in 1..=12 {
            let series = series::<u128>(height, 12 / height);
            for (length, &count) in (1..).zip(&series) {
                assert_eq!(brute::count(height as u32, length).map(u128::from), Some(count), "{height}x{length}");
            }
        }
    }

    #[test]
    fn a_surrounded_stone_is_not_left_behind() {
        // One row: black, then white beside it: black has no liberty and no border stone left.
        let black = step(&start(1), 0, Put::Stone(Colour::Black)).unwrap();
        assert_eq!(black, [Point::Needy(Colour::Black, 0)]);
        assert_eq!(step(&black, 0, Put::Stone(Colour::White)), None);
        assert_eq!(step(&black, 0, Put::Stone(Colour::Black)), Some(black.clone()));
        assert_eq!(step(&black, 0, Put::Empty), Some(vec![Point::Empty]));
    }
}
