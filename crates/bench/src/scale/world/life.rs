//! What fake workers do: hello, heartbeats, pulls, tasks, copies, deaths.

use anyhow::{Context, Result, bail};
use keima_cluster::{Answer, CarriedCall as Call};
use keima_coordinator::{
    AttemptId, Hello, Holder, Housekeeping, Report, Running, Used, Verdict, Wanted, Work, WorkerId,
};
use keima_orders::TaskOrder;
use keima_runs::{RunId, TaskManifest};

use super::{At, Event, FakeWorker, Labour, World};
use crate::scale::labour;

/// How long a dead worker stays away.
const AWAY_MILLIS: u64 = 120_000;
/// Tasks take between these parts of the forecast, by chance.
const SLOWEST: f64 = 1.1;
const FASTEST: f64 = 0.9;

impl World {
    fn id(worker: u32) -> WorkerId {
        WorkerId(format!("node{worker:04}"))
    }

    pub(super) fn come(&mut self, number: u32) -> Result<()> {
        let worker = &mut self.workers[number as usize];
        (worker.lives, worker.waiting, worker.waits_for_copy) = (true, 0, false);
        self.hello(number)?;
        let life = self.workers[number as usize].life;
        let first = (self.chance() * self.heartbeat_millis as f64) as u64;
        self.at(first, Event::Beat(number, life));
        if self.machines.deaths_per_hour > 0.0 {
            let hours = -(1.0 - self.chance()).ln() / self.machines.deaths_per_hour;
            self.at((hours * 3_600_000.0) as u64, Event::Die(number));
        }
        for _ in 0..self.machines.threads {
            self.pull(number, Wanted::Task)?;
        }
        self.pull(number, Wanted::Copy)
    }

    fn hello(&mut self, number: u32) -> Result<()> {
        let worker = &self.workers[number as usize];
        let hello = Hello {
            archive: false,
            holder: Holder {
                worker: Self::id(number),
                address: format!("http://10.0.{}.{}:7702", number / 250, number % 250),
                fingerprint: String::new(),
                folder: "/var/lib/keima/scratch".into(),
            },
            incarnation: u64::from(number) << 32 | u64::from(worker.life),
            place: format!("boot-{number}-8:1-131073"),
            slots: self.machines.threads,
            task_memory_bytes: self.machines.task_memory_bytes,
            disk_bytes: 1 << 45,
            held: worker.held.iter().cloned().collect(),
            running: running(worker),
            store: worker.store,
            build: "bench".into(),
        };
        let Some(Answer::Welcome(welcome)) = self.call(&Call::Hello(hello))? else { bail!("no welcome") };
        let worker = &mut self.workers[number as usize];
        (worker.epoch, worker.store) = (welcome.epoch, Some(welcome.store));
        self.heartbeat_millis = welcome.heartbeat_millis;
        self.obey(number, &welcome.housekeeping);
        Ok(())
    }

    /// Calls, after a hello where that is asked for. `None` where the worker is dead.
    fn ask(&mut self, number: u32, call: impl Fn(&FakeWorker) -> Call) -> Result<Option<Answer>> {
        for _ in 0..2 {
            if !self.workers[number as usize].lives {
                return Ok(None);
            }
            let message = call(&self.workers[number as usize]);
            if let Some(answer) = self.call(&message)? {
                return Ok(Some(answer));
            }
            self.hello(number)?;
        }
        bail!("worker {number} is not known right after its hello")
    }

    pub(super) fn beat(&mut self, number: u32, life: u32) -> Result<()> {
        let worker = &mut self.workers[number as usize];
        if !worker.lives || worker.life != life {
            return Ok(());
        }
        worker.pulse += 1;
        let answer = self.ask(number, |worker| Call::Heartbeat {
            worker: Self::id(number),
            epoch: worker.epoch,
            running: running(worker),
            held: worker.held.iter().cloned().collect(),
            used: Used { disk_bytes: worker.disk_used_bytes, memory_bytes: Some(worker.disk_used_bytes) },
        })?;
        if let Some(Answer::Heard(housekeeping)) = answer {
            self.obey(number, &housekeeping);
        }
        self.at(self.heartbeat_millis, Event::Beat(number, life));
        Ok(())
    }

    fn obey(&mut self, number: u32, housekeeping: &Housekeeping) {
        let worker = &mut self.workers[number as usize];
        for run in &housekeeping.release {
            worker.held.remove(run);
        }
        let mut freed = 0;
        for attempt in &housekeeping.abandon {
            match worker.running.remove(attempt).map(|at| at.labour) {
                Some(Labour::Task(_)) => freed += 1,
                Some(Labour::Copy(_)) => worker.waits_for_copy = true,
                None => {}
            }
        }
        worker.waiting += freed;
    }

    /// A few waiting pulls ask again.
    pub(super) fn wake_few(&mut self, most: u64) -> Result<()> {
        let (workers, mut left) = (self.machines.workers, most);
        let first = if left > 0 { (self.chance() * f64::from(workers)) as u32 } else { 0 };
        for number in (first..workers).chain(0..first) {
            if left == 0 {
                break;
            }
            if self.workers[number as usize].waiting > 0 {
                self.workers[number as usize].waiting -= 1;
                left -= 1;
                self.pull(number, Wanted::Task)?;
            }
        }
        Ok(())
    }

    pub(super) fn pull_waiting(&mut self) -> Result<()> {
        let first = (self.chance() * f64::from(self.machines.workers)) as u32;
        for number in (first..self.machines.workers).chain(0..first) {
            for _ in 0..std::mem::take(&mut self.workers[number as usize].waiting) {
                self.pull(number, Wanted::Task)?;
            }
            if std::mem::take(&mut self.workers[number as usize].waits_for_copy) {
                self.pull(number, Wanted::Copy)?;
            }
        }
        Ok(())
    }

    fn pull(&mut self, number: u32, wanted: Wanted) -> Result<()> {
        let answer = self.ask(number, |worker| Call::Pull { worker: Self::id(number), epoch: worker.epoch, wanted })?;
        let worker = &mut self.workers[number as usize];
        let Some(Answer::Pulled(Some(grant))) = answer else {
            if worker.lives {
                match wanted {
                    Wanted::Task => worker.waiting += 1,
                    Wanted::Copy => worker.waits_for_copy = true,
                }
            }
            return Ok(());
        };
        let (attempt, nonce) = (grant.attempt, grant.nonce);
        let (labour, seconds) = match grant.work {
            Work::Copy(run) => {
                let seconds = run.manifest.bytes as f64 / self.machines.disk_bytes_per_second;
                (Labour::Copy(Box::new(run.manifest)), seconds)
            }
            Work::Archive(_) => bail!("this cluster has no archive"),
            Work::Stage(mut order) => {
                self.counts.inputs += order.inputs.len() as u64;
                order.inputs = Vec::new();
                let seconds = self.task_seconds(&order)?;
                (Labour::Task(order), seconds)
            }
        };
        let worker = &mut self.workers[number as usize];
        worker.running.insert(attempt, At { nonce, labour });
        let (life, factor) = (worker.life, (SLOWEST - FASTEST).mul_add(self.chance(), FASTEST));
        self.at((seconds * factor * 1000.0).ceil() as u64, Event::End(number, life, attempt));
        Ok(())
    }

    /// The forecast's time for a task. Notes how far the job is.
    fn task_seconds(&mut self, order: &TaskOrder) -> Result<f64> {
        let stage = (0..self.plan.stages()).find(|&stage| self.plan.stage(stage).first_pass == order.first_pass);
        let stage = stage.context("an order of no stage")?;
        let place = (order.attempt.sweep, stage);
        if place > self.place {
            (self.place, self.place_at) = (place, self.now);
        }
        let (before, _) = self.fronts.around(&self.plan, stage)?;
        let shard = if order.from_start { 0..before.keys.len() } else { before.shard(order.low, order.high) };
        Ok(before.records(&shard) as f64 * self.state_seconds.get(stage as usize).copied().unwrap_or(0.0))
    }

    pub(super) fn end(&mut self, number: u32, life: u32, attempt: AttemptId) -> Result<()> {
        let worker = &mut self.workers[number as usize];
        if !worker.lives || worker.life != life {
            return Ok(());
        }
        // An attempt that was abandoned has ended before.
        let Some(at) = worker.running.get(&attempt) else { return Ok(()) };
        let nonce = at.nonce;
        let (manifest, wanted) = match &at.labour {
            Labour::Copy(run) => {
                (TaskManifest { runs: vec![(**run).clone()], ..TaskManifest::default() }, Wanted::Copy)
            }
            Labour::Task(order) => {
                (labour::work(&mut self.fronts, &self.plan, &self.functionals, order)?, Wanted::Task)
            }
        };
        let runs: Vec<RunId> = manifest.runs.iter().map(|run| run.id.clone()).collect();
        let bytes: u64 = manifest.runs.iter().map(|run| run.bytes).sum();
        // A worker lists the runs of an attempt from when they are complete.
        let worker = &mut self.workers[number as usize];
        worker.held.extend(runs.iter().cloned());
        worker.disk_used_bytes += bytes;
        let report = Report::Done(Box::new(manifest));
        let answer = self.ask(number, |worker| Call::Report {
            worker: Self::id(number),
            epoch: worker.epoch,
            attempt,
            nonce,
            report: report.clone(),
        })?;
        let Some(Answer::Told(verdict, housekeeping)) = answer else { return Ok(()) };
        self.moved_at = self.now;
        match wanted {
            Wanted::Task => self.counts.tasks += 1,
            Wanted::Copy => self.counts.copies += 1,
        }
        let worker = &mut self.workers[number as usize];
        worker.running.remove(&attempt);
        if let Verdict::Refused { .. } = verdict {
            for run in &runs {
                worker.held.remove(run);
            }
        }
        self.obey(number, &housekeeping);
        self.pull(number, wanted)
    }

    pub(super) fn die(&mut self, number: u32) {
        let worker = &mut self.workers[number as usize];
        (worker.lives, worker.waiting, worker.waits_for_copy) = (false, 0, false);
        worker.life += 1;
        // Complete runs of attempts without a verdict stay on its disk; the coordinator has them deleted.
        worker.running.clear();
        self.counts.deaths += 1;
        self.at(AWAY_MILLIS, Event::Return(number));
    }
}

fn running(worker: &FakeWorker) -> Vec<Running> {
    let one =
        |(&attempt, at): (&AttemptId, &At)| Running { attempt, nonce: at.nonce, states_done: 1, pulse: worker.pulse };
    worker.running.iter().map(one).collect()
}
