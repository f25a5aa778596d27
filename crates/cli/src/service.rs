//! `keima coordinator` and `keima worker`: the two services of a cluster.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use keima_blocks::process::task_memory_bytes;
use keima_cluster::{
    CoordinatorHandle, GrpcLink, JournalError, Worker, WorkerConfig, serve_coordinator, serve_worker_runs,
};
use keima_coordinator::Config;
use keima_count::LocalError;
use keima_problems::Problems;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::args::{CoordinatorArgs, WorkerArgs};
use crate::exit::Failed;
use crate::output::print;
use crate::units::show_bytes;

/// How often the way to a coordinator is looked for that has no address yet.
const REACHABLE_INTERVAL: Duration = Duration::from_secs(1);

/// Resolves when the process is asked to stop (interrupt or terminate).
pub(crate) async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    // Without a handler the signal ends the process, which is what was asked for.
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failed> {
    let failed = |error: std::io::Error| {
        let advice = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another program listens there; choose another port with --listen, or port 0 for any that is free"
            }
            std::io::ErrorKind::AddrNotAvailable => {
                "this machine does not have that address; use one of its own, or 0.0.0.0 for all of them"
            }
            std::io::ErrorKind::PermissionDenied => "ports below 1024 need privileges; choose a higher one",
            _ => "choose another address with --listen",
        };
        Failed::other(format!("cannot listen on {address}: {error}; {advice}"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// The address under which others reach a service that listens on `bound`: where that is every address of the machine,
/// the one that leads to `peer`; `None` while `peer` has no address of that family.
fn reachable(bound: SocketAddr, peer: &str) -> Option<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return Some(bound);
    }
    let host = peer.split_once("://").map_or(peer, |(_, rest)| rest);
    let host = host.split('/').next()?;
    // Without a port it is that of HTTP.
    let mut peers = host.to_socket_addrs().or_else(|_| (host, 80).to_socket_addrs()).ok()?;
    let peer = peers.find(|a| a.is_ipv4() == bound.is_ipv4())?;
    let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    // Connecting a datagram socket sends nothing; it only chooses the interface.
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then(|| SocketAddr::new(ip, bound.port()))
}

/// The same, once it is known: a worker may be there before the coordinator's name is, and an address that leads
/// nowhere would be its own for as long as it lives. `None` if the process is asked to stop before.
async fn once_reachable(
    bound: SocketAddr,
    peer: &str,
    stop: &mut (impl Future<Output = ()> + Unpin),
) -> Option<SocketAddr> {
    let mut told = false;
    loop {
        if let Some(address) = reachable(bound, peer) {
            return Some(address);
        }
        if !std::mem::replace(&mut told, true) {
            tracing::warn!(
                "no way from {bound} to the coordinator at {peer} is known yet, so neither is the address under which others \
                 reach this worker; trying again, or say it with --advertise"
            );
        }
        tokio::select! {
            () = tokio::time::sleep(REACHABLE_INTERVAL) => {}
            () = &mut *stop => return None,
        }
    }
}

/// Name of this machine, for a line that people copy to others.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

pub(crate) async fn coordinator(args: CoordinatorArgs) -> Result<(), Failed> {
    for (name, value) in [("--lease-seconds", args.lease_seconds), ("--grace-seconds", args.grace_seconds)] {
        if !(value.is_finite() && (0.1..=1e6).contains(&value)) {
            return Err(Failed::usage(format!("{name} {value}: expected seconds between 0.1 and 1000000")));
        }
    }
    let lease_millis = (args.lease_seconds * 1000.0) as u64;
    let config = Config {
        lease_millis,
        heartbeat_millis: (lease_millis / 6).clamp(50, 2000),
        grace_millis: (args.grace_seconds * 1000.0) as u64,
        durable_interval_millis: args.checkpoint_seconds.saturating_mul(1000),
        second_copies: !args.no_second_copies,
        copy_interval_millis: args.checkpoint_seconds.saturating_mul(1000),
        ..Config::default()
    };
    let (listener, bound) = listen(args.listen).await?;
    let handle = CoordinatorHandle::open(&args.data, config, Arc::new(Problems))
        .map_err(|error| Failed::other(error.to_string()))?;
    let url = if bound.ip().is_unspecified() {
        format!("http://{}:{}", host_name(), bound.port())
    } else {
        format!("http://{bound}")
    };
    // Workers serve runs to one another: those of other machines cannot reach one that listens for its own alone.
    let listen = if bound.ip().is_loopback() { "" } else { " --listen 0.0.0.0:0" };
    // Whoever cannot read it: the service is there.
    if args.json {
        let _ = print(&json!({ "coordinator": url, "data": args.data }).to_string());
    } else {
        let _ = print(&format!(
            "coordinator ready at {url}\n\
             start workers with   keima worker --coordinator {url}{listen} --scratch DIR\n\
             submit a job with    keima submit go 9x9 --coordinator {url}"
        ));
    }
    let failure = handle.clone();
    let closing = handle.clone();
    let (stop, mut stopped) = watch::channel(false);
    let shutdown = async move {
        let _ = stopped.wait_for(|&stop| stop).await;
    };
    let server = serve_coordinator(listener, handle, shutdown);
    tokio::pin!(server);
    tokio::select! {
        ended = &mut server => return ended.map_err(|error| Failed::other(error.to_string())),
        () = asked_to_stop() => {}
        why = failure.failure() => {
            let advice = match &*why {
                JournalError::Store(_) => format!("; mend the disk below {} and start the coordinator again, \
                                                   it goes on with the same jobs", args.data.display()),
                JournalError::Encode(_) | JournalError::Thread => String::new(),
            };
            return Err(Failed::other(format!("the jobs' state cannot be stored any more: {why}{advice}")));
        }
    }
    tracing::info!("stopping; jobs go on when the coordinator is started again on the same data folder");
    closing.close();
    stop.send_replace(true);
    let _ = tokio::time::timeout(Duration::from_secs(5), server).await;
    Ok(())
}

pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1024))
}

pub(crate) async fn worker(args: WorkerArgs) -> Result<(), Failed> {
    let slots = args.threads.unwrap_or_else(cores);
    let link = GrpcLink::new(&args.coordinator)?;
    let (listener, bound) = listen(args.listen).await?;
    // One for all of its life: between two, a signal could be lost.
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
    if args.json {
        let _ = print(&json!({ "worker": name.0, "address": advertise, "threads": slots }).to_string());
    } else {
        let _ = print(&format!("worker ready at {advertise}"));
    }
    tracing::info!(
        "{name}: {slots} tasks at a time with {} each, up to {} in {}, for the coordinator at {}",
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
    let _ = tokio::time::timeout(Duration::from_secs(5), server).await;
    ended.map_err(|error| Failed::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_somewhere_or_is_not_known() {
        let check = |bound: &str, peer: &str, expected: Option<&str>| {
            let got = reachable(bound.parse().unwrap(), peer).map(|address| address.to_string());
            assert_eq!(got.as_deref(), expected, "{bound} towards {peer}");
        };
        check("127.0.0.1:7702", "http://127.0.0.1:7700", Some("127.0.0.1:7702"));
        check("127.0.0.1:7702", "no host at all", Some("127.0.0.1:7702"));
        check("0.0.0.0:7702", "http://127.0.0.1:7700", Some("127.0.0.1:7702"));
        check("0.0.0.0:7702", "http://127.0.0.1/", Some("127.0.0.1:7702"));
        check("0.0.0.0:7702", "no host at all", None);
        // No address of the family that the worker listens on.
        check("0.0.0.0:7702", "http://[::1]:7700", None);
    }
}
