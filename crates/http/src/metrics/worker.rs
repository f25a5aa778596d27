//! A worker's metrics: those of its own process. What the coordinator knows of it is among the coordinator's.

use keima_cluster::WorkerWatch;
use prometheus_client::registry::{Registry, Unit};

use super::Sheet;

/// A worker's metrics now.
pub(crate) fn registry(worker: &WorkerWatch, version: &str) -> Registry {
    let mut sheet = Sheet::new("keima_worker", version);
    let sums = worker.sums();
    let bytes = Some(Unit::Bytes);
    sheet.value("connected", "1 while the coordinator answers", None, f64::from(u8::from(worker.is_connected())));
    sheet.value("tasks_running", "Tasks and copies at work", None, f64::from(worker.running()));
    sheet.count("tasks", "Tasks and copies done", sums.work.tasks);
    sheet.count("task_failures", "Tasks and copies that failed", sums.tasks_failed);
    sheet.work(&sums.work);
    sheet.value("disk_used", "Bytes in the scratch folder", bytes.clone(), worker.disk_used_bytes() as f64);
    sheet.value("disk_limit", "Cap on the scratch folder", bytes.clone(), worker.disk_cap_bytes() as f64);
    if let Some(free) = worker.disk_free_bytes() {
        sheet.value("disk_free", "Bytes that cap and file system leave", bytes, free as f64);
    }
    sheet.value("runs", "Complete runs in the scratch folder", None, worker.runs() as f64);
    sheet.resident();
    sheet.0
}
