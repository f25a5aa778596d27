//! Metrics for Prometheus, in the text format of `OpenMetrics`.
//!
//! Names follow its rules: a prefix for the program and the service, base units (bytes, seconds, ratios) at the end, counters that
//! end in `_total`. A registry is made for each request from one look at the service: no task counts anything for it.

pub(crate) mod coordinator;
pub(crate) mod worker;

use std::path::Path;

use axum::response::{IntoResponse as _, Response};
use http::header;
use keima_runs::{TaskSums, TaskTimes};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Labels with their values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The answer with a registry's metrics.
pub(crate) fn answer(registry: &Registry) -> Option<Response> {
    let mut text = String::new();
    encode(&mut text, registry).ok()?;
    Some(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

/// What is written down, under a prefix.
pub(crate) struct Sheet(pub(crate) Registry);

impl Sheet {
    pub(crate) fn new(prefix: &str, version: &str) -> Self {
        let mut sheet = Self(Registry::with_prefix(prefix));
        let labels = vec![("version", version.to_owned()), ("build", keima_cluster::BUILD.to_owned())];
        sheet.0.register("build", "Version of the program", Info::new(labels));
        sheet
    }

    /// A sum that never falls. Its name gets `_total`.
    pub(crate) fn count(&mut self, name: &str, help: &str, value: u64) {
        self.0.register(name, help, ConstCounter::new(value));
    }

    /// A sum of bytes.
    pub(crate) fn count_bytes(&mut self, name: &str, help: &str, value: u64) {
        self.0.register_with_unit(name, help, Unit::Bytes, ConstCounter::new(value));
    }

    /// A value of now.
    pub(crate) fn value(&mut self, name: &str, help: &str, unit: Option<Unit>, value: f64) {
        match unit {
            Some(unit) => self.0.register_with_unit(name, help, unit, ConstGauge::new(value)),
            None => self.0.register(name, help, ConstGauge::new(value)),
        }
    }

    /// Values of now by label.
    pub(crate) fn values(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let family =
            Family::<Labels, prometheus_client::metrics::gauge::Gauge<f64, std::sync::atomic::AtomicU64>>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        match unit {
            Some(unit) => self.0.register_with_unit(name, help, unit, family),
            None => self.0.register(name, help, family),
        }
    }

    /// What finished tasks did.
    pub(crate) fn work(&mut self, work: &TaskSums) {
        self.count("states", "States read by finished tasks, once for each pass", work.states);
        self.count_bytes("run_read", "Bytes that finished tasks read from runs", work.bytes_read);
        self.count_bytes("run_written", "Bytes that finished tasks wrote, spills included", work.bytes_written);
        self.count_bytes("run_spilled", "Bytes of spilled and intermediate runs", work.bytes_spilled);
        self.thread_time(&work.times);
    }

    /// Thread time by kind of work.
    fn thread_time(&mut self, times: &TaskTimes) {
        let family =
            Family::<Labels, prometheus_client::metrics::counter::Counter<f64, std::sync::atomic::AtomicU64>>::default(
            );
        for (kind, nanos) in [("read", times.read_nanos), ("map", times.map_nanos), ("write", times.write_nanos)] {
            family.get_or_create(&vec![("kind", kind.to_owned())]).inc_by(nanos as f64 / 1e9);
        }
        let help = "Thread time of finished tasks by kind of work";
        self.0.register_with_unit("task_thread", help, Unit::Seconds, family);
    }

    /// Memory of this process.
    pub(crate) fn resident(&mut self) {
        if let Some(bytes) = keima_cluster::resident_bytes() {
            self.value("process_resident", "Memory of the process that is in use", Some(Unit::Bytes), bytes as f64);
        }
    }
}

/// Bytes that an ordinary user may still write to a folder's file system.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(folder).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}
