//! Split points: the keys at which a task's output can be cut into shards.

use keima_runs::{MAX_SPLITS, Split};

/// Puts the split points of several runs in ascending order and thins them to at most `most` and [`MAX_SPLITS`].
pub(crate) fn join_splits(mut splits: Vec<Split>, most: u32) -> Vec<Split> {
    splits.sort_unstable_by_key(|s| s.key);
    let piece = splits.len().div_ceil(MAX_SPLITS.min(most as usize).max(1)).max(1);
    splits
        .chunks(piece)
        .filter_map(|c| Some(Split { key: c.last()?.key, records: c.iter().map(|s| s.records).sum() }))
        .collect()
}

/// Makes one split point of all that have the same key.
pub(crate) fn merge_equal(splits: &[Split]) -> Vec<Split> {
    let equal = splits.chunk_by(|a, b| a.key == b.key);
    equal.map(|same| Split { key: same[0].key, records: same.iter().map(|split| split.records).sum() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_thinned_and_lose_no_records() {
        for (splits, most, expected) in [
            (0, 8, 0),
            (1, 0, 1),
            (8, 8, 8),
            (9, 8, 5),
            (1000, 8, 8),
            (3000, 1, 1),
            (3000, 2000, 1000),
            (3000, u32::MAX, 1000),
        ] {
            let all: Vec<Split> = (0..splits).rev().map(|key| Split { key, records: 3 }).collect();
            let joined = join_splits(all, most);
            assert_eq!(joined.len(), expected, "{splits} splits, at most {most}");
            assert!(joined.is_sorted_by(|a, b| a.key < b.key));
            assert_eq!(joined.iter().map(|split| split.records).sum::<u64>(), 3 * splits as u64);
            assert_eq!(joined.last().map(|split| split.key), splits.checked_sub(1));
        }
    }
}
