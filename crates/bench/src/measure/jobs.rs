//! The jobs of a run, those that are compared next to each other.

use anyhow::{Result, ensure};

use crate::measure::Options;
use crate::measure::job::{CLUSTER_BLOCK_HEIGHT, CLUSTER_STREAM_HEIGHT, Job, TIGHT_HEIGHT};
use crate::sample::Kind;

/// Above, a vector of one residue and the one after it is all that a machine of some 20 GiB has room for.
const LARGEST_HEIGHT: u32 = 14;
/// Largest board that is counted as a whole in some seconds.
const LARGEST_COUNT_HEIGHT: u32 = 13;
/// Smaller boards do not need twelve residues.
const WIDE_HEIGHT: u32 = 12;

/// All jobs that the options ask for.
pub(crate) fn jobs(options: &Options) -> Result<Vec<Job>> {
    let (boards, golegal) = (options.boards(), options.golegal_boards());
    let mut jobs: Vec<Job> = boards
        .into_iter()
        .flat_map(|height| jobs_of_board(height, golegal.contains(&height), options.quick))
        .filter_map(|job| if options.targets { job.target_part() } else { Some(job) })
        .collect();
    if let Some(only) = &options.only {
        jobs.retain(|job| job.kind == Kind::Golegal || job.name().contains(only.as_str()));
        ensure!(!jobs.is_empty(), "no row has {only:?} in its name");
    }
    Ok(jobs)
}

fn jobs_of_board(height: u32, with_golegal: bool, is_quick: bool) -> Vec<Job> {
    if height > LARGEST_HEIGHT {
        return vec![Job::new(Kind::BlockForward, height, &[1], &[1])];
    }
    let mut jobs = vec![Job::new(Kind::BlockForward, height, &[1, 2, 4, 8], &[1, 2])];
    let mut passes = |kind, residues: &[u32], threads: &[u32]| {
        let each = residues.iter().flat_map(|&k| threads.iter().map(move |&n| Job::new(kind, height, &[k], &[n])));
        jobs.extend(each);
    };
    passes(Kind::BlockRuns, if height >= WIDE_HEIGHT { &[1, 4, 8, 12] } else { &[1, 4, 8] }, &[1, 2]);
    passes(Kind::Stream, &[1, 4, 8], &[1, 2]);
    let mut counts = |kind, is_asked: bool, threads: &[u32]| {
        let each = threads.iter().map(|&n| Job::new(kind, height, &[], &[n]));
        jobs.extend(each.filter(|_| is_asked));
    };
    let is_small = height <= LARGEST_COUNT_HEIGHT;
    counts(Kind::Golegal, with_golegal, &[2]);
    counts(Kind::CountBlock, is_small, &[2, 1]);
    counts(Kind::CountBlockDisk, is_small, if height < LARGEST_COUNT_HEIGHT { &[2, 1] } else { &[2] });
    counts(Kind::CountBlockWorker, height == CLUSTER_BLOCK_HEIGHT, &[1]);
    counts(Kind::CountStream, height < CLUSTER_STREAM_HEIGHT + u32::from(!is_quick), &[1, 2]);
    counts(Kind::ClusterBlock, height <= CLUSTER_BLOCK_HEIGHT, &[1, 2]);
    counts(Kind::ClusterStream, height <= CLUSTER_STREAM_HEIGHT, &[1, 2]);
    for residues in [1, 4, 8] {
        for kind in [Kind::ClusterBlockPasses, Kind::ClusterStreamPasses] {
            jobs.extend([1, 2].map(|workers| Job::new(kind, height, &[residues], &[workers])));
        }
    }
    if height >= TIGHT_HEIGHT {
        jobs.extend([1, 8].map(|residues| Job::new(Kind::StreamTight, height, &[residues], &[2])));
    }
    jobs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::board;

    /// Names of all jobs; some must be there, parts of others must not.
    fn check(options: &Options, wanted: &[&str], unwanted: &[&str]) -> Vec<Job> {
        let jobs = jobs(options).unwrap();
        let names: BTreeSet<String> = jobs.iter().map(Job::name).collect();
        assert_eq!(names.len(), jobs.len(), "jobs of one name would be runs of one row: {names:?}");
        for name in wanted {
            assert!(names.contains(*name), "{name} is not among {names:?}");
        }
        for part in unwanted {
            assert!(!names.iter().any(|name| name.contains(part)), "{part} is among {names:?}");
        }
        jobs
    }

    #[test]
    fn a_full_run_has_all_rows() {
        let options = Options { boards: (9..=14).collect(), golegal_boards: vec![9], ..Options::for_tests(5) };
        let wanted = [
            "block passes 14x14",
            "block passes through files 9x9, K=4, threads 1",
            "block passes through files 14x14, K=12, threads 2",
            "stream passes 14x14, K=8, threads 2",
            "stream passes, a tenth of the memory 12x12, K=8, threads 2",
            "count, block, in memory 13x13, threads 2",
            "count, block, on disk 13x13, threads 2",
            "count, block, on disk 9x9, threads 1",
            "count, stream 11x11, threads 2",
            "cluster, block 12x12, threads 1",
            "cluster, stream 11x11, threads 2",
            "cluster passes, block 14x14, K=8, threads 1",
            "cluster passes, stream 9x9, K=8, threads 2",
            "golegal 9x9, threads 2",
        ];
        check(&options, &wanted, &["in memory 14x14", "golegal 10x10"]);
        check(&Options { quick: true, boards: vec![11], ..options.clone() }, &[], &["count, stream"]);
        let only = Options { only: Some("stream passes".into()), ..options.clone() };
        check(&only, &["stream passes 9x9, K=1, threads 1", "golegal 9x9, threads 2"], &["block"]);
        assert!(super::jobs(&Options { only: Some("nothing".into()), golegal: None, ..options }).is_err());
    }

    #[test]
    fn targets_are_a_part() {
        let options =
            Options { targets: true, boards: (9..=15).collect(), golegal_boards: vec![9], ..Options::for_tests(5) };
        let wanted = [
            "stream passes, a tenth of the memory 12x12, K=8, threads 2",
            "count, block, in memory 13x13, threads 2",
            "count, block, on disk, 4 GiB 12x12, threads 1",
            "block passes 15x15",
            "golegal 9x9, threads 2",
        ];
        let unwanted = [
            "K=4",
            "through files",
            "disk 12x12",
            "stream 10x10",
            "cluster, block 11x11",
            "cluster passes",
            "s 15x15,",
        ];
        let jobs = check(&options, &wanted, &unwanted);
        let residues = |height| {
            jobs.iter()
                .find(|job| (job.kind, job.height) == (Kind::BlockForward, height))
                .map(|job| job.residues.clone())
        };
        for (height, expected) in [(10, vec![1, 4, 8]), (11, vec![1, 4, 8]), (12, vec![1]), (13, vec![1, 4, 8])] {
            assert_eq!(residues(height), Some(expected), "{height}");
        }
    }

    #[test]
    fn boards_have_the_states_to_watch() {
        let watches = (9..=14).flat_map(|height| jobs_of_board(height, false, false));
        let watches = watches.filter(|job| job.name().starts_with("cluster passes")).filter_map(|job| job.watch());
        for watch in watches.filter(|watch| !watch.is_whole()) {
            // By blocks from where the vector has grown.
            let (height, length) = (watch.height, watch.length());
            let first = if watch.kind == Kind::ClusterBlockPasses { 6 } else { 1 };
            let states = board::states_of(height, length).unwrap();
            let found: u64 = states[(first * height) as usize..(length * height) as usize].iter().sum();
            assert!(found as f64 > 1.1 * watch.state_passes, "{watch:?}: {found}");
        }
    }
}
