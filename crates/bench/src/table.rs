//! The table: one line a row, aligned, for the terminal and for the document.

use crate::sample::{Label, Sample, ratio};

/// A row: what ran, how often, and its medians.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) label: Label,
    pub(crate) runs: usize,
    pub(crate) sample: Sample,
}

const HEADER: [&str; 15] = [
    "what",
    "board",
    "K",
    "threads",
    "runs",
    "wall s",
    "cpu s",
    "ns",
    "ns/K",
    "states/s",
    "read B",
    "written B",
    "device MB",
    "peak MiB",
    "read/map/write %",
];

/// What the columns are.
pub(crate) const LEGEND: &str = "\
K: residues, carried at once by passes and sweeps, of the answer by counts and clusters. threads: of the process; of a cluster, workers
of one thread each; of golegal, processes. ns: wall time per state-pass, one state through one pass, for all K residues;
ns/K: for one of them. states/s: state-passes per second and core. read B, written B: bytes of runs read and written, spills
included, per state and boundary between windows. device MB: read from devices and handed to them by the whole run, what was
deleted before it left the system's cache not included; runs of block passes, cached runs, and of stream sweeps are never
synced, those of counts and clusters are. peak MiB: memory of the process that counts. read/map/write: how threads divided their time; in memory, reading is the exchange between windows.
State-passes of counts are those of one sweep over the whole board for each sweep of the plan. Cluster passes are those
of jobs on longer boards of that height, of which a sweep carries K residues: of the whole job up to 9 by streams and up to
11 by blocks; above of some columns, by streams from the second on, by blocks where the vector has grown.";

fn cells(row: &Row) -> [String; HEADER.len()] {
    let (label, sample) = (&row.label, &row.sample);
    let or_none = |there: bool, text: String| if there { text } else { "-".into() };
    let crossed = sample.bytes_written > 0.0 && sample.state_boundaries > 0.0;
    let busy = sample.read_seconds + sample.map_seconds + sample.write_seconds;
    let part = |seconds: f64| format!("{:.0}", 100.0 * ratio(seconds, busy));
    let split = [sample.read_seconds, sample.map_seconds, sample.write_seconds].map(part).join("/");
    let device = [sample.device_bytes_read, sample.device_bytes_written].map(|bytes| format!("{:.0}", bytes / 1e6));
    let per_core = ratio(sample.state_passes, sample.seconds * f64::from(label.threads.max(1)));
    [
        label.kind.name().into(),
        format!("{0}x{0}", label.height),
        label.residues.to_string(),
        label.threads.to_string(),
        row.runs.to_string(),
        short(sample.seconds),
        short(sample.cpu_seconds),
        short(sample.nanos()),
        short(ratio(sample.nanos(), f64::from(label.residues))),
        format!("{per_core:.2e}"),
        or_none(crossed, short(ratio(sample.bytes_read, sample.state_boundaries))),
        or_none(crossed, short(ratio(sample.bytes_written, sample.state_boundaries))),
        or_none(sample.device_bytes_read + sample.device_bytes_written > 0.0, device.join("/")),
        or_none(sample.peak_bytes > 0.0, format!("{:.0}", sample.peak_bytes / f64::from(1 << 20))),
        or_none(busy > 0.0, split),
    ]
}

/// Three digits, or all before the point.
pub(crate) fn short(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 99.95 => 0,
        middle if middle >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// The rows with a header; the first column to the left, numbers to the right.
pub(crate) fn text(rows: &[Row]) -> String {
    let lines: Vec<[String; HEADER.len()]> =
        std::iter::once(HEADER.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
    let widths: [usize; HEADER.len()] = std::array::from_fn(width);
    let aligned = lines.iter().map(|line| {
        let cells = line.iter().zip(widths).enumerate().map(|(i, (cell, width))| match i {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    });
    aligned.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Kind;

    #[test]
    fn numbers_are_short() {
        fn check(value: f64, expected: &str) {
            assert_eq!(short(value), expected);
        }
        check(0.0, "0.00");
        check(1.234, "1.23");
        check(9.996, "10.0");
        check(12.34, "12.3");
        check(99.96, "100");
        check(1234.5, "1234");
    }

    #[test]
    fn the_table_is_aligned() {
        let row =
            |kind, height, sample| Row { label: Label { kind, height, residues: 4, threads: 2 }, runs: 3, sample };
        let sample = Sample {
            seconds: 2.0,
            cpu_seconds: 3.5,
            state_passes: 4e8,
            state_boundaries: 1e8,
            bytes_read: 3.3e9,
            bytes_written: 3.4e9,
            device_bytes_read: 0.0,
            device_bytes_written: 2.5e8,
            peak_bytes: 104_857_600.0,
            read_seconds: 1.0,
            map_seconds: 2.0,
            write_seconds: 1.0,
        };
        let plain = Sample { seconds: 1.0, state_passes: 1e9, ..Sample::default() };
        let found = text(&[row(Kind::CountStream, 9, sample), row(Kind::BlockForward, 10, plain)]);
        let expected = "\
what                   board  K  threads  runs  wall s  cpu s    ns  ns/K  states/s  read B  written B  device MB  peak MiB  read/map/write %
count, stream            9x9  4        2     3    2.00   3.50  5.00  1.25    1.00e8    33.0       34.0      0/250       100          25/50/25
block passes, forward  10x10  4        2     3    1.00   0.00  1.00  0.25    5.00e8       -          -          -         -                 -
";
        assert_eq!(found, expected);
    }
}
