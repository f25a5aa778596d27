//! What users are told of a job, put together from its record, its boundaries and its workers. Reads only.

use keima_blocks::sizes::show_bytes;
use keima_orders::WorkerId;

use super::progress::Position;
use super::status::{
    JobAccount, JobDurability, JobPosition, JobProblem, JobProgress, JobStatus, JobTraffic, JobUsage, JobValues,
    JobWorker,
};
use crate::api::State;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::stage::StageRun;
use crate::outcome::{Outcome, SeriesEntry};

impl Job {
    /// Why a worker gets no tasks of this job. One that waits until runs are deleted will get some at once.
    pub(crate) fn why_not(&self, fleet: &Fleet, worker: &WorkerId) -> Option<String> {
        if let Some(aside) = self.health.aside(worker).filter(|aside| !aside.short) {
            return Some(format!("set aside: {}", aside.reason));
        }
        let (has, wants) = (fleet.workers.get(worker)?.task_memory_bytes, self.record.plan.task_memory_bytes);
        (has < wants && fleet.is_here(worker)).then(|| {
            format!(
                "too little memory for a task: the job needs {}, the worker has {}; start it again with more --memory, or \
                 fewer --threads",
                show_bytes(wants),
                show_bytes(has)
            )
        })
    }

    fn shown_progress(&self, fleet: &Fleet, number: u32) -> JobProgress {
        let plan = &self.record.plan;
        let made = || {
            // Blocks are dense from the start: a stage that reads nothing makes this many.
            let before = plan.stage(number).boundaries().0;
            plan.block().and_then(|_| plan.states.get(before as usize).copied()).unwrap_or(1)
        };
        let states_stage = self.boundaries.input_of(plan, number).map_or_else(made, |b| b.head.totals.states);
        let done = self.stage.iter().flat_map(StageRun::done).map(|done| done.manifest.input.states);
        let under_way = fleet.tasks_of_job(self.id).map(|lease| lease.states_done);
        let seen = self.record.pass_states.iter().flatten().copied().max().unwrap_or(0);
        JobProgress {
            states: self.boundaries.last().map_or(0, |boundary| boundary.head.totals.states),
            states_done: done.chain(under_way).fold(0, u64::saturating_add).min(states_stage),
            states_stage,
            states_per_second: self.rate.per_second().unwrap_or(0.0),
            peak_states: if seen > 0 { seen } else { plan.peak_states },
            tasks: self.stage.as_ref().map_or(0, |stage| stage.tasks.len()) as u32,
            tasks_done: self.stage.as_ref().map_or(0, StageRun::tasks_done) as u32,
            tasks_running: fleet.tasks_of_job(self.id).count() as u32,
        }
    }

    /// Functionals that users may see. The outcome has the early ones, or withholds them with the rest.
    pub(crate) fn values(&self) -> impl Iterator<Item = &SeriesEntry> {
        let outcome = self.record.outcome.as_ref();
        let is_early = outcome.is_none() && self.record.state != State::CheckFailed;
        let early = is_early.then(|| self.functionals.early_values()).into_iter().flatten();
        early.chain(outcome.filter(|outcome| outcome.ok).into_iter().flat_map(|outcome| &outcome.series))
    }

    /// Where in its sweeps the job is; `number` is the stage that is under way or comes next.
    fn shown_position(&self, number: u32) -> JobPosition {
        let plan = &self.record.plan;
        let passes = plan.board.passes();
        // A first column that needs no stage is there from the start, but not before it.
        let (pass, at) = match number {
            _ if self.record.generation == 0 => (0, 0),
            number if number >= plan.stages() => (plan.passes_before(number), passes),
            number => (plan.passes_before(number), plan.stage(number).first_pass),
        };
        let column = plan.board.column(at.min(passes.saturating_sub(1)));
        JobPosition { sweep: self.record.sweep, stage: number, pass, passes, column }
    }

    /// Disk and time. `progress` is that of stage `number`.
    fn shown_usage(&self, fleet: &Fleet, number: u32, progress: &JobProgress) -> JobUsage {
        let record = &self.record;
        let JobProgress { states_done, states_stage, .. } = *progress;
        let position = Position { record, stage: number, states_done, states_stage };
        let disk_bytes = self.boundaries.disk_bytes(fleet);
        JobUsage {
            disk_bytes,
            disk_peak_bytes: record.disk_peak_bytes.max(disk_bytes),
            seconds: record.active_millis as f64 / 1000.0,
            eta_seconds: if self.is_over() { None } else { position.seconds_left(&self.rate) },
        }
    }

    /// What is known of the job, without its values.
    pub(crate) fn status(&self, fleet: &Fleet) -> JobStatus {
        let record = &self.record;
        let (plan, problem, totals) = (&record.plan, &record.spec.problem, &record.totals);
        let number = record.last_stage.unwrap_or_else(|| self.boundaries.next_stage());
        let progress = self.shown_progress(fleet, number);
        JobStatus {
            id: self.id,
            problem: JobProblem {
                name: problem.name.clone(),
                size: record.size.clone(),
                options: problem.options.clone(),
            },
            state: record.state,
            reason: record.reason.clone(),
            account: JobAccount {
                priority: record.spec.priority,
                level: record.spec.priority.into(),
                terms: self.account.terms.clone(),
                submitted_at: self.account.submitted_at,
                ended_at: self.account.ended_at,
                task_seconds: self.account.task_millis as f64 / 1000.0,
            },
            waits_for: String::new(),
            plan: Some(plan.clone()),
            position: self.shown_position(number),
            usage: self.shown_usage(fleet, number, &progress),
            progress,
            values: JobValues { known: self.values().count() as u32, series: Vec::new() },
            durability: JobDurability {
                copied_passes: self.boundaries.copied_passes(plan, &self.health.copies, fleet),
                at_risk: if self.is_over() { None } else { self.boundaries.at_risk(plan, &self.health.copies, fleet) },
                resumed_from: self.resumed_from.clone(),
            },
            outcome: record.outcome.as_ref().map(Outcome::without_series),
            notes: record.notes.to_vec(),
            traffic: JobTraffic {
                bytes_read: totals.bytes_read,
                bytes_written: totals.bytes_written,
                bytes_spilled: totals.bytes_spilled,
                times: totals.times,
            },
            workers: self.workers(fleet),
        }
    }

    /// Workers that work on the job, or cannot.
    fn workers(&self, fleet: &Fleet) -> Vec<JobWorker> {
        let one = |id: &WorkerId| {
            let running = fleet.attempts_of_job_on(self.id, id) as u32;
            let silent = || silent_at_work(fleet, id).filter(|_| running > 0);
            let note = if self.is_over() { None } else { self.why_not(fleet, id).or_else(silent) }.unwrap_or_default();
            JobWorker { worker: id.clone(), running, note }
        };
        fleet.workers.keys().map(one).filter(|worker| worker.running > 0 || !worker.note.is_empty()).collect()
    }
}

/// What to say of a worker that has tasks and is silent for several heartbeats.
fn silent_at_work(fleet: &Fleet, worker: &WorkerId) -> Option<String> {
    let silent_millis = fleet.now.saturating_sub(fleet.workers.get(worker)?.last_heard);
    let left_millis = fleet.config.lease_millis.saturating_sub(silent_millis);
    (silent_millis > fleet.config.lease_millis / 2).then(|| {
        let (silent, left) = (silent_millis / 1000, left_millis.div_ceil(1000));
        format!("silent for {silent} s; its tasks go to others in {left} s")
    })
}
