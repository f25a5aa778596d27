//! The store by itself: what comes back, what is refused.

use super::*;

fn put(key: &str, value: &str) -> (String, Option<Vec<u8>>) {
    (key.to_owned(), Some(value.as_bytes().to_vec()))
}

/// Whichever writes are durable, the records come back, and opening merges the log.
#[test]
fn records_come_back() {
    for durable in 0..8_u8 {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        assert!(store.load().unwrap().is_empty());
        let writes = [
            vec![put("b", "1"), put("a", "2"), put("c", "3")],
            vec![("b".to_owned(), None)],
            vec![put("a", "4"), put("a", "5")],
        ];
        for (number, edits) in writes.into_iter().enumerate() {
            let must_be_durable = durable >> number & 1 == 1;
            store.write(edits, must_be_durable).unwrap();
            assert_eq!(store.is_to_be_synced(), !must_be_durable, "{durable:03b}");
        }
        drop(store);
        for _ in 0..2 {
            let store = Store::open(dir.path()).unwrap();
            assert_eq!(store.log.bytes(), 16, "the log is merged");
            let expected = [("a".to_owned(), b"5".to_vec()), ("c".to_owned(), b"3".to_vec())];
            assert_eq!(store.load().unwrap(), expected, "{durable:03b}");
        }
    }
}

/// A crash between redb's commit and the log's restart leaves the old log: it is ignored.
#[test]
fn a_merged_log_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store.write(vec![put("a", "old")], false).unwrap();
    let log = std::fs::read(dir.path().join(LOG_FILE)).unwrap();
    store.write(vec![put("a", "new")], true).unwrap();
    drop(store);
    std::fs::write(dir.path().join(LOG_FILE), log).unwrap();
    assert_eq!(Store::open(dir.path()).unwrap().load().unwrap(), [("a".to_owned(), b"new".to_vec())]);
}

#[test]
fn a_long_log_is_merged() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let long = "x".repeat(LONGEST_LOG_BYTES as usize / 3);
    let merged: Vec<bool> = (0..4)
        .map(|number| {
            store.write(vec![put(&number.to_string(), &long)], false).unwrap();
            !store.is_to_be_synced()
        })
        .collect();
    assert_eq!(merged, [false, false, true, false]);
    drop(store);
    assert_eq!(Store::open(dir.path()).unwrap().load().unwrap().len(), 4);
}

/// Cut anywhere, with or without a log beside it, the store is refused, with what is lost and what to do.
#[test]
fn a_store_that_is_cut_short_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store.write((0..2000).map(|number| put(&number.to_string(), "record")).collect(), true).unwrap();
    drop(store);
    let (path, log) = (dir.path().join(FILE), dir.path().join(LOG_FILE));
    let whole = std::fs::read(&path).unwrap();
    for kept in [1, 100, 512, 4096, 5000, 65_536, whole.len() / 2, whole.len() - 4096, whole.len() - 1] {
        std::fs::write(&path, &whole[..kept]).unwrap();
        let refused = Store::open(dir.path()).err().map(|error| error.to_string()).unwrap_or_default();
        for words in ["damaged", "results are lost", "--fresh", "empty --data"] {
            assert!(refused.contains(words), "{kept} of {} bytes: {refused:?}", whole.len());
        }
        let _ = std::fs::remove_file(&log);
    }
}

#[test]
fn a_folder_has_one_coordinator() {
    let dir = tempfile::tempdir().unwrap();
    let _store = Store::open(dir.path()).unwrap();
    let error = Store::open(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    assert!(error.to_string().contains("--data"));
}

#[test]
fn records_in_use_are_not_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, foreign) = (dir.path().join("state"), dir.path().join("state/notes.txt"));
    let store = Store::open(&folder).unwrap();
    assert!(matches!(Store::forget(&folder).unwrap_err(), StoreError::InUse(_)));
    drop(store);
    std::fs::write(&foreign, "mine").unwrap();
    Store::forget(&folder).unwrap();
    assert!(foreign.exists() && !folder.join(FILE).exists());
    std::fs::remove_file(foreign).unwrap();
    drop(Store::open(&folder).unwrap());
    Store::forget(&folder).unwrap();
    assert!(!folder.exists());
    Store::forget(&folder).unwrap();
}

#[test]
fn another_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let written = store.database.with(|database| {
        let write = database.begin_write()?;
        write.open_table(layout::META)?.insert("format", 1)?;
        Ok(write.commit()?)
    });
    written.unwrap();
    drop(store);
    let error = Store::open(dir.path()).unwrap_err();
    assert!(matches!(&error, StoreError::OtherFormat { got, .. } if got == "1"), "{error}");
}

#[test]
fn a_store_that_is_none_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("coordinator.redb"), b"not a store at all").unwrap();
    assert!(matches!(Store::open(dir.path()).unwrap_err(), StoreError::Damaged { .. }));
}

/// A process that was killed as it made its store leaves half of one under another name.
#[test]
fn half_a_new_store_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(NEW_FILE), [0; 4096]).unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    store.write(vec![put("a", "1")], true).unwrap();
    assert!(!dir.path().join(NEW_FILE).exists());
    drop(store);
    assert_eq!(Store::open(dir.path()).unwrap().load().unwrap().len(), 1);
}

#[test]
fn a_full_disk_is_no_damage() {
    let path = Path::new("/data/coordinator.redb");
    for (kind, is_full) in [
        (io::ErrorKind::StorageFull, true),
        (io::ErrorKind::QuotaExceeded, true),
        (io::ErrorKind::PermissionDenied, false),
        (io::ErrorKind::InvalidData, false),
    ] {
        let error = failed(path, &redb::Error::Io(kind.into()));
        assert_eq!(error.is_full(), is_full, "{error}");
        let of_the_file = StoreError::Io { action: "make", path: path.to_owned(), source: kind.into() };
        assert_eq!(of_the_file.is_full(), is_full, "{of_the_file}");
    }
}
