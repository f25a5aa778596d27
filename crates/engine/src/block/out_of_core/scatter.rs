//! The scatter: writing a group's states, after a window, to runs.
//!
//! ```text
//!   states of s, block by block      a b c d | e f g h | ...     each belongs to a group of the window to come
//!   routes                           0 1 2 0 | 0 1 1 0           blocks of one signature and class have the same
//!   blocks of each group             0: a.. e..   1: a.. e..   2: a..
//!   run                              a d e h ... | b f g ... | c ...
//! ```
//!
//! Nothing is sorted. For each group of the next window its rows are picked out of the blocks that have some. Where a
//! block has two entries for one key, one of them is written. Several threads write a run each, for some of the
//! groups.
//!
//! Cost: a lookup and a copy of each row. Memory: 4 bytes for each block and group that it has rows for, and 2 bytes
//! for each entry of a route.

use std::ops::Range;
use std::sync::Arc;

use keima_model::{BlockColumn, End, Family};
use keima_runs::{Section, Split};
use rustc_hash::FxHashMap;

use crate::block::out_of_core::gather::stands;
use crate::block::out_of_core::groups::{Groups, section_key};
use crate::block::rows::lanes::Row;
use crate::block::rows::tables::step_at;

/// The entries of a block, by the group that they go to.
struct Route {
    /// (group, end of its entries), ascending.
    groups: Vec<(u32, u32)>,
    /// Entries of the first group, then of the second, ...; ascending within a group.
    entries: Vec<u16>,
}

impl Route {
    /// `of[entry]` is the group of each entry, or [`u32::MAX`] if the entry is not written.
    fn new(of: &[u32]) -> Self {
        let mut entries: Vec<u16> =
            (0..=u16::MAX).zip(of).filter(|(_, group)| **group < u32::MAX).map(|(e, _)| e).collect();
        let group = |entry: &u16| of[usize::from(*entry)];
        entries.sort_by_key(group);
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for (entry, end) in entries.iter().zip(1..) {
            match groups.last_mut().filter(|(last, _)| *last == group(entry)) {
                Some(last) => last.1 = end,
                None => groups.push((group(entry), end)),
            }
        }
        Self { groups, entries }
    }

    /// The entries that go to a group.
    fn to(&self, group: u32) -> &[u16] {
        let Ok(place) = self.groups.binary_search_by_key(&group, |&(group, _)| group) else { return &[] };
        let start = place.checked_sub(1).map_or(0, |before| self.groups[before].1);
        &self.entries[start as usize..self.groups[place].1 as usize]
    }
}

/// The target group of each row of a group.
pub(crate) struct Scatter {
    /// For each block its start among the group's states, and its route.
    blocks: Vec<(usize, Arc<Route>)>,
    /// Rows for each group of the next window.
    counts: Vec<u64>,
    /// Blocks that have rows for group `g`: `takers[first[g]..first[g + 1]]`, ascending.
    first: Vec<usize>,
    takers: Vec<u32>,
}

impl Scatter {
    /// For the states of `families` at one end of `window`. `targets` are the groups of the next window.
    pub(crate) fn new(
        column: &dyn BlockColumn,
        window: usize,
        end: End,
        targets: &Groups,
        families: &[Family],
    ) -> Self {
        let tables = column.tables(window);
        let step = step_at(tables, end);
        let mut routes: FxHashMap<(u32, u32), Arc<Route>> = FxHashMap::default();
        let (mut blocks, mut counts, mut place) = (Vec::new(), vec![0; targets.all.len()], 0);
        let mut first = vec![0; targets.all.len() + 1];
        let mut groups = Vec::new();
        for block in families.iter().flat_map(|family| family.blocks.clone()) {
            let signature = tables.signature_of[block as usize];
            let class = column.exchange_class(window, end, block);
            let route = routes.entry((signature, class)).or_insert_with(|| {
                column.families(window, end, block, &mut groups);
                let twins = column.twins(window, end, block);
                for (entry, group) in (0..=u16::MAX).zip(groups.iter_mut()) {
                    let of = targets.group_of.get(*group as usize).copied();
                    *group = of.filter(|_| stands(&twins, entry)).unwrap_or(u32::MAX);
                }
                Arc::new(Route::new(&groups))
            });
            for &(group, _) in &route.groups {
                first[group as usize + 1] += 1;
                counts[group as usize] += route.to(group).len() as u64;
            }
            blocks.push((place, Arc::clone(route)));
            place += tables.signatures[signature as usize].entries[step] as usize;
        }
        for group in 1..first.len() {
            first[group] += first[group - 1];
        }
        let (mut next, mut takers) = (first.clone(), vec![0; first.last().copied().unwrap_or(0)]);
        for (number, (_, route)) in (0..).zip(&blocks) {
            for &(group, _) in &route.groups {
                takers[next[group as usize]] = number;
                next[group as usize] += 1;
            }
        }
        Self { blocks, counts, first, takers }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Cuts the target groups with rows into about `count` ranges, or fewer, of similar numbers of rows.
    pub(crate) fn parts(&self, count: usize) -> Vec<Range<usize>> {
        let most = self.rows().div_ceil(count.max(1) as u64).max(1);
        let (mut parts, mut gathered): (Vec<Range<usize>>, u64) = (Vec::new(), 0);
        for (group, &rows) in self.counts.iter().enumerate().filter(|(_, rows)| **rows > 0) {
            match parts.last_mut() {
                Some(part) if gathered + rows / 2 <= most => part.end = group + 1,
                _ => {
                    parts.push(group..group + 1);
                    gathered = 0;
                }
            }
            gathered += rows;
        }
        parts
    }

    /// Picks the rows for some target groups, in the order of their run.
    pub(crate) fn pick<'p, const K: usize>(&'p self, states: &'p [Row<K>], groups: &Range<usize>) -> Picker<'p, K> {
        let (taker, end) = (self.first[groups.start], self.first[groups.end]);
        Picker { scatter: self, states, group: groups.start, taker, end, taken: 0 }
    }

    /// The sections for some target groups in a run of the group at `place`.
    pub(crate) fn sections(&self, groups: &Range<usize>, place: u64) -> impl Iterator<Item = Section> {
        let counts = (groups.start as u32..).zip(&self.counts[groups.clone()]).filter(|&(_, &count)| count > 0);
        counts.map(move |(group, &count)| Section { first: section_key(group, place), count })
    }

    /// The split points of such a run: the ends of its sections.
    pub(crate) fn splits(&self, groups: &Range<usize>) -> Vec<Split> {
        let counts = (groups.start as u32..).zip(&self.counts[groups.clone()]).filter(|&(_, &count)| count > 0);
        counts.map(|(group, &records)| Split { key: section_key(group + 1, 0).into(), records }).collect()
    }
}

/// Progress of picking the rows of a run.
pub(crate) struct Picker<'p, const K: usize> {
    scatter: &'p Scatter,
    states: &'p [Row<K>],
    group: usize,
    /// Number of the next taker, and end of the takers.
    taker: usize,
    end: usize,
    /// Picked rows of the present block for the present group.
    taken: usize,
}

impl<const K: usize> Picker<'_, K> {
    /// Appends the next `count` rows, or as many as there are, to `words`.
    pub(crate) fn next(&mut self, count: usize, words: &mut Vec<u64>) {
        let scatter = self.scatter;
        let mut left = count;
        while left > 0 {
            let Some(&taker) = scatter.takers[..self.end].get(self.taker) else { return };
            while scatter.first[self.group + 1] <= self.taker {
                self.group += 1;
            }
            let (start, route) = &scatter.blocks[taker as usize];
            let entries = &route.to(self.group as u32)[self.taken..];
            let some = &entries[..entries.len().min(left)];
            let own = &self.states[*start..];
            let at = words.len();
            words.resize(at + some.len() * K, 0);
            for (row, &entry) in words[at..].as_chunks_mut::<K>().0.iter_mut().zip(some) {
                *row = own[usize::from(entry)];
            }
            self.taken += some.len();
            left -= some.len();
            if some.len() == entries.len() {
                (self.taker, self.taken) = (self.taker + 1, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_sort_entries_by_their_groups() {
        let route = Route::new(&[7, 2, u32::MAX, 7, 0, 2]);
        assert_eq!(route.groups, [(0, 1), (2, 3), (7, 5)]);
        for (group, entries) in [(0, &[4][..]), (2, &[1, 5]), (7, &[0, 3]), (1, &[]), (8, &[])] {
            assert_eq!(route.to(group), entries, "group {group}");
        }
        let empty = Route::new(&[]);
        assert!(empty.groups.is_empty() && empty.to(0).is_empty());
    }
}
