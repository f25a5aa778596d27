//! Checkpoints: those to publish, and those that another coordinator made.
//!
//! ```text
//!   a checkpoint                  consider_rest -> Resumption::plan_anew (anywhere, where wished) -> admit_checkpoint
//! ```

use std::collections::BTreeSet;

use keima_blocks::sizes::show_bytes;
use keima_model::Registry;
use keima_orders::{AttemptId, JobId};

use super::Coordinator;
use crate::api::{CallError, Follows, JobSpec, Millis, Publication, Replan, State};
use crate::job::Job;
use crate::job::functionals::Functionals;
use crate::job::reopen;
use crate::job::stage::evidence::Evidence;
use crate::plan::{PlanLimits, refit};
use crate::store::checkpoint::Checkpoint;
use crate::store::records::{Account, Boundary};
use crate::store::restore::{StageNumber, ValueId};
use crate::terms::Terms;

/// A checkpoint of the archive to go on with.
pub struct Resumption {
    /// Its folder in the archive.
    pub folder: String,
    /// The newest sound checkpoint.
    pub newest: Checkpoint,
    /// Sound ones before it, the newest first: the job goes back to them if the newest one's runs are damaged.
    pub older: Vec<Checkpoint>,
    /// What became of others.
    pub notes: Vec<String>,
}

impl Resumption {
    /// Plans the rest of the job for other limits. May take seconds.
    pub fn plan_anew(&mut self, limits: &RestLimits, registry: &dyn Registry) -> Result<(), CallError> {
        let record = &mut self.newest.record;
        let problem = reopen(registry, record).map_err(CallError::Invalid)?;
        let old = &record.plan;
        let mut plan = refit(old, problem.info(), problem.key_bytes(), &limits.of_plan)
            .map_err(|error| CallError::Invalid(error.to_string()))?;
        if let Some(most) = limits.most_task_records {
            plan.cut_finer(most);
        }
        self.notes.push(format!(
            "its rest was planned anew: tasks of {} instead of {}",
            show_bytes(plan.task_memory_bytes),
            show_bytes(old.task_memory_bytes)
        ));
        let PlanLimits { task_memory_bytes, disk_bytes, slots, worker_slots, .. } = limits.of_plan;
        record.spec = JobSpec { task_memory_bytes, disk_bytes, slots, worker_slots, ..record.spec.clone() };
        record.plan = plan;
        Ok(())
    }
}

/// Limits for the rest of a job.
pub struct RestLimits {
    of_plan: PlanLimits,
    most_task_records: Option<u64>,
}

impl Coordinator {
    /// What the rest of a job may be planned for: `wanted`, and else the workers that are there. Changes nothing.
    pub fn consider_rest(&self, wanted: Replan) -> Result<RestLimits, CallError> {
        let offer = self.fleet.offer();
        let no_worker = || {
            let text =
                "no worker is here whose memory a new plan could follow; start workers first, or give --task-memory";
            CallError::Invalid(text.to_owned())
        };
        let offered = offer.as_ref().map(|offer| offer.least_task_bytes);
        let task_memory_bytes = wanted.task_memory_bytes.or(offered).ok_or_else(no_worker)?;
        let of_plan = PlanLimits {
            task_memory_bytes,
            disk_bytes: wanted.disk_bytes.or(offer.as_ref().map(|offer| offer.disk_bytes)),
            residues_per_sweep: None,
            window: None,
            // More workers may come later.
            slots: offer.as_ref().map_or(2, |offer| offer.slots.max(2)),
            worker_slots: offer.as_ref().map_or(1, |offer| offer.worker_slots),
            second_copies: self.plans_second_copies(),
            series: false,
        };
        Ok(RestLimits { of_plan, most_task_records: self.fleet.config.most_task_records })
    }

    /// Checkpoints to put into the archive, each only if nothing of its name is there. The answer goes to
    /// [`Coordinator::published`].
    pub fn take_publications(&mut self) -> Vec<Publication> {
        std::mem::take(&mut self.fleet.publications)
    }

    /// Folders to remove from the archive: those of jobs that are done or cancelled.
    pub fn take_removals(&mut self) -> Vec<(JobId, String)> {
        std::mem::take(&mut self.fleet.removals)
    }

    /// A checkpoint is in the archive, or why not.
    pub fn published(&mut self, now: Millis, publication: &Publication, published: Result<(), String>) {
        self.advance(now);
        if let Some(job) = self.jobs.get_mut(&publication.job) {
            job.published(&mut self.fleet, publication.generation, &publication.name, published);
        }
    }

    /// Goes on with the job of a checkpoint, with the plan that stands in it.
    pub fn admit_checkpoint(&mut self, now: Millis, from: Resumption, terms: Terms) -> Result<JobId, CallError> {
        self.advance(now);
        self.jobs.check_room()?;
        let Resumption { folder, newest, older, notes } = from;
        let problem = reopen(&*self.registry, &newest.record).map_err(CallError::Invalid)?;
        let id = JobId(self.next_job);
        let words = newest.words();
        let sweep = newest.sweep();
        let vectors = older.into_iter().rev().filter(|other| other.sweep() == sweep);
        let vectors = vectors.flat_map(|other| other.vectors).chain(newest.vectors);
        let mut boundaries: Vec<Boundary> = Vec::new();
        for mut vector in vectors {
            if boundaries.iter().any(|known| known.head.generation == vector.head.generation) {
                continue;
            }
            for task in &mut vector.tasks {
                task.attempt.job = id;
            }
            vector.head.archive = Some(folder.clone());
            (vector.head.copied, vector.head.durable) = (false, true);
            boundaries.push(Boundary::new(vector.head, vector.tasks, true));
        }
        boundaries.sort_by_key(|boundary| boundary.head.generation);
        let runs = boundaries.iter().flat_map(Boundary::runs);
        let names: BTreeSet<JobId> = runs.filter_map(|run| AttemptId::job_of_run(&run.id)).collect();
        self.check_names(&names)?;
        self.next_job += 1;
        let mut record = newest.record;
        record.spec.follows = Follows::default();
        record.lives = record.lives.saturating_add(1);
        record.adopted = names.into_iter().collect();
        record.state = State::Running;
        let mut job = Job::new(id, record, Some(problem), self.fleet.now);
        job.account = Account { terms, submitted_at: self.fleet.now, ..Account::default() };
        job.note_build(&self.fleet);
        for note in notes {
            job.note(note);
        }
        let seconds = job.record.active_millis / 1000;
        job.note(format!("goes on from the archive's folder {folder}: {words}, after {seconds} s of work"));
        let journal = &mut self.fleet.journal;
        for (sweep, functional, lanes) in &newest.values {
            journal.put_value(id, *sweep, *functional, lanes);
        }
        let values = newest.values.into_iter().map(|(sweep, functional, lanes)| (ValueId { sweep, functional }, lanes));
        job.functionals = Functionals::restored(values.collect(), job.info(), &job.record.plan);
        let stages = newest.evidence.into_iter().map(|(sweep, stage, bytes)| (StageNumber { sweep, stage }, bytes));
        job.evidence = Evidence::restored(stages.collect());
        for (&stage, bytes) in job.evidence.records() {
            journal.put_stage_evidence(id, stage, bytes.clone());
        }
        for boundary in boundaries {
            boundary.tasks.iter().for_each(|task| journal.put_task(task));
            journal.put_head(id, &boundary.head);
            for run in boundary.runs() {
                job.boundaries.need(run);
                job.health.copies.can_fetch(&run.id);
            }
            job.boundaries.push(boundary);
        }
        // Of stages after the boundary, which are done again.
        job.drop_evidence(&mut self.fleet);
        job.resumed_from = Some(format!("the archive: {words}"));
        self.store_meta();
        job.store(&mut self.fleet);
        for name in &job.record.adopted {
            self.adopted.entry(*name).or_default().push(id);
        }
        self.jobs.insert(id, job);
        self.fleet.work_changed();
        Ok(id)
    }

    /// Runs keep the names that they have in their files, which begin with the number of the job that wrote them. Refuses them
    /// while runs of a job of this coordinator may have the same names.
    fn check_names(&self, names: &BTreeSet<JobId>) -> Result<(), CallError> {
        let is_alive = |id: &JobId| self.jobs.get(id).is_some_and(|job| !job.is_over());
        let taken = |name: &JobId| {
            let adopted = self.adopted.get(name).into_iter().flatten();
            std::iter::once(name).chain(adopted).find(|id| is_alive(id)).copied()
        };
        match names.iter().find_map(|name| Some((name, taken(name)?))) {
            None => Ok(()),
            Some((name, other)) => Err(CallError::Invalid(format!(
                "the checkpoint's runs are called {name}/..., and job {other} of this coordinator may have runs of the same \
                 names; wait for its end, cancel it, or go on under another coordinator (keima coordinator --data DIR)"
            ))),
        }
    }
}
