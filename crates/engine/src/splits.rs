//! Split points: the keys at which a task's output can be cut into shards.

use keima_runs::{MAX_SPLITS, Split};

/// Puts the split points of several runs in ascending order and thins them to at most [`MAX_SPLITS`].
pub(crate) fn join_splits(mut splits: Vec<Split>) -> Vec<Split> {
    splits.sort_unstable_by_key(|s| s.key);
    let piece = splits.len().div_ceil(MAX_SPLITS).max(1);
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
