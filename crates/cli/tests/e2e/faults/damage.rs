//! Damaged run files are found when they are read, named in a note, and computed again.

use std::path::Path;

use crate::harness::cluster::{Cluster, Setup, notes};
use crate::harness::process::run_files;
use crate::numbers::golden::legal;

const SLOW: &str = "worker.after_pull=sleep:40";

fn flip(path: &Path, at: impl Fn(usize) -> usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = at(bytes.len());
    bytes[at] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

fn cut(path: &Path, keep: impl Fn(u64) -> u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(keep(file.metadata().unwrap().len())).unwrap();
}

/// Pauses an 8x8 in the middle, lets `harm` change a run that the next stage will read, and resumes. With `down` the
/// worker is down meanwhile.
fn check(what: &str, down: bool, harm: impl Fn(&Cluster, &Path)) {
    check_with("stream", what, down, harm);
}

fn check_with(executor: &'static str, what: &str, down: bool, harm: impl Fn(&Cluster, &Path)) {
    let cluster = Cluster::start(Setup { second_copies: false, executor, ..Setup::default() });
    let mut worker = cluster.worker("a", SLOW);
    let job = cluster.submit("8x8");
    cluster.at_stage(&job, 5);
    cluster.pause(&job);
    if down {
        worker.kill();
    }
    // The newest run belongs to the stage under way or to the newest boundary: it will be read.
    let scratch = cluster.scratch("a").canonicalize().unwrap();
    let newest = run_files(&scratch).into_iter().rfind(|path| path.starts_with(scratch.join(&job))).unwrap();
    harm(&cluster, &newest);
    let run = newest.strip_prefix(&scratch).unwrap().with_extension("");
    let run = run.to_str().unwrap();
    if down {
        worker = cluster.worker("a", "");
    }
    cluster.client(&["resume", &job]).ok();
    let status = cluster.counts(&job, &legal("8x8"));
    let (notes, said) = (notes(&status), worker.stderr());
    assert!(notes.contains(run), "{what}: nothing names {run}: {status}\n{said}");
    assert!(notes.contains("is not used any more") || notes.contains("fell back"), "{what}: {status}");
}

#[test]
fn a_bit_is_flipped() {
    check("a bit of the first block", false, |_, path| flip(path, |bytes| bytes / 3));
    check("a bit of the footer", false, |_, path| flip(path, |bytes| bytes - 20));
    check("a bit of the header", false, |_, path| flip(path, |_| 10));
    check_with("block", "a bit of counts", false, |_, path| flip(path, |bytes| bytes / 3));
    check("a bit while the worker is down", true, |_, path| flip(path, |bytes| bytes / 2));
}

#[test]
fn a_run_is_cut_short() {
    check("half of it", false, |_, path| cut(path, |bytes| bytes / 2));
    check("the last byte", false, |_, path| cut(path, |bytes| bytes - 1));
    check_with("block", "half of the counts", false, |_, path| cut(path, |bytes| bytes / 2));
    check("nothing left", false, |_, path| cut(path, |_| 0));
    check("while the worker is down", true, |_, path| cut(path, |bytes| bytes / 2));
}

#[test]
fn a_run_is_deleted() {
    check("deleted", false, |_, path| std::fs::remove_file(path).unwrap());
    check("deleted while the worker is down", true, |_, path| std::fs::remove_file(path).unwrap());
}

/// A sound run of another job of the same size takes the place of the job's own.
#[test]
fn a_run_of_another_job() {
    check("another job's", false, |cluster, path| {
        let other = cluster.submit("8x8");
        cluster.at_stage(&other, 5);
        cluster.pause(&other);
        let theirs = run_files(&cluster.scratch("a").join(&other)).pop().unwrap();
        std::fs::copy(theirs, path).unwrap();
        cluster.client(&["cancel", &other]).ok();
    });
}
