//! What is measured: a label that says what ran, a sample of one run of it, and medians over samples; and what one
//! process of this program tells another.

use keima_runs::TaskManifest;
use serde::{Deserialize, Serialize};

/// What ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Passes of the block executor in memory, forward: nothing else.
    BlockForward,
    /// The same, transposed.
    BlockBackward,
    /// Passes of the block executor out of core, forward: tasks, and the runs between them, which nobody syncs.
    BlockRuns,
    /// Sweeps of the stream executor with as much memory as the vector has bytes; its runs are files that nobody syncs.
    Stream,
    /// The same with a tenth of that.
    StreamTight,
    /// A whole count by `keima count`, by blocks in memory.
    CountBlock,
    /// The same by blocks out of core, with a tenth of the vector's bytes as memory.
    CountBlockDisk,
    /// The same with the memory of a cluster's worker.
    CountBlockWorker,
    /// The same by the stream executor.
    CountStream,
    /// A whole count by a coordinator and workers of one thread each, by blocks.
    ClusterBlock,
    /// The same by the stream executor.
    ClusterStream,
    /// Passes of a job on such a cluster, by blocks: a part of its first sweep.
    ClusterBlockPasses,
    /// The same by the stream executor.
    ClusterStreamPasses,
    /// The C program that these are held against, one modulus, two processes.
    Golegal,
}

impl Kind {
    /// As it stands in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BlockForward => "block passes, forward",
            Self::BlockBackward => "block passes, transposed",
            Self::BlockRuns => "block passes, cached runs",
            Self::Stream => "stream sweep",
            Self::StreamTight => "stream sweep, memory 1/10",
            Self::CountBlock => "count, block, memory",
            Self::CountBlockDisk => "count, block, disk",
            Self::CountBlockWorker => "count, block, disk, 4 GiB",
            Self::CountStream => "count, stream",
            Self::ClusterBlock => "cluster, block",
            Self::ClusterStream => "cluster, stream",
            Self::ClusterBlockPasses => "cluster passes, block",
            Self::ClusterStreamPasses => "cluster passes, stream",
            Self::Golegal => "golegal",
        }
    }
}

/// Which row of the table a sample belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Label {
    /// What ran.
    pub(crate) kind: Kind,
    /// Smaller side of the board.
    pub(crate) height: u32,
    /// Residues: carried at once by kernels and sweeps, of the answer by counts.
    pub(crate) residues: u32,
    /// Threads, or workers of one thread each, or processes.
    pub(crate) threads: u32,
}

/// One run.
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
    /// Bytes that were read from devices for all processes of a run; 0 where that is not known.
    pub(crate) device_bytes_read: f64,
    /// Bytes that were handed to devices, or are to be: pages that were written, without those of files that were deleted
    /// before.
    pub(crate) device_bytes_written: f64,
    /// Peak memory of the process that counts; of several, the largest.
    pub(crate) peak_bytes: f64,
    /// Time of tasks, over all threads: reading, merging and waiting for inputs.
    pub(crate) read_seconds: f64,
    /// Expanding and adding.
    pub(crate) map_seconds: f64,
    /// Sorting and writing.
    pub(crate) write_seconds: f64,
}

/// A line that a process of this program prints for another: a pair, or a string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// What was measured.
    Sample(Label, Sample),
    /// What was not, and why.
    Note(String),
}

impl Sample {
    const FIELDS: usize = 12;

    fn fields(&self) -> [f64; Self::FIELDS] {
        [
            self.seconds,
            self.cpu_seconds,
            self.state_passes,
            self.state_boundaries,
            self.bytes_read,
            self.bytes_written,
            self.device_bytes_read,
            self.device_bytes_written,
            self.peak_bytes,
            self.read_seconds,
            self.map_seconds,
            self.write_seconds,
        ]
    }

    /// From what [`Self::fields`] gives.
    fn of_fields(fields: [f64; Self::FIELDS]) -> Self {
        let [
            seconds,
            cpu_seconds,
            state_passes,
            state_boundaries,
            bytes_read,
            bytes_written,
            device_bytes_read,
            device_bytes_written,
            peak_bytes,
            read_seconds,
            map_seconds,
            write_seconds,
        ] = fields;
        Self {
            seconds,
            cpu_seconds,
            state_passes,
            state_boundaries,
            bytes_read,
            bytes_written,
            device_bytes_read,
            device_bytes_written,
            peak_bytes,
            read_seconds,
            map_seconds,
            write_seconds,
        }
    }

    /// Adds what a stage's tasks tell of themselves.
    pub(crate) fn add_up(&mut self, made: &[TaskManifest]) {
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

    /// What was done since `before`: times, work and bytes.
    pub(crate) fn less(&self, before: &Self) -> Self {
        let (now, then) = (self.fields(), before.fields());
        Self { peak_bytes: self.peak_bytes, ..Self::of_fields(std::array::from_fn(|i| now[i] - then[i])) }
    }

    /// The median of each figure on its own.
    pub(crate) fn median(samples: &[Self]) -> Self {
        let rows: Vec<[f64; Self::FIELDS]> = samples.iter().map(Self::fields).collect();
        Self::of_fields(std::array::from_fn(|i| median(&rows.iter().map(|row| row[i]).collect::<Vec<_>>())))
    }

    /// Wall time per state-pass, for all residues that are carried.
    pub(crate) fn nanos(&self) -> f64 {
        ratio(self.seconds * 1e9, self.state_passes)
    }
}

/// The middle one, or the mean of the two in the middle; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// A quotient that is 0 where there is nothing to divide by.
pub(crate) fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        fn check(values: &[f64], expected: f64) {
            assert!((median(values) - expected).abs() < 1e-12, "{values:?}");
        }
        check(&[], 0.0);
        check(&[7.0], 7.0);
        check(&[7.0, 1.0], 4.0);
        check(&[9.0, 1.0, 5.0], 5.0);
        check(&[9.0, 1.0, 5.0, 6.0], 5.5);
        check(&[2.0, 1000.0, 1.0, 3.0, -5.0], 2.0);
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let label = Label { kind: Kind::BlockRuns, height: 9, residues: 8, threads: 2 };
        let sample = Line::Sample(label, Sample { seconds: 0.5, ..Sample::default() });
        for (line, begins) in [(sample, r#"[{"kind":"BlockRuns","height":9"#), (Line::Note("no".into()), r#""no""#)] {
            let text = serde_json::to_string(&line).unwrap();
            assert!(text.starts_with(begins), "{text}");
            assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
        }
    }

    #[test]
    fn every_figure_has_a_median_of_its_own() {
        let sample = |a: f64, b: f64| Sample { seconds: a, write_seconds: b, state_passes: 1e9, ..Sample::default() };
        let found = Sample::median(&[sample(1.0, 30.0), sample(2.0, 20.0), sample(3.0, 10.0)]);
        assert_eq!(found, sample(2.0, 20.0));
        assert!((found.nanos() - 2.0).abs() < 1e-12);
        assert!(Sample::default().nanos().abs() < 1e-12);
    }
}
