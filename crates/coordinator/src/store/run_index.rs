//! The runs of a vector by their keys: which of them may hold keys of a shard.
//!
//! ```text
//!   runs by first key    [2 9] [3 4] [5 21] [7 8] ...
//!   largest last key of     \__9_/      \_21__/          a tree over the runs, in one array: its root is 1
//!                             \____21____/
//! ```
//!
//! A shard meets a run that begins before the shard ends and ends where the shard begins or later. The runs that begin early
//! enough stand first; among these the tree leads to those that end late enough. A run with gaps stands there in parts.
//! Cost: O(m log n) for m of n parts.

use keima_runs::parts_between;

use super::records::{Committed, Shard};

/// Where a run stands in its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunPlace {
    /// Index of its task.
    pub(crate) task: u32,
    /// Index among the task's runs.
    pub(crate) run: u32,
}

/// A run, or a part of it between two gaps.
#[derive(Debug)]
struct Entry {
    first_key: u128,
    last_key: u128,
    place: RunPlace,
}

/// All runs of a vector.
#[derive(Debug)]
pub(crate) struct RunIndex {
    /// By first key.
    entries: Vec<Entry>,
    /// Of node `i` the largest last key; its halves are `2 i` and `2 i + 1`, the leaves come last. `None` where there is no run.
    most: Vec<Option<u128>>,
}

impl RunIndex {
    pub(crate) fn new(tasks: &[Committed]) -> Self {
        let mut entries = Vec::new();
        for (task, done) in (0..).zip(tasks) {
            for (run, manifest) in (0..).zip(&done.manifest.runs) {
                let parts = parts_between(manifest.first_key, manifest.last_key, &done.manifest.gaps);
                let entry = |(first_key, last_key)| Entry { first_key, last_key, place: RunPlace { task, run } };
                entries.extend(parts.into_iter().map(entry));
            }
        }
        entries.sort_unstable_by_key(|entry| entry.first_key);
        let leaves = entries.len().next_power_of_two();
        let mut most = vec![None; 2 * leaves];
        for (leaf, entry) in most.iter_mut().skip(leaves).zip(&entries) {
            *leaf = Some(entry.last_key);
        }
        for node in (1..leaves).rev() {
            most[node] = most[2 * node].max(most[2 * node + 1]);
        }
        Self { entries, most }
    }

    /// Places of the runs that meet a shard, ascending.
    pub(crate) fn meeting(&self, shard: &Shard) -> Vec<RunPlace> {
        let mut places = Vec::new();
        self.visit(shard, |place| {
            places.push(place);
            true
        });
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Whether any run meets a shard.
    pub(crate) fn meets(&self, shard: &Shard) -> bool {
        let mut any = false;
        self.visit(shard, |_| {
            any = true;
            false
        });
        any
    }

    /// Visits the parts of runs that meet a shard, until `visit` says `false`.
    fn visit(&self, shard: &Shard, mut visit: impl FnMut(RunPlace) -> bool) {
        let early =
            shard.high.map_or(self.entries.len(), |high| self.entries.partition_point(|entry| entry.first_key < high));
        let leaves = self.most.len() / 2;
        // Nodes with the first entry and the number of entries below them.
        let mut nodes = vec![(1_usize, 0_usize, leaves)];
        while let Some((node, first, width)) = nodes.pop() {
            if first >= early || self.most.get(node).copied().flatten().is_none_or(|most| most < shard.low) {
                continue;
            }
            if width > 1 {
                let half = width / 2;
                nodes.push((2 * node + 1, first + half, half));
                nodes.push((2 * node, first, half));
            } else if let Some(entry) = self.entries.get(first)
                && !visit(entry.place)
            {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keima_orders::{AttemptId, JobId, WorkerId};
    use keima_runs::{KeyGap, RunId, RunManifest, TaskManifest};
    use proptest::prelude::*;

    use super::*;

    fn done(task: u32, runs: &[(u128, u128)], gaps: &[KeyGap]) -> Committed {
        let attempt = AttemptId { job: JobId(1), sweep: 0, generation: 1, task, attempt: 0 };
        let run = |&(first_key, last_key): &(u128, u128)| RunManifest {
            id: RunId(format!("{attempt}/r")),
            bytes: 0,
            records: 1,
            first_key,
            last_key,
            sums: Vec::new(),
            checksum: 0,
        };
        let runs = runs.iter().map(run).collect();
        let manifest = TaskManifest { runs, gaps: gaps.to_vec(), ..TaskManifest::default() };
        Committed { attempt, nonce: 0, writer: WorkerId("w".into()), second: None, manifest }
    }

    proptest! {
        #[test]
        fn the_index_finds_what_a_look_at_every_run_finds(
            tasks in prop::collection::vec(prop::collection::vec((0_u128..60, 0_u128..30), 0..4), 0..12),
            gap in (0_u128..60, 1_u128..30),
            low in 0_u128..70, width in prop::option::of(1_u128..40),
        ) {
            let gap = KeyGap { after: gap.0, before: gap.0 + gap.1 };
            let tasks: Vec<Committed> = (0..).zip(&tasks).map(|(number, runs)| {
                let runs: Vec<_> = runs.iter().map(|&(first, more)| (first, first + more)).collect();
                done(number, &runs, &[gap])
            }).collect();
            let shard = Shard::of_keys(low, width.map(|width| low + width), 1);
            let index = RunIndex::new(&tasks);
            let mut expected = Vec::new();
            for (task, done) in (0..).zip(&tasks) {
                for (run, manifest) in (0..).zip(&done.manifest.runs) {
                    let (first, last) = (manifest.first_key, manifest.last_key);
                    let within = first <= gap.after && gap.before <= last;
                    let reads = |key| key >= shard.low && shard.high.is_none_or(|high| key < high);
                    let has = |key| reads(key) && !(within && gap.after < key && key < gap.before);
                    if (first..=last).any(has) {
                        expected.push(RunPlace { task, run });
                    }
                }
            }
            prop_assert_eq!(index.meets(&shard), !expected.is_empty());
            prop_assert_eq!(index.meeting(&shard), expected);
        }
    }
}
