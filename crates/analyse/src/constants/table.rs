//! Counts of boards of two sides, as far as they are known; they are the same for a board and the board on its side.
//!
//! Reads them from rows `m,n,count` and from the rows `series,n,count,"L(m,n)"` of `keima count --series --format csv`. Nothing
//! that is read is trusted: what is no such row, and a count that differs from one that is known, are refused with their line.
//! Cost: linear in the text.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rug::Integer;

use crate::input::without_mark;

/// Counts of squares and of boards one longer.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// s(1), s(2), ...
    pub squares: Vec<Integer>,
    /// o(1), o(2), ...; one fewer, or as many.
    pub oblongs: Vec<Integer>,
}

/// Longest side that is read: bounds of theorem 3 have some 20,000 digits there.
pub const LONGEST: u32 = 200;
/// Longest part of a wrong line that is shown.
const SHOWN: usize = 60;
/// First lines of tables.
const HEADS: [&str; 2] = ["m,n,count", "table,index,count,name"];

/// Counts by the smaller and the larger side.
#[derive(Clone, Debug, Default)]
pub struct Table {
    counts: BTreeMap<(u32, u32), Integer>,
}

/// A row that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No row of a table.
    #[error(
        "line {line}: expected `m,n,count` or `series,n,count,\"L(m,n)\"`, sides of 1 to {LONGEST} and a count from 1 on, got {got:?}"
    )]
    NoRow {
        /// The line.
        line: usize,
        /// What it holds, its beginning.
        got: String,
    },
    /// Another count of the same board is known.
    #[error("line {line}: expected the count {expected} of {m}x{n}, as it is known, got {got}; correct the table")]
    Differs {
        /// The line.
        line: usize,
        /// The smaller side.
        m: u32,
        /// The larger side.
        n: u32,
        /// What was known.
        expected: Box<Integer>,
        /// What came.
        got: Box<Integer>,
    },
}

impl Table {
    /// The count of a board.
    pub fn get(&self, m: u32, n: u32) -> Option<&Integer> {
        self.counts.get(&(m.min(n), m.max(n)))
    }

    /// All boards with their counts, the smaller side first.
    pub fn boards(&self) -> impl Iterator<Item = ((u32, u32), &Integer)> {
        self.counts.iter().map(|(&board, count)| (board, count))
    }

    /// Notes a count; the line is for the error. A count that is there already must be the same.
    pub fn add(&mut self, line: usize, sides: (u32, u32), count: Integer) -> Result<(), TableError> {
        let (m, n) = (sides.0.min(sides.1), sides.0.max(sides.1));
        match self.counts.entry((m, n)) {
            Entry::Vacant(place) => {
                place.insert(count);
                Ok(())
            }
            Entry::Occupied(known) if *known.get() == count => Ok(()),
            Entry::Occupied(known) => {
                Err(TableError::Differs { line, m, n, expected: Box::new(known.get().clone()), got: Box::new(count) })
            }
        }
    }

    /// Notes all rows of a text; tells their number.
    pub fn read(&mut self, text: &str) -> Result<usize, TableError> {
        let mut number = 0;
        for row in rows(text) {
            let Row { line, sides, count } = row?;
            self.add(line, sides, count)?;
            number += 1;
        }
        Ok(number)
    }

    /// Squares and boards one longer, as far as there is no gap.
    pub fn counts(&self) -> Counts {
        let upwards = |longer: u32| (1..).map_while(|n| self.get(n, n + longer).cloned()).collect();
        Counts { squares: upwards(0), oblongs: upwards(1) }
    }

    /// Up to which length the counts of a height are known without a gap.
    pub fn length(&self, height: u32) -> u32 {
        (1..=LONGEST).take_while(|&n| self.get(height, n).is_some()).last().unwrap_or(0)
    }
}

/// A row of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its line.
    pub line: usize,
    /// The sides as they stand there.
    pub sides: (u32, u32),
    /// The count.
    pub count: Integer,
}

/// All rows of a text, in its order.
pub fn rows(text: &str) -> impl Iterator<Item = Result<Row, TableError>> {
    (1..).zip(without_mark(text).lines()).filter_map(|(line, content)| {
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') || HEADS.contains(&content) {
            return None;
        }
        let no_row = || TableError::NoRow { line, got: content.chars().take(SHOWN).collect() };
        Some(row(content).map(|(sides, count)| Row { line, sides, count }).ok_or_else(no_row))
    })
}

fn row(content: &str) -> Option<((u32, u32), Integer)> {
    let mut fields = content.splitn(4, ',');
    let (first, second, third) = (fields.next()?, fields.next()?, fields.next()?);
    let (m, n) = match fields.next() {
        None => (first, second),
        Some(name) if first == "series" => {
            let (_, sides) = name.trim_matches('"').strip_suffix(')')?.split_once('(')?;
            sides.split_once(',').filter(|(_, n)| *n == second)?
        }
        Some(_) => return None,
    };
    let side = |text: &str| text.parse().ok().filter(|side| (1..=LONGEST).contains(side));
    // GMP takes blanks and underscores, which a table has not.
    let is_number = !third.is_empty() && third.bytes().all(|byte| byte.is_ascii_digit());
    let count = is_number.then(|| third.parse::<Integer>().ok()).flatten().filter(|count| *count > 0)?;
    Some(((side(m)?, side(n)?), count))
}
