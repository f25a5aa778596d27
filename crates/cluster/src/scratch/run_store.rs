//! The runs in a worker's scratch folder: which ones it holds, who may delete them, and how much space they take.
//!
//! ```text
//!   SCRATCH/worker.lock                        locked (flock) while a worker lives; holds the worker's name once more
//!   SCRATCH/worker.id                          the worker's name, drawn once
//!   SCRATCH/coordinator.id                     name of the coordinator's store whose runs these are
//!   SCRATCH/j3/s0/g12/t5/a0/r1.run             run r1 of an attempt; *.run.tmp until it is published
//!   SCRATCH/incoming/0.tmp                     a second copy that is still incomplete
//! ```
//!
//! Only the worker that owns the folder removes files from it. It does so when the coordinator says so (`release`,
//! `abandon`), or when nothing can refer to a file: temporary files of an earlier process, and files that are not runs. A
//! run is *held* once its task is complete. Cost: one entry in memory per held run; at the start, one read of every run's
//! header, index and footer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use keima_coordinator::{AttemptId, StoreId, WorkerId};
use keima_runs::watch::{Change, before};
use keima_runs::{
    DiskBudget, Intake, LocalRun, RunError, RunHeader, RunId, RunManifest, publish_durably, read_manifest, run_path,
};

use crate::failpoint;
use crate::folder_lock::make_folder;
use crate::scratch::identity::{own_name, place_of};
use crate::scratch::{
    INCOMING, STORE_FILE, ScratchError, is_job, is_ours, lock, read_owner, refuse_foreign, write_name,
};

/// Most runs that all tasks together keep open: a quarter of the usual limit on open files.
const MOST_KEPT_OPEN: usize = 256;

struct Held {
    header: RunHeader,
    manifest: RunManifest,
    /// Bytes that this run takes of the disk budget.
    charged: u64,
    /// The open file while somebody reads it.
    open: Weak<LocalRun>,
}

/// What happened to a file that should be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removed {
    Now,
    /// Somebody else had removed it.
    Before,
    /// It could not be removed.
    Not,
}

/// A scratch folder and the runs in it.
pub struct RunStore {
    root: PathBuf,
    worker: WorkerId,
    place: String,
    owner: Mutex<Option<StoreId>>,
    disk: Arc<DiskBudget>,
    held: Mutex<BTreeMap<RunId, Held>>,
    /// Only one thread removes files at a time.
    removing: Mutex<()>,
    incoming: AtomicU64,
    /// Number of runs that tasks keep open.
    kept_open: AtomicUsize,
    _lock: File,
}

/// A run that a task keeps open because it reads many parts of it.
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
    /// Opens and locks `root`, makes it if it is missing, removes incomplete files of an earlier process, and lists the runs
    /// in it.
    pub fn open(root: &Path, disk_bytes: u64) -> Result<Self, ScratchError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| ScratchError::Io { action, path, source }
        };
        make_folder(root).map_err(io("make", root))?;
        let root = root.canonicalize().map_err(io("resolve", root))?;
        if !is_ours(&root) {
            refuse_foreign(&root)?;
        }
        let lock = lock(&root)?;
        let worker = own_name(&root, &lock)?;
        let owner = Mutex::new(read_owner(&root)?);
        let place = place_of(&root);
        let store = Self {
            root,
            worker,
            place,
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

    /// Walks `folder`: lists runs and removes other files. In the top level it enters job folders only, so that files of
    /// others stay untouched if a user names a wrong folder.
    fn take_stock(&self, folder: &Path, top: bool) -> Result<(), ScratchError> {
        let io = |source| ScratchError::Io { action: "list", path: folder.to_owned(), source };
        for entry in std::fs::read_dir(folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if entry.file_type().map_err(io)?.is_dir() {
                if is_job(&name) || !top {
                    self.take_stock(&path, false)?;
                    // Succeeds on empty folders only, as it should.
                    let _ = std::fs::remove_dir(&path);
                }
            } else if !top {
                self.take_file(&path)?;
            }
        }
        Ok(())
    }

    /// Lists one run. A damaged run is deleted, because it can be made again. A run that cannot be read now, or not by this
    /// version, may be intact and stays.
    fn take_file(&self, path: &Path) -> Result<(), ScratchError> {
        let id = path.strip_prefix(&self.root).ok().and_then(Path::to_str).and_then(|p| p.strip_suffix(".run"));
        let why = match id.map(|id| self.hold(&RunId(id.to_owned()), None)) {
            None => "a temporary file of an earlier process".to_owned(),
            Some(Ok(())) => return Ok(()),
            Some(Err(source @ (RunError::OtherVersion { .. } | RunError::Io { .. }))) => {
                return Err(ScratchError::Run { path: path.to_owned(), source: Box::new(source) });
            }
            Some(Err(error)) => error.to_string(),
        };
        let (worker, run) = (&self.worker, self.run_of(path));
        tracing::warn!(%worker, run, path = %path.display(), why, "removed a file from the scratch folder");
        let bytes = path.symlink_metadata().map_or(0, |m| m.len());
        if let Err(error) = remove(path) {
            tracing::warn!(%worker, run, path = %path.display(), %error, "cannot remove a file");
            // It still takes space, even beyond the cap.
            self.disk.found(bytes);
        }
        Ok(())
    }

    /// Name of the run in a file, which may be incomplete: `j3/s0/g12/t5/a0/r1`. It is for the log.
    fn run_of<'p>(&self, path: &'p Path) -> Option<&'p str> {
        path.strip_prefix(&self.root).ok()?.to_str()?.split('.').next()
    }

    /// The worker's name.
    pub fn worker(&self) -> &WorkerId {
        &self.worker
    }
    /// Where the folder is: see [`keima_coordinator::Hello::place`].
    pub(crate) fn place(&self) -> &str {
        &self.place
    }
    /// The store whose runs these are; `None` before the first coordinator has answered.
    pub(crate) fn owner(&self) -> Option<StoreId> {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Writes down whose runs these are. Call it before any run is made or deleted.
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
    /// The budget of the folder.
    pub fn disk(&self) -> &Arc<DiskBudget> {
        &self.disk
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, Held>> {
        // Every change of the map is one insert or remove, so a panic elsewhere leaves it intact.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a complete run. `charged` is what its writer has charged to the disk budget; `None` if nobody has.
    fn hold(&self, id: &RunId, charged: Option<u64>) -> Result<(), RunError> {
        let (header, manifest) = read_manifest(&run_path(&self.root, id)?, id)?;
        let charged = charged.unwrap_or_else(|| {
            // Beyond the cap nothing new can be written, but existing runs stay usable.
            self.disk.found(manifest.bytes);
            manifest.bytes
        });
        self.runs().insert(id.clone(), Held { header, manifest, charged, open: Weak::new() });
        Ok(())
    }

    /// Adds the runs of a finished task. Its writer has charged their bytes. A file that cannot be read back goes at once: it may
    /// have another length by now than was charged.
    pub(crate) fn hold_written(&self, runs: &[RunManifest]) -> Result<(), RunError> {
        let mut held = Ok(());
        for run in runs {
            if let Err(error) = self.hold(&run.id, Some(run.bytes)) {
                held = held.and(Err(error));
                let _one = self.one_removes();
                let removed = run_path(&self.root, &run.id).map(|path| self.remove_file(&path));
                if matches!(removed, Ok(Removed::Now | Removed::Before)) {
                    self.disk.refund(run.bytes);
                }
            }
        }
        held
    }

    /// Puts the runs of a finished task on stable storage, publishes them, and adds them. Blocks.
    /// `pulse` counts up for each.
    pub(crate) fn publish_durably(&self, runs: &[RunManifest], pulse: &AtomicU64) -> Result<(), RunError> {
        let flushed = failpoint::hit_fallible("worker.before_durable");
        flushed.map_err(|source| RunError::Io { path: self.root.clone(), action: "flush a run in", source })?;
        let counted = runs.iter().inspect(|_| {
            pulse.fetch_add(1, Ordering::Relaxed);
        });
        publish_durably(&self.root, counted.map(|run| &run.id))?;
        self.hold_written(runs)
    }

    /// Names of all held runs.
    pub fn held(&self) -> Vec<RunId> {
        self.runs().keys().cloned().collect()
    }

    /// Whether `run` is held with these contents.
    pub(crate) fn holds(&self, run: &RunManifest) -> bool {
        self.runs().get(&run.id).is_some_and(|held| held.manifest.checksum == run.checksum)
    }

    /// Whether any run of `attempt` is held.
    pub(crate) fn holds_of(&self, attempt: &AttemptId) -> bool {
        let prefix = format!("{attempt}/");
        self.runs().keys().any(|id| id.0.starts_with(&prefix))
    }

    /// Opens a held run; `None` if no run of that name is held. Readers of one run share one open file.
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

    /// Keeps `run` open; `None` if too many runs are open already.
    pub(crate) fn keep_open(self: &Arc<Self>, run: &Arc<LocalRun>) -> Option<KeptOpen> {
        let kept = KeptOpen { run: Arc::clone(run), store: Arc::clone(self) };
        (self.kept_open.fetch_add(1, Ordering::Relaxed) < MOST_KEPT_OPEN).then_some(kept)
    }

    /// Path and manifest of a held run.
    pub(crate) fn file(&self, id: &RunId) -> Option<(PathBuf, RunManifest)> {
        let manifest = self.runs().get(id)?.manifest.clone();
        run_path(&self.root, id).ok().map(|path| (path, manifest))
    }

    /// Deletes a run. Readers that have it open can go on reading.
    pub(crate) fn release(&self, id: &RunId) {
        let _one = self.one_removes();
        self.release_alone(id);
    }

    /// Deletes a run while [`Self::one_removes`] is held. Refunds its bytes unless the file is still there.
    fn release_alone(&self, id: &RunId) {
        let Some(held) = self.runs().remove(id) else { return };
        let Ok(path) = run_path(&self.root, id) else { return };
        if matches!(self.remove_file(&path), Removed::Now | Removed::Before) {
            self.disk.refund(held.charged);
        }
    }

    /// Lock for removing files. So each file's bytes are refunded once, by the thread that removed it, and afterwards.
    pub(crate) fn one_removes(&self) -> MutexGuard<'_, ()> {
        self.removing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_file(&self, path: &Path) -> Removed {
        let removed = match remove(path) {
            Ok(()) => Removed::Now,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Removed::Before,
            Err(error) => {
                tracing::warn!(run = self.run_of(path), path = %path.display(), %error, "cannot remove a file");
                Removed::Not
            }
        };
        // Folders that are empty now go too; `remove_dir` fails on the others.
        let parents = path.ancestors().skip(1).take_while(|p| *p != self.root && p.starts_with(&self.root));
        for parent in parents {
            if std::fs::remove_dir(parent).is_err() {
                break;
            }
        }
        removed
    }

    /// Deletes everything that an attempt has written. The attempt must have stopped writing.
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
                    tracing::warn!(folder = %folder.display(), %error, "cannot delete an attempt's files; they stay until the worker starts again");
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
            // Every file here is charged: a writer that gives up removes its file before it refunds the bytes.
            let bytes = entry.metadata().map_or(0, |m| m.len());
            if self.remove_file(&path) == Removed::Now {
                self.disk.refund(bytes);
            }
        }
        let _ = std::fs::remove_dir(folder);
    }

    /// A new path for an incoming second copy. Makes the folder.
    pub(crate) fn incoming_path(&self) -> Result<PathBuf, RunError> {
        let folder = self.root.join(INCOMING);
        let made = before(Change::Folder(&folder)).and_then(|()| std::fs::create_dir_all(&folder));
        made.map_err(|source| RunError::Io { path: folder.clone(), action: "make", source })?;
        Ok(folder.join(format!("{}.tmp", self.incoming.fetch_add(1, Ordering::Relaxed))))
    }

    /// Adds a received copy of `expected`. The caller has charged its bytes.
    pub(crate) fn adopt(&self, received: Intake, expected: &RunManifest) -> Result<(), RunError> {
        let adopted = received.adopt(&self.root).and_then(|()| self.hold(&expected.id, Some(expected.bytes)));
        let _one = self.one_removes();
        if adopted.is_err()
            && !self.runs().contains_key(&expected.id)
            && let Ok(path) = run_path(&self.root, &expected.id)
        {
            // The file may be in its final place already. The caller refunds the bytes.
            self.remove_file(&path);
        }
        adopted
    }
}

/// Deletes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    before(Change::Remove(path))?;
    std::fs::remove_file(path)
}
