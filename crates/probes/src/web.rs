//! Bytes of browsers and monitors, up to the routes of a coordinator.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use keima_cluster::{CoordinatorHandle, Door, Identity, Role, Secret, Tokens};
use keima_coordinator::Config;
use keima_http::{CoordinatorSite, coordinator_routes, probe};
use keima_problems::Problems;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::calls::small;
use crate::runs::folder;

/// A coordinator with one job, and its pages.
struct Site {
    runtime: Runtime,
    routes: Router,
}

impl Site {
    fn new(data: &Path) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let routes = runtime.block_on(async {
            let handle = CoordinatorHandle::open(data, Config::default(), Arc::new(Problems)).expect("a coordinator");
            handle.submit(small("go", "2x2")).await.expect("a job");
            coordinator_routes(CoordinatorSite { handle, data: data.to_owned(), version: "probe" })
        });
        let tokens = Tokens::default().with(Role::Reader, &Secret::random().expect("a token")).expect("one token");
        let identity = Identity::self_signed().expect("an identity");
        let guarded = Door::guarded(&identity, tokens).expect("a door");
        Self { runtime, routes: probe::guarded(routes, guarded) }
    }
}

thread_local! {
    static DATA: TempDir = folder();
    /// It lives as long as the process: a runtime must not be dropped while its thread ends.
    static SITE: &'static Site = DATA.with(|data| Box::leak(Box::new(Site::new(data.path()))));
}

/// All that comes over one connection.
pub(crate) fn requests(bytes: &[u8]) -> bool {
    SITE.with(|site| {
        let answers = site.runtime.block_on(probe::answers(site.routes.clone(), bytes));
        probe::is_fine(&answers)
    })
}
