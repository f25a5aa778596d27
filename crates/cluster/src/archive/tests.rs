//! Names, URLs, and objects that are there already.

use object_store::ObjectStoreExt as _;

use super::place::is_object_name;
use super::{Archive, ArchiveError};

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
