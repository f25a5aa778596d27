//! Ratios: against golegal per residue, and of rows against each other, each beside what is aimed at.

use crate::measure::job::cluster_height;
use crate::sample::{Kind, Label, ratio};
use crate::table::{Row, short};

/// Finds medians by label.
struct Rows<'a>(&'a [Row]);

impl Rows<'_> {
    /// The first row of a kind, by height and threads, and by residues where these are given.
    fn find(&self, kind: Kind, height: u32, threads: u32, residues: Option<u32>) -> Option<&Row> {
        let fits = |label: &Label| {
            label.kind == kind
                && label.height == height
                && label.threads == threads
                && residues.is_none_or(|residues| residues == label.residues)
        };
        self.0.iter().find(|row| fits(&row.label))
    }

    fn nanos(&self, kind: Kind, height: u32, threads: u32, residues: u32) -> Option<f64> {
        Some(self.find(kind, height, threads, Some(residues))?.sample.nanos()).filter(|&nanos| nanos > 0.0)
    }

    fn seconds(&self, kind: Kind, height: u32, threads: u32) -> Option<f64> {
        Some(self.find(kind, height, threads, None)?.sample.seconds).filter(|&seconds| seconds > 0.0)
    }

    fn heights(&self) -> Vec<u32> {
        let mut heights: Vec<u32> = self.0.iter().map(|row| row.label.height).collect();
        heights.sort_unstable();
        heights.dedup();
        heights
    }
}

/// How many times less time per state-pass and residue than golegal on the largest board that it counted: on smaller
/// ones starting its processes, a few for each pass, is most of its time. What, how many times, how many are wanted, and
/// against what.
pub(crate) fn against_golegal(rows: &[Row]) -> Vec<[String; 4]> {
    let golegal: Vec<&Row> = rows.iter().filter(|row| row.label.kind == Kind::Golegal).collect();
    let Some(largest) = golegal.iter().max_by_key(|row| row.label.height) else { return Vec::new() };
    let others = rows.iter().filter(|row| row.label.kind != Kind::Golegal && row.label.threads == 2);
    others
        .map(|row| {
            let label = row.label;
            let times = ratio(largest.sample.nanos() * f64::from(label.residues), row.sample.nanos());
            let what = format!("{}, {1}x{1}, K={2}", label.kind.name(), label.height, label.residues);
            let against = format!("golegal {0}x{0}", largest.label.height);
            [what, short(times), wanted(&label).to_owned(), against]
        })
        .collect()
}

/// How many times faster than golegal a row is to be; empty where that is not said.
pub(crate) fn wanted(label: &Label) -> &'static str {
    match (label.kind, label.height, label.residues) {
        (Kind::BlockForward | Kind::BlockBackward, 11..=14, 1) => "90",
        (Kind::BlockForward | Kind::BlockBackward, ..=11, 4 | 8) => "250",
        (Kind::BlockForward | Kind::BlockBackward, 13, 4 | 8) => "150",
        (Kind::CountBlockDisk, 13, _) => "30",
        (Kind::Stream, _, 1) => "3",
        (Kind::Stream, _, 8) => "15",
        (Kind::StreamTight, _, 1) => "1.5",
        (Kind::StreamTight, _, 8) => "7.5",
        _ => "",
    }
}

/// Ratios of rows against each other: what, found, wanted.
pub(crate) fn among_themselves(rows: &[Row]) -> Vec<[String; 3]> {
    let rows = Rows(rows);
    let heights = rows.heights();
    let mut found = Vec::new();
    let mut tell = |what: String, value: Option<f64>, wanted: &str| {
        if let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) {
            found.push([what, short(value), wanted.to_owned()]);
        }
    };
    let over = |a: Option<f64>, b: Option<f64>| Some(a? / b?);
    for &height in &heights {
        for residues in [1, 8] {
            let nanos = |threads| rows.nanos(Kind::Stream, height, threads, residues);
            let what = format!("stream sweep {height}x{height}, K={residues}: two threads against one");
            tell(what, over(nanos(1), nanos(2)), "1.8");
        }
    }
    for &height in &heights {
        for residues in [1, 8] {
            let nanos = |kind| rows.nanos(kind, height, 2, residues);
            let what = format!("stream sweep {height}x{height}, K={residues}: memory 1/10 against memory for all");
            tell(what, over(nanos(Kind::Stream), nanos(Kind::StreamTight)), "at least 0.5");
        }
    }
    for &height in &heights {
        let nanos = |residues| rows.nanos(Kind::BlockForward, height, 2, residues).map(|n| n / f64::from(residues));
        let what = format!("block passes {height}x{height}: K=4 against K=1, per residue");
        tell(what, over(nanos(1), nanos(4)), "");
    }
    for &height in &heights {
        for residues in [1, 4, 8] {
            let nanos = |kind| rows.nanos(kind, height, 2, residues);
            let what = format!(
                "block passes {height}x{height}, K={residues}, two threads: through cached runs against in memory"
            );
            tell(what, over(nanos(Kind::BlockForward), nanos(Kind::BlockRuns)), "");
        }
    }
    for &height in &heights {
        for residues in [1, 8] {
            let nanos = |threads| rows.nanos(Kind::BlockRuns, height, threads, residues);
            let what = format!("block passes, cached runs {height}x{height}, K={residues}: two threads against one");
            tell(what, over(nanos(1), nanos(2)), "");
        }
    }
    if let (Some(&least), Some(&most)) = (heights.first(), heights.last())
        && least < most
    {
        let nanos = |height| rows.nanos(Kind::BlockForward, height, 1, 1);
        let what = format!("block passes, K=1, one thread: ns at {most}x{most} against {least}x{least}");
        tell(what, over(nanos(most), nanos(least)), "below 1.6 from 9 to 15");
    }
    tell("count go 13x13 by blocks, two threads, seconds".into(), rows.seconds(Kind::CountBlock, 13, 2), "20 to 30");
    for &height in &heights {
        let wanted_of = |kind, wanted| if height == cluster_height(kind) { wanted } else { "" };
        for (kind, name, wanted) in [(Kind::ClusterBlock, "block", "1.5"), (Kind::ClusterStream, "stream", "1.8")] {
            let seconds = |workers| rows.seconds(kind, height, workers);
            tell(
                format!("cluster, {name} {height}x{height}: two workers against one"),
                over(seconds(1), seconds(2)),
                wanted_of(kind, wanted),
            );
        }
        for (kind, name) in [(Kind::ClusterBlockPasses, "block"), (Kind::ClusterStreamPasses, "stream")] {
            for residues in [1, 4, 8] {
                let nanos = |workers| rows.nanos(kind, height, workers, residues);
                let what = format!("cluster passes, {name} {height}x{height}, K={residues}: two workers against one");
                tell(what, over(nanos(1), nanos(2)), "");
            }
        }
        let pairs =
            [(Kind::ClusterBlock, "block", Kind::CountBlockWorker), (Kind::ClusterStream, "stream", Kind::CountStream)];
        for (kind, name, alone) in pairs {
            let what = format!("cluster, {name} {height}x{height}: one worker's time against keima count");
            let value = over(rows.seconds(kind, height, 1), rows.seconds(alone, height, 1));
            tell(what, value, wanted_of(kind, "at most 1.1 on runs of minutes"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    fn row(kind: Kind, height: u32, residues: u32, threads: u32, nanos: f64) -> Row {
        let sample = Sample { seconds: nanos, state_passes: 1e9, ..Sample::default() };
        Row { label: Label { kind, height, residues, threads }, runs: 3, sample }
    }

    #[test]
    fn golegal_counts_with_its_largest_board() {
        let rows = [
            row(Kind::Golegal, 10, 1, 2, 120.0),
            row(Kind::Golegal, 11, 1, 2, 126.0),
            row(Kind::BlockForward, 10, 1, 2, 2.0),
            row(Kind::BlockForward, 13, 4, 2, 4.0),
            row(Kind::BlockForward, 10, 1, 1, 4.0),
        ];
        let found = against_golegal(&rows);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], ["block passes, forward, 10x10, K=1", "63.0", "", "golegal 11x11"]);
        assert_eq!(found[1], ["block passes, forward, 13x13, K=4", "126", "150", "golegal 11x11"]);
        assert!(against_golegal(&rows[2..]).is_empty());
    }

    #[test]
    fn ratios_are_formed_where_both_rows_are_there() {
        let rows = [
            row(Kind::Stream, 9, 1, 1, 90.0),
            row(Kind::Stream, 9, 1, 2, 50.0),
            row(Kind::BlockForward, 9, 1, 1, 2.0),
            row(Kind::BlockForward, 12, 1, 1, 3.0),
            row(Kind::BlockForward, 12, 4, 2, 3.0),
            row(Kind::BlockRuns, 12, 4, 2, 12.0),
            row(Kind::BlockRuns, 12, 8, 1, 40.0),
            row(Kind::BlockRuns, 12, 8, 2, 25.0),
            row(Kind::ClusterBlock, 12, 6, 1, 16.0),
            row(Kind::ClusterBlock, 12, 6, 2, 10.0),
            row(Kind::CountBlockWorker, 12, 6, 1, 20.0),
            row(Kind::CountBlock, 13, 6, 2, 25.0),
            row(Kind::CountBlock, 14, 6, 2, 99.0),
        ];
        let found = among_themselves(&rows);
        let found: Vec<(&str, &str)> = found.iter().map(|[what, value, _]| (what.as_str(), value.as_str())).collect();
        let expected = [
            ("stream sweep 9x9, K=1: two threads against one", "1.80"),
            ("block passes 12x12, K=4, two threads: through cached runs against in memory", "0.25"),
            ("block passes, cached runs 12x12, K=8: two threads against one", "1.60"),
            ("count go 13x13 by blocks, two threads, seconds", "25.0"),
            ("cluster, block 12x12: two workers against one", "1.60"),
            ("cluster, block 12x12: one worker's time against keima count", "0.80"),
        ];
        assert_eq!(found, expected);
    }
}
