//! Names, URLs, objects that are there already, damaged ones, and what killed writers leave.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use keima_coordinator::{ArchiveWork, Failure, Toward};
use keima_runs::{RunId, RunOptions, RunWriter, run_path};
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, path,
};
use tokio_stream::Stream;

use super::checkpoints::Staying;
use super::place::is_object_name;
use super::{Archive, ArchiveError};
use crate::scratch::run_store::RunStore;
use crate::transfer::tests::header;

#[test]
fn names_stay_below_the_archive() {
    for (name, fine) in [
        ("go-13x13-9f86d081884c7d65-j1/runs/0a1b.run", true),
        ("runs/0a1b.run", true),
        ("a", true),
        ("", false),
        ("/etc/passwd", false),
        ("../a", false),
        ("a/../b", false),
        ("a/./b", false),
        ("a//b", false),
        ("a/", false),
        (".a", false),
        ("A", false),
        ("a b", false),
        ("a\0", false),
        ("ä", false),
        ("a%2fb", false),
        (&"a".repeat(256), true),
        (&"a".repeat(257), false),
    ] {
        assert_eq!(is_object_name(name), fine, "{name:?}");
    }
}

#[test]
fn urls_that_name_no_archive_say_why() {
    for (url, words) in [
        ("", "neither / nor s3://"),
        ("shared/keima", "neither / nor s3://"),
        ("https://bucket", "neither / nor s3://"),
        ("file://shared", "begins with /"),
        ("s3://", "no bucket"),
        ("s3:///prefix", "no bucket"),
        ("/proc/none/such", "cannot make the folder"),
    ] {
        let error = Archive::open(url).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("s3://BUCKET/PREFIX"), "{url:?}: {error}");
    }
}

#[tokio::test]
async fn an_object_is_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("{}/new/archive/", dir.path().display());
    let archive = Archive::open(&url).unwrap();
    assert_eq!(archive.length("job/a.keima").await.unwrap(), None);
    archive.put_new("job/a.keima", vec![1, 2, 3]).await.unwrap();
    assert_eq!(archive.length("job/a.keima").await.unwrap(), Some(3));
    let again = archive.put_new("job/a.keima", vec![4]).await;
    assert!(matches!(again, Err(ArchiveError::Exists { .. })), "{again:?}");
    assert_eq!(std::fs::read(dir.path().join("new/archive/job/a.keima")).unwrap(), [1, 2, 3]);
}

#[tokio::test]
async fn folders_go_with_their_last_object() {
    let dir = tempfile::tempdir().unwrap();
    let archive = Archive::open(dir.path().to_str().unwrap()).unwrap();
    for name in ["job/runs/a.run", "job/a.keima"] {
        archive.put_new(name, vec![1]).await.unwrap();
    }
    for (name, left) in [("job/runs/a.run", vec!["job"]), ("job/a.keima", Vec::new())] {
        archive.store.delete(&archive.at(name)).await.unwrap();
        let there = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(there.collect::<Vec<_>>(), left, "{name}");
        assert!(!dir.path().join("job/runs").exists());
    }
}

#[tokio::test]
async fn what_is_no_folder_of_the_archive_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let url = dir.path().to_str().unwrap().to_owned();
    let archive = Archive::open(&url).unwrap();
    for (from, words) in [
        (url.as_str(), "there is no checkpoint in the archive"),
        ("s3://other/job", "is not in this coordinator's archive"),
        (&format!("{url}x"), "is not in this coordinator's archive"),
        (&format!("{url}/../etc"), "no name of a job's folder"),
        (&format!("{url}/job"), "there is no checkpoint in"),
        ("job", "there is no checkpoint in"),
    ] {
        let error = archive.find(from).await.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{from}: {error}");
    }
}

/// A checkpoint's place from the newest on: whether it is whole, whether it stands at a column's end, whether it stays.
#[test]
fn one_that_is_not_whole_displaces_none() {
    for checkpoints in [
        &[(true, true, true), (true, true, true), (true, true, false)][..],
        &[(true, false, true), (true, false, true), (true, false, false), (true, true, true), (true, true, false)],
        &[(false, true, true), (true, true, true), (true, true, true), (true, true, false)],
        &[(true, true, true), (false, false, true), (false, true, true), (true, false, true), (true, true, false)],
        &[(true, false, true), (true, false, true), (false, true, true), (true, true, true), (true, true, false)],
        &[(false, true, true), (false, true, true), (false, true, true), (false, false, true)],
    ] {
        let mut staying = Staying::default();
        for (place, &(is_whole, ends_column, expected)) in checkpoints.iter().enumerate() {
            let got = !staying.is_complete() && staying.stays(is_whole, ends_column);
            assert_eq!(got, expected, "place {place} of {checkpoints:?}");
        }
    }
}

/// A run in a scratch folder, and its object.
fn run_to_store(scratch: &Path) -> (Arc<RunStore>, ArchiveWork) {
    let store = Arc::new(RunStore::open(scratch, 1 << 20).unwrap());
    let id = RunId("j1/s0/g1/t0/a0/r0".to_owned());
    let mut writer =
        RunWriter::<u64>::create(store.root(), &id, &header(), RunOptions::default(), store.disk()).unwrap();
    for key in 0..1000 {
        writer.push(key * 977, &[key * key, key]).unwrap();
    }
    let (run, _) = writer.finish().unwrap().unwrap();
    store.hold_written(std::slice::from_ref(&run)).unwrap();
    (store, ArchiveWork { toward: Toward::Archive, run, object: "job/runs/a.run".to_owned() })
}

/// Whatever has the object's name before: afterwards the run is there, verified.
#[tokio::test]
async fn a_damaged_object_is_stored_again() {
    let dir = tempfile::tempdir().unwrap();
    let (store, work) = run_to_store(&dir.path().join("scratch"));
    let run = std::fs::read(run_path(store.root(), &work.run.id).unwrap()).unwrap();
    let archive = Archive::open(dir.path().join("archive").to_str().unwrap()).unwrap();
    let object = dir.path().join("archive/job/runs/a.run");
    let flipped = |at: usize| {
        let mut bytes = run.clone();
        bytes[at] ^= 1;
        bytes
    };
    let before = [vec![], run[..run.len() - 1].to_vec(), vec![0; run.len()], run.clone()];
    let before = before.into_iter().chain([0, 100, run.len() / 2, run.len() - 1].map(flipped));
    archive.store_run(&store, &work, &AtomicU64::new(0)).await.unwrap();
    for (case, bytes) in before.enumerate() {
        std::fs::write(&object, bytes).unwrap();
        archive.store_run(&store, &work, &AtomicU64::new(0)).await.unwrap();
        assert!(std::fs::read(&object).unwrap() == run, "case {case}");
    }
}

/// An archive that changes what it is given.
#[derive(Debug)]
struct Faulty(InMemory);

impl std::fmt::Display for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("faulty archive")
    }
}

type Streamed<T> = Pin<Box<dyn Stream<Item = object_store::Result<T>> + Send>>;

#[tonic::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        at: &path::Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        let mut bytes: Vec<u8> = payload.iter().flatten().copied().collect();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 8;
        self.0.put_opts(at, bytes.into(), options).await
    }
    async fn put_multipart_opts(
        &self,
        at: &path::Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(at, options).await
    }
    async fn get_opts(&self, at: &path::Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.0.get_opts(at, options).await
    }
    fn delete_stream(&self, at: Streamed<path::Path>) -> Streamed<path::Path> {
        self.0.delete_stream(at)
    }
    fn list(&self, below: Option<&path::Path>) -> Streamed<ObjectMeta> {
        self.0.list(below)
    }
    async fn list_with_delimiter(&self, below: Option<&path::Path>) -> object_store::Result<ListResult> {
        self.0.list_with_delimiter(below).await
    }
    async fn copy_opts(&self, from: &path::Path, to: &path::Path, options: CopyOptions) -> object_store::Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}

/// Such a run does not count as stored, so that no checkpoint is written of it, and none before goes.
#[tokio::test]
async fn what_is_not_given_back_is_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let (store, work) = run_to_store(dir.path());
    let archive = Archive::over(Arc::new(Faulty(InMemory::new())), "s3://faulty");
    let failed = archive.store_run(&store, &work, &AtomicU64::new(0)).await.unwrap_err();
    let Failure::Other { text } = &failed else { panic!("{failed:?}") };
    assert!(text.contains("s3://faulty does not give back what was written to job/runs/a.run"), "{text}");
    assert_eq!(archive.length(&work.object).await.unwrap(), Some(work.run.bytes));
}

/// A writer that is killed leaves a file that no list shows. It goes when checkpoints are pruned, and with the job's folder.
#[tokio::test]
async fn what_killed_writers_left_goes() {
    let dir = tempfile::tempdir().unwrap();
    let archive = Archive::open(dir.path().to_str().unwrap()).unwrap();
    let there = |name: &str| dir.path().join(name).exists();
    let kill_writers = async || {
        for object in ["job/runs/a.run", "job/checkpoint-0000000001.keima", "other/runs/b.run"] {
            let mut upload = archive.store.put_multipart(&archive.at(object)).await.unwrap();
            upload.put_part(vec![1_u8; 100].into()).await.unwrap();
            std::mem::forget(upload);
        }
        for name in ["job/runs/a.run#1", "job/checkpoint-0000000001.keima#1", "other/runs/b.run#1"] {
            assert!(there(name), "{name}");
        }
    };
    kill_writers().await;
    for name in ["job/notes#1", "job/runs/a.run#b"] {
        std::fs::write(dir.path().join(name), "somebody's").unwrap();
    }
    archive.publish("job/checkpoint-0000000002.keima", vec![1]).await.unwrap();
    assert!(!there("job/runs/a.run#1") && !there("job/checkpoint-0000000001.keima#1"));
    assert!(there("job/notes#1") && there("job/runs/a.run#b") && there("other/runs/b.run#1"), "others' files stay");
    for name in ["job/notes#1", "job/runs/a.run#b", "other/runs/b.run#1"] {
        std::fs::remove_file(dir.path().join(name)).unwrap();
    }
    kill_writers().await;
    archive.remove("job").await.unwrap();
    assert!(!there("job") && there("other/runs/b.run#1"));
}
