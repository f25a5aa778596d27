//! The worker's routes: `/metrics`, `/healthz`, `/readyz`.
//!
//! A worker is alive as long as it answers, whatever its coordinator does: one that is away is no reason to start the worker
//! again. It is ready while its coordinator answers and its disk has room.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::StatusCode;
use keima_cluster::WorkerWatch;

use crate::metrics;

/// A worker with less room than this finishes no task.
const LEAST_FREE_BYTES: u64 = 1 << 20;

/// The worker's routes, without a guard: see [`crate::serve`].
pub fn worker_routes(worker: WorkerWatch, version: &'static str) -> Router {
    let measure = async move |State(worker): State<WorkerWatch>| {
        let failed = || (StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written\n").into_response();
        metrics::answer(&metrics::worker::registry(&worker, version)).unwrap_or_else(failed)
    };
    Router::new()
        .route("/", get(async || "a worker of keima: /metrics, /healthz, /readyz\n"))
        .route("/metrics", get(measure))
        .route("/healthz", get(async || "alive\n"))
        .route("/readyz", get(ready))
        .fallback(async || (StatusCode::NOT_FOUND, "there is nothing here; see /metrics, /healthz and /readyz\n"))
        .with_state(worker)
}

async fn ready(State(worker): State<WorkerWatch>) -> Response {
    let full = worker.disk_free_bytes().is_some_and(|free| free < LEAST_FREE_BYTES);
    let why = match (worker.is_connected(), full) {
        (true, false) => return "ready\n".into_response(),
        (false, _) => "the coordinator does not answer",
        (true, true) => "its disk is full",
    };
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response()
}
