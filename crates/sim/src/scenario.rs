//! One simulation: a cluster is set up by seed, counts, and suffers; then faults stop, and it must end right by itself.
//!
//! ```text
//!   start ── jobs submitted ── faults, every second or so ── faults stop: all machines up, links whole, disks free
//!                                                              │
//!          what must hold is checked all the time              └── every job done, right, and nothing left
//! ```

mod attempts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keima_cluster::JobClient;
use keima_coordinator::{Executor, JobId, Standing, State, WorkerId};
use keima_runs::RunId;

use self::attempts::Attempts;
use crate::archive::Vault;
use crate::disk::files;
use crate::jobs::Job;
use crate::machines::{Hub, Process, config, config_with, plain};
use crate::world::{HUB, Machine, SimWorld};

/// Cap of a scratch folder with room for everything.
pub(crate) const ROOM_BYTES: u64 = 1 << 30;
/// Time of the world that a job has after the end of faults.
const LONGEST_RECOVERY: Duration = Duration::from_hours(1);

/// A cluster and what is known of it.
pub(crate) struct Scenario {
    pub(crate) world: Arc<SimWorld>,
    pub(crate) hub: Option<Hub>,
    pub(crate) workers: BTreeMap<String, Option<Process>>,
    /// Slots of each worker.
    pub(crate) slots: u32,
    /// Machines whose folder is a copy of another's: they are refused, and are no part of the cluster.
    pub(crate) clones: BTreeSet<String>,
    /// Runs of each machine's folder that were damaged, or lost with it.
    pub(crate) tainted: BTreeMap<String, BTreeSet<RunId>>,
    /// Runs that the coordinator believed each machine to have, when it was last asked.
    pub(crate) believed: BTreeMap<String, BTreeSet<RunId>>,
    /// Those of them whose boundary is durable.
    pub(crate) durable: BTreeMap<String, BTreeSet<RunId>>,
    pub(crate) attempts: Attempts,
    pub(crate) jobs: Vec<(JobId, Job)>,
    pub(crate) client: JobClient,
    /// The archive of the cluster, where it has one.
    pub(crate) vault: Option<Vault>,
    /// Stages between checkpoints in the archive, beside those at column ends.
    archive_stages: Option<u64>,
    /// Whether all machines were lost once.
    pub(crate) is_second_cluster: bool,
}

impl Scenario {
    /// Starts a coordinator and workers in folders below `base`.
    pub(crate) fn start(world: &Arc<SimWorld>, base: &Path, jobs: &[Job]) -> anyhow::Result<Self> {
        let (count, slots) = world.with(|state| (state.chance.between(1, 4), state.chance.between(1, 2) as u32));
        // Tasks by blocks share a process's memory, and wait for each other where the simulation cannot see it.
        let slots = if jobs.iter().any(|job| job.spec.executor == Executor::Block) { 1 } else { slots };
        let names: Vec<String> = (0..count).map(|number| format!("w{number}")).collect();
        for name in names.iter().map(String::as_str).chain([HUB]) {
            let root = base.join(name);
            std::fs::create_dir_all(&root)?;
            let slow = world.with(|state| *state.chance.pick(&[2, 20, 60]).unwrap_or(&2));
            let mut machine = Machine { root, cap_bytes: ROOM_BYTES, ..Machine::default() };
            machine.disk.slow_millis = if name == HUB { 4 } else { slow };
            world.with(|state| state.machines.insert(name.to_owned(), machine));
        }
        let has_archive = world.with(|state| state.chance.below(2) == 0);
        let vault = has_archive.then(|| Vault::new(world));
        let archive = || vault.as_ref().map(|vault| vault.archive.clone());
        let archive_stages = world.with(|state| state.chance.pick(&[None, Some(1), Some(3)]).copied().flatten());
        let config = config_with(has_archive, archive_stages);
        let hub = Hub::start(world, config, archive()).map_err(anyhow::Error::msg)?;
        let client = JobClient::new(&format!("http://user.{HUB}"))?;
        let mut workers = BTreeMap::new();
        for name in names {
            let process = Process::start(world, &name, slots, archive()).map_err(anyhow::Error::msg)?;
            world.log(|| format!("{name}: worker {}", process.id));
            workers.insert(name, Some(process));
        }
        let (clones, tainted, believed, durable) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let world = Arc::clone(world);
        Ok(Self {
            world,
            hub: Some(hub),
            workers,
            slots,
            clones,
            tainted,
            believed,
            durable,
            attempts: Attempts::default(),
            jobs: Vec::new(),
            client,
            vault,
            archive_stages,
            is_second_cluster: false,
        })
    }

    pub(crate) async fn submit(&mut self, job: Job) -> anyhow::Result<()> {
        let mut job = job;
        let id = match self.client.submit(&job.spec).await {
            // Not every size has a block form.
            Err(_) if job.spec.executor == Executor::Block => {
                job.spec.executor = Executor::Stream;
                self.client.submit(&job.spec).await?
            }
            submitted => submitted?,
        };
        self.world.log(|| format!("{id}: {}", job.shown()));
        self.jobs.push((id, job));
        Ok(())
    }

    /// Starts what is down, as a supervisor would.
    pub(crate) async fn raise(&mut self, name: &str) {
        let world = Arc::clone(&self.world);
        self.bury(name).await;
        if name == HUB {
            match Hub::start(&world, config_with(self.vault.is_some(), self.archive_stages), self.archive()) {
                Ok(hub) => {
                    world.log(|| format!("{HUB}: starts"));
                    self.hub = Some(hub);
                    // Before anybody calls it: what it says now is what was stored.
                    self.check_attempts();
                }
                Err(why) => self.failed_start(HUB, &why).await,
            }
        } else {
            match Process::start(&world, name, self.slots, self.archive()) {
                Ok(process) => {
                    world.log(|| format!("{name}: starts as worker {}", process.id));
                    self.workers.insert(name.to_owned(), Some(process));
                }
                Err(why) => self.failed_start(name, &why).await,
            }
        }
    }

    async fn failed_start(&mut self, name: &str, why: &str) {
        self.world.log(|| format!("{name}: cannot start: {}", plain(why)));
        self.world.count("failed start");
        // Nothing of it may be left.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    /// Takes a process away, if there is one.
    pub(crate) async fn bury(&mut self, name: &str) {
        let world = Arc::clone(&self.world);
        if name == HUB {
            if let Some(hub) = self.hub.take() {
                let stored = hub.handle.newest_stored();
                for attempt in self.attempts.killed(stored) {
                    world.log(|| {
                        format!("{attempt}: its end may be lost with {HUB}, whose decisions are stored up to {stored}")
                    });
                }
                hub.kill(&world).await;
            }
        } else if let Some(process) = self.workers.get_mut(name).and_then(Option::take) {
            process.kill(&world, name).await;
        }
    }

    /// Raises machines whose process ended or died.
    pub(crate) async fn look_after_fallen(&mut self) {
        let fallen = self.world.with(|state| std::mem::take(&mut state.fallen));
        for name in fallen {
            if self.clones.contains(&name) {
                self.bury(&name).await;
                continue;
            }
            let pause = self.world.with(|state| state.chance.millis(100, 8_000));
            tokio::time::sleep(pause).await;
            self.raise(&name).await;
        }
    }

    /// Makes everything whole: from here on nothing fails any more.
    pub(crate) async fn heal(&mut self) {
        self.world.log(|| "faults stop".to_owned());
        self.check();
        for name in std::mem::take(&mut self.clones) {
            let id = self.workers.get(&name).and_then(Option::as_ref).map(|process| process.id.clone());
            self.bury(&name).await;
            self.workers.remove(&name);
            // If it had its worker's name, its runs are gone with it.
            self.taint_all(&name);
            let lost = self.tainted.get(&name).cloned().unwrap_or_default();
            let namesakes =
                self.workers.iter().filter(|(_, p)| id.is_some() && p.as_ref().map(|p| &p.id) == id.as_ref());
            for (namesake, _) in namesakes {
                self.tainted.entry(namesake.clone()).or_default().extend(lost.iter().cloned());
            }
        }
        self.world.with(|state| {
            state.network = crate::network::Network::default();
            state.archive_away = false;
            for machine in state.machines.values_mut() {
                let disk = &mut machine.disk;
                (disk.full, disk.hangs, disk.dies_at, disk.slow_millis) = (false, false, None, 2);
                machine.cap_bytes = ROOM_BYTES;
            }
        });
        for name in self.workers.keys().map(String::as_str).chain([HUB]) {
            self.world.wake(name);
        }
        let small = |process: &Process| process.store.upgrade().is_some_and(|store| store.disk().cap() < ROOM_BYTES);
        let names: Vec<String> = self.workers.keys().cloned().chain([HUB.to_owned()]).collect();
        for name in names {
            let down = !self.world.is_up(&name);
            let capped = self.workers.get(&name).and_then(Option::as_ref).is_some_and(small);
            if down || capped {
                self.raise(&name).await;
                if !self.world.is_up(&name) {
                    self.world.fault(format!("{name} does not start, though nothing fails any more"));
                }
            }
        }
    }

    /// What must hold at any time.
    pub(crate) fn check(&mut self) {
        let Some(standing) = self.check_attempts() else { return };
        self.believed.clear();
        self.durable.clear();
        let mut tasks = BTreeSet::new();
        for done in &standing {
            let attempt = done.attempt;
            if !tasks.insert((attempt.job, attempt.sweep, attempt.generation, attempt.task)) {
                self.world.fault(format!("two attempts at the task of {attempt} stand in manifests"));
            }
            if done.first_lane > 0 {
                self.world.count("lanes shared");
            }
            for (run, holders) in &done.runs {
                if !self.is_run_of(run, attempt) {
                    self.world.fault(format!("run {run} stands in the manifest of {attempt}"));
                }
                for holder in holders {
                    self.check_holder(run, holder, done.durable);
                }
            }
        }
        for (name, process) in &self.workers {
            // What a machine that died had in its memory says nothing.
            let Some(process) = process.as_ref().filter(|_| self.world.is_up(name)) else { continue };
            let Some(store) = process.store.upgrade() else { continue };
            let (disk, is_run) = (store.disk(), |path: &Path| path.parent() != Some(store.root()));
            // What was there at its start counts even beyond the cap, and may only go.
            let (used, peak, most) = (disk.used(), disk.peak(), disk.cap().max(process.found_bytes));
            let there: u64 = files(store.root()).iter().filter(|(path, _)| is_run(path)).map(|(_, bytes)| bytes).sum();
            if there > used {
                self.world.fault(format!("{name}: {there} bytes in its folder, only {used} charged"));
            }
            // The peak tells of what came and went between two looks.
            if there.max(peak) > most {
                self.world.fault(format!("{name}: {there} bytes in its folder, up to {peak} charged, cap {most}"));
            }
        }
    }

    /// An attempt whose lease has ended must not come to stand in a manifest. Returns what stands.
    fn check_attempts(&mut self) -> Option<Vec<Standing>> {
        let hub = self.hub.as_ref().filter(|_| self.world.is_up(HUB))?;
        let (standing, leased, decision) = hub.handle.standing().ok()?;
        let stand = standing.iter().map(|done| done.attempt).collect();
        for attempt in self.attempts.look(&stand, &leased.into_iter().collect(), decision) {
            self.world.fault(format!("{attempt} stands in a manifest, though its lease had ended before"));
        }
        Some(standing)
    }

    /// A worker that is up and whole must have the runs that the coordinator believes it has. Two processes may contend for
    /// its name, if one has a copy of the other's folder: then either may have it.
    fn check_holder(&mut self, run: &RunId, holder: &WorkerId, durable: bool) {
        let (mut some, mut excused) = (false, false);
        for (name, process) in self.workers.iter().filter_map(|(name, process)| Some((name, process.as_ref()?))) {
            if process.id != *holder {
                continue;
            }
            // A copy is older than its original. If only a copy is left of a worker, nothing is promised of its runs.
            some |= !self.clones.contains(name);
            self.believed.entry(name.clone()).or_default().insert(run.clone());
            if durable {
                self.durable.entry(name.clone()).or_default().insert(run.clone());
            }
            let tainted = self.tainted.get(name).is_some_and(|runs| runs.contains(run));
            let store = process.store.upgrade().filter(|_| self.world.is_up(name));
            excused |= tainted || store.is_none_or(|store| store.held().contains(run));
        }
        if some && !excused {
            self.world.fault(format!("{run} stands in a manifest, but worker {holder} does not have it"));
        }
    }

    /// Whether all jobs are over.
    pub(crate) async fn is_over(&self) -> bool {
        for (id, _) in &self.jobs {
            match tokio::time::timeout(Duration::from_secs(1), self.client.status(*id)).await {
                Ok(Ok(status)) if status.state.is_over() => {}
                _ => return false,
            }
        }
        true
    }

    /// Whether all jobs are over, as far as the coordinator can be asked.
    pub(crate) async fn is_quietly_over(&self) -> bool {
        self.hub.is_some() && self.world.is_up(HUB) && self.is_over().await
    }

    /// Ends all processes.
    pub(crate) async fn shut_down(&mut self) {
        let names: Vec<String> = self.workers.keys().cloned().chain([HUB.to_owned()]).collect();
        for name in names {
            self.bury(&name).await;
        }
        self.world.end_threads();
    }

    /// Waits for all jobs and holds them against their answers.
    pub(crate) async fn end(&mut self) -> anyhow::Result<()> {
        let healed = self.world.passed();
        while !self.is_over().await {
            if self.world.passed() > healed + LONGEST_RECOVERY {
                for (id, _) in &self.jobs {
                    let status = self.client.status(*id).await?;
                    self.world.fault(format!(
                        "{id} does not end: {}, stage {}: {}; {:?}",
                        status.state, status.position.stage, status.reason, status.notes
                    ));
                }
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            self.look_after_fallen().await;
            self.check();
        }
        for (id, job) in &self.jobs {
            let status = self.client.status(*id).await?;
            let count = status.outcome.as_ref().map(|outcome| outcome.count.clone()).unwrap_or_default();
            self.world.log(|| format!("{id}: {} {count}", status.state));
            if status.state != State::Done || count != job.count {
                let (state, reason) = (status.state, &status.reason);
                let notes = &status.notes;
                self.world.fault(format!(
                    "{id}: {}: {state}, {count:?} instead of {}: {reason}; {notes:?}",
                    job.shown(),
                    job.count
                ));
            }
        }
        self.check_nothing_left().await;
        Ok(())
    }

    /// All runs go soon.
    async fn check_nothing_left(&mut self) {
        // A call that was lost on its way waits for a minute first.
        for _ in 0..120 {
            tokio::time::sleep(Duration::from_millis(config().heartbeat_millis)).await;
            self.look_after_fallen().await;
            if self.left().is_empty() {
                return;
            }
        }
        let left = self.left();
        self.world.fault(format!("left behind after the end: {left:?}"));
    }

    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        for (name, process) in &self.workers {
            let root = self.world.root(name);
            let runs = files(&root).into_iter().filter(|(path, _)| path.parent() != Some(root.as_path()));
            left.extend(runs.map(|(path, _)| plain(&path.display().to_string())));
            let store = process.as_ref().and_then(|process| process.store.upgrade());
            if let Some(used) = store.map(|store| store.disk().used()).filter(|used| *used > 0) {
                left.push(format!("{name}: {used} bytes charged"));
            }
        }
        left
    }
}
