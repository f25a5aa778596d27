//! From a group's states at the end of a window to a run: the writing half of the exchange.
//!
//! ```text
//!   states of s, family by family, block by block      a b c d e f ...      each belongs to a group of the window to come
//!   run                                                a d ... | b f ... | c e ...        sorted by it, else in their order
//! ```
//!
//! A counting sort: the numbers of entries for each group are known before the states are. Where a block has two entries
//! for one key, one of them is written. Cost: two look-ups an entry and a copy of each row.

use std::ops::Range;

use keima_model::{BlockColumn, End, Family};
use keima_runs::{Batch, RunError, RunManifest, RunWriter, Split};

use super::gather::stands;
use super::groups::{Groups, section_key};
use super::lanes::Row;
use crate::TaskError;

/// Rows that are handed to the writer at a time.
const ROWS: usize = 4096;

/// Where each row of a group goes.
pub(super) struct Scatter<'a> {
    column: &'a dyn BlockColumn,
    window: usize,
    targets: &'a Groups,
    /// Rows for each group of the window to come.
    counts: Vec<u64>,
    /// Where the next row for each group goes.
    next: Vec<u64>,
}

/// Rows of a run that is to be written, by their places: adds those to the second argument.
pub(super) type Rows<'r> = dyn FnMut(Range<usize>, &mut Vec<u64>) -> Result<(), RunError> + 'r;

impl<'a> Scatter<'a> {
    /// For the states of `families` of `window`; `targets` are the groups of the window to come.
    pub(super) fn new(column: &'a dyn BlockColumn, window: usize, targets: &'a Groups, families: &[Family]) -> Self {
        let mut scatter = Self { column, window, targets, counts: vec![0; targets.groups.len()], next: Vec::new() };
        let mut groups = Vec::new();
        for block in families.iter().flat_map(|family| family.blocks.clone()) {
            scatter.groups_of(block, &mut groups);
            for &group in &groups {
                if let Some(count) = scatter.counts.get_mut(group as usize) {
                    *count += 1;
                }
            }
        }
        scatter
    }

    /// Makes ready for the states of the first family.
    pub(super) fn begin(&mut self) {
        let starts = self.counts.iter().scan(0, |sum, &count| {
            let start = *sum;
            *sum += count;
            Some(start)
        });
        self.next = starts.collect();
    }

    /// Rows in all.
    pub(super) fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The group of each entry of a block; [`u32::MAX`] for those that are not written.
    fn groups_of(&self, block: u32, groups: &mut Vec<u32>) {
        self.column.families(self.window, End::Last, block, groups);
        let twins = self.column.twins(self.window, End::Last, block);
        for (entry, group) in (0..=u16::MAX).zip(groups.iter_mut()) {
            let of = self.targets.group_of.get(*group as usize).copied();
            *group = of.filter(|_| stands(&twins, entry)).unwrap_or(u32::MAX);
        }
    }

    /// Puts the states of a family where they go in `sorted`.
    pub(super) fn family<const K: usize>(
        &mut self,
        family: &Family,
        states: &[Row<K>],
        sorted: &mut [Row<K>],
    ) -> Result<(), TaskError> {
        let (mut groups, mut states) = (Vec::new(), states);
        for block in family.blocks.clone() {
            self.groups_of(block, &mut groups);
            let wrong =
                || TaskError::Refused("a block is not where its family ends; this is a fault of the program".into());
            let (own, later) = states.split_at_checked(groups.len()).ok_or_else(wrong)?;
            states = later;
            for (row, &group) in own.iter().zip(&groups) {
                let Some(next) = self.next.get_mut(group as usize) else { continue };
                *sorted.get_mut(*next as usize).ok_or_else(wrong)? = *row;
                *next += 1;
            }
        }
        Ok(())
    }

    /// Writes the sorted rows of the group at `place`; with them the ends of its sections.
    pub(super) fn write(
        &self,
        sorted: &mut Rows<'_>,
        place: u64,
        mut writer: RunWriter<u64>,
    ) -> Result<Option<(RunManifest, Vec<Split>)>, TaskError> {
        let (mut done, mut splits, mut batch) = (0, Vec::new(), Batch::new());
        for (&count, group) in self.counts.iter().zip(0_u32..) {
            if count == 0 {
                continue;
            }
            let (mut key, end) = (section_key(group, place), done + count as usize);
            while done < end {
                let rows = ROWS.min(end - done);
                batch.clear();
                batch.keys.extend(key..key + rows as u64);
                sorted(done..done + rows, &mut batch.rows).map_err(TaskError::Output)?;
                writer.push_batch(&batch).map_err(TaskError::Output)?;
                key += rows as u64;
                done += rows;
            }
            splits.push(Split { key: section_key(group + 1, 0).into(), records: count });
        }
        let written = writer.finish().map_err(TaskError::Output)?;
        Ok(written.map(|(manifest, _)| (manifest, splits)))
    }
}
