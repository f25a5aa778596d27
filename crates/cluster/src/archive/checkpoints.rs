//! A coordinator's part: publishes checkpoints, deletes those that nobody needs, and reads the newest sound one.

use std::collections::{BTreeMap, BTreeSet};

use keima_coordinator::{Checkpoint, CheckpointError, MOST_CHECKPOINT_BYTES, Resumption, is_checkpoint_name};
use object_store::ObjectStoreExt as _;
use tokio_stream::StreamExt as _;

use super::place::is_object_name;
use super::{Archive, ArchiveError};

/// Newest whole checkpoints of a job that stay: one, and one before it for the case that the newest is damaged. A later stage has
/// read all of the vector before. The newest one at a column's end stays, too.
const KEPT: usize = 2;
/// Names of folders that an error lists.
const MOST_LISTED: usize = 20;

/// Which checkpoints stay, asked from the newest on. Only a whole one counts: one that cannot be gone on with displaces none.
#[derive(Default)]
pub(super) struct Staying {
    whole: usize,
    has_column_end: bool,
}

impl Staying {
    /// Whether the others may go unread.
    pub(super) const fn is_complete(&self) -> bool {
        self.whole >= KEPT && self.has_column_end
    }

    /// Whether the next one stays.
    pub(super) fn stays(&mut self, is_whole: bool, ends_column: bool) -> bool {
        let stays = self.whole < KEPT || ends_column && !self.has_column_end;
        if stays && is_whole {
            self.whole += 1;
            self.has_column_end |= ends_column;
        }
        stays
    }
}

/// Folder and name of an object.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

impl Archive {
    /// Writes a checkpoint, unless one of its name is there. Then deletes older ones, and runs that only they needed. Nothing else
    /// may be stored in the folder meanwhile.
    pub(crate) async fn publish(&self, name: &str, bytes: Vec<u8>) -> Result<(), ArchiveError> {
        self.put_new(name, bytes).await?;
        let (folder, _) = split(name);
        if let Err(error) = self.prune(folder).await {
            tracing::warn!(%error, "cannot delete old checkpoints from the archive");
        }
        Ok(())
    }

    /// Removes all of a job's folder, checkpoints first.
    pub(crate) async fn remove(&self, folder: &str) -> Result<(), ArchiveError> {
        for name in self.checkpoints(folder).await? {
            self.store.delete(&self.at(&name)).await.map_err(self.failed(&name))?;
        }
        let mut listed = self.store.list(Some(&self.at(folder)));
        while let Some(object) = listed.next().await {
            let object = object.map_err(self.failed(folder))?;
            self.store.delete(&object.location).await.map_err(self.failed(folder))?;
        }
        self.remove_leftovers(folder).await;
        Ok(())
    }

    async fn prune(&self, folder: &str) -> Result<(), ArchiveError> {
        self.remove_leftovers(folder).await;
        let (names, lengths) = (self.checkpoints(folder).await?, self.runs(folder).await?);
        let (mut needed, mut superseded, mut staying) = (BTreeSet::new(), Vec::new(), Staying::default());
        for name in &names {
            if staying.is_complete() {
                superseded.push(name);
                continue;
            }
            match Checkpoint::read(&self.read(name).await?) {
                Ok(checkpoint) => {
                    let whole = has_runs(&checkpoint, &lengths);
                    if let Err(error) = &whole {
                        tracing::warn!(name, %error, "a checkpoint in the archive is not whole; older ones stay");
                    }
                    if staying.stays(whole.is_ok(), checkpoint.ends_column()) {
                        needed.extend(checkpoint.objects().map(|(object, _)| object));
                    } else {
                        superseded.push(name);
                    }
                }
                // Nobody knows what it needs.
                Err(error) => {
                    tracing::warn!(name, %error, "a checkpoint cannot be read; nothing is deleted from the archive");
                    return Ok(());
                }
            }
        }
        for name in superseded {
            self.store.delete(&self.at(name)).await.map_err(self.failed(name))?;
        }
        for object in lengths.into_keys().filter(|object| !needed.contains(object)) {
            let name = format!("{folder}/{object}");
            self.store.delete(&self.at(&name)).await.map_err(self.failed(&name))?;
        }
        Ok(())
    }

    /// Names of a folder's checkpoints below the archive's root, the newest first.
    async fn checkpoints(&self, folder: &str) -> Result<Vec<String>, ArchiveError> {
        let listed = self.store.list_with_delimiter(Some(&self.at(folder))).await.map_err(self.failed(folder))?;
        let names = listed.objects.iter().filter_map(|object| object.location.filename());
        let mut names: Vec<String> =
            names.filter(|name| is_checkpoint_name(name)).map(|name| format!("{folder}/{name}")).collect();
        names.sort_unstable_by(|a, b| b.cmp(a));
        Ok(names)
    }

    /// Runs in a folder with their lengths, by their names below it.
    async fn runs(&self, folder: &str) -> Result<BTreeMap<String, u64>, ArchiveError> {
        let mut listed = self.store.list(Some(&self.at(&format!("{folder}/runs"))));
        let mut runs = BTreeMap::new();
        while let Some(object) = listed.next().await {
            let object = object.map_err(self.failed(folder))?;
            if let Some(name) = object.location.filename() {
                runs.insert(format!("runs/{name}"), object.size);
            }
        }
        Ok(runs)
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let failed = self.failed(name);
        let got = self.store.get(&self.at(name)).await.map_err(&failed)?;
        let bytes = got.meta.size;
        if bytes > MOST_CHECKPOINT_BYTES {
            return Err(ArchiveError::NoCheckpoint(format!(
                "{name} has {bytes} bytes; a checkpoint has at most {MOST_CHECKPOINT_BYTES}"
            )));
        }
        Ok(got.bytes().await.map_err(failed)?.to_vec())
    }

    /// The newest sound checkpoint that `from` names: the archive's URL if it has one job, a job's folder in it, or its URL. A
    /// damaged one is set aside.
    pub(crate) async fn find(&self, from: &str) -> Result<Resumption, ArchiveError> {
        let folder = self.folder(from).await?;
        let names = self.checkpoints(&folder).await?;
        if names.is_empty() {
            let text = format!("there is no checkpoint in {}/{folder}", self.url());
            return Err(ArchiveError::NoCheckpoint(text));
        }
        let lengths = self.runs(&folder).await?;
        let (mut sound, mut notes) = (Vec::new(), Vec::new());
        for name in &names {
            let read = Checkpoint::read(&self.read(name).await?);
            match read.and_then(|checkpoint| has_runs(&checkpoint, &lengths).map(|()| checkpoint)) {
                Ok(checkpoint) => sound.push(checkpoint),
                Err(error @ CheckpointError::Version { .. }) => {
                    return Err(ArchiveError::NoCheckpoint(format!("{}/{name}: {error}", self.url())));
                }
                Err(error) => notes.push(self.set_aside(name, &error).await),
            }
        }
        let mut sound = sound.into_iter();
        match sound.next() {
            Some(newest) => Ok(Resumption { folder, newest, older: sound.collect(), notes }),
            None => Err(ArchiveError::NoCheckpoint(format!("no sound checkpoint is left: {}", notes.join("; ")))),
        }
    }

    /// Renames a damaged checkpoint, and says so.
    async fn set_aside(&self, name: &str, error: &CheckpointError) -> String {
        let (folder, file) = split(name);
        let aside = format!("{folder}/damaged-{file}");
        let moved = self.store.rename(&self.at(name), &self.at(&aside)).await;
        let then = match moved {
            Ok(()) => format!("it was set aside as {aside}"),
            Err(why) => format!("it could not be set aside ({why})"),
        };
        let note = format!("checkpoint {name} is not used: {error}; {then}, and the one before is used");
        tracing::warn!(name, "a checkpoint is set aside: {note}");
        note
    }

    /// The job's folder that `from` means.
    async fn folder(&self, from: &str) -> Result<String, ArchiveError> {
        let refused = |text: String| Err(ArchiveError::NoCheckpoint(text));
        let url = self.url();
        let from = from.trim_end_matches('/');
        let rest = match from.strip_prefix(url) {
            Some("") => "",
            Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
            _ if is_object_name(from) => from,
            _ => {
                return refused(format!(
                    "{from} is not in this coordinator's archive, {url}; name that URL, a job's folder below it, or start the \
                     coordinator with another --archive"
                ));
            }
        };
        if !rest.is_empty() {
            // A checkpoint's own name stands for its folder.
            let (folder, file) = split(rest);
            let folder = if is_checkpoint_name(file) { folder } else { rest };
            if is_object_name(folder) {
                return Ok(folder.to_owned());
            }
            return refused(format!("{rest} is no name of a job's folder in the archive"));
        }
        let listed = self.store.list_with_delimiter(Some(&self.at(""))).await.map_err(self.failed(""))?;
        let names = listed.common_prefixes.iter().filter_map(|prefix| prefix.filename().map(str::to_owned));
        let mut folders: Vec<String> = Vec::new();
        for name in names.filter(|name| is_object_name(name)) {
            if !self.checkpoints(&name).await?.is_empty() {
                folders.push(name);
            }
        }
        match folders.as_slice() {
            [] => refused(format!("there is no checkpoint in the archive {url}")),
            [only] => Ok(only.clone()),
            many => {
                let some = many.iter().take(MOST_LISTED).map(|name| format!("{url}/{name}"));
                refused(format!(
                    "the archive has checkpoints of {} jobs; choose one: {}",
                    many.len(),
                    some.collect::<Vec<_>>().join(", ")
                ))
            }
        }
    }
}

/// Whether the folder has all runs that a checkpoint needs, in their lengths. Their bytes are verified when they are stored and when they
/// are fetched.
fn has_runs(checkpoint: &Checkpoint, lengths: &BTreeMap<String, u64>) -> Result<(), CheckpointError> {
    for (object, expected) in checkpoint.objects() {
        match lengths.get(&object) {
            Some(&got) if got == expected => {}
            Some(got) => {
                return Err(CheckpointError::Damaged(format!("{object} should have {expected} bytes, and has {got}")));
            }
            None => return Err(CheckpointError::Damaged(format!("{object} is missing"))),
        }
    }
    Ok(())
}
