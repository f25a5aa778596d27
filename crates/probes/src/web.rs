//! Bytes of browsers and monitors, up to the routes of a coordinator.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use keima_cluster::world::{self, Carrier, Waiting, Work, World};
use keima_cluster::{CoordinatorHandle, Door, Identity, Role, Secret, Tokens};
use keima_coordinator::Config;
use keima_http::{CoordinatorSite, coordinator_routes, probe};
use keima_problems::Problems;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::calls::small;
use crate::runs::folder;

/// A world in which all work is done at once, on the one thread that there is: then an input always leads to the same, and nobody
/// waits for threads.
struct OneThread;

impl World for OneThread {
    fn random_bits(&self) -> u64 {
        7
    }
    fn time_of_day(&self, _: &Path) -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
    fn monotonic(&self, _: &Path, passed: Duration) -> Duration {
        passed
    }
    fn pause(&self, _: &Path, time: Duration) -> Waiting<()> {
        Box::pin(tokio::time::sleep(time))
    }
    fn run(&self, work: Work) -> Waiting<Result<(), String>> {
        Box::pin(async {
            work();
            Ok(())
        })
    }
    fn wait(&self, _: Waiting<()>) {
        unreachable!("only workers and archives wait on threads, and there are none");
    }
    fn connect(&self, _: &Path, _: &str) -> Carrier {
        unreachable!("there is nobody to connect to");
    }
    fn shares_folders(&self) -> bool {
        false
    }
}

/// A coordinator with one job, and its pages.
struct Site {
    runtime: Runtime,
    routes: Router,
}

impl Site {
    fn new(data: &Path) -> Self {
        // Nothing is read of sockets: a runtime that could would ask the system at every turn.
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
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
    world::set(Some(Arc::new(OneThread)));
    let is_fine = SITE.with(|site| {
        let answers = site.runtime.block_on(probe::answers(site.routes.clone(), bytes));
        probe::is_fine(&answers)
    });
    world::set(None);
    is_fine
}
