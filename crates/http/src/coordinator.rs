//! The coordinator's routes.
//!
//! | path | is |
//! | --- | --- |
//! | `/`, `/jobs/{job}` | the page |
//! | `/jobs` | all jobs, a page at a time |
//! | `/api/v1/jobs`, `/api/v1/jobs/{job}`, `/api/v1/jobs/{job}/values`, `/api/v1/workers` | JSON |
//! | `/api/v1/events` | server-sent events for those who accept them, else the remembered events as JSON |
//! | `/api/v1/openapi.json` | the description of the above |
//! | `/metrics` | OpenMetrics |
//! | `/healthz`, `/readyz` | alive; able to do its work |

mod query;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{HeaderMap, StatusCode, header};
use keima_cluster::{CoordinatorHandle, LinkError};
use keima_coordinator::{CallError, JobFilter, JobId, JobPage};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore};

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
    /// Held while a list is made: readers take turns.
    list: Mutex<()>,
    data: PathBuf,
    version: &'static str,
}

type Site = State<Arc<Shared>>;

/// The coordinator's routes, without a guard: see [`crate::serve`].
pub fn coordinator_routes(site: CoordinatorSite) -> Router {
    let shared = Shared {
        snapshots: Arc::new(Snapshots::new(site.handle)),
        streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        list: Mutex::new(()),
        data: site.data,
        version: site.version,
    };
    Router::new()
        .route("/", get(newest))
        .route("/jobs", get(listed))
        .route("/jobs/{job}", get(chosen))
        .route("/api/v1/jobs", get(jobs))
        .route("/api/v1/jobs/{job}", get(job))
        .route("/api/v1/jobs/{job}/values", get(values))
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
    query::job_id(name).ok_or_else(|| {
        let name: String = name.chars().take(80).collect();
        Refused(StatusCode::NOT_FOUND, format!("{name:?} is not the name of a job, such as j1"))
    })
}

/// A query that makes no sense.
fn senseless(why: String) -> Refused {
    Refused(StatusCode::BAD_REQUEST, why)
}

/// The part of the list of jobs that a query asks for.
async fn page_of(site: &Shared, query: Option<&str>) -> Result<(JobFilter, JobPage), Refused> {
    let filter = query::jobs(query.unwrap_or_default()).map_err(senseless)?;
    let _in_turn = site.list.lock().await;
    let page = site.snapshots.handle().list(&filter).await?;
    Ok((filter, page))
}

async fn jobs(State(site): Site, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let (_, JobPage { jobs, next }) = page_of(&site, query.as_deref()).await?;
    let jobs: Vec<Value> = jobs.iter().map(shape::listed).collect();
    Ok(answer(&json!({ "jobs": jobs, "next": next.map(|job| job.to_string()) })))
}

async fn values(State(site): Site, Path(name): Path<String>, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let (job, from) = (job_id(&name)?, query::values(&query.unwrap_or_default()).map_err(senseless)?);
    let _in_turn = site.list.lock().await;
    let page = site.snapshots.handle().values(job, from).await?;
    Ok(answer(&json!({ "from": from, "series": shape::series(&page.values), "next": page.next })))
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
    // The oldest job that is under way, else the newest one.
    let chosen = jobs.iter().rev().find(|job| job.progress.tasks_running > 0).or(jobs.first());
    let view = match chosen {
        Some(job) => Some(site.snapshots.view(job.id).await?),
        None => None,
    };
    Ok(page::answer(&now.overview, view.as_deref(), site.version))
}

async fn listed(State(site): Site, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let (filter, page) = page_of(&site, query.as_deref()).await?;
    Ok(page::list(&filter, &page, site.version))
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
