//! A simulated archive, which all machines reach, and the faults that only an archive outlives.
//!
//! ```text
//!   away          every call fails after a while
//!   object lost, flipped, cut short
//!   all disks lost        every worker comes back empty; the coordinator's folder is whole
//!   everything lost       the coordinator's folder too; a person starts a new cluster, and goes on with what is archived
//! ```

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use keima_cluster::Archive;
use keima_coordinator::{AttemptId, JobId, Replan, Terms};
use keima_runs::RunId;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio_stream::{Stream, StreamExt as _};

use crate::machines::plain;
use crate::scenario::Scenario;
use crate::world::{HUB, SimWorld};

/// What all calls name it.
const URL: &str = "s3://simulated";
/// Memory that a new plan gives a task; every worker has it.
const TASK_BYTES: u64 = 8 << 20;

type Streamed<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// Objects in memory, behind the world's door.
#[derive(Debug)]
struct Depot {
    objects: Arc<InMemory>,
    world: Weak<SimWorld>,
}

impl fmt::Display for Depot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("simulated archive")
    }
}

impl Depot {
    /// A call on its way there; it may fail.
    async fn reach(&self) -> Result<()> {
        let away = || Error::Generic { store: "archive", source: "out of reach".into() };
        let world = self.world.upgrade().ok_or_else(away)?;
        tokio::time::sleep(world.with(|state| state.chance.millis(1, 40))).await;
        if world.with(|state| state.archive_away) { Err(away()) } else { Ok(()) }
    }
}

#[tonic::async_trait]
impl ObjectStore for Depot {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.reach().await?;
        self.objects.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.reach().await?;
        self.objects.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.reach().await?;
        self.objects.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: Streamed<Path>) -> Streamed<Path> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> Streamed<ObjectMeta> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.reach().await?;
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.reach().await?;
        self.objects.copy_opts(from, to, options).await
    }
}

/// The archive of a simulated cluster, as its machines and its faults see it.
pub(crate) struct Vault {
    objects: Arc<InMemory>,
    pub(crate) archive: Archive,
}

impl Vault {
    pub(crate) fn new(world: &Arc<SimWorld>) -> Self {
        let objects = Arc::new(InMemory::new());
        let depot = Depot { objects: Arc::clone(&objects), world: Arc::downgrade(world) };
        Self { objects, archive: Archive::over(Arc::new(depot), URL) }
    }

    async fn names(&self) -> Vec<Path> {
        let mut listed = self.objects.list(None);
        let mut names = Vec::new();
        while let Some(object) = listed.next().await {
            names.extend(object.ok().map(|object| object.location));
        }
        names
    }

    /// The folder of a job with checkpoints.
    async fn folder_of(&self, job: JobId) -> Option<String> {
        let ending = format!("-{job}");
        let names = self.names().await;
        let folder = |name: &Path| {
            let (folder, file) = name.as_ref().split_once('/')?;
            (folder.ends_with(&ending) && file.starts_with("checkpoint-")).then(|| folder.to_owned())
        };
        names.iter().find_map(folder)
    }
}

impl Scenario {
    /// For a process that starts.
    pub(crate) fn archive(&self) -> Option<Archive> {
        self.vault.as_ref().map(|vault| vault.archive.clone())
    }

    /// Nothing of the machines that were is left.
    fn forget_cluster(&mut self) {
        self.tainted.clear();
        self.believed.clear();
        self.durable.clear();
        self.attempts.forget();
    }

    /// Whether a run is called after its attempt. A job that goes on with a checkpoint has runs with the number of an older job.
    pub(crate) fn is_run_of(&self, run: &RunId, attempt: AttemptId) -> bool {
        let attempt = format!("{attempt}/");
        let without_job = |name: &str| name.split_once('/').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        run.0.starts_with(&attempt) || self.is_second_cluster && without_job(&run.0).starts_with(&without_job(&attempt))
    }

    /// One fault that concerns the archive.
    pub(crate) async fn suffer_with_archive(&mut self) -> anyhow::Result<()> {
        match self.draw(12) {
            0..=3 => {
                let away = self.world.with(|state| {
                    state.archive_away = !state.archive_away;
                    state.archive_away
                });
                self.told("archive away", format!("the archive is {}", if away { "out of reach" } else { "back" }));
            }
            4..=6 => self.damage_object().await?,
            7..=10 => self.lose_all_disks().await?,
            _ => self.lose_everything().await?,
        }
        Ok(())
    }

    async fn damage_object(&mut self) -> anyhow::Result<()> {
        let Some(vault) = &self.vault else { return Ok(()) };
        let names = vault.names().await;
        let Some(name) = self.world.with(|state| state.chance.pick(&names).cloned()) else { return Ok(()) };
        let mut bytes = vault.objects.get(&name).await?.bytes().await?.to_vec();
        let at = self.draw(bytes.len().max(1) as u64) as usize;
        let what = match self.draw(3) {
            0 => {
                vault.objects.delete(&name).await?;
                return {
                    self.told("object lost", format!("archive: {name} is lost"));
                    Ok(())
                };
            }
            1 => {
                bytes.truncate(at);
                "cut short"
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.world.with(|state| state.chance.below(8));
                }
                "flipped"
            }
        };
        vault.objects.put(&name, bytes.into()).await?;
        self.told("object damaged", format!("archive: {name} is {what} at {at}"));
        Ok(())
    }

    /// Every worker comes back with an empty disk.
    async fn lose_all_disks(&mut self) -> anyhow::Result<()> {
        let names: Vec<String> = self.workers.keys().filter(|name| !self.clones.contains(*name)).cloned().collect();
        for name in &names {
            self.bury(name).await;
            self.empty(name)?;
        }
        self.told("all disks lost", "all disks of workers are lost".to_owned());
        tokio::time::sleep(Duration::from_secs(self.draw(30))).await;
        for name in &names {
            self.raise(name).await;
        }
        Ok(())
    }

    /// All machines are lost. A person starts others, and goes on with each job's checkpoint, or submits it again.
    async fn lose_everything(&mut self) -> anyhow::Result<()> {
        if std::mem::replace(&mut self.is_second_cluster, true) {
            return Ok(());
        }
        for name in std::mem::take(&mut self.clones) {
            self.bury(&name).await;
            self.workers.remove(&name);
        }
        let names: Vec<String> = self.workers.keys().cloned().chain([HUB.to_owned()]).collect();
        for name in &names {
            self.bury(name).await;
            self.empty(name)?;
        }
        self.forget_cluster();
        self.world.with(|state| state.archive_away = false);
        self.told("everything lost", "all machines are lost; others take their place".to_owned());
        for name in names.iter().rev() {
            self.raise(name).await;
        }
        for (old, job) in std::mem::take(&mut self.jobs) {
            let folder = match &self.vault {
                Some(vault) => vault.folder_of(old).await,
                None => None,
            };
            let replan = Replan { task_memory_bytes: Some(TASK_BYTES), disk_bytes: None };
            let replan = (self.draw(2) == 0).then_some(replan);
            let resumed = match &folder {
                Some(folder) => {
                    self.client.resume_from(folder, &Terms::default(), replan).await.map_err(|error| error.to_string())
                }
                None => Err("it has no checkpoint".to_owned()),
            };
            match resumed {
                Ok(id) => {
                    self.told("job resumed from the archive", format!("{old} goes on as {id}"));
                    self.jobs.push((id, job));
                }
                Err(why) => {
                    self.world.log(|| format!("{old} begins again: {}", plain(&why)));
                    self.submit(job).await?;
                }
            }
        }
        Ok(())
    }
}
