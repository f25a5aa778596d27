//! The places at which the output of a task can be cut into shards.

use keima_runs::{MAX_SPLITS, Split};

/// Splits of several runs as one ascending list of at most [`MAX_SPLITS`].
pub(crate) fn join_splits(mut splits: Vec<Split>) -> Vec<Split> {
    splits.sort_unstable_by_key(|s| s.key);
    let piece = splits.len().div_ceil(MAX_SPLITS).max(1);
    splits
        .chunks(piece)
        .filter_map(|c| Some(Split { key: c.last()?.key, records: c.iter().map(|s| s.records).sum() }))
        .collect()
}

/// Splits at one key as one.
pub(crate) fn merge_equal(splits: &[Split]) -> Vec<Split> {
    let equal = splits.chunk_by(|a, b| a.key == b.key);
    equal.map(|same| Split { key: same[0].key, records: same.iter().map(|split| split.records).sum() }).collect()
}
