//! A file system without room. A worker's: the job pauses with worker, folder, need and remedy, and goes on by itself when there
//! is room. The coordinator's: it stops, and says why.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::cluster::{Cluster, Setup, notes};
use crate::numbers::golden::legal;

/// A small file system in memory, unmounted in the end.
struct Small(PathBuf);

impl Small {
    /// `None` where this process may not mount.
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "keima"]).arg(at).output();
        mounted.is_ok_and(|ran| ran.status.success()).then(|| Self(at.to_owned()))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Takes all room.
    fn fill(&self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        for bytes in [1 << 16, 1 << 12, 1] {
            while ballast.write_all(&vec![7; bytes]).is_ok() {}
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

#[test]
fn a_file_system_without_room() {
    let cluster = Cluster::start(Setup { grace_seconds: "2", ..Setup::default() });
    let Some(disk) = Small::mount(&cluster.scratch("a")) else {
        eprintln!("skipped: this process may not mount a file system");
        return;
    };
    let worker = cluster.worker("a", "worker.after_pull=sleep:40");
    let name = fs::read_to_string(cluster.scratch("a").join("worker.id")).unwrap();
    let job = cluster.submit("8x8");
    cluster.at_stage(&job, 3);
    disk.fill();
    let paused = cluster.when(&job, "a pause for want of room", |s| s["state"] == "paused");
    let reason = paused["reason"].as_str().unwrap();
    let folder = cluster.scratch("a").canonicalize().unwrap();
    let system = "No space left on device";
    for words in
        [name.trim(), folder.to_str().unwrap(), system, "the job needs about ", "free space there", "by itself"]
    {
        assert!(reason.contains(words), "{words} in {reason}");
    }
    // It tries again, in vain, and stays as it is.
    cluster.when(&job, "another try", |s| s["state"] == "running");
    cluster.when(&job, "another pause", |s| s["state"] == "paused");
    fs::remove_file(disk.ballast()).unwrap();
    let status = cluster.counts(&job, &legal("8x8"));
    assert!(!notes(&status).contains("fell back"), "{status}");
    // The process is gone before its file system.
    drop(worker);
}

/// What cannot be stored must not be answered: the coordinator ends, with its folder and the remedy. Started again where there is
/// room, it goes on with the same job.
#[test]
fn a_coordinator_that_cannot_store_stops_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("small");
    let Some(disk) = Small::mount(&data) else {
        eprintln!("skipped: this process may not mount a file system");
        return;
    };
    let mut cluster = Cluster::start(Setup { data: Some(data.clone()), ..Setup::default() });
    let worker = cluster.worker("a", "worker.after_pull=sleep:40");
    let job = cluster.submit("8x8");
    cluster.at_stage(&job, 3);
    disk.fill();
    let status = cluster.coordinator.ended();
    let said = cluster.coordinator.stderr();
    assert_eq!(status.code(), Some(1), "{said}");
    let folder = data.to_str().unwrap();
    for words in
        ["cannot store the state of the jobs: ", "No space left on device", folder, "it will continue the same jobs"]
    {
        assert!(said.contains(words), "{words} in {said}");
    }
    fs::remove_file(disk.ballast()).unwrap();
    cluster.restart_coordinator();
    let status = cluster.counts(&job, &legal("8x8"));
    assert!(!notes(&status).contains("fell back"), "{status}");
    // The processes are gone before the file system.
    drop(worker);
    drop(cluster);
}
