//! Starting, stopping and killing the processes of the simulated machines.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use keima_cluster::{
    Archive, CoordinatorHandle, GrpcLink, RunStore, Worker, WorkerConfig, coordinator_routes, worker_routes,
};
use keima_coordinator::{Config, WorkerId};
use keima_problems::Problems;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::world::{HUB, SimWorld};

/// Memory of a worker's process: 8 MiB for each of two tasks.
const MEMORY_BYTES: u64 = 48 << 20;
/// Time of the world after which a dead process must have let go of its folder.
const LONGEST_DEATH: Duration = Duration::from_secs(30);

/// The coordinator's times: short, so that a minute sees many leases end.
pub(crate) fn config() -> Config {
    Config {
        lease_millis: 6_000,
        stall_millis: 30_000,
        heartbeat_millis: 1_500,
        grace_millis: 10_000,
        durable_interval_millis: 3_000,
        copy_interval_millis: 3_000,
        speculate_min_millis: 2_000,
        disk_wait_millis: 5_000,
        recount_one_in: 8,
        most_task_records: Some(30),
        ..Config::default()
    }
}

/// The same with an archive, where there is one.
pub(crate) fn config_with(has_archive: bool, archive_interval_stages: Option<u64>) -> Config {
    Config { archive_interval_millis: has_archive.then_some(1_000), archive_interval_stages, ..config() }
}

/// The coordinator's process.
pub(crate) struct Hub {
    pub(crate) handle: CoordinatorHandle,
    watcher: JoinHandle<()>,
}

/// A worker's process.
pub(crate) struct Process {
    pub(crate) id: WorkerId,
    pub(crate) store: Weak<RunStore>,
    /// Bytes of runs that it found in its folder.
    pub(crate) found_bytes: u64,
    stop: watch::Sender<bool>,
    main: JoinHandle<()>,
}

fn comes_up(world: &Arc<SimWorld>, name: &str) {
    world.with(|state| {
        state.fallen.remove(name);
        if let Some(machine) = state.machines.get_mut(name) {
            machine.up = true;
            machine.life += 1;
        }
    });
}

/// Marks a machine as down, unless another process of it is up already.
fn falls(world: &Arc<SimWorld>, name: &str, life: u64) {
    world.with(|state| {
        if let Some(machine) = state.machines.get_mut(name).filter(|machine| machine.life == life) {
            machine.up = false;
            state.fallen.insert(name.to_owned());
        }
    });
    world.fell.notify_one();
}

/// From now on the machine does nothing: no file changes, no message leaves or arrives.
fn cut_off(world: &Arc<SimWorld>, name: &str) {
    world.with(|state| {
        if let Some(machine) = state.machines.get_mut(name) {
            machine.up = false;
            machine.routes = None;
            machine.sleeps_since = None;
            machine.disk.hangs = false;
            machine.calls.drain(..).for_each(|call| call.abort());
        }
        state.fallen.remove(name);
    });
    world.woke.notify_waiters();
}

/// Waits until nothing of a dead process is left.
async fn gone(world: &Arc<SimWorld>, lock: &Path, what: &str) {
    let died = world.passed();
    loop {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        if File::open(lock).map_or(true, |file| file.try_lock().is_ok()) {
            return;
        }
        if world.passed() > died + LONGEST_DEATH {
            return world.fault(format!("{what} is dead, but still has its folder"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Hub {
    /// Starts the coordinator on its folder. An error is what its user would see.
    pub(crate) fn start(world: &Arc<SimWorld>, config: Config, archive: Option<Archive>) -> Result<Self, String> {
        comes_up(world, HUB);
        let life = world.life(HUB);
        let opened = CoordinatorHandle::open_with(&world.root(HUB), config, Arc::new(Problems), archive);
        let handle = match opened {
            Ok(handle) if world.is_up(HUB) => handle,
            Ok(_) => return Err("it died at its start".to_owned()),
            Err(error) => {
                cut_off(world, HUB);
                return Err(error.to_string());
            }
        };
        let routes = coordinator_routes(handle.clone());
        world.with(|state| {
            if let Some(machine) = state.machines.get_mut(HUB) {
                machine.routes = Some(routes);
            }
        });
        // The process ends when its records cannot be stored any more.
        let (watched, of) = (handle.clone(), Arc::clone(world));
        let watcher = tokio::spawn(async move {
            let why = watched.failure().await;
            of.log(|| format!("{HUB}: ends: {}", plain(&why.to_string())));
            falls(&of, HUB, life);
        });
        Ok(Self { handle, watcher })
    }

    /// Takes the process away, as `kill -9` does.
    pub(crate) async fn kill(self, world: &Arc<SimWorld>) {
        cut_off(world, HUB);
        self.watcher.abort();
        drop(self);
        gone(world, &world.root(HUB).join("coordinator.lock"), HUB).await;
    }
}

impl Process {
    /// Starts a worker on its folder. An error is what its user would see.
    pub(crate) fn start(
        world: &Arc<SimWorld>,
        name: &str,
        slots: u32,
        archive: Option<Archive>,
    ) -> Result<Self, String> {
        comes_up(world, name);
        let life = world.life(name);
        let cap = world.with(|state| state.machines.get(name).map_or(0, |machine| machine.cap_bytes));
        let config = WorkerConfig { scratch: world.root(name), memory_bytes: MEMORY_BYTES, disk_bytes: cap, slots };
        let worker = match Worker::open(config, Arc::new(Problems)) {
            Ok(worker) if world.is_up(name) => worker.with_archive(archive).reached_at(format!("http://{name}")),
            Ok(_) => return Err("it died at its start".to_owned()),
            Err(error) => {
                cut_off(world, name);
                return Err(error.to_string());
            }
        };
        let (id, store) = (worker.id().clone(), Arc::downgrade(worker.store()));
        let found_bytes = worker.store().disk().used();
        let routes = worker_routes(Arc::clone(worker.store()));
        world.with(|state| {
            if let Some(machine) = state.machines.get_mut(name) {
                machine.routes = Some(routes);
            }
        });
        let link = GrpcLink::new(&format!("http://{name}.{HUB}")).map_err(|error| error.to_string())?;
        let (stop, mut stopped) = watch::channel(false);
        let (of, who) = (Arc::clone(world), name.to_owned());
        let main = tokio::spawn(async move {
            let shutdown = async move { drop(stopped.wait_for(|&stop| stop).await) };
            let ended = worker.run(link, shutdown).await;
            of.log(|| match &ended {
                Ok(()) => format!("{who}: has stopped"),
                Err(error) => format!("{who}: ends: {}", plain(&error.to_string())),
            });
            falls(&of, &who, life);
        });
        Ok(Self { id, store, found_bytes, stop, main })
    }

    /// Asks it to stop in order.
    pub(crate) fn ask_to_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Takes the process away, as `kill -9` does.
    pub(crate) async fn kill(self, world: &Arc<SimWorld>, name: &str) {
        cut_off(world, name);
        self.main.abort();
        let _ = self.main.await;
        gone(world, &world.root(name).join("worker.lock"), name).await;
    }
}

/// An error without the simulation's own folder, whose name differs from run to run.
pub(crate) fn plain(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(' ') {
        words.push(match word.split_once("keima-sim-") {
            Some((_, rest)) => rest.split_once('/').map_or("", |(_, rest)| rest),
            None => word,
        });
    }
    words.join(" ")
}
