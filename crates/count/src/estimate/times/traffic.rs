//! Bytes that a stage reads from and writes to the disks.
//!
//! ```text
//!   read      the runs before it, times slices if lanes grow;  nothing if all runs stay in the page cache
//!   written   its runs;                                        nothing if they stay in the cache and are few
//!   copied    second copies: one worker reads, another writes; as above
//! ```
//!
//! A vector of less than [`LARGE_VECTOR_BYTES`] is usually deleted before the system writes it to the disk. A larger
//! vector is made durable at every boundary.

use keima_coordinator::LARGE_VECTOR_BYTES;

use crate::estimate::Offer;
use crate::estimate::outline::StageOutline;

/// Bytes of a stage on the disks of all workers together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traffic {
    /// Bytes that each slice of the lanes reads.
    slice_bytes: f64,
    /// Whether each slice reads all of them.
    grows: bool,
    written_bytes: f64,
    /// Second copies, read and written.
    pub(super) copied_bytes: f64,
}

impl Traffic {
    /// The traffic of `stage` on the machines of `offer`.
    pub(super) fn of(stage: &StageOutline, offer: &Offer) -> Self {
        let held = stage.bytes_before.saturating_add(stage.bytes_written).saturating_add(stage.bytes_copied);
        let cached = held <= offer.cache_bytes.saturating_mul(offer.workers.max(1).into());
        let read = if cached { 0.0 } else { 1.0 };
        let written = if cached && stage.bytes_written < LARGE_VECTOR_BYTES { 0.0 } else { 1.0 };
        Self {
            slice_bytes: stage.bytes_before as f64 * read,
            grows: stage.grows,
            written_bytes: stage.bytes_written as f64 * written,
            copied_bytes: stage.bytes_copied as f64 * (read + written),
        }
    }

    /// Bytes read and written with the lanes in `slices` slices, without second copies.
    pub(super) fn in_slices(&self, slices: f64) -> f64 {
        self.slice_bytes * if self.grows { slices } else { 1.0 } + self.written_bytes
    }
}

#[cfg(test)]
mod tests {
    use keima_coordinator::Executor;
    use keima_model::Window;

    use super::*;
    use keima_model::Direction;

    /// By hand, in MiB: read in each slice, written, copied; caches of each of two workers.
    #[test]
    fn what_stays_in_memory_is_not_read() {
        let check =
            |[before, written, copied]: [u64; 3], cache: u64, (slices, grows): (f64, bool), expected: [u64; 2]| {
                let stage = StageOutline {
                    sweep: 0,
                    column: 1,
                    window: Window { first: 0, len: 5 },
                    direction: Direction::Forward,
                    lanes: 2,
                    states_before: 1,
                    states_after: 1,
                    state_passes: 5,
                    family_share: 0.0,
                    family_threads: 1,
                    family_makers: 1,
                    waiting: 0.0,
                    family_slices: 1,
                    family_workers: 1,
                    slices,
                    grows,
                    bytes_before: before << 20,
                    bytes_read: before << 20,
                    bytes_written: written << 20,
                    bytes_copied: copied << 20,
                    table_seconds: 0.0,
                };
                let offer = Offer { cache_bytes: cache << 20, ..Offer::with_runs(Executor::Block, 2, 1, 1 << 30) };
                let traffic = Traffic::of(&stage, &offer);
                let got = [traffic.in_slices(slices), traffic.copied_bytes].map(|bytes| bytes as u64 >> 20);
                assert_eq!(got, expected, "{before} {written} {copied}, cache {cache}, {slices} {grows}");
            };
        // No cache, or one that is too small by a little.
        check([1000, 500, 500], 0, (1.0, false), [1500, 1000]);
        check([1000, 500, 500], 999, (1.0, false), [1500, 1000]);
        check([1000, 500, 500], 1000, (1.0, false), [500, 500]);
        // Slices read what there was before once more only where lanes grow.
        check([1000, 500, 0], 0, (3.0, false), [1500, 0]);
        check([1000, 500, 0], 0, (3.0, true), [3500, 0]);
        check([1000, 500, 0], 4000, (3.0, true), [500, 0]);
        // Little is gone before it is written through; the first stage of a sweep reads nothing.
        check([200, 255, 255], 4000, (1.0, false), [0, 0]);
        check([0, 256, 256], 4000, (1.0, false), [256, 256]);
        check([0, 100, 100], 0, (1.0, false), [100, 200]);
    }
}
