//! A cluster in a box: one coordinator, its store, and workers with disks, all under one seeded clock.
//!
//! Workers compute their tasks in plain maps. Before a worker deletes a run, the simulation checks that no life of the
//! coordinator may still need it, neither the present one nor one restored from durable records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keima_model::Registry;
use keima_model::mix::split_mix;
use keima_orders::TaskOrder;
use keima_runs::{RunId, RunManifest, TaskManifest};

use super::depot::Archive;
use super::labour::{File, compute};
use super::toy::{LooseToys, Toys, request};
use crate::fleet::lease::LEASES_PER_SLOT;
use crate::job::stage::StageRun;
use crate::store::records::{Boundary, Committed};
use crate::{
    CallError, Failure, Grant, Hello, Holder, Housekeeping, JobId, JobSpec, Report, Running, StoreId, Verdict, Wanted,
    Work, WorkerId,
};
use crate::{Config, Coordinator, JobStatus};

pub(super) type Store = BTreeMap<String, Vec<u8>>;

#[derive(Default)]
pub(super) struct FakeWorker {
    pub(super) disk: BTreeMap<RunId, File>,
    pub(super) running: Vec<Grant>,
    pub(super) epoch: Option<u64>,
    /// Whose runs it holds.
    pub(super) store: Option<StoreId>,
    /// Not heard of, and not hearing.
    pub(super) silent: bool,
    /// Its disk hangs: its tasks do not get on.
    pub(super) hangs: bool,
    /// Counts up at every heartbeat, unless it hangs.
    pub(super) pulse: u64,
    /// Of its process: another one after each death.
    pub(super) incarnation: u64,
    /// What it reported last, to be told again at a bad time.
    pub(super) said: Option<(Grant, Report)>,
    /// Whether its program has another recurrence under the same name.
    pub(super) loose: bool,
    /// What it makes of its results before it reports them.
    pub(super) lie: Option<Lie>,
}

/// Changes a result.
pub(super) type Lie = Box<dyn FnMut(&TaskOrder, &mut TaskManifest)>;

pub(super) struct Sim {
    pub(super) random: u64,
    pub(super) now: u64,
    pub(super) config: Config,
    pub(super) coordinator: Coordinator,
    /// What the store holds, and what of it outlives a power failure.
    pub(super) store: Store,
    pub(super) durable: Store,
    pub(super) workers: BTreeMap<WorkerId, FakeWorker>,
    /// Cuts and commits seen, to make sure that schedules do what they are for.
    pub(super) events: BTreeMap<&'static str, u64>,
    /// Memory of one task on every worker.
    pub(super) task_memory_bytes: u64,
    /// Slots of every worker that says hello.
    pub(super) slots: u32,
    /// (reader, holder): the one does not reach the other.
    pub(super) walls: BTreeSet<(WorkerId, WorkerId)>,
    pub(super) archive: Archive,
}

pub(super) fn worker(number: usize) -> WorkerId {
    WorkerId(format!("w{number}"))
}

pub(super) fn spec(size: &str, residues_per_sweep: u32) -> JobSpec {
    JobSpec {
        executor: crate::Executor::Stream,
        residues_per_sweep: Some(residues_per_sweep),
        window: Some(2),
        ..JobSpec::of(request(size), 64 << 20)
    }
}

pub(super) fn config() -> Config {
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
    pub(super) fn new(seed: u64, workers: usize, config: Config) -> Self {
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

    pub(super) fn below(&mut self, end: u64) -> u64 {
        split_mix(&mut self.random) % end
    }

    pub(super) fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }

    /// What the caller of the machine does before an answer leaves.
    pub(super) fn save(&mut self) {
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
    pub(super) fn submit(&mut self, spec: &JobSpec) -> JobId {
        let planned = self.coordinator.consider(spec).plan(&Toys).expect("a good job");
        let id = self.coordinator.admit(self.now, planned);
        let job = self.coordinator.jobs.get_mut(&id).expect("it was just submitted");
        (job.record.plan.task_records, job.record.plan.min_task_records) = (5, 1);
        job.store(&mut self.coordinator.fleet);
        self.save();
        id
    }

    pub(super) fn status(&mut self, id: JobId) -> JobStatus {
        self.coordinator.status(self.now, id).expect("the job is known")
    }

    pub(super) fn tick(&mut self, millis: u64) {
        self.now += millis;
        self.coordinator.tick(self.now);
        self.save();
    }

    /// The coordinator is killed and started again, from all records or from those that outlive a power failure.
    pub(super) fn restart(&mut self, power: bool) {
        if power {
            self.store = self.durable.clone();
        }
        let seed = self.below(u64::MAX);
        let records = self.store.clone().into_iter().collect();
        self.coordinator = Coordinator::restore(self.config.clone(), Arc::new(Toys), seed, self.now, records)
            .expect("the store is sound");
        self.save();
    }

    pub(super) fn hello(&mut self, id: &WorkerId) {
        let me = &self.workers[id];
        let hello = Hello {
            incarnation: me.incarnation,
            place: format!("disk of {id}"),
            holder: Holder {
                worker: id.clone(),
                address: String::new(),
                folder: format!("/scratch/{id}"),
                fingerprint: String::new(),
            },
            slots: self.slots,
            task_memory_bytes: self.task_memory_bytes,
            disk_bytes: 1 << 40,
            held: me.disk.keys().cloned().collect(),
            running: running(me),
            store: me.store,
            build: self.config.build.clone(),
            archive: self.config.archive_interval_millis.is_some(),
        };
        let welcome = self.coordinator.hello(self.now, hello).expect("its own store");
        self.save();
        let me = self.workers.get_mut(id).expect("known");
        (me.epoch, me.store) = (Some(welcome.epoch), Some(welcome.store));
        self.obey(id, &welcome.housekeeping);
    }

    fn epoch(&mut self, id: &WorkerId) -> Option<u64> {
        if self.workers[id].silent {
            return None;
        }
        if self.workers[id].epoch.is_none() {
            self.hello(id);
        }
        self.workers[id].epoch
    }

    /// Whether the coordinator took the call.
    fn taken<T>(&mut self, id: &WorkerId, answer: Result<T, CallError>) -> Option<T> {
        self.save();
        match answer {
            Ok(answer) => Some(answer),
            Err(CallError::WhoAreYou(_)) => {
                self.workers.get_mut(id).expect("known").epoch = None;
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn heartbeat(&mut self, id: &WorkerId) {
        let Some(epoch) = self.epoch(id) else { return };
        let me = self.workers.get_mut(id).expect("known");
        me.pulse += u64::from(!me.hangs);
        let (now, me) = (self.now, &self.workers[id]);
        let held: Vec<RunId> = me.disk.keys().cloned().collect();
        let answer = self.coordinator.heartbeat(now, id, epoch, &running(me), &held, 0);
        if let Some(housekeeping) = self.taken(id, answer) {
            self.obey(id, &housekeeping);
        }
    }

    /// A copy if there is one to make, else a task; `true` when there was work.
    pub(super) fn pull(&mut self, id: &WorkerId) -> bool {
        self.pull_one(id, Wanted::Copy) || self.pull_one(id, Wanted::Task)
    }

    fn pull_one(&mut self, id: &WorkerId, wanted: Wanted) -> bool {
        let most = self.slots as usize * LEASES_PER_SLOT;
        // One more for a copy.
        if self.workers[id].running.len() > most {
            return false;
        }
        let Some(epoch) = self.epoch(id) else { return false };
        let answer = self.coordinator.pull(self.now, id, epoch, wanted);
        let Some(Some(grant)) = self.taken(id, answer) else { return false };
        let copies = self.coordinator.fleet.attempts_on(id).filter(|(_, copy)| *copy).count();
        let tasks = self.coordinator.fleet.attempts_on(id).count() - copies;
        assert!(tasks <= most && copies <= 1, "{tasks} tasks, {copies} copies, {} slots", self.slots);
        assert!(self.workers[id].running.iter().all(|g| g.attempt != grant.attempt), "an attempt's name came twice");
        self.workers.get_mut(id).expect("known").running.push(grant);
        true
    }

    pub(super) fn report(&mut self, id: &WorkerId, grant: &Grant, report: Report) -> Option<Verdict> {
        let epoch = self.epoch(id)?;
        let me = self.workers.get_mut(id).expect("known");
        me.said = Some((grant.clone(), report.clone()));
        let answer = self.coordinator.report(self.now, id, epoch, grant.attempt, grant.nonce, report);
        let (verdict, housekeeping) = self.taken(id, answer)?;
        let me = self.workers.get_mut(id).expect("known");
        me.running.retain(|g| g.attempt != grant.attempt);
        if verdict != Verdict::Accepted {
            self.delete_attempt(id, grant);
        }
        self.obey(id, &housekeeping);
        Some(verdict)
    }

    fn delete_attempt(&mut self, id: &WorkerId, grant: &Grant) {
        let prefix = format!("{}/", grant.attempt);
        let gone: Vec<RunId> = self.workers[id].disk.keys().filter(|run| run.0.starts_with(&prefix)).cloned().collect();
        for run in gone {
            self.delete(id, &run);
        }
    }

    /// Deletes a run, if no life of the coordinator can need it.
    fn delete(&mut self, id: &WorkerId, run: &RunId) {
        let bad = self.coordinator.jobs.values().any(|job| job.health.copies.is_bad(run, id));
        if !bad {
            let kept = self.coordinator.jobs.values().flat_map(|job| job.boundaries.iter()).flat_map(Boundary::runs);
            assert!(kept.into_iter().all(|kept| kept.id != *run), "{run} on {id} is in a kept boundary");
            assert!(!runs_of_boundaries(&self.durable).contains(run), "{run} on {id} is in a durable boundary");
        }
        self.workers.get_mut(id).expect("known").disk.remove(run);
    }

    fn obey(&mut self, id: &WorkerId, housekeeping: &Housekeeping) {
        for run in &housekeeping.release {
            if self.workers[id].disk.contains_key(run) {
                self.count("release");
                self.delete(id, run);
            }
        }
        for attempt in &housekeeping.abandon {
            let me = self.workers.get_mut(id).expect("known");
            if let Some(at) = me.running.iter().position(|g| g.attempt == *attempt) {
                let grant = me.running.remove(at);
                self.count("abandon");
                self.delete_attempt(id, &grant);
            }
        }
    }

    /// The worker does its task; nothing is reported yet.
    pub(super) fn execute(&mut self, id: &WorkerId, grant: &Grant) -> Report {
        match &grant.work {
            Work::Copy(input) => match self.fetch(id, &input.manifest.id, &input.holders) {
                Ok(mut file) => {
                    self.count("copy");
                    file.durable = true;
                    let runs = vec![file.manifest.clone()];
                    self.workers.get_mut(id).expect("known").disk.insert(input.manifest.id.clone(), file);
                    Report::Done(Box::new(TaskManifest { runs, ..TaskManifest::default() }))
                }
                Err(failure) => Report::Failed(failure),
            },
            Work::Archive(work) => self.carry(id, work),
            Work::Stage(order) => {
                let mut inputs = Vec::new();
                for input in &order.inputs {
                    match self.fetch(id, &input.manifest.id, &input.holders) {
                        Ok(file) => inputs.push(file.records),
                        Err(failure) => return Report::Failed(failure),
                    }
                }
                let registry: &dyn Registry = if self.workers[id].loose { &LooseToys } else { &Toys };
                let (mut manifest, files) = compute(registry, &grant.attempt.to_string(), order, inputs);
                if let Some(lie) = &mut self.workers.get_mut(id).expect("known").lie {
                    lie(order, &mut manifest);
                }
                let me = self.workers.get_mut(id).expect("known");
                me.disk.extend(files.into_iter().map(|file| (file.manifest.id.clone(), file)));
                Report::Done(Box::new(manifest))
            }
        }
    }

    fn fetch(&mut self, reader: &WorkerId, run: &RunId, holders: &[Holder]) -> Result<File, Failure> {
        let mut failure = Failure::Other { text: format!("{run} has no holder") };
        for holder in holders {
            let wall = self.walls.contains(&(reader.clone(), holder.worker.clone()));
            if wall {
                self.count("wall");
            }
            let of = &self.workers[&holder.worker];
            let file = of.disk.get(run).filter(|_| !of.silent && !wall && (!of.hangs || holder.worker == *reader));
            if let Some(file) = file.filter(|file| !file.damaged) {
                return Ok(file.clone());
            }
            let damaged = file.is_some();
            failure =
                Failure::Input { run: run.clone(), holder: holder.worker.clone(), damaged, text: "cannot read".into() };
            if damaged {
                self.count("damaged input");
                break;
            }
        }
        Err(failure)
    }

    /// Does the worker's task number `at` and reports it.
    pub(super) fn work(&mut self, id: &WorkerId, at: usize) {
        if self.workers[id].hangs {
            return;
        }
        let Some(grant) = self.workers[id].running.get(at).cloned() else { return };
        let report = self.execute(id, &grant);
        self.report(id, &grant, report);
    }

    /// The worker's process dies; its disk stays, or loses what was not durable, or all.
    pub(super) fn kill(&mut self, id: &WorkerId, keep: impl Fn(&File) -> bool) {
        let me = self.workers.get_mut(id).expect("known");
        me.disk.retain(|_, file| keep(file));
        (me.running, me.epoch, me.silent) = (Vec::new(), None, false);
        me.incarnation += 1;
    }

    /// Everybody works without trouble until the job is over.
    pub(super) fn run_to_end(&mut self, id: JobId) -> JobStatus {
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
    pub(super) fn check(&self) {
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

fn running(me: &FakeWorker) -> Vec<Running> {
    let running = |g: &Grant| Running { attempt: g.attempt, nonce: g.nonce, states_done: 1, pulse: me.pulse };
    me.running.iter().map(running).collect()
}

/// Runs of all boundaries that a store holds.
fn runs_of_boundaries(store: &Store) -> BTreeSet<RunId> {
    let heads: Vec<String> = store.keys().filter_map(|key| Some(key.strip_prefix("boundary/")?.to_string())).collect();
    let tasks = store.iter().filter(|(key, _)| {
        key.strip_prefix("task/").is_some_and(|rest| heads.iter().any(|head| rest.starts_with(&format!("{head}/"))))
    });
    tasks
        .flat_map(|(_, value)| postcard::from_bytes::<Committed>(value).expect("a task").manifest.runs)
        .map(|run| run.id)
        .collect()
}
