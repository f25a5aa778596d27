//! The shapes of the API, and of `keima status`, `jobs` and `workers` with `--json`. Big integers are strings.

use std::collections::BTreeMap;

use keima_coordinator::{
    DurableBoundary, Event, JobAccount, JobStatus, JobView, Plan, RunningTask, SeriesEntry, WorkerStatus,
};
use keima_runs::TaskTimes;
use serde_json::{Value, json};

/// Bytes and thread time of a count. A count in memory has no bytes on disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Most bytes of runs on all workers.
    pub disk_peak_bytes: u64,
    /// Bytes read from runs.
    pub bytes_read: u64,
    /// Bytes written, spills included.
    pub bytes_written: u64,
    /// Bytes of spilled and intermediate runs.
    pub bytes_spilled: u64,
    /// Thread time.
    pub times: TaskTimes,
}

impl Statistics {
    /// Those of a job.
    pub fn of_job(status: &JobStatus) -> Self {
        Self {
            disk_peak_bytes: status.usage.disk_peak_bytes,
            bytes_read: status.traffic.bytes_read,
            bytes_written: status.traffic.bytes_written,
            bytes_spilled: status.traffic.bytes_spilled,
            times: status.traffic.times,
        }
    }
}

/// A job.
pub fn status(status: &JobStatus) -> Value {
    let JobStatus { problem, position, progress, usage, durability, .. } = status;
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    let mut job = json!({
        "job": status.id.to_string(),
        "problem": problem.name,
        "size": problem.size,
        "options": problem.options.iter().cloned().collect::<BTreeMap<_, _>>(),
        "state": status.state.to_string(),
        "reason": status.reason,
        "priority": status.account.priority,
        "sweep": position.sweep,
        "sweeps": status.plan.as_ref().map(|p| p.sweeps.len()),
        "stage": position.stage,
        "stage_residues": status.plan.as_ref().map(|p| p.stage_moduli(position.sweep, position.stage).len()),
        "stages": status.plan.as_ref().map(Plan::stages),
        "pass": position.pass,
        "passes": position.passes,
        "column": position.column,
        "columns": status.plan.as_ref().map(|p| p.board.length),
        "middle": status.plan.as_ref().and_then(Plan::middle),
        "states": progress.states,
        "states_done": progress.states_done,
        "states_stage": progress.states_stage,
        "states_per_second": progress.states_per_second,
        "peak_states": progress.peak_states,
        "tasks": progress.tasks,
        "tasks_done": progress.tasks_done,
        "tasks_running": progress.tasks_running,
        "disk_bytes": usage.disk_bytes,
        "seconds": usage.seconds,
        "eta_seconds": finite(usage.eta_seconds),
        "copied_passes": durability.copied_passes,
        "at_risk": durability.at_risk.as_ref().map(|risk| json!({
            "worker": risk.worker.0, "passes_left": risk.passes_left,
        })),
        "resumed_from": durability.resumed_from,
        "values_known": status.values.known,
        "series": series(status.values()),
        "moduli": status.plan.as_ref().map(|p| p.moduli.iter().map(u64::to_string).collect::<Vec<_>>()),
        "notes": status.notes,
        "workers": status.workers.iter().map(|w| json!({
            "worker": w.worker.0, "running": w.running, "note": w.note,
        })).collect::<Vec<_>>(),
        "statistics": statistics(&Statistics::of_job(status), status.plan.as_ref()),
    });
    add(&mut job, people(status));
    job
}

/// What people say of a job, and what it has had and waits for.
fn people(status: &JobStatus) -> Value {
    let JobAccount { level, terms, submitted_at, ended_at, task_seconds, .. } = &status.account;
    json!({
        "level": level,
        "name": terms.name,
        "note": terms.note,
        "owner": terms.owner,
        "max_workers": terms.max_workers,
        "max_disk_bytes": terms.max_disk_bytes,
        "submitted": moment(*submitted_at),
        "ended": moment(*ended_at),
        "task_seconds": task_seconds,
        "waits_for": status.waits_for,
    })
}

/// The same for the list of jobs, without the values.
pub fn listed(status: &JobStatus) -> Value {
    let mut job = self::status(status);
    if let Some(map) = job.as_object_mut() {
        map.remove("series");
    }
    job
}

/// All workers.
pub fn workers(workers: &[WorkerStatus]) -> Value {
    let one = |w: &WorkerStatus| {
        json!({
            "worker": w.id.0,
            "state": if w.here { "here" } else { "away" },
            "silent_seconds": w.silent_millis as f64 / 1000.0,
            "address": w.address,
            "folder": w.folder,
            "slots": w.slots,
            "running": w.running,
            "task_memory_bytes": w.task_memory_bytes,
            "disk_bytes": w.disk_bytes,
            "disk_used_bytes": w.disk_used_bytes,
            "memory_used_bytes": w.memory_used_bytes,
            "runs": w.runs,
            "set_aside": w.set_aside.iter().map(|(job, reason)| json!({
                "job": job.to_string(), "reason": reason,
            })).collect::<Vec<_>>(),
        })
    };
    json!({ "workers": workers.iter().map(one).collect::<Vec<_>>() })
}

/// Values of shorter boards.
pub fn series(series: &[SeriesEntry]) -> Value {
    series.iter().map(|e| json!({ "index": e.index, "name": e.name, "count": e.count, "ok": e.ok })).collect()
}

/// Costs of a count, and how it was planned.
pub fn statistics(statistics: &Statistics, plan: Option<&Plan>) -> Value {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    json!({
        "disk_peak_bytes": statistics.disk_peak_bytes,
        "disk_forecast_bytes": plan.map(|p| p.disk_bytes),
        "bytes_read": statistics.bytes_read,
        "bytes_written": statistics.bytes_written,
        "bytes_spilled": statistics.bytes_spilled,
        "read_seconds": seconds(statistics.times.read_nanos),
        "map_seconds": seconds(statistics.times.map_nanos),
        "write_seconds": seconds(statistics.times.write_nanos),
        "executor": plan.map(|p| p.execution.name()),
        "why": plan.map(|p| p.why.clone()),
        "windows": plan.map(|p| p.windows.iter().map(|w| w.len).collect::<Vec<_>>()),
        "sweeps": plan.map(|p| p.sweeps.len()),
    })
}

/// A job with all that a page shows of it: what `keima status --json` prints, with the newest values only, and more.
pub fn view(view: &JobView) -> Value {
    let mut job = status(&view.status);
    let plan = view.status.plan.as_ref();
    let checks_now = view.status.outcome.as_ref().map_or(&view.checks, |outcome| &outcome.checks);
    let more = json!({
        "height": plan.map(|plan| plan.board.height),
        "length": plan.map(|plan| plan.board.length),
        "count": view.status.outcome.as_ref().filter(|outcome| outcome.ok).map(|outcome| outcome.count.clone()),
        "checks": checks_now,
        "pass_states": view.pass_states,
        "pass_forecast": plan.map(|plan| plan.states.clone()),
        "running_tasks": view.running.iter().map(running).collect::<Vec<_>>(),
        "median_task_seconds": view.median_millis.map(seconds),
        "durable": view.durable.as_ref().map(durable),
        "tasks_finished": view.tasks_finished,
        "failed_attempts": view.failed_attempts,
        "fall_backs": view.fall_backs,
    });
    add(&mut job, more);
    job
}

/// Adds the fields of one object to another.
fn add(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

fn running(task: &RunningTask) -> Value {
    json!({
        "attempt": task.attempt.to_string(),
        "worker": task.worker.0,
        "kind": if task.copy { "copy" } else { "task" },
        "seconds": seconds(task.millis),
        "still_seconds": seconds(task.still_millis),
        "states_done": task.states_done,
        "states": task.states,
        "slow": task.slow,
    })
}

fn durable(boundary: &DurableBoundary) -> Value {
    json!({ "passes": boundary.passes, "time": seconds(boundary.at) })
}

/// Something that happened. Times are seconds since the Unix epoch.
pub fn event(event: &Event) -> Value {
    json!({
        "number": event.number,
        "time": seconds(event.at),
        "kind": event.kind.name(),
        "job": event.job.map(|job| job.to_string()),
        "attempt": event.attempt.map(|attempt| attempt.to_string()),
        "worker": event.worker.as_ref().map(|worker| worker.0.clone()),
        "text": event.text,
    })
}

/// A moment as seconds since 1970; `None` where it is not known.
fn moment(millis: u64) -> Option<f64> {
    (millis > 0).then(|| seconds(millis))
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}
