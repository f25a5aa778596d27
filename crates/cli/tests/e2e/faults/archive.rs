//! All machines are lost with their disks; the archive is left. Another cluster goes on.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keima_coordinator::Checkpoint;

use crate::harness::cluster::{Cluster, EXECUTORS, Setup, notes};
use crate::harness::process::until;
use crate::numbers::golden::legal;

/// Checkpoints in an archive with one job, the oldest first.
fn checkpoints(archive: &Path) -> Vec<PathBuf> {
    let Some(Ok(folder)) = fs::read_dir(archive).ok().and_then(|mut folders| folders.next()) else { return Vec::new() };
    checkpoints_of(&folder.path())
}

fn checkpoints_of(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut all: Vec<PathBuf> = files
        .filter(|path| {
            name(path).starts_with("checkpoint-") && path.extension().is_some_and(|ending| ending == "keima")
        })
        .collect();
    all.sort();
    all
}

/// A cluster that works until two column ends are in the archive, and is lost with everything else.
fn lost(archive: &Path, executor: &'static str) {
    let archive = Some(archive.to_owned());
    let cluster =
        Cluster::start(Setup { second_copies: false, archive: archive.clone(), executor, ..Setup::default() });
    let workers = ["a", "b"].map(|name| cluster.worker(name, "worker.after_pull=sleep:40"));
    cluster.submit("8x8");
    until("two checkpoints", || (checkpoints(archive.as_ref().unwrap()).len() >= 2).then_some(()));
    // All are killed, and their folders go.
    drop(workers);
    drop(cluster);
}

#[test]
fn another_cluster_goes_on_from_the_archive() {
    for executor in EXECUTORS {
        let dir = tempfile::tempdir().unwrap();
        let archive = dir.path().join("archive");
        lost(&archive, executor);
        let from = checkpoints(&archive).pop().unwrap().parent().unwrap().to_str().unwrap().to_owned();
        let cluster = Cluster::start(Setup { archive: Some(archive.clone()), executor, ..Setup::default() });
        // A job of its own has taken the number that the lost one had.
        let workers = ["c", "d", "e"].map(|name| cluster.worker(name, ""));
        let own = cluster.submit("3x3");
        cluster.counts(&own, &legal("3x3"));
        // Streams are planned anew, with less memory for a task.
        let replan: &[&str] = if executor == "stream" { &["--replan", "--task-memory", "9MiB"] } else { &[] };
        let job = cluster.client(&[&["submit", "--resume-from", &from], replan].concat()).ok().to_owned();
        let status = cluster.counts(&job, &legal("8x8"));
        assert!(notes(&status).contains("goes on from the archive's folder go-8x8-"), "{status}");
        assert!(notes(&status).contains("that no worker holds from the archive"), "{status}");
        assert_eq!(notes(&status).contains("planned anew: tasks of 9 MiB"), !replan.is_empty(), "{status}");
        assert!(!notes(&status).contains("fell back"), "{status}");
        // The certificate has the stages of both clusters.
        let result = dir.path().join("result.json");
        fs::write(&result, cluster.client(&["result", &job, "--json"]).ok()).unwrap();
        crate::harness::process::keima(&["verify", result.to_str().unwrap()]).ok();
        // The folder of a job that is done goes by itself; the one that was resumed from is its owner's.
        let folders = || {
            fs::read_dir(&archive).unwrap().filter(|f| !checkpoints_of(&f.as_ref().unwrap().path()).is_empty()).count()
        };
        until("one folder with checkpoints", || (folders() == 1).then_some(()));
        drop(workers);
    }
}

/// With a checkpoint after each stage of four in a column, the column end before stays beside the newest two.
#[test]
fn the_newest_column_end_stays_in_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("archive");
    let setup =
        Setup { second_copies: false, archive: Some(archive.clone()), archive_stages: Some("2"), ..Setup::default() };
    let cluster = Cluster::start(setup);
    // Runs are stored as fast as they are made. So every second boundary of the eight in a column is stored in time.
    let worker = cluster.worker("a", "worker.after_pull=sleep:300");
    cluster.client(&["submit", "go", "8x8", "--executor", "stream", "--window", "1"]).ok();
    // They change under our eyes: only what stays for a while counts.
    let column_ends = || -> Option<Vec<bool>> {
        let names = checkpoints(&archive);
        std::thread::sleep(Duration::from_millis(150));
        let read = |path: &PathBuf| Some(Checkpoint::read(&fs::read(path).ok()?).unwrap().ends_column());
        let ends = names.iter().map(read).collect::<Option<Vec<bool>>>()?;
        (checkpoints(&archive) == names).then_some(ends)
    };
    until("two checkpoints within a column, and its start", || {
        let ends = column_ends()?;
        assert!(ends.len() <= 3, "{ends:?}");
        (ends == [true, false, false]).then_some(())
    });
    drop(worker);
}

#[test]
fn a_damaged_checkpoint_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("archive");
    lost(&archive, "stream");
    let newest = checkpoints(&archive).pop().unwrap();
    let mut bytes = fs::read(&newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&newest, bytes).unwrap();
    let cluster = Cluster::start(Setup { archive: Some(archive.clone()), ..Setup::default() });
    let worker = cluster.worker("c", "");
    let folder = newest.parent().unwrap().to_str().unwrap();
    let job = cluster.client(&["submit", "--resume-from", folder]).ok().to_owned();
    let status = cluster.counts(&job, &legal("8x8"));
    let name = newest.file_name().unwrap().to_str().unwrap();
    let expected = format!("{name} is not used: it is damaged");
    assert!(notes(&status).contains(&expected) && notes(&status).contains("set aside as"), "{status}");
    assert!(!newest.exists() && newest.with_file_name(format!("damaged-{name}")).exists());
    drop(worker);
}

/// A server of the S3 protocol on this machine, with an empty bucket.
struct Bucket {
    server: Child,
    port: u16,
}

impl Bucket {
    /// `None` where moto is not installed.
    fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let quiet = || Stdio::null();
        let mut command = Command::new("moto_server");
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(quiet()).stderr(quiet());
        let bucket = Self { server: command.spawn().ok()?, port };
        until("a bucket", || {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            stream
                .write_all(b"PUT /keima HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            answer.contains(" 200 ").then_some(())
        });
        Some(bucket)
    }

    fn environment(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let all = [
            ("ACCESS_KEY_ID", "a"),
            ("SECRET_ACCESS_KEY", "b"),
            ("REGION", "us-east-1"),
            ("ENDPOINT", &endpoint),
            ("ALLOW_HTTP", "true"),
        ];
        all.map(|(name, value)| (format!("AWS_{name}"), value.to_owned())).to_vec()
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn an_archive_may_be_a_bucket() {
    let Some(bucket) = Bucket::start() else {
        eprintln!("skipped: moto_server is not installed (pip install 'moto[server]')");
        return;
    };
    let setup = || Setup {
        second_copies: false,
        archive: Some(PathBuf::from("s3://keima/jobs")),
        environment: bucket.environment(),
        ..Setup::default()
    };
    let mut cluster = Cluster::start(setup());
    let workers = ["a", "b"].map(|name| cluster.worker(name, "worker.after_pull=sleep:40"));
    cluster.submit("8x8");
    cluster.coordinator.says("checkpoint in the archive", 2);
    drop(workers);
    drop(cluster);
    let cluster = Cluster::start(setup());
    let worker = cluster.worker("c", "");
    let job = cluster.client(&["submit", "--resume-from", "s3://keima/jobs"]).ok().to_owned();
    let status = cluster.counts(&job, &legal("8x8"));
    assert!(notes(&status).contains("goes on from the archive's folder go-8x8-"), "{status}");
    drop(worker);
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let plain = Cluster::start(Setup::default());
    let refused = plain.client(&["submit", "--resume-from", "/shared/keima"]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("has no archive; start it with --archive"), "{refused:#?}");
    let empty = Cluster::start(Setup { archive: Some(dir.path().join("archive")), ..Setup::default() });
    for (from, words) in [
        (dir.path().join("archive"), "there is no checkpoint in the archive"),
        (dir.path().join("other"), "is not in this coordinator's archive"),
    ] {
        let refused = empty.client(&["submit", "--resume-from", from.to_str().unwrap()]);
        assert_eq!(refused.code, Some(2), "{refused:#?}");
        assert!(refused.stderr.contains(words), "{refused:#?}");
    }
    for (args, words) in [
        (&["submit", "go", "9x9", "--resume-from", "x"][..], "cannot be used with"),
        (&["submit", "go", "9x9", "--replan"], "goes with --resume-from"),
        (&["submit", "--resume-from", "x", "--task-memory", "1GiB"], "add --replan"),
        (&["submit", "--resume-from", "x", "--replan"], "no worker is here"),
        (&["submit"], "required"),
        (&["submit", "go"], "required"),
    ] {
        let refused = empty.client(args);
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:#?}");
        assert!(refused.stderr.contains(words), "{args:?}: {refused:#?}");
    }
}
