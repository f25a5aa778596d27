//! `keima worker`: runs tasks of a coordinator and serves its runs until it is asked to stop.

use std::sync::Arc;

use keima_blocks::process::task_memory_bytes;
use keima_cluster::{GrpcLink, Worker, WorkerConfig, serve_worker_runs};
use keima_count::LocalError;
use keima_problems::Problems;
use serde_json::json;
use tokio::sync::watch;

use super::CLOSING;
use super::address::{listen, once_reachable};
use crate::args::WorkerArgs;
use crate::exit::Failed;
use crate::machine::{asked_to_stop, cores};
use crate::terminal::output::print;
use crate::terminal::units::show_bytes;

pub(crate) async fn worker(args: WorkerArgs) -> Result<(), Failed> {
    let slots = args.threads.unwrap_or_else(cores);
    let link = GrpcLink::new(&args.coordinator)?;
    let (listener, bound) = listen(args.listen).await?;
    // One future for the worker's whole life: a signal between two futures would be lost.
    let mut stop_asked = Box::pin(asked_to_stop());
    let advertise = match args.advertise {
        Some(url) if url.contains("://") => url,
        Some(address) => format!("http://{address}"),
        None => match once_reachable(bound, &args.coordinator, &mut stop_asked).await {
            Some(address) => format!("http://{address}"),
            None => return Ok(()),
        },
    };
    let config = WorkerConfig {
        scratch: args.scratch.clone(),
        memory_bytes: args.memory,
        disk_bytes: args.disk,
        slots,
        advertise: advertise.clone(),
    };
    let worker = Worker::open(config, Arc::new(Problems)).map_err(LocalError::from)?;
    let (name, store) = (worker.id().clone(), Arc::clone(worker.store()));
    // The worker runs even if nobody can read that it is ready.
    let _ = if args.json {
        print(&json!({ "worker": name.0, "address": advertise, "threads": slots }).to_string())
    } else {
        print(&format!("worker ready at {advertise}"))
    };
    tracing::info!(
        "worker {name}: {slots} task{} at a time, {} of memory each, up to {} of runs in {}, coordinator {}",
        if slots == 1 { "" } else { "s" },
        show_bytes(task_memory_bytes(args.memory, slots)),
        show_bytes(args.disk),
        args.scratch.display(),
        args.coordinator
    );
    let (stop, stopped) = watch::channel(false);
    let mut serving = stopped.clone();
    let server = tokio::spawn(serve_worker_runs(listener, store, async move {
        let _ = serving.wait_for(|&stop| stop).await;
    }));
    let ended = worker.run(link, stop_asked).await;
    stop.send_replace(true);
    let _ = tokio::time::timeout(CLOSING, server).await;
    ended.map_err(|error| Failed::other(error.to_string()))
}
