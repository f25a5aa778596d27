//! Second copies: a run of another worker is fetched into the own scratch folder.
//!
//! ```text
//!   charge its bytes --> incoming/N.tmp, verified on the way --> jN/.../rN.run
//!        given up anywhere before the last step: nothing stays, neither file nor charge
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keima_coordinator::{Failure, Holder, InputRun};
use keima_runs::{Intake, RunError, RunManifest, run_path};

use crate::scratch::run_store::RunStore;
use crate::transfer::feeds::TaskFeeds;
use crate::transfer::remote_feed::{is_damage, next_chunk, remote_error};
use crate::transfer::run_server::CHUNK_BYTES;

/// A copy on its way in; its bytes are charged. It goes with the last of those who are at it, on whatever thread.
struct Incoming {
    store: Arc<RunStore>,
    path: PathBuf,
    bytes: u64,
    taken: AtomicBool,
}

impl Incoming {
    fn new(store: &Arc<RunStore>, bytes: u64) -> Result<Self, RunError> {
        let path = store.incoming_path()?;
        store.disk().charge(bytes)?;
        Ok(Self { store: Arc::clone(store), path, bytes, taken: AtomicBool::new(false) })
    }

    /// Makes what was received a run of the store. Blocking.
    fn take_in(&self, received: Intake, expected: &RunManifest) -> Result<(), RunError> {
        self.store.adopt(received, expected)?;
        self.taken.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.taken.load(Ordering::Relaxed) {
            // Where there is none yet, nothing was received.
            let _ = std::fs::remove_file(&self.path);
            self.store.disk().refund(self.bytes);
        }
    }
}

impl TaskFeeds {
    /// Fetches a second copy of `input`'s run into the own folder.
    pub(crate) async fn copy(&self, input: &InputRun) -> Result<(), Failure> {
        let run = &input.manifest;
        if self.store.holds(run) {
            return Ok(());
        }
        let mut failure = Failure::Other { text: format!("run {} has no holder but this worker", run.id) };
        for holder in self.nearest(&run.id).iter().filter(|holder| holder.worker != *self.store.worker()) {
            match self.copy_from(holder, run).await {
                Ok(()) => return Ok(()),
                Err((error, _)) if error.is_disk_full() => return Err(Failure::Disk { text: error.to_string() }),
                Err((error, damaged)) => {
                    tracing::warn!(run = %run.id, holder = %holder.worker, %error, "no copy from there");
                    let (holder, text) = (holder.worker.clone(), error.to_string());
                    failure = Failure::Input { run: run.id.clone(), holder, damaged, text };
                }
            }
        }
        Err(failure)
    }

    async fn copy_from(&self, holder: &Holder, run: &RunManifest) -> Result<(), (RunError, bool)> {
        let incoming = Arc::new(Incoming::new(&self.store, run.bytes).map_err(|error| (error, false))?);
        let received = self.receive(holder, run, &incoming).await?;
        let expected = run.clone();
        let taken = blocking(move || incoming.take_in(received, &expected)).await;
        taken.map_err(blamed)
    }

    async fn receive(
        &self,
        holder: &Holder,
        run: &RunManifest,
        incoming: &Arc<Incoming>,
    ) -> Result<Intake, (RunError, bool)> {
        if self.shared.belongs(&holder.folder, &holder.worker) {
            match read_file(holder, run, incoming).await {
                // It may have been deleted there, or the mount may be gone while its owner still serves it.
                Err((error, false)) if !error.is_disk_full() && !holder.address.is_empty() => {
                    tracing::warn!(run = %run.id, folder = holder.folder, %error, "not readable there; asking its worker");
                    let _ = std::fs::remove_file(&incoming.path);
                }
                received => return received,
            }
        }
        self.download(holder, run, incoming).await
    }

    async fn download(
        &self,
        holder: &Holder,
        run: &RunManifest,
        incoming: &Arc<Incoming>,
    ) -> Result<Intake, (RunError, bool)> {
        let remote = |status: tonic::Status| (remote_error(holder, &status), is_damage(&status));
        let mut stream = self.peers.request(holder, run, None).await.map_err(remote)?;
        let mut intake = Intake::create(incoming.path.clone(), run).map_err(blamed)?;
        loop {
            let chunk = next_chunk(&mut stream).await.map_err(remote)?;
            let (end, to) = (chunk.end, Arc::clone(incoming));
            let taken = blocking(move || {
                let taken = intake.take(&chunk.data).map(|()| intake);
                drop(to);
                taken
            });
            intake = taken.await.map_err(blamed)?;
            if end {
                return Ok(intake);
            }
        }
    }
}

/// Reads a run in a folder that is visible here.
async fn read_file(holder: &Holder, run: &RunManifest, to: &Arc<Incoming>) -> Result<Intake, (RunError, bool)> {
    let from = run_path(Path::new(&holder.folder), &run.id).map_err(blamed)?;
    let (to, run) = (Arc::clone(to), run.clone());
    let read = move || {
        let io = |source| RunError::Io { path: from.clone(), action: "copy", source };
        let mut file = File::open(&from).map_err(io)?;
        let mut intake = Intake::create(to.path.clone(), &run)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match file.read(&mut chunk).map_err(io)? {
                0 => return Ok(intake),
                bytes => intake.take(chunk.get(..bytes).unwrap_or_default())?,
            }
        }
    };
    blocking(read).await.map_err(blamed)
}

/// Does what blocks on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RunError> + Send + 'static,
) -> Result<T, RunError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(RunError::Remote { text: format!("taking the copy in failed: {e}") }))
}

/// An error of a copy, and whether its holder is to blame.
fn blamed(error: RunError) -> (RunError, bool) {
    let damaged = error.is_damage();
    (error, damaged)
}
