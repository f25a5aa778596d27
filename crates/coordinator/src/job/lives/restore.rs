//! A job from its stored records.
//!
//! Until they say hello, workers that records name count as just gone away, with the runs that they held. Leases begin
//! anew. Copies under way are forgotten: their workers stop.

use keima_model::{AnyProblem, Registry};
use keima_orders::{JobId, WorkerId};
use keima_runs::RunManifest;

use crate::api::State;
use crate::fleet::Fleet;
use crate::fleet::lease::Lease;
use crate::job::Job;
use crate::job::functionals::Functionals;
use crate::job::stage::StageRun;
use crate::job::stage::evidence::Evidence;
use crate::store::records::{Boundary, Committed, GrantRecord, Record};
use crate::store::restore::{JobRecords, Keyed, RestoreError, StageId, damaged};

/// Opens a stored job's problem, and makes sure that it is still the same. Of a job that is over only the words are compared:
/// nothing is counted any more, and thousands of such jobs may be stored.
pub(crate) fn reopen(registry: &dyn Registry, record: &Record) -> Result<AnyProblem, String> {
    let problem = registry.open(&record.spec.problem).map_err(|error| error.to_string())?;
    let (is_over, key_bytes) = (record.state.is_over(), problem.key_bytes());
    let identity = if is_over { problem.info().identity() } else { problem.identity() };
    let is_same = if is_over { record.identity.starts_with(&identity) } else { record.identity == identity };
    if !is_same || key_bytes != record.plan.key_bytes {
        return Err(format!(
            "the job was begun as {:?} with keys of {} bytes, this program makes it {identity:?} with {key_bytes}; \
             go on with the program that began it, or submit the job anew",
            record.identity, record.plan.key_bytes
        ));
    }
    Ok(problem)
}

impl Job {
    /// The job of a record. Takes what it uses out of `records`.
    pub(crate) fn restore(
        fleet: &mut Fleet,
        registry: &dyn Registry,
        id: JobId,
        record: Record,
        records: &mut JobRecords,
    ) -> Result<Self, RestoreError> {
        let mut job = Self::new(id, record, None, fleet.now);
        job.account = records.account.take().unwrap_or_default();
        match reopen(registry, &job.record) {
            Ok(problem) => job.problem = Some(problem),
            Err(why) if !job.is_over() && (job.record.state != State::Paused || job.record.waits) => {
                job.wait(fleet, why);
            }
            Err(_) => {}
        }
        job.note_build(fleet);
        let values = std::mem::take(&mut records.values);
        job.functionals = if job.record.outcome.is_some() {
            // The outcome has them all, or withholds them: thousands of such jobs may be stored.
            Functionals::stored(values)
        } else {
            Functionals::restored(values, job.info(), &job.record.plan)
        };
        job.evidence = Evidence::restored(std::mem::take(&mut records.evidence));
        if job.is_over() {
            return Ok(job);
        }
        job.record.lives = job.record.lives.saturating_add(1);
        job.restore_boundaries(fleet, records)?;
        // Of stages after the newest stored boundary, which are done again.
        job.drop_evidence(fleet);
        job.restore_stage(fleet, records)?;
        if job.record.state == State::Running {
            job.resumed_from = Some(job.position());
        }
        Ok(job)
    }

    /// Notes that another build goes on with the job: it counts the same, by its identity.
    pub(crate) fn note_build(&mut self, fleet: &Fleet) {
        let build = &fleet.config.build;
        if self.is_over() || self.problem.is_none() || self.record.builds.last() == Some(build) {
            return;
        }
        let before = self.record.builds.last().map_or("unknown", String::as_str);
        self.record.notes.add(format!(
            "build {build} of keima goes on where build {before} stopped; both count {:?}",
            self.record.identity
        ));
        self.record.builds.push(build.clone());
    }

    /// Where the job goes on, for people.
    fn position(&self) -> String {
        let sweep = self.record.sweep + 1;
        match (&self.stage, self.boundaries.last()) {
            (Some(stage), _) => {
                let (done, tasks) = (stage.tasks_done(), stage.tasks.len());
                format!("stage {} of sweep {sweep}, {done} tasks of {tasks} done", stage.number)
            }
            (None, Some(boundary)) => format!("{} of sweep {sweep}", boundary.head),
            (None, None) => format!("the start of sweep {sweep}"),
        }
    }

    /// The worker that wrote a needed run is expected to have it.
    fn expect(&mut self, fleet: &mut Fleet, worker: &WorkerId, run: &RunManifest) {
        fleet.expect_run(worker, &run.id, run.bytes);
        self.boundaries.need(run);
    }

    fn restore_boundaries(&mut self, fleet: &mut Fleet, records: &mut JobRecords) -> Result<(), RestoreError> {
        let mut boundaries = Vec::new();
        for Keyed { key, record: head } in std::mem::take(&mut records.heads) {
            if head.sweep != self.record.sweep {
                fleet.journal.delete(key);
                continue;
            }
            head.check(&self.record.plan).map_err(|why| damaged(&key, &why))?;
            let id = StageId { sweep: head.sweep, generation: head.generation };
            let tasks = records.tasks.remove(&id).unwrap_or_default();
            if tasks.len() != head.tasks as usize {
                return Err(damaged(&key, &format!("expected {} tasks, got {}", head.tasks, tasks.len())));
            }
            let mut tasks: Vec<Committed> = tasks.into_iter().map(|task| task.record).collect();
            tasks.sort_by_key(|task| task.attempt.task);
            for task in &mut tasks {
                task.manifest.forget_tallies();
            }
            for task in &tasks {
                for run in &task.manifest.runs {
                    self.expect(fleet, &task.writer, run);
                }
            }
            boundaries.push(Boundary::new(head, tasks, true));
        }
        boundaries.sort_by_key(|boundary| boundary.head.generation);
        for Keyed { key, record: copy } in std::mem::take(&mut records.copies) {
            let boundary = boundaries.iter_mut().find(|boundary| boundary.runs().any(|run| run.id == copy.run));
            if let Some(boundary) = boundary {
                let bytes = self.boundaries.size_of(&copy.run).unwrap_or(0);
                fleet.expect_run(&copy.worker, &copy.run, bytes);
                boundary.copies.insert(copy);
            } else {
                fleet.journal.delete(key);
            }
        }
        for boundary in boundaries {
            if boundary.head.archive.is_some() {
                boundary.runs().for_each(|run| self.health.copies.can_fetch(&run.id));
            }
            self.boundaries.push(boundary);
        }
        Ok(())
    }

    fn restore_stage(&mut self, fleet: &mut Fleet, records: &mut JobRecords) -> Result<(), RestoreError> {
        let Some(Keyed { key, record }) = records.stage.take() else { return Ok(()) };
        fleet.journal.has_stage(self.id);
        if record.sweep != self.record.sweep
            || record.number != self.boundaries.next_stage()
            || self.problem.is_none() && record.shards.is_empty()
        {
            fleet.journal.delete(key);
            return Ok(());
        }
        let id = StageId { sweep: record.sweep, generation: record.generation };
        let mut stage = StageRun::new(record.number, record.generation, record.durable, record.closed, record.shards);
        stage.doubt(&record.doubted);
        for Keyed { key, record: done } in records.tasks.remove(&id).unwrap_or_default() {
            if stage.tasks.get(done.attempt.task as usize).is_none() {
                return Err(damaged(&key, &"the stage has no such task"));
            }
            for run in &done.manifest.runs {
                self.expect(fleet, &done.writer, run);
            }
            stage.finish(done);
        }
        restore_grants(fleet, &mut stage, std::mem::take(&mut records.grants));
        self.record.generation = self.record.generation.max(stage.generation);
        self.stage = Some(stage);
        self.draw_again(fleet);
        if self.stage.as_ref().is_some_and(StageRun::is_complete) {
            self.complete_stage(fleet);
        }
        Ok(())
    }
}

/// Leases begin anew, once: their workers may have worked on meanwhile.
fn restore_grants(fleet: &mut Fleet, stage: &mut StageRun, grants: Vec<Keyed<GrantRecord>>) {
    for Keyed { key, record: GrantRecord { attempt, nonce, worker, copy } } in grants {
        let is_alive = !copy && attempt.generation == stage.generation && stage.is_open(attempt.task);
        if !is_alive || !fleet.journal.keeps_grant(&key, attempt) {
            fleet.journal.delete(key);
            continue;
        }
        stage.take_out(attempt.task);
        fleet.expect_worker(&worker);
        let lease = Lease::new(nonce, worker, false, fleet.now, &fleet.config);
        fleet.add_lease(attempt, lease);
    }
}
