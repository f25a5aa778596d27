//! The families of a window: their sizes, bounds of their memory, and kinds of about one size.
//!
//! Cost: [`FamilyList`] has 32 bytes a family.

use crate::{BlockColumn, End};

/// The families of a window, without their blocks: enough to group them into tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyList {
    /// Entries of each family before the first pass and after the last.
    pub ends: Vec<[u64; 2]>,
    /// [`BlockColumn::rest`] of each family, with the window before and with the one after.
    pub rests: [Vec<u64>; 2],
}

impl FamilyList {
    /// The families of a window of `column`.
    pub fn of(column: &dyn BlockColumn, window: usize) -> Self {
        let tables = column.tables(window);
        let last = tables.states.len() - 1;
        let ends = tables.families.iter().map(|family| [0, last].map(|step| family.size[step])).collect();
        let rests = [End::First, End::Last].map(|end| {
            let numbers = (0..).zip(&tables.families).map(|(number, _)| number);
            numbers.map(|number| column.rest(window, end, number)).collect()
        });
        Self { ends, rests }
    }

    /// Memory of the list.
    pub fn bytes(&self) -> u64 {
        let rests: usize = self.rests.iter().map(|rests| size_of_val(rests.as_slice())).sum();
        (size_of_val(self.ends.as_slice()) + rests) as u64
    }
}

/// Bounds of the memory of a problem's families on their way through a window, whatever the window. Plans use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyBounds {
    /// Codes of a cell within a block: a block of a window of w cells has about `codes^w` entries.
    pub codes: u64,
    /// The largest block has at most this percentage of `codes^w` entries.
    pub block_percent: u64,
    /// Rows of a buffer per hundred states of its families, in a window at the top of a column and in one below it. The first
    /// pass of the latter puts some states aside for a while. A block for each pass comes on top.
    pub buffer_percent: [u64; 2],
    /// What transposed passes add to the latter: they put all these states aside at once.
    pub transposed_percent: u64,
    /// Mail of the largest family of a window and of the second largest, per hundred states of the largest. Mail is the rows
    /// that blocks send to other blocks of their family on the way through the window.
    pub mail_percent: [u64; 2],
}

/// Families of about one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FamilyKind {
    /// Size of each, as a share of the largest family's.
    pub relative_size: f64,
    /// Number of such families.
    pub families: f64,
}
