//! Second copies: a run of another worker is fetched into the own scratch folder.
//!
//! ```text
//!   charge its bytes --> incoming/N.tmp --> verify all of it --> jN/.../rN.run
//!        given up anywhere before the last step: nothing stays, neither file nor charge
//! ```

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keima_coordinator::{Failure, Holder, InputRun};
use keima_runs::{RunError, RunManifest, run_path};

use super::TaskFeeds;
use crate::remote_feed::{is_damage, next_chunk, remote_error};
use crate::run_store::RunStore;

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

    /// Verifies the file and makes it a run of the store. Blocking.
    fn take_in(&self, expected: &RunManifest) -> Result<(), RunError> {
        self.store.adopt(&self.path, expected)?;
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
        self.receive(holder, run, &incoming).await?;
        let expected = run.clone();
        let taken = tokio::task::spawn_blocking(move || incoming.take_in(&expected)).await;
        let taken = taken.unwrap_or_else(|e| Err(RunError::Remote { text: format!("taking the copy in failed: {e}") }));
        taken.map_err(|error| {
            let damaged = error.is_damage();
            (error, damaged)
        })
    }

    async fn receive(
        &self,
        holder: &Holder,
        run: &RunManifest,
        incoming: &Arc<Incoming>,
    ) -> Result<(), (RunError, bool)> {
        if self.shared.belongs(&holder.folder, &holder.worker) {
            match copy_file(holder, run, incoming).await {
                // It may have been deleted there, or the mount may be gone while its owner still serves it.
                Err((error, false)) if !error.is_disk_full() && !holder.address.is_empty() => {
                    tracing::warn!(run = %run.id, folder = holder.folder, %error, "not readable there; asking its worker");
                    let _ = std::fs::remove_file(&incoming.path);
                }
                copied => return copied,
            }
        }
        self.download(holder, run, &incoming.path).await
    }

    async fn download(&self, holder: &Holder, run: &RunManifest, path: &Path) -> Result<(), (RunError, bool)> {
        let remote = |status: tonic::Status| (remote_error(holder, &status), is_damage(&status));
        let io = |source| (RunError::Io { path: path.to_owned(), action: "write", source }, false);
        let mut stream = self.peers.request(holder, run, None).await.map_err(remote)?;
        let mut file = std::fs::File::create_new(path).map_err(io)?;
        let mut left = run.bytes;
        loop {
            let chunk = next_chunk(&mut stream).await.map_err(remote)?;
            left = left.checked_sub(chunk.data.len() as u64).ok_or_else(|| {
                let text = format!("worker {} sent more than the {} bytes of run {}", holder.worker, run.bytes, run.id);
                (RunError::Remote { text }, false)
            })?;
            let end = chunk.end;
            let written = tokio::task::spawn_blocking(move || file.write_all(&chunk.data).map(|()| file)).await;
            file = written.unwrap_or_else(|e| Err(std::io::Error::other(e))).map_err(io)?;
            if end {
                return Ok(());
            }
        }
    }
}

async fn copy_file(holder: &Holder, run: &RunManifest, to: &Arc<Incoming>) -> Result<(), (RunError, bool)> {
    let from = run_path(Path::new(&holder.folder), &run.id).map_err(|e| (e, false))?;
    let (source, target) = (from.clone(), Arc::clone(to));
    let copied = tokio::task::spawn_blocking(move || std::fs::copy(source, &target.path)).await;
    let copied = copied.unwrap_or_else(|e| Err(std::io::Error::other(e)));
    copied.map(drop).map_err(|source| (RunError::Io { path: from, action: "copy", source }, false))
}
