//! Spans of stages and tasks, for trace collectors. Without a collector they cost a look at a flag.
//!
//! A span is one of `tracing` with the target [`SPANS`], and lives as long as what it is about. Coordinator and worker agree on
//! names without a word: all spans of a job belong to one trace, and the numbers of trace, stage and task follow from the job's
//! tag, which every order has. So a task's span, which a worker makes, stands below its stage's, which the coordinator makes.
//!
//! ```text
//!   trace   job's tag
//!     stage   tag, sweep, generation            the coordinator, from the first grant to the boundary
//!       task    the same, task, attempt         a worker, from the grant to the verdict
//! ```

use std::collections::BTreeMap;

use keima_coordinator::{Coordinator, StageUnderWay};
use keima_model::mix::{GOLDEN, finalise};
use keima_orders::{AttemptId, JobId, TaskOrder, WorkerId};
use tracing::{Level, Span};

/// Target of the spans. Their fields `trace`, `span` and `parent` are numbers of spans; all others are attributes.
pub const SPANS: &str = "keima::spans";

/// What lines of the log inside it are about: an attempt. It is no span for collectors.
pub(crate) fn about_attempt(attempt: &AttemptId) -> Span {
    // Of the highest level, so that lines of every level have it.
    tracing::error_span!("attempt", %attempt)
}

/// The same for a job.
pub(crate) fn about_job(job: JobId) -> Span {
    tracing::error_span!("job", %job)
}

/// Whether anybody collects spans.
pub(crate) fn is_on() -> bool {
    tracing::enabled!(target: SPANS, Level::TRACE)
}

/// 64 bits that depend on all numbers, and are never 0.
fn mixed(numbers: &[u64]) -> u64 {
    let mix = |hash: u64, number: &u64| finalise((hash ^ number).wrapping_add(GOLDEN));
    numbers.iter().fold(1, mix).max(1)
}

fn stage_number(tag: u64, sweep: u32, generation: u32) -> u64 {
    mixed(&[tag, sweep.into(), generation.into()])
}

/// A worker's span of one attempt at a task. `error` is recorded if it fails.
pub(crate) fn of_task(order: &TaskOrder, worker: &WorkerId) -> Span {
    if !is_on() {
        return Span::none();
    }
    let AttemptId { job, sweep, generation, task, attempt } = order.attempt;
    let numbers = [order.job_tag, sweep.into(), generation.into(), task.into(), attempt.into()];
    tracing::trace_span!(
        target: SPANS,
        "task",
        trace = order.job_tag,
        span = mixed(&numbers),
        parent = stage_number(order.job_tag, sweep, generation),
        keima.job = %job,
        keima.stage = %format_args!("{job}/s{sweep}/g{generation}"),
        keima.task = %format_args!("{job}/s{sweep}/g{generation}/t{task}"),
        keima.attempt = %order.attempt,
        keima.worker = %worker,
        error = tracing::field::Empty,
    )
}

fn of_stage(stage: &StageUnderWay) -> Span {
    let StageUnderWay { job, tag, sweep, generation, first_pass, passes, tasks } = *stage;
    tracing::trace_span!(
        target: SPANS,
        "stage",
        trace = tag,
        span = stage_number(tag, sweep, generation),
        keima.job = %job,
        keima.stage = %format_args!("{job}/s{sweep}/g{generation}"),
        keima.sweep = sweep,
        keima.first_pass = first_pass,
        keima.passes = passes,
        keima.tasks = tasks,
    )
}

/// The coordinator's spans of the stages that are under way.
#[derive(Default)]
pub(crate) struct StageSpans(BTreeMap<JobId, (StageUnderWay, Span)>);

impl StageSpans {
    /// Looks at a job after something happened to it.
    pub(crate) fn look(&mut self, coordinator: &Coordinator, job: JobId) {
        let now = coordinator.stage_under_way(job);
        if self.0.get(&job).map(|(stage, _)| stage) != now.as_ref() {
            // The old span ends here.
            self.0.remove(&job);
            if let Some(stage) = now {
                let span = of_stage(&stage);
                self.0.insert(job, (stage, span));
            }
        }
    }

    /// Ends the spans of stages that ended otherwise, as by a cancelled job.
    pub(crate) fn tidy(&mut self, coordinator: &Coordinator) {
        self.0.retain(|job, (stage, _)| coordinator.stage_under_way(*job).as_ref() == Some(&*stage));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_spans_differ_and_are_never_zero() {
        let mut seen = std::collections::BTreeSet::new();
        for tag in [0, 1, u64::MAX] {
            for sweep in 0..3 {
                for generation in 0..20 {
                    assert!(seen.insert(stage_number(tag, sweep, generation)));
                    for task in 0..5 {
                        assert!(seen.insert(mixed(&[tag, sweep.into(), generation.into(), task, 0])));
                    }
                }
            }
        }
        assert!(!seen.contains(&0));
    }
}
