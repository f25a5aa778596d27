//! A worker's scratch folder: what is in it, who may write there, and what it may hold.
//!
//! ```text
//!   SCRATCH/worker.lock                        held (flock) while a worker lives
//!   SCRATCH/worker.id                          the worker's name, made once, kept for life
//!   SCRATCH/coordinator.id                     name of the coordinator's store that the runs belong to
//!   SCRATCH/j3/s0/g12/t5/a0/r1.run             run r1 of an attempt; *.run.tmp until it is published
//!   SCRATCH/incoming/0.tmp                     a second copy on its way in
//! ```
//!
//! Only the owner of the folder removes anything from it, on the coordinator's word (`release`, `abandon`) or because
//! nothing can refer to it (temporary files of an earlier life, files that are no runs). A run is *held* from the
//! moment when its task is complete. Cost: one entry in memory per held run, and at the start one read of every run's
//! header, index and footer.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use keima_coordinator::{AttemptId, StoreId, WorkerId};
use keima_runs::{
    DiskBudget, Intake, LocalRun, RunError, RunHeader, RunId, RunManifest, publish_durably, read_manifest, run_path,
};

use crate::failpoint;
use crate::scratch::{
    ID_FILE, INCOMING, STORE_FILE, ScratchError, is_job, is_ours, lock, read_or_make_name, read_owner, refuse_foreign,
    write_name,
};

/// Runs that tasks keep open at a time, all together: a quarter of the files that a process may mostly have open.
const MOST_KEPT_OPEN: usize = 256;

struct Held {
    header: RunHeader,
    manifest: RunManifest,
    /// Bytes of the disk budget that this run takes.
    charged: u64,
    /// The open file, as long as anybody reads it.
    open: Weak<LocalRun>,
}

/// What became of a file that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removed {
    Now,
    /// It was not there any more.
    Before,
    /// It is there still.
    Not,
}

/// A scratch folder and the runs in it.
pub struct RunStore {
    root: PathBuf,
    worker: WorkerId,
    owner: Mutex<Option<StoreId>>,
    disk: Arc<DiskBudget>,
    held: Mutex<BTreeMap<RunId, Held>>,
    /// One removes files at a time.
    removing: Mutex<()>,
    incoming: AtomicU64,
    /// Runs that tasks keep open.
    kept_open: AtomicUsize,
    _lock: File,
}

/// A run that a task keeps open, for it reads some of it again and again.
pub(crate) struct KeptOpen {
    pub(crate) run: Arc<LocalRun>,
    store: Arc<RunStore>,
}

impl Drop for KeptOpen {
    fn drop(&mut self) {
        self.store.kept_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RunStore {
    /// Opens `root` (made where it is missing), takes it for this process, removes what an earlier life left half done,
    /// and lists the runs that are there.
    pub fn open(root: &Path, disk_bytes: u64) -> Result<Self, ScratchError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| ScratchError::Io { action, path, source }
        };
        std::fs::create_dir_all(root).map_err(io("make", root))?;
        let root = root.canonicalize().map_err(io("resolve", root))?;
        if !is_ours(&root) {
            refuse_foreign(&root)?;
        }
        let lock = lock(&root)?;
        let worker = read_or_make_name(&root)?;
        let owner = Mutex::new(read_owner(&root)?);
        let store = Self {
            root,
            worker,
            owner,
            disk: Arc::new(DiskBudget::new(disk_bytes)),
            held: Mutex::default(),
            removing: Mutex::default(),
            incoming: AtomicU64::new(0),
            kept_open: AtomicUsize::new(0),
            _lock: lock,
        };
        let incoming = store.root.join(INCOMING);
        match std::fs::remove_dir_all(&incoming) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(ScratchError::Io { action: "clear", path: incoming, source }),
        }
        store.take_stock(&store.root, true)?;
        Ok(store)
    }

    /// Walks `folder`: lists runs, removes what is none. Folders are entered in the top level only where they are a
    /// job's, so that nothing foreign is touched in a folder that was named by mistake.
    fn take_stock(&self, folder: &Path, top: bool) -> Result<(), ScratchError> {
        let io = |source| ScratchError::Io { action: "list", path: folder.to_owned(), source };
        for entry in std::fs::read_dir(folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type().map_err(io)?.is_dir() {
                if is_job(&name) || !top {
                    self.take_stock(&path, false)?;
                    // Succeeds on empty folders only, which is what is wanted.
                    let _ = std::fs::remove_dir(&path);
                }
            } else if !top {
                self.take_file(&path)?;
            }
        }
        Ok(())
    }

    /// Lists a run. What is damaged goes, since it can be made again; what cannot be read just now, or by this version,
    /// may be sound, and is nothing to delete.
    fn take_file(&self, path: &Path) -> Result<(), ScratchError> {
        let id = path.strip_prefix(&self.root).ok().and_then(Path::to_str).and_then(|p| p.strip_suffix(".run"));
        let why = match id.map(|id| self.hold(&RunId(id.to_owned()), None)) {
            None => "a temporary file of an earlier life".to_owned(),
            Some(Ok(())) => return Ok(()),
            Some(Err(source @ (RunError::OtherVersion { .. } | RunError::Io { .. }))) => {
                return Err(ScratchError::Run { path: path.to_owned(), source: Box::new(source) });
            }
            Some(Err(error)) => error.to_string(),
        };
        tracing::warn!(path = %path.display(), why, "removed from the scratch folder");
        let bytes = path.symlink_metadata().map_or(0, |m| m.len());
        if let Err(error) = std::fs::remove_file(path) {
            tracing::warn!(path = %path.display(), %error, "cannot be removed");
            // It takes its place all the same; over the cap there is none to be given away.
            self.disk.found(bytes);
        }
        Ok(())
    }

    /// The worker's name.
    pub fn worker(&self) -> &WorkerId {
        &self.worker
    }
    /// Whose runs these are; `None` while no coordinator has taken the worker.
    pub(crate) fn owner(&self) -> Option<StoreId> {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Notes whose runs these are, before any of them is made or deleted.
    pub(crate) fn set_owner(&self, store: StoreId) -> Result<(), ScratchError> {
        let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
        if *owner != Some(store) {
            write_name(&self.root, STORE_FILE, &store.to_string())?;
            *owner = Some(store);
        }
        Ok(())
    }
    /// The folder, as an absolute path.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// What the folder may hold.
    pub fn disk(&self) -> &Arc<DiskBudget> {
        &self.disk
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, Held>> {
        // Every change of the map is one insert or remove: a panic elsewhere leaves it whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a complete run. `charged` is what its writer has charged, if anybody has.
    fn hold(&self, id: &RunId, charged: Option<u64>) -> Result<(), RunError> {
        let (header, manifest) = read_manifest(&run_path(&self.root, id)?, id)?;
        let charged = charged.unwrap_or_else(|| {
            // Over the cap nothing new can be written, but what is there stays usable.
            self.disk.found(manifest.bytes);
            manifest.bytes
        });
        self.runs().insert(id.clone(), Held { header, manifest, charged, open: Weak::new() });
        Ok(())
    }

    /// Notes the runs of a finished task, whose bytes its writer has charged.
    pub(crate) fn hold_written(&self, runs: &[RunManifest]) -> Result<(), RunError> {
        runs.iter().try_for_each(|run| self.hold(&run.id, Some(run.bytes)))
    }

    /// Publishes the runs of a finished task that must be on stable storage, and notes them. Blocks.
    pub(crate) fn publish_durably(&self, runs: &[RunManifest]) -> Result<(), RunError> {
        let flushed = failpoint::hit_fallible("worker.before_durable");
        flushed.map_err(|source| RunError::Io { path: self.root.clone(), action: "flush a run in", source })?;
        publish_durably(&self.root, runs.iter().map(|run| &run.id))?;
        self.hold_written(runs)
    }

    /// Names of all runs held.
    pub fn held(&self) -> Vec<RunId> {
        self.runs().keys().cloned().collect()
    }

    /// Whether `run` is here with these contents.
    pub(crate) fn holds(&self, run: &RunManifest) -> bool {
        self.runs().get(&run.id).is_some_and(|held| held.manifest.checksum == run.checksum)
    }

    /// Whether any run of an attempt is held.
    pub(crate) fn holds_of(&self, attempt: &AttemptId) -> bool {
        let prefix = format!("{attempt}/");
        self.runs().keys().any(|id| id.0.starts_with(&prefix))
    }

    /// Opens a held run; `None` where there is none of that name. Readers of one run share one open file.
    pub(crate) fn open_run(&self, id: &RunId) -> Option<Result<Arc<LocalRun>, RunError>> {
        let (header, manifest) = match self.runs().get(id) {
            None => return None,
            Some(held) => match held.open.upgrade() {
                Some(run) => return Some(Ok(run)),
                None => (held.header.clone(), held.manifest.clone()),
            },
        };
        let open = || {
            let run = Arc::new(LocalRun::open(&run_path(&self.root, id)?, &manifest, &header)?);
            if let Some(held) = self.runs().get_mut(id) {
                held.open = Arc::downgrade(&run);
            }
            Ok(run)
        };
        Some(open())
    }

    /// Keeps `run` open, unless too many are.
    pub(crate) fn keep_open(self: &Arc<Self>, run: &Arc<LocalRun>) -> Option<KeptOpen> {
        let kept = KeptOpen { run: Arc::clone(run), store: Arc::clone(self) };
        (self.kept_open.fetch_add(1, Ordering::Relaxed) < MOST_KEPT_OPEN).then_some(kept)
    }

    /// Path and manifest of a held run.
    pub(crate) fn file(&self, id: &RunId) -> Option<(PathBuf, RunManifest)> {
        let manifest = self.runs().get(id)?.manifest.clone();
        run_path(&self.root, id).ok().map(|path| (path, manifest))
    }

    /// Deletes a run. Readers that have it open keep reading.
    pub(crate) fn release(&self, id: &RunId) {
        let _one = self.one_removes();
        self.release_alone(id);
    }

    /// Of a file that somebody else has deleted the bytes are free, too; of one that cannot be deleted they are not.
    fn release_alone(&self, id: &RunId) {
        let Some(held) = self.runs().remove(id) else { return };
        let Ok(path) = run_path(&self.root, id) else { return };
        if matches!(self.remove_file(&path), Removed::Now | Removed::Before) {
            self.disk.refund(held.charged);
        }
    }

    /// Whoever removes files holds this: each file's bytes are given back once, by the one who removed it, and not before.
    pub(crate) fn one_removes(&self) -> MutexGuard<'_, ()> {
        self.removing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_file(&self, path: &Path) -> Removed {
        let removed = match std::fs::remove_file(path) {
            Ok(()) => Removed::Now,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Removed::Before,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot be removed");
                Removed::Not
            }
        };
        // Empty folders go with their last file; `remove_dir` leaves the others alone.
        let parents = path.ancestors().skip(1).take_while(|p| *p != self.root && p.starts_with(&self.root));
        for parent in parents {
            if std::fs::remove_dir(parent).is_err() {
                break;
            }
        }
        removed
    }

    /// Deletes everything that an attempt has written. Nobody may be writing there any more.
    pub(crate) fn remove_attempt(&self, attempt: &AttemptId) {
        let prefix = format!("{attempt}/");
        let held: Vec<RunId> = self.runs().keys().filter(|id| id.0.starts_with(&prefix)).cloned().collect();
        let _one = self.one_removes();
        for id in &held {
            self.release_alone(id);
        }
        self.remove_folder(&self.root.join(attempt.to_string()));
    }

    fn remove_folder(&self, folder: &Path) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(folder = %folder.display(), %error, "cannot be cleared; its files stay until the worker starts again");
                }
                return;
            }
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.remove_folder(&path);
                continue;
            }
            // Whatever is there is charged: a writer that gave up has removed its file before it gave the bytes back.
            let bytes = entry.metadata().map_or(0, |m| m.len());
            if self.remove_file(&path) == Removed::Now {
                self.disk.refund(bytes);
            }
        }
        let _ = std::fs::remove_dir(folder);
    }

    /// A fresh path for a second copy on its way in; the folder is made.
    pub(crate) fn incoming_path(&self) -> Result<PathBuf, RunError> {
        let folder = self.root.join(INCOMING);
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|source| RunError::Io { path: folder.clone(), action: "make", source })?;
        Ok(folder.join(format!("{}.tmp", self.incoming.fetch_add(1, Ordering::Relaxed))))
    }

    /// Takes in what was received as a copy of `expected`; the caller has charged its bytes.
    pub(crate) fn adopt(&self, received: Intake, expected: &RunManifest) -> Result<(), RunError> {
        let adopted = received.adopt(&self.root).and_then(|()| self.hold(&expected.id, Some(expected.bytes)));
        let _one = self.one_removes();
        if adopted.is_err()
            && !self.runs().contains_key(&expected.id)
            && let Ok(path) = run_path(&self.root, &expected.id)
        {
            // It may be in its place already, where nobody would look for it; the caller gives the bytes back.
            self.remove_file(&path);
        }
        adopted
    }
}

/// A folder of another worker that is visible here under the same path.
#[derive(Default)]
pub(crate) struct SharedFolders {
    /// Whether the folder belongs to the worker: machines may have folders of the same paths.
    known: Mutex<HashMap<(String, WorkerId), bool>>,
}

impl SharedFolders {
    /// Whether `folder` on this machine is the scratch folder of `worker`.
    pub(crate) fn belongs(&self, folder: &str, worker: &WorkerId) -> bool {
        if folder.is_empty() {
            return false;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry((folder.to_owned(), worker.clone())).or_insert_with(|| {
            std::fs::read_to_string(Path::new(folder).join(ID_FILE)).is_ok_and(|name| name.trim() == worker.0)
        })
    }
}
