//! `keima coordinator`: keeps the jobs of a cluster until it is asked to stop.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use keima_cluster::{CoordinatorHandle, JournalError, Role, failpoint, serve_coordinator};
use keima_coordinator::Config;
use keima_http::{CoordinatorSite, Site, coordinator_routes, serve};
use keima_problems::Problems;
use serde_json::json;
use tokio::sync::watch;

use super::CLOSING;
use super::address::{listen, listen_http, shown_url};
use super::archive::{archive, archive_url};
use super::door::Entrance;
use crate::args::{CoordinatorArgs, VERSION};
use crate::exit::Failed;
use crate::machine::asked_to_stop;
use crate::terminal::output::print;

/// Heartbeats in the time of a lease.
const HEARTBEATS_A_LEASE: u64 = 6;
/// A day.
const DAY_MILLIS: u64 = 24 * 3600 * 1000;
/// Lease of a task that does not get on, as a multiple of a silent worker's.
const STALL_LEASES: u64 = 20;

/// The coordinator's times, from seconds that are checked here.
fn config(args: &CoordinatorArgs) -> Result<Config, Failed> {
    for (name, value) in [("--lease-seconds", args.lease_seconds), ("--grace-seconds", args.grace_seconds)] {
        if !(value.is_finite() && (0.1..=1e6).contains(&value)) {
            return Err(Failed::usage(format!("{name} {value} is out of range: use 0.1 to 1000000 seconds")));
        }
    }
    let lease_millis = (args.lease_seconds * 1000.0) as u64;
    Ok(Config {
        lease_millis,
        stall_millis: lease_millis.saturating_mul(STALL_LEASES),
        heartbeat_millis: (lease_millis / HEARTBEATS_A_LEASE).clamp(50, 2000),
        grace_millis: (args.grace_seconds * 1000.0) as u64,
        disk_wait_millis: (args.grace_seconds * 1000.0) as u64,
        durable_interval_millis: args.checkpoint_seconds.saturating_mul(1000),
        second_copies: !args.no_second_copies,
        copy_interval_millis: args.checkpoint_seconds.saturating_mul(1000),
        archive_interval_millis: archive_url(args.archive.as_deref())
            .map(|_| args.archive_seconds.saturating_mul(1000)),
        archive_interval_stages: args.archive_stages,
        recount_one_in: args.recount,
        keep_jobs: Some(args.keep_jobs),
        keep_millis: Some(args.keep_days.saturating_mul(DAY_MILLIS)),
        ..Config::default()
    })
}

/// Tells that the coordinator is ready. The service runs even if nobody can read that.
fn print_ready(bound: SocketAddr, entrance: &Entrance, page: Option<SocketAddr>, args: &CoordinatorArgs) {
    let data = &args.data;
    // A worker without the archive stores nothing there.
    let archive = archive_url(args.archive.as_deref()).map_or_else(String::new, |url| format!(" --archive {url}"));
    let url = shown_url(entrance.scheme(), bound);
    // Workers serve runs to one another. A worker that listens on loopback serves its own machine only.
    let listen = if bound.ip().is_loopback() { "" } else { " --listen 0.0.0.0:0" };
    let insecure = if entrance.guarded.is_none() && !bound.ip().is_loopback() { " --insecure" } else { "" };
    let with = |role| entrance.options_of(role);
    let page = page.map(|bound| format!("{}/", shown_url(entrance.scheme(), bound)));
    let _ = if args.json {
        let guarded = entrance.guarded.as_ref();
        let (fingerprint, tokens) = (guarded.map(|g| g.fingerprint.to_string()), guarded.map(|g| &g.tokens));
        let ready = json!({
            "coordinator": url, "data": data, "fingerprint": fingerprint, "tokens": tokens, "page": page,
        });
        print(&ready.to_string())
    } else {
        let (worker, client) = (with(Role::Worker), with(Role::Client));
        let page = page.map_or_else(String::new, |page| format!("\nwatch it at          {page}"));
        print(&format!(
            "coordinator ready at {url}\n\
             start workers with   keima worker --coordinator {url}{worker}{listen}{insecure}{archive} --scratch DIR\n\
             submit a job with    keima submit go 9x9 --coordinator {url}{client}{page}"
        ))
    };
}

/// Why the state of the jobs cannot be stored, and what to do.
fn not_stored(error: &JournalError, data: &Path) -> Failed {
    let advice = match error {
        JournalError::Store(_) => format!(
            "; repair the disk of {} and start the coordinator again, it will continue the same jobs",
            data.display()
        ),
        JournalError::Encode(_) | JournalError::Thread => String::new(),
    };
    Failed::other(format!("cannot store the state of the jobs: {error}{advice}"))
}

pub(crate) async fn coordinator(args: CoordinatorArgs) -> Result<(), Failed> {
    let config = config(&args)?;
    let entrance = Entrance::of(&args)?;
    let (listener, bound) = listen(args.listen).await?;
    let page = match args.http {
        Some(address) => Some(listen_http(address).await?),
        None => None,
    };
    let archive = archive(args.archive.as_deref())?;
    let handle = CoordinatorHandle::open_with(&args.data, config, Arc::new(Problems), archive)
        .map_err(|error| Failed::other(error.to_string()))?;
    // Scripts stop it as soon as it says that it is ready.
    let asked = asked_to_stop();
    print_ready(bound, &entrance, page.as_ref().map(|(_, bound)| *bound), &args);
    failpoint::hit("coordinator.after_ready");
    let failure = handle.clone();
    let closing = handle.clone();
    let (stop, mut stopped) = watch::channel(false);
    let shutdown = async move {
        let _ = stopped.wait_for(|&stop| stop).await;
    };
    if let Some((listener, _)) = page {
        let site = CoordinatorSite { handle: handle.clone(), data: args.data.clone(), version: VERSION };
        let site = Site { routes: coordinator_routes(site), door: entrance.door.clone() };
        let closing = handle.clone();
        tokio::spawn(async move { serve(listener, site, closing.closed()).await });
    }
    let server = serve_coordinator(listener, handle, &entrance.door, shutdown);
    tokio::pin!(server);
    tokio::select! {
        ended = &mut server => return ended.map_err(|error| Failed::other(error.to_string())),
        () = asked => {}
        why = failure.failure() => return Err(not_stored(&why, &args.data)),
    }
    tracing::info!("stopping; a coordinator started again with the same data folder continues the jobs");
    closing.close();
    stop.send_replace(true);
    let _ = tokio::time::timeout(CLOSING, server).await;
    Ok(())
}
