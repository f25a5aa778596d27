//! Scratch folders: whose they are, what is taken up again, what is charged and given back.

use std::sync::atomic::AtomicU64;

use keima_coordinator::{AttemptId, JobId};

use super::*;
use crate::scratch::visible_folders::SharedFolders;

/// A small run; its length is what its writer has charged.
fn write_small(store: &RunStore, id: &str) -> RunManifest {
    let options = RunOptions::default();
    let mut writer =
        RunWriter::<u64>::create(store.root(), &RunId(id.to_owned()), &header(), options, store.disk()).unwrap();
    writer.push(key(1), &row(1)).unwrap();
    let manifest = writer.finish().unwrap().unwrap().0;
    store.hold_written(std::slice::from_ref(&manifest)).unwrap();
    manifest
}

/// Machines may have folders of the same path.
#[test]
fn folders_of_one_path_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    let (shared, folder) = (SharedFolders::default(), store.root().to_str().unwrap());
    let other = WorkerId("0123456789abcdef".to_owned());
    for _ in 0..2 {
        assert!(shared.belongs(folder, store.worker()));
        assert!(!shared.belongs(folder, &other));
    }
}

/// What keima would take for its own is not touched where no worker was before.
#[test]
fn a_folder_of_others_is_refused() {
    for name in ["incoming", "j1"] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(name)).unwrap();
        std::fs::write(dir.path().join(name).join("mine.txt"), b"mine").unwrap();
        let refused = RunStore::open(dir.path(), 1 << 30).err().unwrap().to_string();
        assert!(refused.contains(name) && refused.contains("--scratch"), "{refused}");
        assert!(dir.path().join(name).join("mine.txt").exists(), "{name}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "{name}: something was made there");
    }
}

/// Runs that another version of the program has written are not deleted: that version can go on with them. A damaged version
/// is damage: such a run goes, and keeps no worker from its start.
#[test]
fn runs_of_another_version_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    let run = write_run(&store);
    drop(store);
    let path = dir.path().join("j1/s0/g1/t0/a0/r0.run");
    let sound = std::fs::read(&path).unwrap();
    let mut other = sound.clone();
    // Eight bytes of magic, the version, the header's length, and at its end its checksum.
    other[8] += 1;
    let damaged = other.clone();
    let length = u32::from_le_bytes(*other[12..].first_chunk().unwrap()) as usize;
    let crc = crc32c::crc32c(&other[..length - 4]);
    other[length - 4..length].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, &other).unwrap();
    let refused = RunStore::open(dir.path(), 1 << 30).err().unwrap().to_string();
    assert!(refused.contains("r0.run") && refused.contains("version"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), other);
    std::fs::write(&path, &sound).unwrap();
    assert_eq!(RunStore::open(dir.path(), 1 << 30).unwrap().held(), [run.id]);
    std::fs::write(&path, &damaged).unwrap();
    assert_eq!(RunStore::open(dir.path(), 1 << 30).unwrap().held(), []);
    assert!(!path.exists());
}

#[test]
fn a_scratch_folder_is_taken_up_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    let (run, name) = (write_run(&store), store.worker().clone());
    assert!(RunStore::open(dir.path(), 1 << 30).err().unwrap().to_string().contains("--scratch"));
    drop(store);
    std::fs::write(dir.path().join("j1/s0/g1/t0/a0/r1.run.tmp"), b"half").unwrap();
    std::fs::create_dir_all(dir.path().join("j2/s0")).unwrap();
    std::fs::write(dir.path().join("j2/s0/r5.run"), b"no run").unwrap();
    std::fs::write(dir.path().join("notes.txt"), b"not ours").unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    assert_eq!((store.worker(), store.held()), (&name, vec![run.id.clone()]));
    assert_eq!(store.disk().used(), run.bytes);
    assert!(!dir.path().join("j2").exists());
    assert!(!dir.path().join("j1/s0/g1/t0/a0/r1.run.tmp").exists());
    assert!(dir.path().join("notes.txt").exists());
}

/// However far it has come, nothing remains of an attempt that nobody wants.
#[test]
fn removed_attempts_give_back_all_that_was_charged() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    let durable = RunOptions { durable: true, ..RunOptions::default() };
    let check =
        |what: &str, options: RunOptions, finish: &dyn Fn(&[RunManifest]) -> Result<(), RunError>, held: usize| {
            let runs = [0, 1].map(|run| write(&format!("j1/s0/g1/t0/a0/r{run}"), options, &store));
            finish(&runs).unwrap();
            assert_eq!(store.held().len(), held, "{what}");
            assert_eq!(store.disk().used(), runs[0].bytes + runs[1].bytes, "{what}");
            store.remove_attempt(&AttemptId { job: JobId(1), sweep: 0, generation: 1, task: 0, attempt: 0 });
            assert_eq!((store.held().len(), store.disk().used()), (0, 0), "{what}");
            assert!(!dir.path().join("j1/s0/g1/t0/a0").exists(), "{what}");
        };
    check("written", RunOptions::default(), &|_| Ok(()), 0);
    check("held", RunOptions::default(), &|runs| store.hold_written(runs), 2);
    check("not yet durable", durable, &|_| Ok(()), 0);
    check("durable in part", durable, &|runs| store.publish_durably(&runs[..1], &AtomicU64::new(0)), 1);
    check("durable", durable, &|runs| store.publish_durably(runs, &AtomicU64::new(0)), 2);
}

/// A disk may lose a part of a file before it is read back: what was charged is given back, not what is left.
#[test]
fn runs_that_cannot_be_held_give_back_what_was_charged() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    let check = |file: &str, options: RunOptions, finish: &dyn Fn(&[RunManifest]) -> Result<(), RunError>| {
        let runs = [0, 1].map(|run| write(&format!("j1/s0/g1/t0/a0/r{run}"), options, &store));
        let damaged = std::fs::File::options().write(true).open(dir.path().join("j1/s0/g1/t0/a0").join(file)).unwrap();
        damaged.set_len(1000).unwrap();
        finish(&runs).unwrap_err();
        assert_eq!((store.held(), store.disk().used()), (vec![runs[1].id.clone()], runs[1].bytes), "{file}");
        store.remove_attempt(&AttemptId { job: JobId(1), sweep: 0, generation: 1, task: 0, attempt: 0 });
        assert_eq!((store.held().len(), store.disk().used()), (0, 0), "{file}");
    };
    check("r0.run", RunOptions::default(), &|runs| store.hold_written(runs));
    let durable = RunOptions { durable: true, ..RunOptions::default() };
    check("r0.run.tmp", durable, &|runs| store.publish_durably(runs, &AtomicU64::new(0)));
}

#[test]
fn what_is_forgotten_is_ours_and_not_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("scratch");
    std::fs::create_dir_all(root.join("j9")).unwrap();
    std::fs::write(root.join("j9/notes.txt"), b"not ours").unwrap();
    // A folder that never was a scratch folder.
    crate::scratch::forget(&root).unwrap();
    assert!(root.join("j9/notes.txt").exists());
    std::fs::remove_dir_all(root.join("j9")).unwrap();
    std::fs::write(root.join("notes.txt"), b"not ours").unwrap();

    let store = RunStore::open(&root, 1 << 30).unwrap();
    write_run(&store);
    crate::scratch::leave(&root).unwrap();
    assert!(root.join("j1").exists() && root.join("worker.id").exists());
    assert!(crate::scratch::forget(&root).unwrap_err().to_string().contains("in use"));
    assert!(root.join("j1").exists());
    drop(store);
    crate::scratch::forget(&root).unwrap();
    let left: Vec<_> = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
    std::fs::remove_file(root.join("notes.txt")).unwrap();
    drop(RunStore::open(&root, 1 << 30).unwrap());
    crate::scratch::forget(&root).unwrap();
    assert!(!root.exists(), "an empty folder goes too");
    crate::scratch::forget(&root).unwrap();
}

/// Bytes are given back when the file is gone, and not before.
#[test]
fn bytes_of_a_file_that_cannot_be_removed_stay_charged() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    let run = write_small(&store, "j1/s0/g1/t0/a0/r0");
    let path = store.file(&run.id).unwrap().0;
    // A folder in its place is no file that can be removed.
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    store.release(&run.id);
    assert_eq!((store.held().len(), store.disk().used()), (0, run.bytes));
    // Somebody else removed it: there is nothing left that would take its place.
    let run = write_small(&store, "j1/s0/g1/t0/a0/r1");
    std::fs::remove_file(store.file(&run.id).unwrap().0).unwrap();
    let used = store.disk().used();
    store.release(&run.id);
    assert_eq!(store.disk().used(), used - run.bytes);
}

/// An attempt is cleared away by its own end and by the coordinator's word, in the same moment at times.
#[test]
fn bytes_are_given_back_once_whoever_removes_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = RunStore::open(dir.path(), 1 << 30).unwrap();
    let attempt = AttemptId { job: JobId(1), sweep: 0, generation: 1, task: 0, attempt: 0 };
    let kept = write_small(&store, "j1/s0/g1/t9/a0/r0");
    let run = write_small(&store, &format!("{attempt}/r0"));
    let at_work = store.one_removes();
    std::thread::scope(|scope| {
        scope.spawn(|| store.release(&run.id));
        scope.spawn(|| store.remove_attempt(&attempt));
        // Neither begins before who is at work has ended: each would find half of what the other did.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!((store.held().len(), store.disk().used()), (2, kept.bytes + run.bytes));
        assert!(store.file(&run.id).unwrap().0.exists());
        drop(at_work);
    });
    assert_eq!((store.held(), store.disk().used()), (vec![kept.id], kept.bytes));
}
