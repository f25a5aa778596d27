//! Stored records, decoded and sorted by kind and job.

use std::collections::BTreeMap;

use keima_orders::JobId;
use serde::de::DeserializeOwned;

use super::journal::Journal;
use super::keys::VERSION_KEY;
use super::records::{Account, Committed, GrantRecord, Head, Record, RunCopy, StageRecord, VERSION};
use crate::api::StoreId;
use crate::certificate::StageEvidence;

/// Why a store cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// Another version of the program wrote the store.
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

/// A record that contradicts its key or other records.
pub(crate) fn damaged(key: &str, why: &dyn ToString) -> RestoreError {
    RestoreError::Damaged { key: key.into(), why: why.to_string() }
}

fn decode<T: DeserializeOwned>(key: &str, value: &[u8]) -> Result<T, RestoreError> {
    postcard::from_bytes(value).map_err(|error| damaged(key, &error))
}

/// Whether this program reads records of the version that the record [`VERSION_KEY`] holds.
pub fn check_stored_version(value: &[u8]) -> Result<(), RestoreError> {
    let got: u32 = decode(VERSION_KEY, value)?;
    if got == VERSION { Ok(()) } else { Err(RestoreError::Version { expected: VERSION, got }) }
}

/// A record with its key.
pub(crate) struct Keyed<T> {
    pub(crate) key: String,
    pub(crate) record: T,
}

/// Identifies the residues of a functional in one sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ValueId {
    pub(crate) sweep: u32,
    pub(crate) functional: u32,
}

/// Identifies a stage, or the boundary that it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StageId {
    pub(crate) sweep: u32,
    pub(crate) generation: u32,
}

/// Identifies the evidence of a stage: a repeated stage has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StageNumber {
    pub(crate) sweep: u32,
    pub(crate) stage: u32,
}

/// All records of a job.
#[derive(Default)]
pub(crate) struct JobRecords {
    pub(crate) record: Option<Record>,
    /// Without it nothing is known of who wants the job, and what it has had.
    pub(crate) account: Option<Account>,
    pub(crate) values: BTreeMap<ValueId, Vec<u64>>,
    /// Encoded, as they are stored.
    pub(crate) evidence: BTreeMap<StageNumber, Vec<u8>>,
    pub(crate) heads: Vec<Keyed<Head>>,
    pub(crate) tasks: BTreeMap<StageId, Vec<Keyed<Committed>>>,
    pub(crate) copies: Vec<Keyed<RunCopy>>,
    pub(crate) stage: Option<Keyed<StageRecord>>,
    pub(crate) grants: Vec<Keyed<GrantRecord>>,
}

impl JobRecords {
    /// Deletes records that belong to nothing any more: those that nobody took out.
    pub(crate) fn delete_rest(self, journal: &mut Journal) {
        let heads = self.heads.into_iter().map(|head| head.key);
        let tasks = self.tasks.into_values().flatten().map(|task| task.key);
        let copies = self.copies.into_iter().map(|copy| copy.key);
        let stages = self.stage.into_iter().map(|stage| stage.key);
        let grants = self.grants.into_iter().map(|grant| grant.key);
        heads.chain(tasks).chain(copies).chain(stages).chain(grants).for_each(|key| journal.delete(key));
    }
}

/// The whole store.
pub(crate) struct Stored {
    pub(crate) store: StoreId,
    pub(crate) boot: u32,
    pub(crate) next_job: u64,
    pub(crate) jobs: BTreeMap<JobId, JobRecords>,
}

impl Stored {
    /// Decodes all records; there is at least one.
    pub(crate) fn read(records: Vec<(String, Vec<u8>)>) -> Result<Self, RestoreError> {
        // The version first: records of another layout may not even have readable keys.
        let version = records.iter().find(|(key, _)| key == VERSION_KEY);
        let version = version.ok_or_else(|| damaged(VERSION_KEY, &"it is missing"))?;
        check_stored_version(&version.1)?;
        let mut stored = Self { store: StoreId::default(), boot: 0, next_job: 0, jobs: BTreeMap::new() };
        let mut store = None;
        for (key, value) in records {
            let words: Vec<&str> = key.split('/').collect();
            if let ["meta", name] = words[..] {
                match name {
                    "version" => {}
                    "store" => store = Some(decode(&key, &value)?),
                    "boot" => stored.boot = decode(&key, &value)?,
                    "next" => stored.next_job = decode(&key, &value)?,
                    _ => return Err(damaged(&key, &"unknown record")),
                }
            } else {
                stored.read_of_job(&key, &value)?;
            }
        }
        // Without its name the store would let workers of any other have their runs deleted.
        stored.store = store.ok_or_else(|| damaged("meta/store", &"it is missing"))?;
        Ok(stored)
    }

    fn read_of_job(&mut self, key: &str, value: &[u8]) -> Result<(), RestoreError> {
        let mut words = key.split('/');
        let kind = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let number = |at: usize| {
            let word: &str = rest.get(at).copied().unwrap_or_default();
            word.parse::<u64>().map_err(|error| damaged(key, &error))
        };
        let short = |at| number(at).and_then(|n| u32::try_from(n).map_err(|error| damaged(key, &error)));
        if kind == "grant" {
            // Its key is an attempt's name, which says the job in another way.
            let record: GrantRecord = decode(key, value)?;
            let job = self.jobs.entry(record.attempt.job).or_default();
            job.grants.push(Keyed { key: key.to_owned(), record });
            return Ok(());
        }
        if !["job", "account", "value", "evidence", "boundary", "task", "copy", "stage"].contains(&kind) {
            return Err(damaged(key, &"unknown kind of record"));
        }
        let job = self.jobs.entry(JobId(number(0)?)).or_default();
        let key_text = key.to_owned();
        match kind {
            "job" => job.record = Some(decode(key, value)?),
            "account" => job.account = Some(decode(key, value)?),
            "value" => {
                let id = ValueId { sweep: short(1)?, functional: short(2)? };
                job.values.insert(id, decode(key, value)?);
            }
            "evidence" => {
                decode::<StageEvidence>(key, value)?;
                job.evidence.insert(StageNumber { sweep: short(1)?, stage: short(2)? }, value.to_vec());
            }
            "boundary" => job.heads.push(Keyed { key: key_text, record: decode(key, value)? }),
            "task" => {
                let id = StageId { sweep: short(1)?, generation: short(2)? };
                job.tasks.entry(id).or_default().push(Keyed { key: key_text, record: decode(key, value)? });
            }
            "copy" => job.copies.push(Keyed { key: key_text, record: decode(key, value)? }),
            _ => job.stage = Some(Keyed { key: key_text, record: decode(key, value)? }),
        }
        Ok(())
    }
}
