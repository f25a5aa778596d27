//! A row of the benchmark's report: what ran, how often, and medians over its runs, rounded to three digits.

use serde::{Deserialize, Serialize};

use crate::sample::{Label, Sample, ratio, rounded};

const MIB: f64 = (1 << 20) as f64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Name of the [`crate::sample::Kind`].
    pub(crate) what: String,
    pub(crate) board: String,
    /// Residues: of passes, carried at once; of counts, of the answer.
    pub(crate) residues: u32,
    /// Threads; of a cluster, workers of one thread each; of golegal, processes.
    pub(crate) threads: u32,
    /// Runs of which the figures are medians.
    pub(crate) runs: usize,
    wall_seconds: f64,
    processor_seconds: f64,
    /// Wall time for one state through one pass, for all residues together.
    ns_per_state_pass: f64,
    ns_per_state_pass_and_residue: f64,
    states_per_second_and_core: f64,
    /// Bytes of runs, spills included, for each state at each boundary between windows. None in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_read_per_state_and_boundary: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_written_per_state_and_boundary: Option<f64>,
    /// What devices read and wrote for the whole run. Passes never sync their files; counts and clusters do.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_megabytes_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_megabytes_written: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_mebibytes: Option<u64>,
    /// How threads divided their time. In memory, reading is the exchange between windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_map_write_percent: Option<[u64; 3]>,
}

impl Row {
    /// Medians of samples with one label.
    pub(crate) fn new(label: Label, samples: &[Sample]) -> Self {
        let sample = Sample::median(samples);
        let crossed = sample.state_boundaries;
        let transferred = |bytes: f64| (sample.bytes_written > 0.0 && crossed > 0.0).then(|| rounded(bytes / crossed));
        let used_devices = sample.device_bytes_read + sample.device_bytes_written > 0.0;
        let megabytes = |bytes: f64| used_devices.then(|| (bytes / 1e6).round() as u64);
        let times = [sample.read_seconds, sample.map_seconds, sample.write_seconds];
        let busy: f64 = times.iter().sum();
        Self {
            what: label.kind.name().to_owned(),
            board: format!("{0}x{0}", label.height),
            residues: label.residues,
            threads: label.threads,
            runs: samples.len(),
            wall_seconds: rounded(sample.seconds),
            processor_seconds: rounded(sample.cpu_seconds),
            ns_per_state_pass: rounded(sample.nanos()),
            ns_per_state_pass_and_residue: rounded(ratio(sample.nanos(), f64::from(label.residues))),
            states_per_second_and_core: rounded(ratio(sample.state_passes, sample.seconds * f64::from(label.threads))),
            bytes_read_per_state_and_boundary: transferred(sample.bytes_read),
            bytes_written_per_state_and_boundary: transferred(sample.bytes_written),
            device_megabytes_read: megabytes(sample.device_bytes_read),
            device_megabytes_written: megabytes(sample.device_bytes_written),
            peak_memory_mebibytes: (sample.peak_bytes > 0.0).then(|| (sample.peak_bytes / MIB).round() as u64),
            read_map_write_percent: (busy > 0.0).then(|| times.map(|part| (100.0 * part / busy).round() as u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Kind;

    #[test]
    fn rows_have_what_is_known() {
        let check = |kind, sample: Sample, expected: &str| {
            let row = Row::new(Label { kind, height: 9, residues: 4, threads: 2 }, &[sample; 3]);
            let text = serde_json::to_string(&row).unwrap();
            assert!(text.ends_with(expected), "{text}");
        };
        let plain = Sample { seconds: 1.0, state_passes: 1e9, ..Sample::default() };
        check(
            Kind::BlockForward,
            plain,
            r#""runs":3,"wall_seconds":1.0,"processor_seconds":0.0,"ns_per_state_pass":1.0,"ns_per_state_pass_and_residue":0.25,"states_per_second_and_core":500000000.0}"#,
        );
        let full = Sample {
            state_boundaries: 1e8,
            bytes_read: 3.3e9,
            bytes_written: 3.4e9,
            device_bytes_written: 2.5e8,
            peak_bytes: 100.0 * MIB,
            read_seconds: 1.0,
            map_seconds: 2.0,
            write_seconds: 1.0,
            ..plain
        };
        check(
            Kind::CountStream,
            full,
            r#""bytes_read_per_state_and_boundary":33.0,"bytes_written_per_state_and_boundary":34.0,"device_megabytes_read":0,"device_megabytes_written":250,"peak_memory_mebibytes":100,"read_map_write_percent":[25,50,25]}"#,
        );
    }
}
