//! The coordinator's routes.
//!
//! | path | is |
//! | --- | --- |
//! | `/`, `/jobs/{job}` | the page |
//! | `/api/v1/jobs`, `/api/v1/jobs/{job}`, `/api/v1/workers` | JSON |
//! | `/api/v1/events` | server-sent events for those who accept them, else the remembered events as JSON |
//! | `/api/v1/openapi.json` | the description of the above |
//! | `/metrics` | OpenMetrics |
//! | `/healthz`, `/readyz` | alive; able to do its work |

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{HeaderMap, StatusCode, header};
use keima_cluster::{CoordinatorHandle, LinkError};
use keima_coordinator::{CallError, JobId};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::events::{MOST_STREAMS, stream};
use crate::snapshot::Snapshots;
use crate::{json as shape, metrics, page};

/// The description of the API.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// What the routes need to know.
pub struct CoordinatorSite {
    /// The coordinator.
    pub handle: CoordinatorHandle,
    /// Its folder, whose free space is a metric.
    pub data: PathBuf,
    /// Version of the program, for people.
    pub version: &'static str,
}

struct Shared {
    snapshots: Arc<Snapshots>,
    streams: Arc<Semaphore>,
    data: PathBuf,
    version: &'static str,
}

type Site = State<Arc<Shared>>;

/// The coordinator's routes, without a guard: see [`crate::serve`].
pub fn coordinator_routes(site: CoordinatorSite) -> Router {
    let shared = Shared {
        snapshots: Arc::new(Snapshots::new(site.handle)),
        streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        data: site.data,
        version: site.version,
    };
    Router::new()
        .route("/", get(newest))
        .route("/jobs/{job}", get(chosen))
        .route("/api/v1/jobs", get(jobs))
        .route("/api/v1/jobs/{job}", get(job))
        .route("/api/v1/workers", get(workers))
        .route("/api/v1/events", get(events))
        .route("/api/v1/openapi.json", get(async || ([(header::CONTENT_TYPE, "application/json")], OPENAPI)))
        .route("/metrics", get(measure))
        .route("/healthz", get(async || "alive\n"))
        .route("/readyz", get(ready))
        .fallback(async || (StatusCode::NOT_FOUND, "there is nothing here; / is the page\n"))
        .with_state(Arc::new(shared))
}

/// Why a request has no answer.
struct Refused(StatusCode, String);

impl From<LinkError> for Refused {
    fn from(error: LinkError) -> Self {
        let code = match error {
            LinkError::Call(CallError::NoSuchJob(_)) => StatusCode::NOT_FOUND,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self(code, error.to_string())
    }
}

impl axum::response::IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, answer(&json!({ "error": self.1 }))).into_response()
    }
}

fn answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// The number of a job's name, `"j1"`.
fn job_id(name: &str) -> Result<JobId, Refused> {
    let number = name.strip_prefix('j').and_then(|digits| digits.parse().ok());
    number.map(JobId).ok_or_else(|| {
        let name: String = name.chars().take(80).collect();
        Refused(StatusCode::NOT_FOUND, format!("{name:?} is not the name of a job, such as j1"))
    })
}

async fn jobs(State(site): Site) -> Result<Response, Refused> {
    let now = site.snapshots.now().await?;
    Ok(answer(&json!({ "jobs": now.overview.jobs.iter().map(shape::listed).collect::<Vec<_>>() })))
}

async fn job(State(site): Site, Path(name): Path<String>) -> Result<Response, Refused> {
    Ok(answer(&shape::view(&*site.snapshots.view(job_id(&name)?).await?)))
}

async fn workers(State(site): Site) -> Result<Response, Refused> {
    Ok(answer(&shape::workers(&site.snapshots.now().await?.overview.workers)))
}

async fn events(State(site): Site, headers: HeaderMap) -> Result<Response, Refused> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::ACCEPT).is_some_and(|accepted| accepted.contains("text/event-stream")) {
        let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
        return Ok(stream(Arc::clone(&site.snapshots), &site.streams, after));
    }
    let now = site.snapshots.now().await?;
    Ok(answer(&json!({ "events": now.overview.events.iter().map(shape::event).collect::<Vec<_>>() })))
}

async fn newest(State(site): Site) -> Result<Response, Refused> {
    let now = site.snapshots.now().await?;
    let jobs = &now.overview.jobs;
    // The job that is under way, else the newest one.
    let chosen = jobs.iter().find(|job| job.tasks_running > 0).or(jobs.last());
    let view = match chosen {
        Some(job) => Some(site.snapshots.view(job.id).await?),
        None => None,
    };
    Ok(page::answer(&now.overview, view.as_deref(), site.version))
}

async fn chosen(State(site): Site, Path(name): Path<String>) -> Result<Response, Refused> {
    let now = site.snapshots.now().await?;
    let view = site.snapshots.view(job_id(&name)?).await?;
    Ok(page::answer(&now.overview, Some(&view), site.version))
}

async fn measure(State(site): Site) -> Result<Response, Refused> {
    let now = site.snapshots.now().await?;
    let ready = site.snapshots.why_not_ready().is_none();
    metrics::answer(&metrics::coordinator::registry(&now.overview, ready, &site.data, site.version))
        .ok_or_else(|| Refused(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written".to_owned()))
}

async fn ready(State(site): Site) -> Response {
    match site.snapshots.why_not_ready() {
        None => "ready\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response(),
    }
}
