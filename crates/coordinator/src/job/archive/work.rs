//! Grants and reports of a round, and the checkpoint at its end.

use keima_orders::{AttemptId, WorkerId};
use keima_runs::TaskManifest;

use crate::api::{ArchiveWork, Failure, Grant, Publication, State, Toward, Verdict, Work};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::store::checkpoint::{Checkpoint, Vector, name_of, object_of};
use crate::store::records::{Boundary, Record, RunCopy};
use crate::store::restore::{StageNumber, ValueId};

impl Job {
    /// A run for a worker to store or to fetch.
    pub(crate) fn grant_archive_work(&mut self, fleet: &mut Fleet, worker: &WorkerId) -> Option<Grant> {
        if !self.is_live() {
            return None;
        }
        let round = self.archive.round.as_ref()?;
        let (number, task) = round.next_for(worker, &self.health, fleet)?;
        let (job, sweep, generation) = (self.id, self.record.sweep, round.generation);
        let attempt = task.attempts.next(fleet.life.first_number());
        let attempt = AttemptId { job, sweep, generation, task: number, attempt };
        let work = ArchiveWork {
            toward: round.toward,
            run: task.run.clone(),
            object: format!("{}/{}", task.with.folder, object_of(self.record.tag, &task.run)),
        };
        self.archive.round.as_mut()?.batch.granted(number, attempt.attempt);
        Some(fleet.grant(attempt, worker, Work::Archive(Box::new(work))))
    }

    /// A worker reports a run as stored or fetched.
    pub(crate) fn commit_archive_work(
        &mut self,
        fleet: &mut Fleet,
        attempt: AttemptId,
        manifest: &TaskManifest,
    ) -> Verdict {
        let refused = |reason: String| Verdict::Refused { reason: format!("{attempt}: {reason}") };
        let Some(lease) = fleet.end_lease(attempt, false) else {
            return refused("the lease has ended".into());
        };
        let Some(round) = self.archive.round_of_mut(attempt.generation) else {
            return refused("nobody waits for it any more".into());
        };
        let Some(task) = round.batch.get(attempt.task) else {
            return refused("there is no such task".into());
        };
        let (run, boundary) = (task.run.clone(), task.with.boundary);
        if manifest.runs.len() != 1 || manifest.runs.first() != Some(&run) {
            round.batch.failed(attempt.task, &lease.worker);
            round.batch.put_back(attempt.task);
            fleet.work_changed();
            return refused(format!("expected {}, got {} other runs", run.id, manifest.runs.len()));
        }
        round.batch.settle(attempt.task);
        if round.toward == Toward::Workers {
            if round.batch.is_done() {
                self.archive.round = None;
            }
            fleet.hold(&lease.worker, &run);
            self.health.copies.renewed(&run.id, &lease.worker);
            if let Some(boundary) = self.boundaries.of_generation_mut(boundary) {
                let copy = RunCopy::new(&run.id, &lease.worker);
                if boundary.stored {
                    fleet.journal.put_copy(self.id, &copy);
                }
                boundary.copies.insert(copy);
            }
            fleet.holdings_grew();
        } else {
            self.settle_archiving(fleet);
        }
        fleet.work_changed();
        Verdict::Accepted
    }

    /// A worker could not store or fetch a run.
    pub(crate) fn fail_archive_work(&mut self, fleet: &Fleet, attempt: AttemptId, worker: &WorkerId, failure: Failure) {
        let Some(round) = self.archive.round_of_mut(attempt.generation) else { return };
        match failure {
            Failure::Stopped => {}
            Failure::Disk { text } => self.health.no_room(fleet, worker, &text, &mut self.record.notes),
            // The object is gone or damaged: nobody can fetch it.
            Failure::Input { run, damaged: true, text, .. } if round.toward == Toward::Workers => {
                round.batch.failed(attempt.task, worker);
                self.health.copies.cannot_fetch(&run);
                self.boundaries.forget_missing();
                self.note(format!("run {run} cannot be used from the archive: {text}"));
            }
            Failure::Input { text, .. }
            | Failure::Refused { text }
            | Failure::Check { text }
            | Failure::Other { text } => {
                round.batch.failed(attempt.task, worker);
                // Each run's text is another one, and all have one cause.
                self.record.notes.add_first(&format!("worker {worker} and the archive: "), &text);
            }
        }
    }

    /// When all runs are stored, the checkpoint is handed out to be published.
    pub(super) fn settle_archiving(&mut self, fleet: &mut Fleet) {
        let round = self.archive.round.as_ref();
        let Some(round) =
            round.filter(|round| round.toward == Toward::Archive && round.batch.is_done() && !round.publishing)
        else {
            return;
        };
        let of = |&generation: &u32| self.boundaries.of_generation(generation);
        let Some(boundaries) = round.boundaries.iter().map(of).collect::<Option<Vec<&Boundary>>>() else {
            return self.end_archiving(fleet);
        };
        let generation = round.generation;
        let made = self.checkpoint(&boundaries).encode();
        match made {
            Ok(bytes) => {
                let name = format!("{}/{}", self.archive_folder(fleet), name_of(generation));
                fleet.publications.push(Publication { job: self.id, generation, name, bytes });
                if let Some(round) = &mut self.archive.round {
                    round.publishing = true;
                }
            }
            Err(error) => {
                self.note(error.to_string());
                self.end_archiving(fleet);
            }
        }
    }

    /// The job at some of its boundaries.
    fn checkpoint(&self, boundaries: &[&Boundary]) -> Checkpoint {
        let value = |(id, lanes): (&ValueId, &Vec<u64>)| (id.sweep, id.functional, lanes.clone());
        let evidence = |(number, bytes): (&StageNumber, &Vec<u8>)| (number.sweep, number.stage, bytes.clone());
        let record = self.record.clone();
        Checkpoint {
            job: self.id,
            record: Record { outcome: None, reason: String::new(), state: State::Running, waits: false, ..record },
            vectors: boundaries.iter().map(|boundary| Vector::of(boundary)).collect(),
            values: self.functionals.residues().map(value).collect(),
            evidence: self.evidence.records().map(evidence).collect(),
        }
    }

    /// A checkpoint was published, or could not be.
    pub(crate) fn published(&mut self, fleet: &mut Fleet, generation: u32, name: &str, published: Result<(), String>) {
        if self.is_over() {
            // It came after the folder was removed.
            return self.leave_archive(fleet);
        }
        let Some(round) = self.archive.round_of(generation).filter(|round| round.publishing) else { return };
        let boundaries = round.boundaries.clone();
        self.archive.round = None;
        if let Err(why) = published {
            return self.note(format!(
                "{name} was not published in the archive: {why}; it is tried again at a later column end"
            ));
        }
        let folder = self.archive_folder(fleet);
        let mut what = String::new();
        for generation in boundaries {
            let Some(boundary) = self.boundaries.of_generation_mut(generation) else { continue };
            boundary.head.archive = Some(folder.clone());
            what = boundary.head.to_string();
            boundary.runs().for_each(|run| self.health.copies.can_fetch(&run.id));
            if boundary.stored {
                fleet.journal.put_head(self.id, &boundary.head);
            }
        }
        self.note(format!("{what} is in the archive: {name}"));
        self.drop_superseded(fleet);
    }
}
