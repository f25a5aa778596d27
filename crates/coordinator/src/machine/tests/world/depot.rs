//! The archive of a simulated cluster: what is stored, fetched, published and removed there.

use std::collections::BTreeMap;

use keima_runs::TaskManifest;

use super::labour::File;
use super::sim::Sim;
use crate::{ArchiveWork, Failure, Report, Toward, WorkerId};

/// What the archive holds, by name.
#[derive(Default)]
pub(crate) struct Archive {
    pub(crate) runs: BTreeMap<String, File>,
    pub(crate) checkpoints: BTreeMap<String, Vec<u8>>,
    /// Nobody reaches it.
    pub(crate) away: bool,
}

impl Sim {
    /// Does what the coordinator wants in the archive.
    pub(crate) fn serve_archive(&mut self) {
        for publication in self.coordinator.take_publications() {
            let known = self.archive.checkpoints.contains_key(&publication.name) || self.archive.away;
            let published = if known { Err("on purpose".to_owned()) } else { Ok(()) };
            if published.is_ok() {
                self.archive.checkpoints.insert(publication.name.clone(), publication.bytes.clone());
                self.count("checkpoint");
            }
            self.coordinator.published(self.now, &publication, published);
        }
        for (_, folder) in self.coordinator.take_removals() {
            self.archive.checkpoints.retain(|name, _| !name.starts_with(&folder));
            self.archive.runs.retain(|name, _| !name.starts_with(&folder));
        }
    }

    /// Brings a run to the archive, or from there.
    pub(crate) fn carry(&mut self, id: &WorkerId, work: &ArchiveWork) -> Report {
        let unread = |damaged, text: &str| {
            let (run, holder) = (work.run.id.clone(), WorkerId("archive".to_owned()));
            Report::Failed(Failure::Input { run, holder, damaged, text: text.to_owned() })
        };
        if self.archive.away {
            return unread(false, "out of reach");
        }
        let me = self.workers.get_mut(id).expect("known");
        match work.toward {
            Toward::Archive => {
                let Some(file) = me.disk.get(&work.run.id).filter(|file| !file.damaged) else {
                    return unread(false, "not held");
                };
                self.archive.runs.insert(work.object.clone(), file.clone());
                self.count("store");
            }
            Toward::Workers => {
                let Some(file) = self.archive.runs.get(&work.object).filter(|file| !file.damaged) else {
                    return unread(true, "gone or damaged");
                };
                me.disk.insert(work.run.id.clone(), File { durable: true, ..file.clone() });
                self.count("fetch");
            }
        }
        Report::Done(Box::new(TaskManifest { runs: vec![work.run.clone()], ..TaskManifest::default() }))
    }
}
