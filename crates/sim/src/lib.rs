//! A cluster in one thread, with seeded faults: the real coordinator and its store, the real worker loop, run store and
//! engine, on simulated disks, a simulated network and simulated clocks.
//!
//! ```text
//!   scenario   one simulation from start to end, and what must hold
//!   faults     what goes wrong
//!   machines   processes: start, stop, kill
//!   archive    an archive in memory, and the faults that only it outlives
//!   world      machines, event log, chance, and the doors of `cluster` and `runs` behind which all this stands
//!   disk, network, threads, jobs, chance
//! ```
//!
//! The same seed gives the same events, to the last one. docs/verify/simulation.md says how to run it, and what it found.

#![forbid(unsafe_code)]

mod archive;
mod chance;
mod disk;
mod faults;
mod jobs;
mod machines;
mod network;
mod scenario;
mod threads;
mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::jobs::Job;
use crate::scenario::Scenario;
use crate::world::SimWorld;

/// What a simulation found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// What must not be; empty when all is well.
    pub faults: Vec<String>,
    /// How often which thing happened.
    pub counts: BTreeMap<&'static str, u64>,
    /// Hash of the event log.
    pub digest: u64,
    /// Lines of the event log.
    pub events: u64,
    /// How long it took in the simulated world.
    pub passed: Duration,
}

/// Longest time in which there are faults.
const LONGEST_TROUBLE: Duration = Duration::from_secs(90);

/// Simulates the cluster of one seed. With `trace` it prints the event log on stdout.
pub fn simulate(seed: u64, trace: bool) -> anyhow::Result<Found> {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("keima-sim-").tempdir_in(parent)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let found = runtime.block_on(async {
        let world = SimWorld::new(seed, trace);
        world.enter();
        let ended = live(&world, folder.path()).await;
        if let Err(error) = ended {
            world.fault(format!("the simulation itself failed: {error:#}"));
        }
        let (digest, events) = world.digest();
        let (faults, counts) = world.with(|state| (state.faults.clone(), state.counts.clone()));
        Found { seed, faults, counts, digest, events, passed: world.passed() }
    });
    drop(runtime);
    world::leave();
    Ok(found)
}

async fn live(world: &std::sync::Arc<SimWorld>, base: &Path) -> anyhow::Result<()> {
    let count = world.with(|state| state.chance.between(1, 2));
    let jobs: Vec<Job> = (0..count).map(|_| world.with(|state| Job::draw(&mut state.chance))).collect();
    let mut scenario = Scenario::start(world, base, &jobs)?;
    for job in jobs {
        scenario.submit(job).await?;
    }
    let trouble = world.with(|state| state.chance.millis(0, LONGEST_TROUBLE.as_millis() as u64));
    // Quiet seeds have long pauses, wild ones short ones.
    let pause = world.with(|state| *state.chance.pick(&[500, 2_000, 8_000]).unwrap_or(&2_000));
    while world.passed() < trouble && !scenario.is_quietly_over().await {
        let until = world.with(|state| state.chance.millis(0, pause));
        let _ = tokio::time::timeout(until, world.fell.notified()).await;
        scenario.look_after_fallen().await;
        scenario.check();
        scenario.suffer().await?;
        scenario.check();
    }
    scenario.heal().await;
    scenario.end().await?;
    scenario.shut_down().await;
    Ok(())
}
