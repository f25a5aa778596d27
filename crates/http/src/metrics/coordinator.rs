//! The coordinator's metrics. Jobs that are over have no series of their own: the number of series is bounded by what is under
//! way.

use std::fmt;
use std::path::Path;

use keima_cluster::Overview;
use keima_coordinator::{FleetSums, JobStatus, State, TASK_CLASSES_MILLIS, WorkerStatus};
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use super::{Labels, Sheet, free_bytes};
use crate::share::part;

/// Tasks by how long they took, as they were counted elsewhere.
#[derive(Debug)]
struct Durations {
    seconds: f64,
    tasks: u64,
    classes: Vec<(f64, u64)>,
}

impl Durations {
    fn of(sums: &FleetSums) -> Self {
        let ends = TASK_CLASSES_MILLIS.iter().map(|&millis| millis as f64 / 1000.0).chain([f64::INFINITY]);
        let classes = ends.zip(sums.task_classes).collect();
        Self { seconds: sums.task_millis as f64 / 1000.0, tasks: sums.work.tasks, classes }
    }
}

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        encoder.encode_histogram::<NoLabelSet>(self.seconds, self.tasks, &self.classes, None)
    }
    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Durations {
    const TYPE: MetricType = MetricType::Histogram;
}

/// A coordinator's metrics at one moment.
pub(crate) fn registry(now: &Overview, ready: bool, data: &Path, version: &str) -> Registry {
    let mut sheet = Sheet::new("keima_coordinator", version);
    sheet.value("ready", "1 while it can do its work", None, f64::from(u8::from(ready)));
    sums(&mut sheet, &now.sums);
    sheet.value("leases", "Attempts that workers are at", None, now.leases as f64);
    if let Some(free) = free_bytes(data) {
        sheet.value("data_free", "Free space of the data folder", Some(Unit::Bytes), free as f64);
    }
    sheet.resident();
    jobs(&mut sheet, now);
    workers(&mut sheet, &now.workers);
    sheet.0
}

fn sums(sheet: &mut Sheet, sums: &FleetSums) {
    sheet.work(&sums.work);
    let help = "Time of finished tasks from grant to report";
    sheet.0.register_with_unit("task_duration", help, Unit::Seconds, Durations::of(sums));
    sheet.count("tasks", "Finished tasks", sums.work.tasks);
    sheet.count("attempt_failures", "Attempts that failed, failed checks left out", sums.attempts_failed);
    sheet.count("check_failures", "Attempts in which a check failed", sums.checks_failed);
    sheet.count("lease_expiries", "Leases that ended without a report", sums.leases_expired);
    sheet.count("worker_losses", "Workers that were silent for too long", sums.workers_lost);
}

fn jobs(sheet: &mut Sheet, now: &Overview) {
    let label = |state: State| vec![("state", state.to_string().replace(' ', "_"))];
    let states = now.states.iter().map(|&(state, number)| (label(state), number as f64));
    sheet.values("jobs", "Jobs in the coordinator's store by state", None, states);
    let live = || now.jobs.iter().filter(|job| !job.state.is_over());
    let of = |job: &JobStatus| -> Labels { vec![("job", job.id.to_string())] };
    let progress = live().map(|job| (of(job), part(job)));
    sheet.values("job_progress", "Part of a job that is done", Some(Unit::Other("ratio".to_owned())), progress);
    let eta = live().filter_map(|job| Some((of(job), job.usage.eta_seconds.filter(|eta| eta.is_finite())?)));
    sheet.values("job_eta", "Time that a job still takes at its present rate", Some(Unit::Seconds), eta);
    let disk = live().map(|job| (of(job), job.usage.disk_bytes as f64));
    sheet.values("job_disk", "Bytes of a job's runs on all workers", Some(Unit::Bytes), disk);
    let rate = live().map(|job| (of(job), job.progress.states_per_second));
    sheet.values("job_states_per_second", "States through a pass per second, lately", None, rate);
    let durable = now.durable.iter();
    let durable = durable.map(|(job, boundary)| (vec![("job", job.to_string())], boundary.at as f64 / 1000.0));
    let help = "When the newest boundary on stable storage was complete, as seconds since 1970";
    sheet.values("job_durable_boundary_timestamp", help, Some(Unit::Seconds), durable);
}

fn workers(sheet: &mut Sheet, workers: &[WorkerStatus]) {
    let number = |here: bool| workers.iter().filter(|worker| worker.here == here).count() as f64;
    let states = [("here", number(true)), ("away", number(false))];
    let states = states.map(|(state, number)| (vec![("state", state.to_owned())], number));
    sheet.values("workers", "Workers by state", None, states);
    let of = |worker: &WorkerStatus| -> Labels { vec![("worker", worker.id.0.clone())] };
    // One that has not said hello in this life of the coordinator has told nothing.
    let known = || workers.iter().filter(|worker| worker.slots > 0);
    let mut each = |name: &str, help: &str, unit: Option<Unit>, value: &dyn Fn(&WorkerStatus) -> f64| {
        sheet.values(name, help, unit, known().map(|worker| (of(worker), value(worker))));
    };
    let bytes = || Some(Unit::Bytes);
    each("worker_here", "1 while a worker is heard of", None, &|w| f64::from(u8::from(w.here)));
    each("worker_tasks_running", "Tasks that a worker is at", None, &|w| f64::from(w.running));
    each("worker_slots", "Most tasks of a worker at a time", None, &|w| f64::from(w.slots));
    each("worker_disk_used", "Bytes in a worker's scratch folder", bytes(), &|w| w.disk_used_bytes as f64);
    each("worker_disk_limit", "Cap on a worker's scratch folder", bytes(), &|w| w.disk_bytes as f64);
    let free = |w: &WorkerStatus| w.disk_bytes.saturating_sub(w.disk_used_bytes) as f64;
    each("worker_disk_free", "What the cap leaves of a worker's scratch folder", bytes(), &free);
    let memory = |w: &WorkerStatus| w.task_memory_bytes as f64 * f64::from(w.slots);
    each("worker_task_memory", "Memory that a worker's tasks may take together", bytes(), &memory);
    each("worker_silence", "Time since a worker was heard of", Some(Unit::Seconds), &|w| {
        w.silent_millis as f64 / 1000.0
    });
    let told = known().filter_map(|w| Some((of(w), w.memory_used_bytes? as f64)));
    sheet.values("worker_memory_used", "Memory of a worker's process that is in use", bytes(), told);
}
