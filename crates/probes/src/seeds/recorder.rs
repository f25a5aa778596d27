//! A coordinator whose workers' calls are written down, in the form that the probe `calls` reads, with the checkpoints that it
//! publishes. Its random numbers are always the same, so that a worker's calls mean the same when they come again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keima_cluster::{CallKind, CarriedCall, CoordinatorLink, LinkError};
use keima_coordinator::{
    AttemptId, CallError, Coordinator, Grant, Hello, Housekeeping, Report, Running, Used, Verdict, Wanted, Welcome,
    WorkerId,
};
use keima_runs::RunId;

use crate::calls::{BEGIN_MILLIS, step};

/// Wait before each task: so long a copy for the archive may take.
const TASK_WAIT: Duration = Duration::from_millis(20);
/// Wait where there is nothing to do.
const IDLE_WAIT: Duration = Duration::from_millis(2);
/// The kind of a step that comes a millisecond after the last one.
const SOON: u8 = 32;

/// All clones are the same coordinator.
#[derive(Clone)]
pub(super) struct Recorder(Arc<Mutex<State>>);

struct State {
    machine: Coordinator,
    now: u64,
    steps: Vec<u8>,
    checkpoints: Vec<Vec<u8>>,
}

impl Recorder {
    pub(super) fn new(machine: Coordinator) -> Self {
        let (steps, checkpoints) = (Vec::new(), Vec::new());
        Self(Arc::new(Mutex::new(State { machine, now: BEGIN_MILLIS, steps, checkpoints })))
    }

    /// What was written down so far: the steps, and the checkpoints.
    pub(super) fn written(&self) -> (Vec<u8>, Vec<Vec<u8>>) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.steps.clone(), state.checkpoints.clone())
    }

    /// Whether all jobs are over.
    pub(super) fn is_over(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.machine.jobs().iter().all(|job| job.state.is_over())
    }

    fn call<T>(
        &self,
        call: &CarriedCall,
        answer: impl FnOnce(&mut Coordinator, u64) -> Result<T, CallError>,
    ) -> Result<T, LinkError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.now += 1;
        let kind = match call.kind() {
            CallKind::Hello => 0,
            CallKind::Pull => 1,
            CallKind::Heartbeat => 2,
            CallKind::Report => 3,
        };
        state.steps.extend(step(SOON + kind, &call.to_bytes()));
        let now = state.now;
        let answered = answer(&mut state.machine, now);
        state.machine.tick(now);
        for publication in state.machine.take_publications() {
            state.machine.published(now, &publication, Ok(()));
            state.checkpoints.push(publication.bytes);
        }
        Ok(answered?)
    }
}

impl CoordinatorLink for Recorder {
    async fn hello(&self, hello: Hello) -> Result<Welcome, LinkError> {
        self.call(&CarriedCall::Hello(hello.clone()), |machine, now| machine.hello(now, hello))
    }

    async fn heartbeat(
        &self,
        worker: &WorkerId,
        epoch: u64,
        running: Vec<Running>,
        held: Vec<RunId>,
        used: Used,
    ) -> Result<Housekeeping, LinkError> {
        let (listed, names) = (running.clone(), held.clone());
        let call = CarriedCall::Heartbeat { worker: worker.clone(), epoch, running, held, used };
        self.call(&call, |machine, now| machine.heartbeat(now, worker, epoch, &listed, &names, used))
    }

    async fn pull(&self, worker: &WorkerId, epoch: u64, wanted: Wanted) -> Result<Option<Grant>, LinkError> {
        tokio::time::sleep(if wanted == Wanted::Copy { IDLE_WAIT } else { TASK_WAIT }).await;
        let call = CarriedCall::Pull { worker: worker.clone(), epoch, wanted };
        self.call(&call, |machine, now| machine.pull(now, worker, epoch, wanted))
    }

    async fn report(
        &self,
        worker: &WorkerId,
        epoch: u64,
        attempt: AttemptId,
        nonce: u64,
        report: Report,
    ) -> Result<(Verdict, Housekeeping), LinkError> {
        let call = CarriedCall::Report { worker: worker.clone(), epoch, attempt, nonce, report: report.clone() };
        self.call(&call, |machine, now| machine.report(now, worker, epoch, attempt, nonce, report))
    }

    async fn goodbye(&self, worker: &WorkerId, epoch: u64) -> Result<(), LinkError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = state.now;
        Ok(state.machine.goodbye(now, worker, epoch)?)
    }
}
