//! `keima worker`: runs tasks of a coordinator and serves its runs until it is asked to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_blocks::process::{process_memory_bytes, task_memory_bytes};
use keima_cluster::{GrpcLink, Worker, WorkerConfig, WorkerError, serve_worker_runs};
use keima_count::LocalError;
use keima_http::{Site, serve, worker_routes};
use keima_problems::Problems;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::CLOSING;
use super::address::{listen, listen_http, once_moved, once_reachable, shown_url, url};
use super::archive::archive;
use super::door::{worker_door, worker_http_door};
use crate::args::{VERSION, WorkerArgs};
use crate::count::MEMORY_BYTES;
use crate::exit::Failed;
use crate::machine::{MachineMemory, Needed, asked_to_stop, cores};
use crate::terminal::log;
use crate::terminal::output::print;
use crate::terminal::units::show_bytes;

/// How long a coordinator may take to answer before the worker says that it waits.
const ANSWER: Duration = Duration::from_secs(1);

/// The URL of an option `--advertise`; `None` if it is not given, or empty as in a compose file. Without a scheme it has that
/// of the coordinator.
fn advertised(asked: Option<&str>, coordinator: &str) -> Result<Option<String>, Failed> {
    let Some(address) = asked.filter(|address| !address.trim().is_empty()) else { return Ok(None) };
    let scheme = coordinator.split("://").next().unwrap_or("http");
    let full = if address.contains("://") { address.to_owned() } else { format!("{scheme}://{address}") };
    url("--advertise", &full).map(Some)
}

/// Prints that the worker is ready once a coordinator knows it, and until then says that it waits.
async fn announce(mut known: watch::Receiver<bool>, ready: String, coordinator: String) {
    let answered = tokio::time::timeout(ANSWER, known.wait_for(|&known| known)).await.is_ok();
    if !answered {
        tracing::info!("waiting for the coordinator at {coordinator}; this worker is ready when it answers");
    }
    if known.wait_for(|&known| known).await.is_ok() {
        // The worker runs even if nobody can read that it is ready.
        let _ = print(&ready);
    }
}

pub(crate) async fn worker(args: WorkerArgs) -> Result<(), Failed> {
    while let Some(address) = until_moved(&args).await? {
        // Others know it under its old address. It comes back as after a restart, with the same runs.
        tracing::warn!("this machine has another address now, {address}: the worker starts again, and announces it");
    }
    Ok(())
}

/// Runs a worker until it is asked to stop, or until its machine has another address, which it returns.
async fn until_moved(args: &WorkerArgs) -> Result<Option<SocketAddr>, Failed> {
    // Scripts stop it as soon as it says that it is ready.
    let asked = asked_to_stop();
    let slots = args.threads.unwrap_or_else(cores);
    let coordinator = url("--coordinator", &args.coordinator)?;
    let advertise = advertised(args.advertise.as_deref(), &coordinator)?;
    Needed::TASKS.check(slots)?;
    let machine = MachineMemory::now();
    let granted = machine.granted(args.memory, |lowered| tracing::warn!("{lowered}"));
    let memory_bytes = granted.unwrap_or_else(|| machine.default_of(MEMORY_BYTES));
    let archive = archive(args.archive.as_deref())?;
    let (door, guard) = worker_door(args, &coordinator)?;
    let scheme = if guard.is_some() { "https" } else { "http" };
    if let Some(url) = advertise.as_ref().filter(|url| !url.starts_with(&format!("{scheme}://"))) {
        return Err(Failed::usage(format!("--advertise {url}: with this coordinator it must begin with {scheme}://")));
    }
    let link = GrpcLink::with(&coordinator, &args.pass.access().pass(&coordinator)?)?;
    let (listener, bound) = listen(args.listen).await?;
    let http = match args.http {
        Some(address) => Some((worker_http_door(args, address)?, listen_http(address).await?)),
        None => None,
    };
    let config = WorkerConfig { scratch: args.scratch.clone(), memory_bytes, disk_bytes: args.disk, slots };
    let worker = opened(config, &machine)?;
    log::set_worker(&worker.id().0);
    let (stop, stopped) = watch::channel(false);
    // From the start: who asks for health must not wait until the coordinator's name leads somewhere.
    let site = http.map(|(door, (listener, bound))| {
        let site = Site { routes: worker_routes(worker.watch(), VERSION), door };
        serve_site(listener, bound, site, stopped.clone())
    });
    // The address that was found, not asked for: it may change.
    let mut found = None;
    let advertise = match advertise {
        Some(url) => url,
        None => match once_reachable(bound, &coordinator).await {
            Some(address) => {
                found = Some(address);
                format!("{scheme}://{address}")
            }
            None => return Ok(None),
        },
    };
    let worker = match guard {
        Some(guard) => worker.guarded(guard),
        None => worker,
    };
    let worker = worker.with_archive(archive).reached_at(advertise.clone());
    let (name, store) = (worker.id().clone(), Arc::clone(worker.store()));
    let ready = if args.json {
        json!({ "worker": name.0, "address": advertise, "threads": slots }).to_string()
    } else {
        format!("worker ready at {advertise}")
    };
    let announcing = tokio::spawn(announce(worker.known(), ready, coordinator.clone()));
    tracing::info!(
        "worker {name}: {slots} task{} at a time, {} of memory each, up to {} of runs in {}, coordinator {}",
        if slots == 1 { "" } else { "s" },
        show_bytes(task_memory_bytes(memory_bytes, slots)),
        show_bytes(args.disk),
        args.scratch.display(),
        coordinator
    );
    let server = tokio::spawn(async move { serve_worker_runs(listener, store, &door, once_true(stopped)).await });
    let mut moved = None;
    let ended = worker.run(link, until(&mut moved, asked, found, bound, &coordinator)).await;
    announcing.abort();
    stop.send_replace(true);
    let _ = tokio::time::timeout(CLOSING, server).await;
    if let Some(site) = site {
        // Its port is free again then: this may be another start with another address.
        let _ = tokio::time::timeout(CLOSING, site).await;
    }
    ended?;
    Ok(moved)
}

/// Opens the worker's scratch folder. Where the memory is too small, the error says what the machine has.
fn opened(config: WorkerConfig, machine: &MachineMemory) -> Result<Worker, Failed> {
    let least_bytes = process_memory_bytes(LEAST_TASK_BYTES, config.slots);
    Worker::open(config, Arc::new(Problems)).map_err(|error| match error {
        WorkerError::Memory { .. } => Failed::usage(format!("{error}{}", machine.remark(least_bytes))),
        error => LocalError::from(error).into(),
    })
}

/// Serves metrics and health until `stopped` is true.
fn serve_site(listener: TcpListener, bound: SocketAddr, site: Site, stopped: watch::Receiver<bool>) -> JoinHandle<()> {
    let scheme = if site.door.web().is_some() { "https" } else { "http" };
    tracing::info!("metrics and health at {}", shown_url(scheme, bound));
    tokio::spawn(serve(listener, site, once_true(stopped)))
}

/// Ends when the value is true, or can no more become so.
async fn once_true(mut value: watch::Receiver<bool>) {
    let _ = value.wait_for(|&value| value).await;
}

/// Ends when the process is asked to stop, or the address that was `found` is lost for another, which `moved` then holds.
async fn until(
    moved: &mut Option<SocketAddr>,
    asked: impl Future<Output = ()>,
    found: Option<SocketAddr>,
    bound: SocketAddr,
    coordinator: &str,
) {
    let lost = async {
        match found {
            Some(found) => once_moved(found, bound, coordinator).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = asked => {}
        address = lost => *moved = Some(address),
    }
}
