//! Doors for fuzzing: what reads typed words and a file of kept numbers.

use crate::{cluster, count, terminal};

/// Reads a text as each kind of word that can be typed. Returns whether any of them takes it.
pub fn typed(text: &str) -> bool {
    let taken = [
        terminal::units::parse_bytes(text).is_ok(),
        terminal::units::parse_bytes_or_none(text).is_ok(),
        count::sizes::sizes(text).is_ok(),
        cluster::people::job_id(text).is_ok(),
    ];
    taken.contains(&true)
}

/// The number of results in the bytes of a file of kept numbers.
pub fn kept_sizes(bytes: &[u8]) -> usize {
    count::kept_sizes::results(bytes).len()
}
