//! A coordinator and two workers in one thread: the real state machine, both executors and run files, under a clock of the
//! test. Whatever passes between them can be struck.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keima_cluster::Tables;
use keima_coordinator::{
    Config, Coordinator, Executor, Failure, Follows, Grant, Hello, Holder, Housekeeping, JobId, JobSpec, JobStatus,
    Report, Running, State, StoreId, Used, Wanted, Work, WorkerId,
};
use keima_engine::block::run_block_task;
use keima_engine::{Buffers, FeedOpener, Task, TaskError, run_task};
use keima_model::{AnyProblem, ProblemRequest, Registry};
use keima_orders::TaskOrder;
use keima_runs::{
    BlockFeed, DiskBudget, LocalRun, RunError, RunHeader, RunId, RunManifest, RunPart, TaskManifest, publish_durably,
    run_path,
};

use crate::strikes::{Point, Strike};

/// More steps than this are a job that hangs.
const MOST_STEPS: usize = 4000;

/// What all cells of a kind share: how they count, buffers and tables.
pub(crate) struct Way {
    pub(crate) executor: Executor,
    /// Tasks that are done again: one in so many, or none.
    pub(crate) recount_one_in: u64,
    /// Most records of a task; the lanes of families with more are shared. `None` as planned.
    most_task_records: Option<u64>,
    buffers: Buffers,
    tables: Tables,
    /// Tasks that took some lanes of a family, beside others.
    pub(crate) sharers: AtomicU64,
}

impl Way {
    pub(crate) fn new(executor: Executor, recount_one_in: u64) -> Self {
        let (buffers, tables, sharers) = (Buffers::default(), Tables::new(64 << 20, 1), AtomicU64::new(0));
        let most_task_records = (executor == Executor::Block).then_some(100);
        Self { executor, recount_one_in, most_task_records, buffers, tables, sharers }
    }

    /// The same by tasks that take all lanes.
    pub(crate) fn without_sharing(self) -> Self {
        Self { most_task_records: None, ..self }
    }

    pub(crate) fn shares_lanes(&self) -> bool {
        self.executor == Executor::Block && self.most_task_records.is_some()
    }

    /// A board whose number, without what is published, only the laws can check.
    fn request(&self) -> ProblemRequest {
        let name = if self.executor == Executor::Block { "go" } else { "hard-squares" };
        ProblemRequest { name: name.to_owned(), size: "4x5".to_owned(), options: Vec::new() }
    }
}

pub(crate) struct Cell<'s> {
    folder: tempfile::TempDir,
    coordinator: Coordinator,
    workers: Vec<Worker>,
    identity: String,
    now: u64,
    strike: &'s Strike,
    disk: Arc<DiskBudget>,
    way: &'s Way,
}

struct Worker {
    id: WorkerId,
    epoch: u64,
    store: Option<StoreId>,
    problem: AnyProblem,
    /// Runs in its folder.
    held: BTreeMap<RunId, u64>,
}

/// The runs of all workers, each in its holder's folder. In flight a block may be struck; after it was read, a record.
struct Feeds<'a> {
    root: &'a Path,
    order: &'a TaskOrder,
    strike: &'a Strike,
    disk: &'a Arc<DiskBudget>,
}

impl FeedOpener for Feeds<'_> {
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError> {
        let input = self.order.all_inputs().find(|input| input.manifest.id == run.id);
        let holder = input.and_then(|input| input.holders.first()).map_or("w0", |holder| holder.worker.0.as_str());
        let path = run_path(&self.root.join(holder), &run.id)?;
        let mut local = LocalRun::open(&path, run, header)?;
        if self.strike.is_due(Point::Read) {
            let aside = self.root.join("aside");
            if let Some(changed) = self.strike.change_run(&aside, &path, run, header, self.disk) {
                local = LocalRun::open(&run_path(&aside, &run.id)?, &changed, header)?;
            }
        }
        Ok(Box::new(InFlight { feed: local.feed(part), strike: self.strike.clone() }))
    }
}

/// Blocks on their way from one worker to another.
struct InFlight<F> {
    feed: F,
    strike: Strike,
}

impl<F: BlockFeed> BlockFeed for InFlight<F> {
    fn next_block(&mut self, raw: &mut Vec<u8>) -> Result<bool, RunError> {
        let more = self.feed.next_block(raw)?;
        if more && self.strike.is_due(Point::Block) {
            self.strike.change_block(raw);
        }
        Ok(more)
    }
}

impl<'s> Cell<'s> {
    /// `registries` has one for each worker.
    pub(crate) fn new(registries: &[Arc<dyn Registry>; 2], way: &'s Way, strike: &'s Strike) -> Self {
        let recount_one_in = way.recount_one_in;
        let (second_copies, speculate, most_task_records) = (false, false, way.most_task_records);
        let config = Config { second_copies, speculate, recount_one_in, most_task_records, ..Config::default() };
        let coordinator = Coordinator::new(config, Arc::clone(&registries[1]), 17);
        // Thousands of cells write and delete small files: in memory where that is possible.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let request = way.request();
        let worker = |(number, registry): (usize, &Arc<dyn Registry>)| Worker {
            id: WorkerId(format!("w{number}")),
            epoch: 0,
            store: None,
            problem: registry.open(&request).unwrap(),
            held: BTreeMap::new(),
        };
        let workers: Vec<Worker> = registries.iter().enumerate().map(worker).collect();
        // The first worker may err: it must not begin here.
        let identity = workers[1].problem.identity();
        let disk = Arc::new(DiskBudget::new(u64::MAX));
        Self { folder, coordinator, workers, identity, now: 1_000_000, strike, disk, way }
    }

    fn root(&self, worker: usize) -> PathBuf {
        self.folder.path().join(&self.workers[worker].id.0)
    }

    fn hello(&mut self, number: usize) {
        let folder = self.root(number).display().to_string();
        let worker = &self.workers[number];
        let hello = Hello {
            archive: false,
            holder: Holder {
                worker: worker.id.clone(),
                address: String::new(),
                folder: folder.clone(),
                fingerprint: String::new(),
            },
            incarnation: number as u64,
            place: folder,
            slots: 1,
            task_memory_bytes: 1 << 30,
            disk_bytes: 1 << 40,
            held: worker.held.keys().cloned().collect(),
            running: Vec::new(),
            store: worker.store,
            build: String::new(),
        };
        let welcome = self.coordinator.hello(self.now, hello).expect("a worker of this cell");
        (self.workers[number].epoch, self.workers[number].store) = (welcome.epoch, Some(welcome.store));
        self.obey(number, &welcome.housekeeping);
    }

    fn obey(&mut self, number: usize, housekeeping: &Housekeeping) {
        for run in &housekeeping.release {
            self.workers[number].held.remove(run);
            let _ = std::fs::remove_file(run_path(&self.root(number), run).unwrap());
        }
    }

    fn spec(&self) -> JobSpec {
        JobSpec {
            problem: self.way.request(),
            priority: 0,
            task_memory_bytes: 8 << 20,
            disk_bytes: None,
            residues_per_sweep: None,
            window: Some(2),
            slots: 1,
            worker_slots: 1,
            executor: self.way.executor,
            series: false,
            other_primes: false,
            follows: Follows::default(),
        }
    }

    /// Submits the job, and brings the workers.
    pub(crate) fn begin(&mut self, registry: &dyn Registry) -> JobId {
        let planned = self.coordinator.consider(&self.spec()).plan(registry).expect("a good job");
        let job = self.coordinator.admit(self.now, planned).expect("there is room");
        for number in 0..2 {
            self.hello(number);
        }
        job
    }

    /// What a worker is granted now.
    pub(crate) fn pull(&mut self, number: usize) -> Option<Grant> {
        let (id, epoch) = (self.workers[number].id.clone(), self.workers[number].epoch);
        self.coordinator.pull(self.now, &id, epoch, Wanted::Task).expect("a worker of this cell")
    }

    /// Counts to the job's end.
    pub(crate) fn count(&mut self, registry: &dyn Registry) -> JobStatus {
        let job = self.begin(registry);
        for step in 0..MOST_STEPS {
            let status = self.step(job, step % 2);
            if status.state.is_over() {
                return status;
            }
        }
        panic!("the job does not end: {:?}; {}", self.coordinator.status(self.now, job), self.strike.told())
    }

    /// One worker asks for work and does it.
    fn step(&mut self, job: JobId, number: usize) -> JobStatus {
        self.now += 500;
        self.coordinator.tick(self.now);
        let _ = self.coordinator.take_changes().expect("records can be encoded");
        let (id, epoch) = (self.workers[number].id.clone(), self.workers[number].epoch);
        let held: Vec<RunId> = self.workers[number].held.keys().cloned().collect();
        let none: &[Running] = &[];
        match self.coordinator.heartbeat(self.now, &id, epoch, none, &held, Used::default()) {
            Ok(housekeeping) => self.obey(number, &housekeeping),
            Err(_) => self.hello(number),
        }
        if let Ok(Some(grant)) = self.coordinator.pull(self.now, &id, self.workers[number].epoch, Wanted::Task) {
            self.work(number, grant);
        }
        let status = self.coordinator.status(self.now, job).expect("a job of this cell");
        if status.state == State::Paused {
            let _ = self.coordinator.resume(self.now, job);
        }
        status
    }

    pub(crate) fn work(&mut self, number: usize, grant: Grant) {
        let Work::Stage(order) = grant.work else { panic!("no copies here") };
        let order = self.strike.order(*order);
        let report = match self.task(number, &order) {
            Ok(mut manifest) => {
                if let Some(run) = manifest.runs.first().filter(|_| self.strike.is_due(Point::Written)) {
                    let (root, aside) = (self.root(number), self.folder.path().join("aside"));
                    let (path, header) = (run_path(&root, &run.id).unwrap(), header_of(&root, run));
                    if let Some(changed) = self.strike.change_run(&aside, &path, run, &header, &self.disk) {
                        std::fs::rename(run_path(&aside, &run.id).unwrap(), path).unwrap();
                        manifest.runs[0] = changed;
                    }
                }
                self.workers[number].held.extend(manifest.runs.iter().map(|run| (run.id.clone(), run.bytes)));
                match self.strike.manifest(manifest) {
                    Some(manifest) => Report::Done(Box::new(manifest)),
                    None => Report::Failed(Failure::Other { text: "the message cannot be read".to_owned() }),
                }
            }
            Err(failure) => Report::Failed(failure),
        };
        let (id, epoch) = (self.workers[number].id.clone(), self.workers[number].epoch);
        let answer = self.coordinator.report(self.now, &id, epoch, grant.attempt, grant.nonce, report);
        if let Ok((_, housekeeping)) = answer {
            self.obey(number, &housekeeping);
        }
        if self.strike.is_due(Point::Disk) {
            self.strike.change_disk(self.folder.path());
        }
    }

    fn task(&self, number: usize, order: &TaskOrder) -> Result<TaskManifest, Failure> {
        let problem = &self.workers[number].problem;
        if let Some(text) = order.origin.refusal(&self.identity, "") {
            return Err(Failure::Refused { text });
        }
        let shares = order.block.as_ref().is_some_and(|block| block.lanes.is_some());
        self.way.sharers.fetch_add(shares.into(), Ordering::Relaxed);
        let scratch = self.root(number);
        let feeds = Feeds { root: self.folder.path(), order, strike: self.strike, disk: &self.disk };
        let task = Task {
            order,
            feeds: &feeds,
            scratch: &scratch,
            disk: &self.disk,
            stop: &AtomicBool::new(false),
            states_done: &AtomicU64::new(0),
            pulse: &AtomicU64::new(0),
            buffers: &self.way.buffers,
        };
        let run = || match &order.block {
            None => run_task(problem, &task),
            Some(block) => {
                let tables = self.way.tables.of(&order.problem, block).get(problem.info(), task.stop);
                let prepared = tables.map_err(|none| TaskError::Refused(none.to_string()))?;
                run_block_task(&prepared, problem.info(), &task)
            }
        };
        let done = catch_unwind(AssertUnwindSafe(run));
        let manifest = match done {
            Ok(Ok(manifest)) => manifest,
            Ok(Err(TaskError::Input { run, source })) => {
                let input = order.all_inputs().find(|input| input.manifest.id == run);
                let holder = input.and_then(|input| input.holders.first()).map(|holder| holder.worker.clone());
                let holder = holder.unwrap_or_else(|| self.workers[number].id.clone());
                return Err(Failure::Input { run, holder, damaged: source.is_damage(), text: source.to_string() });
            }
            Ok(Err(error @ TaskError::Check { .. })) => return Err(Failure::Check { text: error.to_string() }),
            Ok(Err(error)) => return Err(Failure::Other { text: error.to_string() }),
            Err(_) => return Err(Failure::Other { text: "the task's thread failed".to_owned() }),
        };
        if order.durable {
            publish_durably(&scratch, manifest.runs.iter().map(|run| &run.id))
                .map_err(|error| Failure::Other { text: error.to_string() })?;
        }
        Ok(manifest)
    }
}

fn header_of(root: &Path, run: &RunManifest) -> RunHeader {
    let inspected = keima_runs::open_verified(&run_path(root, &run.id).unwrap()).expect("a run that was just written");
    inspected.header().clone()
}
