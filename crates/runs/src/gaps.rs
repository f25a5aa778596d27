//! Gaps: wide ranges without a key, so that a task of the next stage is not sent to runs that have nothing for it.
//!
//! ```text
//!   keys of a task's runs   |.. ...|            |. .|          |... ..|
//!   gaps                           |<---------->|   |<-------->|
//! ```
//!
//! Where a stage changes the first digits of the keys, each task writes a few clusters far apart. A look at the first and
//! the last key alone would send all tasks to all runs: n x n of them for n tasks.
//!
//! Cost: a subtraction and a comparison for each record.

use serde::{Deserialize, Serialize};

use crate::RunKey;

/// Most gaps of a task. A window of two cells of four kinds writes 16 clusters.
pub const MAX_GAPS: usize = 16;
/// A gap takes at least one part in `2^LEAST_PART_BITS` of the range from the first key to the last.
const LEAST_PART_BITS: u32 = 6;

/// A range of keys of which a task has written none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyGap {
    /// Last key below the gap.
    pub after: u128,
    /// First key above it.
    pub before: u128,
}

impl KeyGap {
    const fn width(self) -> u128 {
        self.before.saturating_sub(self.after)
    }
}

/// The parts of a run from `first` to `last` that ascending `gaps` leave, as first and last keys. A gap that does not lie
/// within the run is passed over.
pub fn parts_between(first: u128, last: u128, gaps: &[KeyGap]) -> Vec<(u128, u128)> {
    let mut parts = Vec::with_capacity(gaps.len() + 1);
    let mut start = first;
    for gap in gaps {
        if start <= gap.after && gap.after < gap.before && gap.before <= last {
            parts.push((start, gap.after));
            start = gap.before;
        }
    }
    parts.push((start, last));
    parts
}

/// Finds the gaps between the keys of one run.
#[derive(Clone, Debug, Default)]
pub struct GapFinder {
    /// First and last key so far.
    ends: Option<(u128, u128)>,
    /// At most [`MAX_GAPS`], the widest so far, ascending.
    gaps: Vec<KeyGap>,
    /// Narrower gaps are of no use any more.
    least: u128,
}

impl GapFinder {
    /// Takes the next keys of the run, ascending.
    pub fn push<K: RunKey>(&mut self, keys: impl IntoIterator<Item = K>) {
        for key in keys {
            let before = key.widen();
            let Some((first, after)) = self.ends else {
                self.ends = Some((before, before));
                continue;
            };
            self.ends = Some((first, before));
            if before - after > self.least {
                self.keep(KeyGap { after, before }, before - first);
            }
        }
    }

    #[cold]
    fn keep(&mut self, gap: KeyGap, range: u128) {
        self.gaps.push(gap);
        widest(&mut self.gaps, range);
        let narrowest = self.gaps.iter().map(|gap| gap.width()).min().unwrap_or(0);
        self.least = if self.gaps.len() < MAX_GAPS { 0 } else { narrowest }.max(least_width(range));
    }

    fn parts(&self) -> Vec<(u128, u128)> {
        self.ends.map_or(Vec::new(), |(first, last)| parts_between(first, last, &self.gaps))
    }
}

/// The gaps of a task that has written these runs, ascending: the widest that all runs leave.
pub fn common_gaps(runs: &[GapFinder]) -> Vec<KeyGap> {
    let mut parts: Vec<(u128, u128)> = runs.iter().flat_map(GapFinder::parts).collect();
    parts.sort_unstable();
    let Some(&(first, mut end)) = parts.first() else { return Vec::new() };
    let mut gaps = Vec::new();
    for (start, last) in parts {
        if start > end {
            gaps.push(KeyGap { after: end, before: start });
        }
        end = end.max(last);
    }
    widest(&mut gaps, end - first);
    gaps
}

const fn least_width(range: u128) -> u128 {
    // Keys that follow each other leave none.
    let least = range >> LEAST_PART_BITS;
    if least == 0 { 1 } else { least }
}

/// Keeps the widest gaps of those that are worth it, in their order.
fn widest(gaps: &mut Vec<KeyGap>, range: u128) {
    gaps.retain(|gap| gap.width() > least_width(range));
    while gaps.len() > MAX_GAPS {
        let narrowest = (0..gaps.len()).min_by_key(|&at| gaps[at].width()).unwrap_or(0);
        gaps.remove(narrowest);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(keys: &[u64]) -> GapFinder {
        let mut finder = GapFinder::default();
        // In pieces, as batches come.
        for piece in keys.chunks(3) {
            finder.push(piece.iter().copied());
        }
        finder
    }

    fn gap(after: u128, before: u128) -> KeyGap {
        KeyGap { after, before }
    }

    #[test]
    fn gaps_are_those_of_all_runs_together() {
        let check = |runs: &[&[u64]], expected: &[KeyGap]| {
            let runs: Vec<GapFinder> = runs.iter().map(|keys| found(keys)).collect();
            assert_eq!(common_gaps(&runs), expected, "{runs:?}");
        };
        check(&[], &[]);
        check(&[&[]], &[]);
        check(&[&[7]], &[]);
        check(&[&[7, 8, 9]], &[]);
        check(&[&[1, 2, 100, 101, 102]], &[gap(2, 100)]);
        // A sixty-fourth of 6,400 is 100: a gap must be wider.
        check(&[&[0, 100, 201, 3300, 6400]], &[gap(100, 201), gap(201, 3300), gap(3300, 6400)]);
        // What one run has in the gap of another.
        check(&[&[1, 100], &[50]], &[gap(1, 50), gap(50, 100)]);
        check(&[&[1, 2, 90, 100], &[2, 95]], &[gap(2, 90), gap(90, 95), gap(95, 100)]);
        check(&[&[1, 100], &[2, 99]], &[gap(2, 99)]);
        // Between two runs.
        check(&[&[500, 501], &[1, 2]], &[gap(2, 500)]);
        // One more than there is room for: the narrowest goes. Many narrow ones: none is worth it.
        let growing = |keys: u64| (0..keys).map(|at| at * 1000 + at * at).collect::<Vec<u64>>();
        let keys = growing(MAX_GAPS as u64 + 2);
        let widest: Vec<KeyGap> = keys.windows(2).skip(1).map(|two| gap(two[0].into(), two[1].into())).collect();
        check(&[&keys], &widest);
        check(&[&growing(200)], &[]);
    }

    proptest! {
        /// No key lies in a gap, and parts and gaps together are the whole.
        #[test]
        fn no_key_is_in_a_gap(runs in prop::collection::vec(prop::collection::btree_set(0_u64..5000, 1..60), 1..4)) {
            let runs: Vec<Vec<u64>> = runs.into_iter().map(|keys| keys.into_iter().collect()).collect();
            let gaps = common_gaps(&runs.iter().map(|keys| found(keys)).collect::<Vec<_>>());
            prop_assert!(gaps.len() <= MAX_GAPS);
            prop_assert!(gaps.is_sorted_by(|one, next| one.before <= next.after));
            for keys in &runs {
                let (first, last) = (u128::from(keys[0]), u128::from(keys[keys.len() - 1]));
                let parts = parts_between(first, last, &gaps);
                prop_assert!(parts.is_sorted_by(|one, next| one.0 <= one.1 && one.1 < next.0));
                prop_assert_eq!((parts[0].0, parts[parts.len() - 1].1), (first, last));
                for &key in keys {
                    let key = u128::from(key);
                    prop_assert!(parts.iter().any(|part| (part.0..=part.1).contains(&key)), "{} in {:?}", key, gaps);
                }
            }
        }
    }
}
