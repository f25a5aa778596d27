//! Boards, windows and layouts: the cells that passes add, and how states are written as keys between them.
//!
//! ```text
//!   pass p of an m x n board adds cell p % m of column p / m
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

/// The board that the passes fill: `length` columns of `height` cells. The border has `height` cells too.
///
/// Passes are numbered 0 to `height * length - 1`; pass `p` adds cell `p % height` of column `p / height`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Board {
    /// Cells in a column (m).
    pub height: u32,
    /// Columns (n).
    pub length: u32,
}

impl Board {
    /// Number of passes, m*n.
    pub const fn passes(self) -> u32 {
        self.height * self.length
    }
    /// Column of a pass.
    pub const fn column(self, pass: u32) -> u32 {
        pass / self.height
    }
    /// Cell of a pass within its column, counted from the top.
    pub const fn cell(self, pass: u32) -> u32 {
        pass % self.height
    }
    /// Whether `pass` is the last of its column.
    pub const fn ends_column(self, pass: u32) -> bool {
        pass % self.height == self.height - 1
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.height, self.length)
    }
}

/// The cells `first .. first + len` of a column, which the passes of one stage add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Window {
    /// First cell, counted from the top of the column.
    pub first: u32,
    /// Number of cells, at least 1.
    pub len: u32,
}

impl Window {
    /// One past the last cell.
    pub const fn end(self) -> u32 {
        self.first + self.len
    }
    /// Windows of these lengths, from the top of a column on.
    pub fn of_lengths(lengths: &[u32]) -> Vec<Self> {
        let ends = lengths.iter().scan(0, |end, len| {
            *end += len;
            Some(*end)
        });
        ends.zip(lengths).map(|(end, &len)| Self { first: end - len, len }).collect()
    }
    /// Cuts a column of `height` cells into windows of at most `len` cells, as equal as possible, the longer ones first.
    pub fn cut(height: u32, len: u32) -> Vec<Self> {
        let count = height.div_ceil(len.max(1));
        let (base, extra) = (height / count, height % count);
        let lengths: Vec<u32> = (0..count).map(|i| base + u32::from(i < extra)).collect();
        Self::of_lengths(&lengths)
    }
}

/// How states are written as keys: their order, and which member represents a symmetry class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Layout {
    /// The problem's own order and normalisation, in which vectors are compared and fingerprinted.
    Canonical,
    /// The order of a stage over this window. The part that no pass of the stage changes comes first, and symmetries are
    /// normalised by it.
    Stage(Window),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_the_column_once() {
        for height in 1..=21 {
            for len in 1..=height + 1 {
                let windows = Window::cut(height, len);
                let mut next = 0;
                for w in &windows {
                    assert_eq!(w.first, next);
                    assert!((1..=len).contains(&w.len));
                    next = w.end();
                }
                assert_eq!(next, height);
            }
        }
    }
}
