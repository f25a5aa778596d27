//! Second copies: fetches a run of another worker into this worker's scratch folder.
//!
//! ```text
//!   charge its bytes --> incoming/N.tmp, verified on the way --> jN/.../rN.run
//!        if it fails before the last step, file and charge are undone
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keima_coordinator::{Failure, Holder, InputRun};
use keima_runs::{Intake, RunError, RunManifest};

use crate::scratch::run_store::{RunStore, remove};
use crate::scratch::visible_folders::shared_run;
use crate::transfer::feeds::TaskFeeds;
use crate::transfer::remote_feed::{Unread, next_chunk};
use crate::transfer::run_server::CHUNK_BYTES;
use crate::world;

/// An incomplete copy with its charged bytes. Dropping the last handle deletes it, unless it was adopted.
pub(crate) struct Incoming {
    store: Arc<RunStore>,
    path: PathBuf,
    bytes: u64,
    /// Counts up with every part.
    pulse: Arc<AtomicU64>,
    taken: AtomicBool,
}

impl Incoming {
    pub(crate) fn new(store: &Arc<RunStore>, bytes: u64, pulse: &Arc<AtomicU64>) -> Result<Self, RunError> {
        let path = store.incoming_path()?;
        store.disk().charge(bytes)?;
        Ok(Self { store: Arc::clone(store), path, bytes, pulse: Arc::clone(pulse), taken: AtomicBool::new(false) })
    }

    /// Where the received file stands.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adopts the received file as a run of the store. Blocks.
    pub(crate) fn take_in(&self, received: Intake, expected: &RunManifest) -> Result<(), RunError> {
        self.store.adopt(received, expected)?;
        self.taken.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.taken.load(Ordering::Relaxed) {
            // There is no file if nothing was received.
            let _ = remove(&self.path);
            self.store.disk().refund(self.bytes);
        }
    }
}

impl TaskFeeds {
    /// Fetches a second copy of `input`'s run into this worker's folder. `pulse` counts up with every part.
    pub(crate) async fn copy(&self, input: &InputRun, pulse: &Arc<AtomicU64>) -> Result<(), Failure> {
        let run = &input.manifest;
        if self.store.holds(run) {
            return Ok(());
        }
        let mut failure = Failure::Other { text: format!("run {} has no holder but this worker", run.id) };
        for holder in self.nearest(&run.id).iter().filter(|holder| holder.worker != *self.store.worker()) {
            match self.copy_from(holder, run, pulse).await {
                Ok(()) => return Ok(()),
                Err(Unread { error, .. }) if error.is_disk_full() => {
                    return Err(Failure::Disk { text: error.to_string() });
                }
                Err(Unread { error, damaged }) => {
                    tracing::warn!(run = %run.id, holder = %holder.worker, %error, "cannot copy a run from this holder");
                    let (holder, text) = (holder.worker.clone(), error.to_string());
                    failure = Failure::Input { run: run.id.clone(), holder, damaged, text };
                }
            }
        }
        Err(failure)
    }

    async fn copy_from(&self, holder: &Holder, run: &RunManifest, pulse: &Arc<AtomicU64>) -> Result<(), Unread> {
        let incoming = Arc::new(Incoming::new(&self.store, run.bytes, pulse)?);
        let received = self.receive(holder, run, &incoming).await?;
        let expected = run.clone();
        let taken = blocking(move || incoming.take_in(received, &expected)).await;
        Ok(taken?)
    }

    async fn receive(&self, holder: &Holder, run: &RunManifest, incoming: &Arc<Incoming>) -> Result<Intake, Unread> {
        if self.shared.belongs(&holder.folder, &holder.worker) {
            match read_file(holder, run, incoming).await {
                // It may have been deleted there, or the mount may be gone while its owner still serves it.
                Err(Unread { error, damaged: false }) if !error.is_disk_full() && !holder.address.is_empty() => {
                    tracing::warn!(run = %run.id, folder = holder.folder, %error, "cannot read a shared folder; asking its worker");
                    let _ = remove(&incoming.path);
                }
                received => return received,
            }
        }
        self.download(holder, run, incoming).await
    }

    async fn download(&self, holder: &Holder, run: &RunManifest, incoming: &Arc<Incoming>) -> Result<Intake, Unread> {
        let remote = |status: tonic::Status| Unread::remote(holder, &status);
        let mut stream = self.peers.request(holder, run, None).await.map_err(remote)?;
        let mut intake = Intake::create(incoming.path.clone(), run)?;
        loop {
            let chunk = next_chunk(&mut stream).await.map_err(remote)?;
            let (end, to) = (chunk.end, Arc::clone(incoming));
            let taken = blocking(move || {
                let taken = intake.take(&chunk.data).map(|()| intake);
                to.pulse.fetch_add(1, Ordering::Relaxed);
                drop(to);
                taken
            });
            intake = taken.await?;
            if end {
                return Ok(intake);
            }
        }
    }
}

/// Copies a run from a folder that is visible on this machine.
async fn read_file(holder: &Holder, run: &RunManifest, to: &Arc<Incoming>) -> Result<Intake, Unread> {
    let (to, run, folder) = (Arc::clone(to), run.clone(), holder.folder.clone());
    let read = move || {
        let from = shared_run(&folder, &run.id)?;
        let io = |source| RunError::Io { path: from.clone(), action: "copy", source };
        let mut file = File::open(&from).map_err(io)?;
        let mut intake = Intake::create(to.path.clone(), &run)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk).map_err(io)? {
                0 => return Ok(intake),
                bytes => {
                    intake.take(chunk.get(..bytes).unwrap_or_default())?;
                    to.pulse.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    };
    Ok(blocking(read).await?)
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RunError> + Send + 'static,
) -> Result<T, RunError> {
    let done = world::blocking(work).await;
    done.unwrap_or_else(|e| Err(RunError::Remote { text: format!("writing the copy failed: {e}") }))
}
