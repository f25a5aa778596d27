//! The coordinator's records, and requests of users.

use std::sync::{Arc, LazyLock};

use keima_cluster::OpenProblems;
use keima_coordinator::{Config, Coordinator, RestoreError};
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

/// Records of a store: of each a byte with the length of its key, the key, two bytes with the length of its value, the
/// value.
pub(crate) fn records(bytes: &[u8]) -> bool {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let Some((record, more)) = record(rest) {
        records.push(record);
        rest = more;
    }
    restored(Config::default(), 1_000_000, records).is_ok_and(|mut coordinator| {
        coordinator.tick(1_000_250);
        let jobs = coordinator.jobs();
        coordinator.take_changes().is_ok() && !jobs.is_empty()
    })
}

/// All problems; each is opened once.
pub(crate) fn registry() -> Arc<OpenProblems> {
    static OPEN: LazyLock<Arc<OpenProblems>> = LazyLock::new(|| Arc::new(OpenProblems::new(Arc::new(Problems))));
    Arc::clone(&OPEN)
}

/// A coordinator with these records. Its random numbers are always the same.
pub(crate) fn restored(config: Config, now: u64, records: Vec<Record>) -> Result<Coordinator, RestoreError> {
    Coordinator::restore(config, registry(), 7, now, records)
}

type Record = (String, Vec<u8>);

/// The first record, and what follows it.
fn record(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    let (key, rest) = rest.split_at_checked(usize::from(length))?;
    let (length, rest) = rest.split_first_chunk()?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some(((String::from_utf8_lossy(key).into_owned(), value.to_vec()), rest))
}

/// The form of [`records`].
pub(crate) fn record_bytes(records: &[Record]) -> Vec<u8> {
    let one = |(key, value): &Record| {
        [&[key.len() as u8], key.as_bytes(), &(value.len() as u16).to_le_bytes(), value].concat()
    };
    records.iter().flat_map(one).collect()
}

/// A request as it is typed: name, size, and options `name=value`, with spaces between them.
pub(crate) fn request(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut words = text.split(' ');
    let mut word = || words.next().map(str::to_owned);
    let (Some(name), Some(size)) = (word(), word()) else { return false };
    let option = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        (name.to_owned(), value.to_owned())
    };
    let options = words.map(option).collect();
    Problems.open(&ProblemRequest { name, size, options }).is_ok_and(|problem| !problem.info().identity().is_empty())
}
