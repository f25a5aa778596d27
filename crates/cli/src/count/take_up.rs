//! The job of a count on disk: an interrupted or finished one that its folder holds, or a new one.

use keima_blocks::process::process_memory_bytes;
use keima_coordinator::{Follows, JobId, JobSpec, JobStatus, State};
use keima_count::LocalCluster;

use super::counting::Counting;
use crate::exit::Failed;
use crate::result::lacks_series;
use crate::terminal::units::{show_bytes, show_seconds, typed_bytes};

/// What the tasks of a count may take.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) task_memory_bytes: u64,
    pub(super) disk_bytes: u64,
}

/// Finds the job in the folder, or submits it.
pub(super) async fn take_up(counting: &Counting<'_>, cluster: &LocalCluster, limits: Limits) -> Result<JobId, Failed> {
    let coordinator = cluster.coordinator();
    let jobs = coordinator.jobs().await?;
    let request = counting.request;
    // The size as the problem writes it: 20x18 may be 18x20 to it.
    let size = counting.problem.info().size();
    let same = |s: &&JobStatus| {
        s.problem.name == request.name && s.problem.size == size && s.problem.options == request.options
    };
    if let Some(other) = jobs.iter().filter(|s| !same(s)).find(|s| is_unfinished(s.state)) {
        return Err(Failed::usage(format!(
            "this folder holds an interrupted count of {} {}, which would run first: finish it with its own command, \
             delete it with --fresh, or use another folder with --data DIR",
            other.problem.name, other.problem.size
        )));
    }
    if let Some(old) = jobs.iter().rev().find(same) {
        // Vectors from both ends pass only some of the shorter boards.
        let lacks_series = counting.args.output.result.series && old.plan.as_ref().is_some_and(lacks_series);
        match old.state {
            State::Done if lacks_series => counting.say(&format!(
                "{} {} was counted here before, but without --series; counting again",
                old.problem.name, old.problem.size
            )),
            State::Done => {
                counting.say(&format!(
                    "{} {} was counted here before; --fresh counts it again",
                    old.problem.name, old.problem.size
                ));
                return Ok(old.id);
            }
            state if is_unfinished(state) => {
                check_unfinished(counting, old, limits, lacks_series)?;
                if state == State::Paused {
                    coordinator.resume(old.id).await?;
                }
                counting.say(&continuing(old));
                return Ok(old.id);
            }
            _ => {}
        }
    }
    let (args, threads) = (counting.args, counting.threads);
    let spec = JobSpec {
        problem: request.clone(),
        priority: 0,
        task_memory_bytes: limits.task_memory_bytes,
        disk_bytes: Some(limits.disk_bytes),
        residues_per_sweep: args.plan.residues_per_sweep,
        window: args.plan.window,
        slots: threads,
        worker_slots: threads,
        executor: args.plan.executor.into(),
        series: args.output.result.series,
        other_primes: counting.other_way,
        follows: Follows::default(),
    };
    Ok(coordinator.submit(spec).await?)
}

fn is_unfinished(state: State) -> bool {
    matches!(state, State::Queued | State::Running | State::Paused)
}

/// Refuses options that an interrupted job cannot follow.
fn check_unfinished(
    counting: &Counting<'_>,
    old: &JobStatus,
    limits: Limits,
    lacks_series: bool,
) -> Result<(), Failed> {
    if lacks_series {
        return Err(Failed::usage(
            "the interrupted count was started without --series and will not have all shorter boards; leave out \
             --series to continue it, or start over with --fresh",
        ));
    }
    let wants_bytes = old.plan.as_ref().map_or(0, |plan| plan.task_memory_bytes);
    if wants_bytes > limits.task_memory_bytes {
        let wants_all_bytes = process_memory_bytes(wants_bytes, counting.threads);
        return Err(Failed::usage(format!(
            "the interrupted count has tasks of {}, but --memory and --threads leave {} for each; continue it with \
             --memory {}, or start over with --fresh{}",
            show_bytes(wants_bytes),
            show_bytes(limits.task_memory_bytes),
            typed_bytes(wants_all_bytes),
            counting.machine.remark(wants_all_bytes)
        )));
    }
    let begun = old.plan.as_ref().map_or("", |plan| plan.execution.name());
    if counting.args.plan.executor.name().is_some_and(|asked| asked != begun) {
        return Err(Failed::usage(format!(
            "the interrupted count was started with the {begun} executor; leave out --executor to continue it, or start \
             over with --fresh"
        )));
    }
    Ok(())
}

/// That an interrupted job continues, and with which plan.
fn continuing(old: &JobStatus) -> String {
    let after = show_seconds(old.usage.seconds);
    let plan = old.plan.as_ref().map_or_else(String::new, |plan| {
        let cells = plan.windows.iter().map(|window| window.len).max().unwrap_or(0);
        let residues = plan.sweeps.first().map_or(0, |&(first, end)| end - first);
        let executor = plan.execution.name();
        format!(" with its plan: {executor} executor, windows of up to {cells} cells, {residues} residues a sweep")
    });
    format!("continuing {} {} after {after}{plan}", old.problem.name, old.problem.size)
}
