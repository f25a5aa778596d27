//! A coordinator from its stored records.
//!
//! Every restart begins a new life: numbers of attempts, generations and epochs come from a range of its own. Workers
//! that records name are expected with what they held, as if they had just gone away, until they say hello. Leases
//! begin anew. Copies under way are forgotten; workers that are at them stop.

use std::collections::BTreeMap;
use std::sync::Arc;

use keima_model::{AnyProblem, Registry};
use keima_orders::{JobId, WorkerId};
use keima_runs::{RunId, RunManifest};
use serde::de::DeserializeOwned;

use crate::api::{Millis, StoreId};
use crate::fleet::Common;
use crate::job::boundaries::{Boundary, Committed, Head};
use crate::job::stage::StageRun;
use crate::job::stage::shards::Shard;
use crate::job::status::State;
use crate::job::{Job, Record};
use crate::machine::leases::Lease;
use crate::machine::{Config, Coordinator};
use crate::store::journal::{self, GrantRecord, StageRecord, VERSION};

/// Why a store cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The store was written by another version of the program.
    #[error(
        "the coordinator's store has layout {got}, this program reads layout {expected}; run the program that wrote it, or start with an empty data folder"
    )]
    Version {
        /// What this program reads.
        expected: u32,
        /// What the store says.
        got: u32,
    },
    /// A record cannot be read.
    #[error(
        "record {key} of the coordinator's store is not as expected: {why}; restore the data folder from a copy, or start with an empty one"
    )]
    Damaged {
        /// The record.
        key: String,
        /// What is wrong.
        why: String,
    },
}

fn damaged(key: &str, why: &dyn ToString) -> RestoreError {
    RestoreError::Damaged { key: key.into(), why: why.to_string() }
}

fn decode<T: DeserializeOwned>(key: &str, value: &[u8]) -> Result<T, RestoreError> {
    postcard::from_bytes(value).map_err(|error| damaged(key, &error))
}

/// Opens a stored job's problem, and makes sure that it is still the same.
pub(crate) fn reopen(registry: &dyn Registry, record: &Record) -> Result<AnyProblem, String> {
    let problem = registry.open(&record.spec.problem).map_err(|error| error.to_string())?;
    let (identity, key_bytes) = (problem.info().identity(), problem.key_bytes());
    if identity != record.identity || key_bytes != record.plan.key_bytes {
        return Err(format!(
            "the job was begun as {:?} with keys of {} bytes, this program makes it {identity:?} with {key_bytes}; \
             go on with the program that began it, or submit the job anew",
            record.identity, record.plan.key_bytes
        ));
    }
    Ok(problem)
}

/// Stored records by kind.
#[derive(Default)]
struct Records {
    version: Option<u32>,
    store: Option<StoreId>,
    boot: u32,
    next: u64,
    jobs: BTreeMap<u64, Record>,
    values: BTreeMap<u64, BTreeMap<(u32, u32), Vec<u64>>>,
    heads: BTreeMap<u64, Vec<(String, Head)>>,
    tasks: BTreeMap<(u64, u32, u32), Vec<(String, Committed)>>,
    copies: BTreeMap<u64, Vec<(String, RunId, WorkerId)>>,
    stages: BTreeMap<u64, (String, StageRecord)>,
    grants: BTreeMap<u64, Vec<(String, GrantRecord)>>,
}

impl Records {
    fn read(stored: Vec<(String, Vec<u8>)>) -> Result<Self, RestoreError> {
        let mut all = Self::default();
        for (key, value) in stored {
            let mut words = key.split('/');
            let kind = words.next().unwrap_or_default();
            let rest: Vec<&str> = words.collect();
            let number = |at: usize| {
                let word: &str = rest.get(at).copied().unwrap_or_default();
                word.parse::<u64>().map_err(|error| damaged(&key, &error))
            };
            let short = |at| number(at).and_then(|n| u32::try_from(n).map_err(|error| damaged(&key, &error)));
            match kind {
                "meta" => match rest.as_slice() {
                    ["version"] => all.version = Some(decode(&key, &value)?),
                    ["store"] => all.store = Some(decode(&key, &value)?),
                    ["boot"] => all.boot = decode(&key, &value)?,
                    ["next"] => all.next = decode(&key, &value)?,
                    _ => return Err(damaged(&key, &"unknown record")),
                },
                "job" => drop(all.jobs.insert(number(0)?, decode(&key, &value)?)),
                "value" => {
                    let place = (short(1)?, short(2)?);
                    all.values.entry(number(0)?).or_default().insert(place, decode(&key, &value)?);
                }
                "boundary" => all.heads.entry(number(0)?).or_default().push((key.clone(), decode(&key, &value)?)),
                "task" => {
                    let place = (number(0)?, short(1)?, short(2)?);
                    all.tasks.entry(place).or_default().push((key.clone(), decode(&key, &value)?));
                }
                "copy" => {
                    let (run, worker) = decode(&key, &value)?;
                    all.copies.entry(number(0)?).or_default().push((key.clone(), run, worker));
                }
                "stage" => drop(all.stages.insert(number(0)?, (key.clone(), decode(&key, &value)?))),
                "grant" => {
                    let grant: GrantRecord = decode(&key, &value)?;
                    all.grants.entry(grant.attempt.job.0).or_default().push((key.clone(), grant));
                }
                _ => return Err(damaged(&key, &"unknown kind of record")),
            }
        }
        Ok(all)
    }
}

impl Coordinator {
    /// A coordinator that goes on where the one that stored `records` stopped. An empty store gives a new one.
    pub fn restore(
        config: Config,
        registry: Arc<dyn Registry>,
        seed: u64,
        now: Millis,
        records: Vec<(String, Vec<u8>)>,
    ) -> Result<Self, RestoreError> {
        if records.is_empty() {
            return Ok(Self::new(config, registry, seed));
        }
        // The version first: records of another layout may not even have readable keys.
        let version = records.iter().find(|(key, _)| key == "meta/version");
        let version = version.ok_or_else(|| damaged("meta/version", &"it is missing"))?;
        let got: u32 = decode("meta/version", &version.1)?;
        if got != VERSION {
            return Err(RestoreError::Version { expected: VERSION, got });
        }
        let mut records = Records::read(records)?;
        // Without its name the store would let workers of any other have their runs deleted.
        let store = records.store.ok_or_else(|| damaged("meta/store", &"it is missing"))?;
        let mut common = Common::new(config, seed, records.boot.saturating_add(1), Some(store));
        common.now = now;
        let mut jobs = BTreeMap::new();
        let mut next_job = records.next.max(1);
        for (id, record) in std::mem::take(&mut records.jobs) {
            next_job = next_job.max(id.saturating_add(1));
            let job = restore_job(&mut common, &*registry, JobId(id), record, &mut records)?;
            jobs.insert(JobId(id), job);
        }
        records.delete_rest(&mut common);
        common.store_meta(next_job);
        common.journal.must_be_durable();
        Ok(Self { common, registry, jobs, next_job })
    }
}

impl Records {
    /// Records that belong to nothing any more go.
    fn delete_rest(self, common: &mut Common) {
        let heads = self.heads.into_values().flatten().map(|(key, _)| key);
        let tasks = self.tasks.into_values().flatten().map(|(key, _)| key);
        let copies = self.copies.into_values().flatten().map(|(key, ..)| key);
        let stages = self.stages.into_values().map(|(key, _)| key);
        let grants = self.grants.into_values().flatten().map(|(key, _)| key);
        heads.chain(tasks).chain(copies).chain(stages).chain(grants).for_each(|key| common.journal.delete(key));
    }
}

fn restore_job(
    common: &mut Common,
    registry: &dyn Registry,
    id: JobId,
    record: Record,
    records: &mut Records,
) -> Result<Job, RestoreError> {
    let mut job = Job::new(id, record, None, common.now);
    job.values = records.values.remove(&id.0).unwrap_or_default();
    match reopen(registry, &job.record) {
        Ok(problem) => job.problem = Some(problem),
        Err(why) if !job.is_over() => job.pause(common, why),
        Err(_) => {}
    }
    let functionals: Vec<u32> = job.values.keys().map(|&(_, functional)| functional).collect();
    for functional in functionals {
        job.tell_early(functional);
    }
    if job.is_over() {
        return Ok(job);
    }
    restore_boundaries(common, &mut job, records)?;
    restore_stage(common, &mut job, records)?;
    if job.record.state == State::Running {
        job.resumed_from = Some(match (job.boundaries.last(), &job.stage) {
            (_, Some(stage)) => {
                let done = stage.tasks.len() - stage.left;
                format!(
                    "stage {} of sweep {}, {done} tasks of {} done",
                    stage.number,
                    job.record.sweep + 1,
                    stage.tasks.len()
                )
            }
            (Some(b), None) => format!("{} of sweep {}", b.head, job.record.sweep + 1),
            (None, None) => format!("the start of sweep {}", job.record.sweep + 1),
        });
    }
    Ok(job)
}

/// A run that stands in a manifest, on the worker that wrote it.
fn expect(common: &mut Common, job: &mut Job, worker: &WorkerId, run: &RunManifest) {
    common.expect_worker(worker).held.insert(run.id.clone(), run.bytes);
    job.runs.insert(run.id.clone(), run.bytes);
}

fn restore_boundaries(common: &mut Common, job: &mut Job, records: &mut Records) -> Result<(), RestoreError> {
    let heads = records.heads.remove(&job.id.0).unwrap_or_default();
    for (key, head) in heads {
        if head.sweep != job.record.sweep {
            common.journal.delete(key);
            continue;
        }
        let tasks = records.tasks.remove(&(job.id.0, head.sweep, head.generation)).unwrap_or_default();
        if tasks.len() != head.tasks as usize {
            return Err(damaged(&key, &format!("expected {} tasks, got {}", head.tasks, tasks.len())));
        }
        let mut tasks: Vec<Committed> = tasks.into_iter().map(|(_, task)| task).collect();
        tasks.sort_by_key(|task| task.attempt.task);
        for task in &tasks {
            task.manifest.runs.iter().for_each(|run| expect(common, job, &task.writer, run));
        }
        job.boundaries.push(Boundary { head, tasks, copies: std::collections::BTreeSet::new(), stored: true });
    }
    job.boundaries.sort_by_key(|boundary| boundary.head.generation);
    for (key, run, worker) in records.copies.remove(&job.id.0).unwrap_or_default() {
        let boundary = job.boundaries.iter_mut().find(|b| b.runs().any(|r| r.id == run));
        if let Some(boundary) = boundary {
            let bytes = job.runs.get(&run).copied().unwrap_or(0);
            common.expect_worker(&worker).held.insert(run.clone(), bytes);
            boundary.copies.insert((run, worker));
        } else {
            common.journal.delete(key);
        }
    }
    Ok(())
}

fn restore_stage(common: &mut Common, job: &mut Job, records: &mut Records) -> Result<(), RestoreError> {
    let Some((key, record)) = records.stages.remove(&job.id.0) else { return Ok(()) };
    if record.sweep != job.record.sweep
        || record.number != job.next_stage()
        || job.problem.is_none() && record.shards.is_empty()
    {
        common.journal.delete(key);
        return Ok(());
    }
    let shards = record.shards.into_iter().map(|(low, high, records)| Shard { low, high, records }).collect();
    let mut stage = StageRun::new(record.number, record.generation, record.durable, record.closed, shards);
    for (key, done) in records.tasks.remove(&(job.id.0, record.sweep, record.generation)).unwrap_or_default() {
        let Some(task) = stage.tasks.get_mut(done.attempt.task as usize) else {
            return Err(damaged(&key, &"the stage has no such task"));
        };
        done.manifest.runs.iter().for_each(|run| expect(common, job, &done.writer, run));
        stage.pending.remove(&(std::cmp::Reverse(task.shard.records), done.attempt.task));
        task.done = Some(done);
    }
    stage.left = stage.tasks.iter().filter(|task| task.done.is_none()).count();
    restore_grants(common, job.id, &mut stage, records);
    job.record.generation = job.record.generation.max(stage.generation);
    let all_done = stage.left == 0;
    job.stage = Some(stage);
    if all_done {
        job.complete_stage(common);
    }
    Ok(())
}

/// Leases begin anew, once: their workers may have kept at them while nobody listened.
fn restore_grants(common: &mut Common, job: JobId, stage: &mut StageRun, records: &mut Records) {
    let deadline = common.now.saturating_add(common.config.lease_millis);
    for (key, grant) in records.grants.remove(&job.0).unwrap_or_default() {
        let task = stage.tasks.get(grant.attempt.task as usize);
        let living =
            !grant.copy && grant.attempt.generation == stage.generation && task.is_some_and(|task| task.done.is_none());
        if !living || !common.config.persist_grants || key != journal::grant_key(grant.attempt) {
            common.journal.delete(key);
            continue;
        }
        let records = task.map_or(0, |task| task.shard.records);
        stage.pending.remove(&(std::cmp::Reverse(records), grant.attempt.task));
        common.expect_worker(&grant.worker);
        let GrantRecord { attempt, nonce, worker, .. } = grant;
        let granted = common.now;
        common.leases.insert(attempt, Lease { nonce, worker, granted, deadline, states_done: 0, copy: false });
    }
}
