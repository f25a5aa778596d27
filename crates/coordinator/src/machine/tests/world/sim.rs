//! A cluster in a box: one coordinator, its store, and workers with disks, all under one seeded clock.
//!
//! Workers compute their tasks in plain maps. Before a worker deletes a run, the simulation checks that no life of the
//! coordinator may still need it, neither the present one nor one restored from durable records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keima_model::mix::split_mix;
use keima_orders::TaskOrder;
use keima_runs::{RunId, RunManifest, TaskManifest};

use super::depot::Archive;
use super::labour::File;
use super::toy::{Toys, request};
use crate::job::stage::StageRun;
use crate::store::records::{Boundary, Committed};
use crate::{Config, Coordinator, JobStatus};
use crate::{Grant, JobId, JobSpec, Report, StoreId, WorkerId};

pub(crate) type Store = BTreeMap<String, Vec<u8>>;

#[derive(Default)]
pub(crate) struct FakeWorker {
    pub(crate) disk: BTreeMap<RunId, File>,
    pub(crate) running: Vec<Grant>,
    pub(crate) epoch: Option<u64>,
    /// Whose runs it holds.
    pub(crate) store: Option<StoreId>,
    /// Not heard of, and not hearing.
    pub(crate) silent: bool,
    /// Its disk hangs: its tasks do not get on.
    pub(crate) hangs: bool,
    /// Counts up at every heartbeat, unless it hangs.
    pub(crate) pulse: u64,
    /// Of its process: another one after each death.
    pub(crate) incarnation: u64,
    /// What it reported last, to be told again at a bad time.
    pub(crate) said: Option<(Grant, Report)>,
    /// Whether its program has another recurrence under the same name.
    pub(crate) loose: bool,
    /// What it makes of its results before it reports them.
    pub(crate) lie: Option<Lie>,
}

/// Changes a result.
pub(crate) type Lie = Box<dyn FnMut(&TaskOrder, &mut TaskManifest)>;

pub(crate) struct Sim {
    pub(crate) random: u64,
    pub(crate) now: u64,
    pub(crate) config: Config,
    pub(crate) coordinator: Coordinator,
    /// What the store holds, and what of it outlives a power failure.
    pub(crate) store: Store,
    pub(crate) durable: Store,
    pub(crate) workers: BTreeMap<WorkerId, FakeWorker>,
    /// Cuts and commits seen, to make sure that schedules do what they are for.
    pub(crate) events: BTreeMap<&'static str, u64>,
    /// Memory of one task on every worker.
    pub(crate) task_memory_bytes: u64,
    /// Slots of every worker that says hello.
    pub(crate) slots: u32,
    /// (reader, holder): the one does not reach the other.
    pub(crate) walls: BTreeSet<(WorkerId, WorkerId)>,
    pub(crate) archive: Archive,
}

pub(crate) fn worker(number: usize) -> WorkerId {
    WorkerId(format!("w{number}"))
}

pub(crate) fn spec(size: &str, residues_per_sweep: u32) -> JobSpec {
    JobSpec {
        executor: crate::Executor::Stream,
        residues_per_sweep: Some(residues_per_sweep),
        window: Some(2),
        ..JobSpec::of(request(size), 64 << 20)
    }
}

pub(crate) fn config() -> Config {
    Config {
        lease_millis: 1_000,
        stall_millis: 8_000,
        heartbeat_millis: 300,
        grace_millis: 3_000,
        durable_interval_millis: 2_000,
        copy_interval_millis: 0,
        speculate_min_millis: 500,
        disk_wait_millis: 1_000,
        ..Config::default()
    }
}

impl Sim {
    pub(crate) fn new(seed: u64, workers: usize, config: Config) -> Self {
        let coordinator = Coordinator::new(config.clone(), Arc::new(Toys), seed);
        Self {
            random: seed,
            now: 1_000_000,
            config,
            coordinator,
            store: Store::new(),
            durable: Store::new(),
            workers: (0..workers).map(|number| (worker(number), FakeWorker::default())).collect(),
            events: BTreeMap::new(),
            task_memory_bytes: 1 << 30,
            slots: 2,
            walls: BTreeSet::new(),
            archive: Archive::default(),
        }
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        split_mix(&mut self.random) % end
    }

    pub(crate) fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }

    /// What the caller of the machine does before an answer leaves.
    pub(crate) fn save(&mut self) {
        while let Some(request) = self.coordinator.take_plan_request() {
            let plan = request.make();
            self.coordinator.take_plan(self.now, plan);
            self.count("plan");
        }
        self.serve_archive();
        let changes = self.coordinator.take_changes().expect("records can be encoded");
        self.store.extend(changes.puts);
        for key in changes.deletes {
            self.store.remove(&key);
        }
        if changes.must_be_durable {
            self.durable = self.store.clone();
        }
    }

    /// A job whose tasks are cut as fine as can be.
    pub(crate) fn submit(&mut self, spec: &JobSpec) -> JobId {
        let planned = self.coordinator.consider(spec).plan(&Toys).expect("a good job");
        let id = self.coordinator.admit(self.now, planned).expect("there is room");
        let job = self.coordinator.jobs.get_mut(&id).expect("it was just submitted");
        (job.record.plan.task_records, job.record.plan.min_task_records) = (5, 1);
        job.store(&mut self.coordinator.fleet);
        self.save();
        id
    }

    pub(crate) fn status(&mut self, id: JobId) -> JobStatus {
        self.coordinator.status(self.now, id).expect("the job is known")
    }

    pub(crate) fn tick(&mut self, millis: u64) {
        self.now += millis;
        self.coordinator.tick(self.now);
        self.save();
    }

    /// The coordinator is killed and started again, from all records or from those that outlive a power failure.
    pub(crate) fn restart(&mut self, power: bool) {
        if power {
            self.store = self.durable.clone();
        }
        let seed = self.below(u64::MAX);
        let records = self.store.clone().into_iter().collect();
        self.coordinator = Coordinator::restore(self.config.clone(), Arc::new(Toys), seed, self.now, records)
            .expect("the store is sound");
        self.save();
    }

    /// Everybody works without trouble until the job is over.
    pub(crate) fn run_to_end(&mut self, id: JobId) -> JobStatus {
        self.walls.clear();
        for _ in 0..4_000 {
            let status = self.status(id);
            if status.state.is_over() {
                return status;
            }
            if status.state == crate::State::Paused {
                self.coordinator.resume(self.now, id).expect("a paused job");
                self.save();
            }
            let ids: Vec<WorkerId> = self.workers.keys().cloned().collect();
            for worker in ids {
                self.workers.get_mut(&worker).expect("known").silent = false;
                self.heartbeat(&worker);
                self.pull(&worker);
                self.work(&worker, 0);
            }
            self.tick(50);
            self.check();
        }
        panic!("the job does not end: {:#?}", self.status(id));
    }

    /// What must hold after every step.
    pub(crate) fn check(&self) {
        for job in self.coordinator.jobs.values() {
            let all = || job.boundaries.iter().flat_map(|b| &b.tasks).chain(job.stage.iter().flat_map(StageRun::done));
            let mut names = BTreeSet::new();
            for done in all() {
                let number = |job: &JobId| format!("{job}/{}/", done.attempt.to_string().split_once('/').unwrap().1);
                let prefixes: Vec<String> = std::iter::once(&job.id).chain(&job.record.adopted).map(number).collect();
                let own = |run: &RunManifest| prefixes.iter().any(|prefix| run.id.0.starts_with(prefix));
                assert!(done.manifest.runs.iter().all(own), "runs of two attempts");
                let task = crate::AttemptId { attempt: 0, ..done.attempt };
                assert!(names.insert(task), "a task stands twice");
            }
            let standing: BTreeSet<&RunId> = all().flat_map(|d| &d.manifest.runs).map(|run| &run.id).collect();
            assert_eq!(standing, job.boundaries.needed_runs(), "runs of manifests and index differ");
            if let Some(stage) = &job.stage {
                let mut end = Some(0);
                for task in &stage.tasks {
                    assert!(end.is_some_and(|end| task.shard.low >= end), "shards overlap");
                    end = task.shard.high;
                }
                for (number, task) in (0..).zip(&stage.tasks) {
                    let of = crate::AttemptId {
                        job: job.id,
                        sweep: job.record.sweep,
                        generation: stage.generation,
                        task: number,
                        attempt: 0,
                    };
                    let leased = self.coordinator.fleet.attempts(of).count();
                    let pending = stage.pending().any(|pending| pending == number);
                    // A finished task may be counted again.
                    let open = usize::from(leased > 0 && task.done.is_none());
                    let states = usize::from(task.done.is_some()) + usize::from(pending) + open;
                    assert_eq!(
                        states,
                        1,
                        "task {number}: done {}, pending {pending}, leased {leased}",
                        task.done.is_some()
                    );
                }
                for run in job.boundaries.last().into_iter().flat_map(Boundary::runs) {
                    for key in [run.first_key, run.last_key] {
                        let shards = stage.tasks.iter().map(|t| t.shard);
                        let holding = shards.filter(|s| s.low <= key && s.high.is_none_or(|h| key < h)).count();
                        assert_eq!(holding, 1, "key {key} is in {holding} shards");
                    }
                }
            }
        }
    }
}

/// Runs of all boundaries that a store holds.
pub(crate) fn runs_of_boundaries(store: &Store) -> BTreeSet<RunId> {
    let heads: Vec<String> = store.keys().filter_map(|key| Some(key.strip_prefix("boundary/")?.to_string())).collect();
    let tasks = store.iter().filter(|(key, _)| {
        key.strip_prefix("task/").is_some_and(|rest| heads.iter().any(|head| rest.starts_with(&format!("{head}/"))))
    });
    tasks
        .flat_map(|(_, value)| postcard::from_bytes::<Committed>(value).expect("a task").manifest.runs)
        .map(|run| run.id)
        .collect()
}

/// Both workers work, heartbeats and ticks included, until `when` holds.
pub(crate) fn work_until(sim: &mut Sim, id: JobId, workers: usize, when: impl Fn(&Sim) -> bool) {
    for _ in 0..2_000 {
        if when(sim) {
            return;
        }
        for number in 0..workers {
            sim.heartbeat(&worker(number));
            sim.pull(&worker(number));
            sim.work(&worker(number), 0);
        }
        sim.tick(20);
        sim.check();
    }
    panic!("it never happens: {:#?}", sim.status(id));
}

/// Whether some boundary of the job has second copies.
pub(crate) fn copied(sim: &Sim, id: JobId) -> bool {
    sim.coordinator.jobs[&id].boundaries.iter().any(|b| b.head.copied)
}
