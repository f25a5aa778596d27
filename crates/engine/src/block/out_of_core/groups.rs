//! Groups of families: the unit that a task takes through a window, and the order of the runs between windows.
//!
//! ```text
//!   families of a window   0 1 2 | 3 | 4 5 6 7 | 8 9 ...       in ascending order of their rest
//!   groups                 0     | 1 | 2       | 3
//!
//!   run of group s for the window after:   section of its group 0 | section of its group 1 | ...
//!   key of a row     bits 43 and up: the group that reads it;   43 bits: place of s + place in the section
//! ```
//!
//! Consecutive families form a group until another family would make it larger than `most_records`. A larger family
//! is a group of its own. So there are fewer than `2 x (states / most_records) + 1` groups. The place of a group is
//! the number of records of the groups before it, on leaving the window. So all keys of a boundary differ. Everything
//! follows from the tables and `most_records`, so workers need not exchange it.
//!
//! A transposed vector leaves a window at its first step, and the window before reads it. The groups are the same,
//! but their places differ, and the rest that relates them to their sources is the one beside the window after.

use std::ops::Range;

use keima_blocks::limits::PLACE_BITS;
use keima_model::{Direction, End, FamilyList};

/// A group of families: direction of its vector, window, and number among the window's groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupId {
    /// Direction of the vector.
    pub direction: Direction,
    /// Number of the window in its column.
    pub window: usize,
    /// Number of the group in its window.
    pub number: u32,
}

/// Families that go through a window together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The families.
    pub(crate) families: Range<u32>,
    /// Number of the records before the group's, at the boundary where the vector leaves the window.
    pub(crate) place: u64,
    /// Rests of the group's families beside the source window, ascending (`BlockColumn::rest`).
    pub(crate) rests: Vec<u64>,
    /// States at the end of the window that has more.
    pub(crate) records: u64,
}

/// The groups of one window.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    pub(crate) all: Vec<Group>,
    /// The group of each family.
    pub(crate) group_of: Vec<u32>,
    /// States of all groups.
    pub(crate) records: u64,
}

impl Groups {
    /// Groups for vectors of one direction, of at most `most_records` records at the ends of the window, as far as
    /// families allow.
    pub(crate) fn new(list: &FamilyList, most_records: u64, direction: Direction) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = Vec::with_capacity(list.ends.len());
        let mut place = 0;
        let rests = &list.rests[usize::from(direction.enters() == End::Last)];
        for ((&[first, last], &rest), number) in list.ends.iter().zip(rests).zip(0_u32..) {
            let records = first.max(last);
            if let Some(group) = groups.last_mut().filter(|group| group.records + records <= most_records) {
                group.families.end = number + 1;
                if group.rests.last() != Some(&rest) {
                    group.rests.push(rest);
                }
                group.records += records;
            } else {
                groups.push(Group { families: number..number + 1, place, rests: vec![rest], records });
            }
            group_of.push(groups.len() as u32 - 1);
            place += if direction.leaves() == End::Last { last } else { first };
        }
        for group in &mut groups {
            group.rests.sort_unstable();
            group.rests.dedup();
        }
        let records = groups.iter().map(|group| group.records).sum();
        Self { all: groups, group_of, records }
    }

    /// The group with records that begins at a place.
    pub(crate) fn at_place(&self, place: u64) -> Option<&Group> {
        // Of several groups at one place the last is the one with records.
        let number = self.all.partition_point(|group| group.place <= place).checked_sub(1)?;
        self.all.get(number).filter(|group| group.place == place)
    }
}

/// Key of the first row that the group at `place` writes for `group`.
pub(crate) fn section_key(group: u32, place: u64) -> u64 {
    u64::from(group) << PLACE_BITS | place
}

/// The place in a key.
pub(crate) fn place_of(key: u64) -> u64 {
    key & ((1 << PLACE_BITS) - 1)
}
