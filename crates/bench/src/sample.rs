//! Samples: what ran, the figures of one run, and medians over runs.

use keima_runs::TaskManifest;
use serde::{Deserialize, Serialize};

/// What ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Forward passes of the block executor in memory.
    BlockForward,
    /// The transposed passes.
    BlockBackward,
    /// Forward passes of the block executor through run files, which nobody syncs.
    BlockRuns,
    /// Passes of the stream executor with as much memory as the vector has bytes. Its runs are files that nobody syncs.
    Stream,
    /// The same with a tenth of that memory.
    StreamTight,
    /// A whole `keima count` by blocks in memory.
    CountBlock,
    /// The same on disk, with a tenth of the vector's bytes as memory.
    CountBlockDisk,
    /// The same on disk, with the memory of a cluster's worker.
    CountBlockWorker,
    /// A whole `keima count` by the stream executor.
    CountStream,
    /// A whole count by a coordinator and workers of one thread each, by blocks.
    ClusterBlock,
    /// The same by the stream executor.
    ClusterStream,
    /// A part of a large job's first sweep on such a cluster, by blocks.
    ClusterBlockPasses,
    /// The same by the stream executor.
    ClusterStreamPasses,
    /// The C program to compare with: one modulus, two processes.
    Golegal,
}

impl Kind {
    /// Name in the report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BlockForward => "block passes",
            Self::BlockBackward => "block passes, transposed",
            Self::BlockRuns => "block passes through files",
            Self::Stream => "stream passes",
            Self::StreamTight => "stream passes, a tenth of the memory",
            Self::CountBlock => "count, block, in memory",
            Self::CountBlockDisk => "count, block, on disk",
            Self::CountBlockWorker => "count, block, on disk, 4 GiB",
            Self::CountStream => "count, stream",
            Self::ClusterBlock => "cluster, block",
            Self::ClusterStream => "cluster, stream",
            Self::ClusterBlockPasses => "cluster passes, block",
            Self::ClusterStreamPasses => "cluster passes, stream",
            Self::Golegal => "golegal",
        }
    }

    /// Whether a coordinator and workers run.
    pub(crate) const fn is_cluster(self) -> bool {
        matches!(self, Self::ClusterBlock | Self::ClusterStream | Self::ClusterBlockPasses | Self::ClusterStreamPasses)
    }

    /// Value of `--executor`.
    pub(crate) const fn executor(self) -> &'static str {
        match self {
            Self::Stream | Self::StreamTight | Self::CountStream | Self::ClusterStream | Self::ClusterStreamPasses => {
                "stream"
            }
            _ => "block",
        }
    }
}

/// Which row of the report a sample belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Label {
    pub(crate) kind: Kind,
    /// Smaller side of the board.
    pub(crate) height: u32,
    /// Residues: of passes, carried at once; of counts, of the answer.
    pub(crate) residues: u32,
    /// Threads; of a cluster, workers of one thread each; of golegal, processes.
    pub(crate) threads: u32,
}

/// Figures of one run. A figure that is not known is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Wall time.
    pub(crate) seconds: f64,
    /// Processor time of all processes.
    pub(crate) cpu_seconds: f64,
    /// States, each counted once for every pass that it goes through.
    pub(crate) state_passes: f64,
    /// States, each counted once for every boundary between windows that it crosses.
    pub(crate) state_boundaries: f64,
    /// Bytes of runs that were read.
    pub(crate) bytes_read: f64,
    /// Bytes of runs that were written.
    pub(crate) bytes_written: f64,
    /// Bytes that all processes of the run read from devices.
    pub(crate) device_bytes_read: f64,
    /// Bytes written to devices, or still to be. Files that were deleted in the system's cache do not count.
    pub(crate) device_bytes_written: f64,
    /// Peak memory of the process that counts; of several, the largest.
    pub(crate) peak_bytes: f64,
    /// Time of all threads for reading and merging inputs and waiting for them.
    pub(crate) read_seconds: f64,
    /// Time of all threads for expanding and adding.
    pub(crate) map_seconds: f64,
    /// Time of all threads for sorting and writing.
    pub(crate) write_seconds: f64,
}

/// A line that a process of this program prints for another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    Sample(Label, Sample),
    /// What was not measured, and why.
    Note(String),
}

/// All figures of a sample.
const FIGURES: [fn(&mut Sample) -> &mut f64; 12] = [
    |sample| &mut sample.seconds,
    |sample| &mut sample.cpu_seconds,
    |sample| &mut sample.state_passes,
    |sample| &mut sample.state_boundaries,
    |sample| &mut sample.bytes_read,
    |sample| &mut sample.bytes_written,
    |sample| &mut sample.device_bytes_read,
    |sample| &mut sample.device_bytes_written,
    |sample| &mut sample.peak_bytes,
    |sample| &mut sample.read_seconds,
    |sample| &mut sample.map_seconds,
    |sample| &mut sample.write_seconds,
];

impl Sample {
    /// Adds what the tasks of a stage did.
    pub(crate) fn add_stage(&mut self, made: &[TaskManifest]) {
        for task in made {
            self.state_passes += task.passes.iter().map(|pass| pass.states as f64).sum::<f64>();
            self.state_boundaries += task.output.states as f64;
            self.bytes_read += task.bytes_read as f64;
            self.bytes_written += task.bytes_written as f64;
            self.read_seconds += task.times.read_nanos as f64 / 1e9;
            self.map_seconds += task.times.map_nanos as f64 / 1e9;
            self.write_seconds += task.times.write_nanos as f64 / 1e9;
        }
    }

    /// The difference since `before`. The peak of memory stays as it is.
    pub(crate) fn since(mut self, mut before: Self) -> Self {
        before.peak_bytes = 0.0;
        for figure in FIGURES {
            *figure(&mut self) -= *figure(&mut before);
        }
        self
    }

    /// The median of each figure on its own.
    pub(crate) fn median(samples: &[Self]) -> Self {
        let mut middle = Self::default();
        for figure in FIGURES {
            *figure(&mut middle) = median(samples.iter().map(|&(mut sample)| *figure(&mut sample)));
        }
        middle
    }

    /// Wall time per state-pass, for all residues that are carried.
    pub(crate) fn nanos(&self) -> f64 {
        ratio(self.seconds * 1e9, self.state_passes)
    }
}

/// The middle value, or the mean of the two in the middle; 0 of none.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// A quotient; 0 where there is nothing to divide by.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// Rounds to three digits, as reports have them.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        for (value, expected) in [(0.0, 0.0), (1.2345, 1.23), (0.009_996, 0.01), (123_456.0, 123_000.0)] {
            assert!((rounded(value) - expected).abs() < 1e-12, "{value}");
        }
    }

    #[test]
    fn medians() {
        fn check(values: &[f64], expected: f64) {
            assert!((median(values.iter().copied()) - expected).abs() < 1e-12, "{values:?}");
        }
        check(&[], 0.0);
        check(&[7.0], 7.0);
        check(&[7.0, 1.0], 4.0);
        check(&[9.0, 1.0, 5.0], 5.0);
        check(&[9.0, 1.0, 5.0, 6.0], 5.5);
        check(&[2.0, 1000.0, 1.0, 3.0, -5.0], 2.0);
    }

    #[test]
    fn every_figure_has_its_own_median() {
        let sample = |a: f64, b: f64| Sample { seconds: a, write_seconds: b, state_passes: 1e9, ..Sample::default() };
        let found = Sample::median(&[sample(1.0, 30.0), sample(2.0, 20.0), sample(3.0, 10.0)]);
        assert_eq!(found, sample(2.0, 20.0));
        assert!((found.nanos() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let label = Label { kind: Kind::BlockRuns, height: 9, residues: 8, threads: 2 };
        for line in [Line::Sample(label, Sample { seconds: 0.5, ..Sample::default() }), Line::Note("no".into())] {
            assert_eq!(serde_json::from_str::<Line>(&serde_json::to_string(&line).unwrap()).unwrap(), line);
        }
    }
}
