//! The disk of one machine: real files in a folder, and notes of what of them would outlive a power cut.
//!
//! ```text
//!   file      durable contents  +  changes since the last sync of the file
//!   folder    its entries as of its last sync  +  changes since: made, renamed, removed
//!   power cut of a file's changes some are lost, in any order, the last one may be torn; of a folder's the newest are undone
//! ```
//!
//! That is what POSIX allows. File systems are kinder: what survives here survives there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use keima_runs::watch::Change;

use crate::chance::Chance;

/// A change of a file's contents.
#[derive(Clone, Debug)]
enum Edit {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

impl Edit {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let (start, end) = (*offset as usize, *offset as usize + bytes.len());
                if to.len() < end {
                    to.resize(end, 0);
                }
                to[start..end].copy_from_slice(bytes);
            }
            Self::Length(bytes) => to.resize(*bytes as usize, 0),
        }
    }
}

/// Contents of a file on stable storage, and what came after.
#[derive(Clone, Debug, Default)]
struct Contents {
    durable: Vec<u8>,
    edits: Vec<Edit>,
}

/// A change of a folder's entries.
#[derive(Debug)]
enum Entry {
    Made(PathBuf),
    MadeFolder(PathBuf),
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removed { path: PathBuf, bytes: Vec<u8> },
}

impl Entry {
    fn undo(self) {
        // What a later loss took away already is gone.
        let _ = match self {
            Self::Made(path) => fs::remove_file(path),
            Self::MadeFolder(path) => fs::remove_dir_all(path),
            Self::Renamed { from, to, replaced } => {
                let back = fs::rename(&to, from);
                replaced.map_or(back, |bytes| fs::write(&to, bytes))
            }
            Self::Removed { path, bytes } => fs::write(path, bytes),
        };
    }
}

/// The disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    files: BTreeMap<PathBuf, Contents>,
    entries: Vec<(PathBuf, Entry)>,
    /// Changes so far.
    pub(crate) changes: u64,
    /// The machine dies before the change of this number.
    pub(crate) dies_at: Option<u64>,
    /// Whether there is no room.
    pub(crate) full: bool,
    /// Longest time that a change waits.
    pub(crate) slow_millis: u64,
    /// Whether changes wait until it is over.
    pub(crate) hangs: bool,
}

impl Disk {
    /// Takes note of a change that is about to be made.
    pub(crate) fn note(&mut self, change: Change<'_>) {
        match change {
            Change::Folder(path) => {
                let mut missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
                missing.reverse();
                for folder in missing {
                    self.enter(folder, Entry::MadeFolder(folder.to_owned()));
                }
            }
            Change::Create(path) => {
                if !path.exists() {
                    self.files.insert(path.to_owned(), Contents::default());
                    self.enter(path, Entry::Made(path.to_owned()));
                }
            }
            Change::Write { path, offset, bytes } => {
                self.contents(path).edits.push(Edit::Write { offset, bytes: bytes.to_vec() });
            }
            Change::Length { path, bytes } => self.contents(path).edits.push(Edit::Length(bytes)),
            Change::Sync(path) => {
                let contents = self.contents(path);
                for edit in std::mem::take(&mut contents.edits) {
                    edit.apply(&mut contents.durable);
                }
            }
            Change::SyncFolder(path) => self.entries.retain(|(folder, _)| folder != path),
            Change::Rename { from, to } => {
                let replaced = fs::read(to).ok();
                let contents = std::mem::take(self.contents(from));
                self.files.remove(from);
                self.files.insert(to.to_owned(), contents);
                self.enter(to, Entry::Renamed { from: from.to_owned(), to: to.to_owned(), replaced });
            }
            Change::Remove(path) => {
                if let Ok(bytes) = fs::read(path) {
                    self.enter(path, Entry::Removed { path: path.to_owned(), bytes });
                }
            }
        }
    }

    fn enter(&mut self, path: &Path, entry: Entry) {
        if let Some(folder) = path.parent() {
            self.entries.push((folder.to_owned(), entry));
        }
    }

    /// What is known of a file; one that was there before counts as durable.
    fn contents(&mut self, path: &Path) -> &mut Contents {
        self.files.entry(path.to_owned()).or_insert_with(|| {
            let durable = fs::read(path).unwrap_or_default();
            Contents { durable, edits: Vec::new() }
        })
    }

    /// The power goes: what was not synced is lost, or half of it, or not.
    pub(crate) fn lose_power(&mut self, chance: &mut Chance) -> String {
        let mut told = Vec::new();
        for (path, contents) in std::mem::take(&mut self.files) {
            if contents.edits.is_empty() || !path.exists() {
                continue;
            }
            let Contents { mut durable, mut edits } = contents;
            let all = edits.len();
            match chance.below(4) {
                0 => edits.clear(),
                1 => {}
                2 => edits.retain(|_| chance.below(2) == 0),
                _ => edits.truncate(chance.below(all as u64 + 1) as usize),
            }
            let kept = edits.len();
            let torn = edits.last_mut().filter(|_| chance.below(2) == 0);
            if let Some(Edit::Write { bytes, .. }) = torn {
                bytes.truncate(chance.below(bytes.len() as u64 + 1) as usize);
            }
            for edit in &edits {
                edit.apply(&mut durable);
            }
            told.push(format!("{}: {kept} of {all} changes", name(&path)));
            let _ = fs::write(&path, durable);
        }
        // The newest changes of each folder may be undone.
        let mut counts: BTreeMap<PathBuf, u64> = BTreeMap::new();
        for (folder, _) in &self.entries {
            *counts.entry(folder.clone()).or_default() += 1;
        }
        let mut undone: BTreeMap<PathBuf, u64> = counts
            .into_iter()
            .map(|(folder, count)| {
                let some = chance.below(count + 1);
                (folder, *chance.pick(&[0, some, count]).unwrap_or(&0))
            })
            .collect();
        for (folder, entry) in std::mem::take(&mut self.entries).into_iter().rev() {
            if let Some(left) = undone.get_mut(&folder).filter(|left| **left > 0) {
                *left -= 1;
                told.push(format!("undone: {}", shown(&entry)));
                entry.undo();
            }
        }
        told.join("; ")
    }

    /// A disk on which everything is durable, in the same condition.
    pub(crate) fn settled(&self) -> Self {
        Self { full: self.full, slow_millis: self.slow_millis, ..Self::default() }
    }
}

fn name(path: &Path) -> String {
    // Without the simulation's own folder, whose name differs from run to run.
    let parts: Vec<_> = path.iter().collect();
    let at = parts.iter().position(|part| part.to_string_lossy().starts_with("keima-sim-")).map_or(0, |at| at + 1);
    parts.get(at..).unwrap_or_default().iter().collect::<PathBuf>().display().to_string()
}

fn shown(entry: &Entry) -> String {
    match entry {
        Entry::Made(path) => format!("made {}", name(path)),
        Entry::MadeFolder(path) => format!("made folder {}", name(path)),
        Entry::Renamed { to, .. } => format!("renamed to {}", name(to)),
        Entry::Removed { path, .. } => format!("removed {}", name(path)),
    }
}

/// One line for the event log.
pub(crate) fn line(change: Change<'_>) -> String {
    match change {
        Change::Folder(path) => format!("folder {}", name(path)),
        Change::Create(path) => format!("create {}", name(path)),
        Change::Write { path, offset, bytes } => format!("write {} at {offset}: {} bytes", name(path), bytes.len()),
        Change::Length { path, bytes } => format!("length {}: {bytes}", name(path)),
        Change::Sync(path) => format!("sync {}", name(path)),
        Change::SyncFolder(path) => format!("sync folder {}", name(path)),
        Change::Rename { from, to } => format!("rename {} to {}", name(from), name(to)),
        Change::Remove(path) => format!("remove {}", name(path)),
    }
}

/// The path that a change is about.
pub(crate) const fn subject<'a>(change: &Change<'a>) -> &'a Path {
    match change {
        Change::Folder(path)
        | Change::Create(path)
        | Change::Write { path, .. }
        | Change::Length { path, .. }
        | Change::Sync(path)
        | Change::SyncFolder(path)
        | Change::Rename { from: path, .. }
        | Change::Remove(path) => path,
    }
}

/// Files below a folder with their lengths, in the order of their names.
pub(crate) fn files(folder: &Path) -> BTreeSet<(PathBuf, u64)> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = entry.metadata().map_or(0, |data| data.len());
            found.insert((path, bytes));
        }
    }
    found
}

/// Copies a folder with all below it.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
