//! A worker's part: brings a run from its scratch folder to the archive, or from there.
//!
//! ```text
//!   store   verify the file --> object, in parts --> read back, verified      an object that verifies is there: nothing more
//!   fetch   object, in chunks --> verified on the way --> scratch folder
//! ```
//!
//! A run counts as stored once its object was read back and has every checksum of the run's manifest. So no checkpoint is
//! written whose runs nobody has verified, and older ones go only after a newer one that was. Cost: the bytes of each run
//! once more, from the archive to the worker, and one checksum of each; about 10 MiB of memory, no disk.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use keima_coordinator::{ArchiveWork, Failure, WorkerId};
use keima_runs::{Intake, Passing, RunError, RunManifest, run_path, verify_run};
use object_store::ObjectStoreExt as _;
use object_store::buffered::BufWriter;
use tokio_stream::StreamExt as _;

use super::{Archive, ArchiveError};
use crate::scratch::run_store::RunStore;
use crate::transfer::copy::Incoming;
use crate::world;

/// Bytes that are sent at a time. Buckets take parts of at least 5 MiB.
const PART_BYTES: usize = 8 << 20;

/// The name under which failures to read from the archive are reported, in the place of a worker's.
const HOLDER: &str = "archive";

impl Archive {
    /// Brings a run to the archive. `pulse` counts up with every part.
    pub(crate) async fn store_run(
        &self,
        store: &Arc<RunStore>,
        work: &ArchiveWork,
        pulse: &AtomicU64,
    ) -> Result<(), Failure> {
        let other = |error: &dyn std::fmt::Display| Failure::Other { text: error.to_string() };
        let run = &work.run;
        let unreached = |error: ArchiveError| other(&error);
        if self.length(&work.object).await.map_err(unreached)? == Some(run.bytes) {
            match self.read_back(work, pulse).await.map_err(unreached)? {
                Ok(()) => return Ok(()),
                Err(damage) => {
                    tracing::warn!(object = work.object, %damage, "a run in the archive is damaged; it is stored again");
                }
            }
        }
        let here = store.open_run(&run.id);
        let file = here.ok_or_else(|| other(&format!("run {} is not here any more", run.id)))?;
        let file = file.map_err(|error| unread(run, store.worker(), &error))?;
        let path = run_path(store.root(), &run.id).map_err(|error| other(&error))?;
        // What is stored may be the last sound copy: it is read and checked first.
        let (checked, expected, header) = (path.clone(), run.clone(), file.header().clone());
        let verified = world::blocking(move || verify_run(&checked, &expected, &header)).await;
        verified.map_err(|error| other(&error))?.map_err(|error| unread(run, store.worker(), &error))?;
        pulse.fetch_add(1, Ordering::Relaxed);
        self.send(&path, &work.object, pulse).await.map_err(unreached)?;
        self.read_back(work, pulse).await.map_err(unreached)?.map_err(|damage| {
            let (url, object) = (self.url(), &work.object);
            other(&format!(
                "archive {url} does not give back what was written to {object}: {damage}; check its storage"
            ))
        })
    }

    /// Reads a run's object and verifies it. The inner error says what is wrong with its bytes.
    async fn read_back(&self, work: &ArchiveWork, pulse: &AtomicU64) -> Result<Result<(), RunError>, ArchiveError> {
        let failed = self.failed(&work.object);
        let got = self.store.get(&self.at(&work.object)).await.map_err(&failed)?;
        let (mut chunks, mut passing) = (got.into_stream(), Passing::new(&work.run));
        while let Some(chunk) = chunks.next().await {
            if let Err(damage) = passing.take(&chunk.map_err(&failed)?) {
                return Ok(Err(damage));
            }
            pulse.fetch_add(1, Ordering::Relaxed);
        }
        Ok(passing.finish().map(|_| ()))
    }

    async fn send(&self, path: &std::path::Path, object: &str, pulse: &AtomicU64) -> Result<(), ArchiveError> {
        let failed = self.failed(object);
        let io = |error: std::io::Error| {
            failed(object_store::Error::Generic { store: "scratch folder", source: Box::new(error) })
        };
        let mut file = File::open(path).map_err(io)?;
        let mut out = BufWriter::with_capacity(Arc::clone(&self.store), self.at(object), PART_BYTES);
        loop {
            let read = world::blocking(move || {
                let mut part = Vec::new();
                let read = (&mut file).take(PART_BYTES as u64).read_to_end(&mut part);
                read.map(|_| (file, part))
            });
            let part;
            (file, part) = read.await.map_err(|error| io(std::io::Error::other(error.to_string())))?.map_err(io)?;
            if part.is_empty() {
                break;
            }
            let put = out.put(Bytes::from(part)).await;
            if let Err(error) = put {
                let _ = out.abort().await;
                return Err(failed(error));
            }
            pulse.fetch_add(1, Ordering::Relaxed);
        }
        tokio::io::AsyncWriteExt::shutdown(&mut out).await.map_err(io)
    }

    /// Brings a run from the archive to the scratch folder.
    pub(crate) async fn fetch_run(
        &self,
        store: &Arc<RunStore>,
        work: &ArchiveWork,
        pulse: &Arc<AtomicU64>,
    ) -> Result<(), Failure> {
        let run = &work.run;
        if store.holds(run) {
            return Ok(());
        }
        let holder = WorkerId(HOLDER.to_owned());
        let input = |damaged: bool, error: &dyn std::fmt::Display| {
            let (run, holder, text) = (run.id.clone(), holder.clone(), error.to_string());
            Failure::Input { run, holder, damaged, text }
        };
        let local = |error: RunError| {
            if error.is_disk_full() {
                Failure::Disk { text: error.to_string() }
            } else {
                input(error.is_damage(), &error)
            }
        };
        let incoming = Incoming::new(store, run.bytes, pulse).map_err(local)?;
        let failed = self.failed(&work.object);
        let of_store = |error: object_store::Error| {
            let error = failed(error);
            input(error.is_missing(), &error)
        };
        let got = self.store.get(&self.at(&work.object)).await.map_err(of_store)?;
        let mut chunks = got.into_stream();
        let mut intake = Intake::create(incoming.path().to_owned(), run).map_err(local)?;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(of_store)?;
            let taken = world::blocking(move || intake.take(&chunk).map(|()| intake)).await;
            intake = taken.map_err(|error| input(false, &error))?.map_err(local)?;
            pulse.fetch_add(1, Ordering::Relaxed);
        }
        let expected = run.clone();
        let taken = world::blocking(move || incoming.take_in(intake, &expected)).await;
        taken.map_err(|error| input(false, &error))?.map_err(local)
    }
}

/// The worker's own copy cannot be read.
fn unread(run: &RunManifest, worker: &WorkerId, error: &RunError) -> Failure {
    let (run, holder) = (run.id.clone(), worker.clone());
    Failure::Input { run, holder, damaged: error.is_damage(), text: error.to_string() }
}
