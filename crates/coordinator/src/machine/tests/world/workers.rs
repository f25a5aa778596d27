//! What simulated workers do: they call the machine, make runs, read and lose them.

use keima_model::Registry;
use keima_runs::{RunId, TaskManifest};

use super::labour::{File, compute};
use super::sim::{FakeWorker, Sim, runs_of_boundaries};
use super::toy::{LooseToys, Toys};
use crate::fleet::lease::LEASES_PER_SLOT;
use crate::store::records::Boundary;
use crate::{
    CallError, Failure, Grant, Hello, Holder, Housekeeping, Report, Running, Used, Verdict, Wanted, Work, WorkerId,
};

impl Sim {
    pub(crate) fn hello(&mut self, id: &WorkerId) {
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

    pub(crate) fn heartbeat(&mut self, id: &WorkerId) {
        let Some(epoch) = self.epoch(id) else { return };
        let me = self.workers.get_mut(id).expect("known");
        me.pulse += u64::from(!me.hangs);
        let (now, me) = (self.now, &self.workers[id]);
        let held: Vec<RunId> = me.disk.keys().cloned().collect();
        let answer = self.coordinator.heartbeat(now, id, epoch, &running(me), &held, Used::default());
        if let Some(housekeeping) = self.taken(id, answer) {
            self.obey(id, &housekeeping);
        }
    }

    /// A copy if there is one to make, else a task; `true` when there was work.
    pub(crate) fn pull(&mut self, id: &WorkerId) -> bool {
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

    pub(crate) fn report(&mut self, id: &WorkerId, grant: &Grant, report: Report) -> Option<Verdict> {
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
    pub(crate) fn execute(&mut self, id: &WorkerId, grant: &Grant) -> Report {
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
    pub(crate) fn work(&mut self, id: &WorkerId, at: usize) {
        if self.workers[id].hangs {
            return;
        }
        let Some(grant) = self.workers[id].running.get(at).cloned() else { return };
        let report = self.execute(id, &grant);
        self.report(id, &grant, report);
    }

    /// The worker's process dies; its disk stays, or loses what was not durable, or all.
    pub(crate) fn kill(&mut self, id: &WorkerId, keep: impl Fn(&File) -> bool) {
        let me = self.workers.get_mut(id).expect("known");
        me.disk.retain(|_, file| keep(file));
        (me.running, me.epoch, me.silent) = (Vec::new(), None, false);
        me.incarnation += 1;
    }
}

fn running(me: &FakeWorker) -> Vec<Running> {
    let running = |g: &Grant| Running { attempt: g.attempt, nonce: g.nonce, states_done: 1, pulse: me.pulse };
    me.running.iter().map(running).collect()
}
