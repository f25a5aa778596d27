//! The coordinator at one moment. Many readers share one look: what is asked of the coordinator, and so the time for which its
//! lock is held, does not grow with their number.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use keima_blocks::sizes::show_bytes;
use keima_cluster::{CoordinatorHandle, LinkError, Overview};
use keima_coordinator::{JobId, JobView};
use tokio::sync::Mutex;

use crate::json;

/// Time for which a look is good.
const FRESH: Duration = Duration::from_millis(500);
/// Values in a view.
const NEWEST_VALUES: usize = 100;
/// Jobs whose views are kept, each for [`FRESH`].
const MOST_VIEWS: usize = 16;

/// The coordinator at one moment.
pub(crate) struct Snapshot {
    pub(crate) overview: Overview,
    /// Changes whenever something changes that a page shows.
    pub(crate) digest: u64,
}

/// Looks at a coordinator.
pub(crate) struct Snapshots {
    handle: CoordinatorHandle,
    latest: Mutex<Option<(Instant, Arc<Snapshot>)>>,
    views: Mutex<BTreeMap<JobId, (Instant, Arc<JobView>)>>,
}

impl Snapshots {
    pub(crate) fn new(handle: CoordinatorHandle) -> Self {
        Self { handle, latest: Mutex::default(), views: Mutex::default() }
    }

    /// The coordinator itself, for what is not shared.
    pub(crate) const fn handle(&self) -> &CoordinatorHandle {
        &self.handle
    }

    /// The coordinator as it was at most [`FRESH`] ago.
    pub(crate) async fn now(&self) -> Result<Arc<Snapshot>, LinkError> {
        let mut latest = self.latest.lock().await;
        if let Some((_, snapshot)) = latest.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(Arc::clone(snapshot));
        }
        let overview = self.handle.overview().await?;
        let mut hasher = DefaultHasher::new();
        overview.jobs.iter().for_each(|job| json::listed(job).to_string().hash(&mut hasher));
        for worker in &overview.workers {
            (worker.here, worker.running, worker.disk_used_bytes, worker.runs, &worker.id).hash(&mut hasher);
            worker.memory_used_bytes.map(show_bytes).hash(&mut hasher);
        }
        overview.events.last().map(|event| event.number).hash(&mut hasher);
        let snapshot = Arc::new(Snapshot { overview, digest: hasher.finish() });
        *latest = Some((Instant::now(), Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// The same of one job, with its newest values and all else that is known of it.
    pub(crate) async fn view(&self, job: JobId) -> Result<Arc<JobView>, LinkError> {
        let mut views = self.views.lock().await;
        views.retain(|_, (at, _)| at.elapsed() < FRESH);
        if let Some((_, view)) = views.get(&job) {
            return Ok(Arc::clone(view));
        }
        let mut view = self.handle.view(job).await?;
        let first = (view.status.values.known as usize).saturating_sub(NEWEST_VALUES);
        let page = self.handle.values(job, first).await?;
        view.status.set_values(page.values);
        let view = Arc::new(view);
        if views.len() < MOST_VIEWS {
            views.insert(job, (Instant::now(), Arc::clone(&view)));
        }
        Ok(view)
    }

    /// Why the coordinator cannot do its work.
    pub(crate) fn why_not_ready(&self) -> Option<String> {
        self.handle.why_not_ready()
    }
}
