//! A job in pieces of about a megabyte: its status, its values, its certificate.
//!
//! ```text
//!   GetJob     status | values | values | ... | certificate | certificate | ...
//!   WatchJob   values | values | status | ... | values | status          a status counts the values that were sent before it
//! ```
//!
//! A job of ten thousand shorter boards has a hundred megabytes of values. They are read from the coordinator a page at a time, so
//! its lock is never held for all of them, and no message is long. A value is sent once to each watcher.
//!
//! Who puts a job together takes what it asked for, and no more than [`MOST_JOB_BYTES`]; a watcher keeps [`MOST_NEWS_BYTES`].

use std::collections::VecDeque;
use std::time::Duration;

use keima_coordinator::{Check, JobId, JobStatus, SeriesEntry};
use keima_wire::v1;
use tokio::sync::mpsc;
use tonic::Status;

use super::to_status;
use crate::driver::{CoordinatorHandle, Reading};
use crate::transport::convert::{ConvertError, Wire, list_from, list_to, required};
use crate::transport::link::LinkError;

/// Bytes of a certificate in one message.
const TEXT_PIECE_BYTES: usize = 1 << 20;
/// Most memory of one job's values and certificate. A 21x10000 has 0.5 GB of values, and twice that in its certificate.
const MOST_JOB_BYTES: usize = 4 << 30;
/// Most memory of the values that a watcher keeps until the next status: the newest. Those of 10,000 boards of some thousand cells
/// take a third of it.
const MOST_NEWS_BYTES: usize = 64 << 20;

/// What a caller of `GetJob` wants beside the status.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pieces {
    /// So many of its values, the newest.
    pub(crate) newest_values: u32,
    pub(crate) certificate: bool,
}

type Messages<T> = mpsc::Sender<Result<T, Status>>;

/// The caller is gone.
struct Gone;

async fn send<T>(to: &Messages<T>, message: Result<T, LinkError>) -> Result<(), Gone> {
    to.send(message.map_err(|error| to_status(&error))).await.map_err(|_| Gone)
}

/// Sends a job after its status.
pub(super) async fn send_job(
    mut reading: Reading,
    status: JobStatus,
    wanted: Pieces,
    to: Messages<v1::GetJobResponse>,
) {
    let message = v1::GetJobResponse { status: Some(status.to_wire()), ..Default::default() };
    if send(&to, Ok(message)).await.is_err() {
        return;
    }
    // Those that become known meanwhile are not counted by the status.
    let known = status.values.known as usize;
    let first = known.saturating_sub(wanted.newest_values as usize);
    let mut next = (first < known).then_some(first);
    while let Some(from) = next {
        let (message, after) = match reading.values(from).await {
            Ok(mut page) => {
                page.values.truncate(known - from);
                let message = v1::GetJobResponse { values: list_to(&page.values), ..Default::default() };
                (Ok(message), page.next.filter(|&after| (from + 1..known).contains(&after)))
            }
            Err(error) => (Err(error), None),
        };
        let ended = message.is_err();
        if send(&to, message).await.is_err() || ended {
            return;
        }
        next = after;
    }
    if !wanted.certificate {
        return;
    }
    match reading.certificate().await {
        Err(error) => drop(send(&to, Err(error)).await),
        Ok(None) => {}
        Ok(Some(text)) => {
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.floor_char_boundary(TEXT_PIECE_BYTES));
                let message = v1::GetJobResponse { certificate: Some(piece.to_owned()), ..Default::default() };
                if send(&to, Ok(message)).await.is_err() {
                    return;
                }
                rest = after;
            }
        }
    }
}

/// Memory that a value takes.
fn weight(value: &SeriesEntry) -> usize {
    let texts = value.counts.iter().map(|count| size_of::<String>() + count.len());
    let checks = value.checks.iter().map(|check| size_of::<Check>() + check.name.len() + check.detail.len());
    size_of::<SeriesEntry>() + value.name.len() + value.count.len() + texts.chain(checks).sum::<usize>()
}

/// Puts a job together again.
pub(crate) struct Joined {
    wanted: Pieces,
    most_bytes: usize,
    bytes: usize,
    status: Option<v1::JobStatus>,
    values: Vec<SeriesEntry>,
    certificate: Option<String>,
}

impl Joined {
    /// Takes what was asked for, and no more.
    pub(crate) const fn of(wanted: Pieces) -> Self {
        Self { wanted, most_bytes: MOST_JOB_BYTES, bytes: 0, status: None, values: Vec::new(), certificate: None }
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, message: v1::GetJobResponse) -> Result<(), LinkError> {
        if self.status.is_none() {
            self.status = message.status;
        }
        let known = self.status.as_ref().map_or(0, |status| status.values_known);
        let most = self.wanted.newest_values.min(known) as usize;
        within("values of a job", "values", most, self.values.len() + message.values.len())?;
        let values: Vec<SeriesEntry> = list_from(message.values)?;
        let piece = message.certificate.unwrap_or_default();
        within("a certificate", "bytes", if self.wanted.certificate { self.most_bytes } else { 0 }, piece.len())?;
        self.bytes += values.iter().map(weight).sum::<usize>() + piece.len();
        within("values and certificate of a job", "bytes", self.most_bytes, self.bytes)?;
        self.values.extend(values);
        if !piece.is_empty() {
            self.certificate.get_or_insert_default().push_str(&piece);
        }
        Ok(())
    }

    /// The job after the last message.
    pub(crate) fn job(self) -> Result<(JobStatus, Option<String>), ConvertError> {
        let mut status = JobStatus::from_wire(required("GetJobResponse.status", self.status)?)?;
        if !self.values.is_empty() {
            status.set_values(self.values);
        }
        Ok((status, self.certificate))
    }
}

/// Refuses more than what a call may be answered with.
pub(super) fn within(what: &'static str, unit: &'static str, most: usize, got: usize) -> Result<(), LinkError> {
    if got <= most { Ok(()) } else { Err(LinkError::TooMuch { what, unit, most, got }) }
}

/// What a watcher has of the next status. Whatever comes, it keeps a bounded part: the newest values.
#[derive(Default)]
pub(crate) struct Watched {
    values: VecDeque<SeriesEntry>,
    bytes: usize,
    dropped: usize,
    left_out: usize,
}

impl Watched {
    /// Adds a message. Returns the status that it ends with, and with it the newest of the values before it.
    pub(crate) fn add(&mut self, message: v1::WatchJobResponse) -> Result<Option<JobStatus>, ConvertError> {
        for value in message.values {
            let value = SeriesEntry::from_wire(value)?;
            self.bytes += weight(&value);
            self.values.push_back(value);
            while self.bytes > MOST_NEWS_BYTES
                && let Some(oldest) = self.values.pop_front()
            {
                self.bytes -= weight(&oldest);
                self.dropped += 1;
            }
        }
        let Some(status) = message.status else { return Ok(None) };
        let mut status = JobStatus::from_wire(status)?;
        self.bytes = 0;
        self.left_out = std::mem::take(&mut self.dropped);
        let values = Vec::from(std::mem::take(&mut self.values));
        if !values.is_empty() {
            status.set_values(values);
        }
        Ok(Some(status))
    }

    /// How many values before the last status were left out.
    pub(crate) const fn left_out(&self) -> usize {
        self.left_out
    }
}

/// Sends the values that the watcher does not have. Returns how many it has then.
async fn send_values(
    handle: &CoordinatorHandle,
    status: &JobStatus,
    known: usize,
    to: &Messages<v1::WatchJobResponse>,
) -> Result<usize, Gone> {
    // After a fall back there are fewer: those that come again are sent again.
    let mut sent = known.min(status.values.known as usize);
    let mut reading = handle.reading(status.id);
    while sent < status.values.known as usize {
        match reading.values(sent).await {
            Ok(page) if page.values.is_empty() => break,
            Ok(page) => {
                sent += page.values.len();
                send(to, Ok(v1::WatchJobResponse { status: None, values: list_to(&page.values) })).await?;
            }
            Err(error) => {
                send(to, Err(error)).await?;
                return Err(Gone);
            }
        }
    }
    Ok(sent)
}

/// Sends `status` and every later status that differs, each after its new values, until the job ends, the watcher leaves or the
/// coordinator stops.
pub(super) async fn watch_job(
    handle: CoordinatorHandle,
    job: JobId,
    mut status: JobStatus,
    mut known: usize,
    interval: Duration,
    to: Messages<v1::WatchJobResponse>,
) {
    loop {
        match send_values(&handle, &status, known, &to).await {
            Ok(sent) => known = sent,
            Err(Gone) => return,
        }
        let message = v1::WatchJobResponse { status: Some(status.to_wire()), values: Vec::new() };
        if send(&to, Ok(message)).await.is_err() || status.state.is_over() {
            return;
        }
        loop {
            tokio::select! {
                () = handle.closed() => return,
                () = to.closed() => return,
                () = tokio::time::sleep(interval) => {}
            }
            match handle.brief(job).await {
                Ok(now) if now == status => {}
                Ok(now) => {
                    status = now;
                    break;
                }
                Err(error) => return drop(send(&to, Err(error)).await),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(known: u32) -> v1::JobStatus {
        v1::JobStatus {
            state: v1::JobState::Running.into(),
            times: Some(v1::TaskTimes::default()),
            values_known: known,
            ..Default::default()
        }
    }

    fn values(first: u32, count: u32, digits: usize) -> Vec<v1::SeriesEntry> {
        let value = |index| v1::SeriesEntry { index, count: "7".repeat(digits), ok: true, ..Default::default() };
        (first..first + count).map(value).collect()
    }

    /// What is asked for, the number of values that are known and how they come, bytes of the certificate, and what is said.
    #[test]
    fn a_job_has_what_was_asked_for_and_no_more() {
        let all = Pieces { newest_values: u32::MAX, certificate: true };
        let newest = |newest_values| Pieces { newest_values, certificate: false };
        for (what, wanted, known, pages, text, expected) in [
            ("all", all, 5, vec![3, 2], 7000, Ok(5)),
            ("nothing of it", newest(0), 5, vec![], 0, Ok(0)),
            ("the newest two", newest(2), 5, vec![2], 0, Ok(2)),
            ("more than the status counts", all, 5, vec![3, 3], 0, Err("expected at most 5 values, got 6")),
            ("more than was asked for", newest(2), 5, vec![2, 1], 0, Err("expected at most 2 values, got 3")),
            ("a certificate that nobody wants", newest(2), 5, vec![2], 1, Err("expected at most 0 bytes, got 1")),
            ("too long a certificate", all, 5, vec![], 10_001, Err("a certificate: expected at most 10000 bytes")),
            (
                "too much together",
                all,
                80,
                vec![5; 16],
                0,
                Err("values and certificate of a job: expected at most 10000"),
            ),
            ("the same by its certificate", all, 80, vec![5; 8], 8000, Err("values and certificate of a job")),
        ] {
            let mut joined = Joined { most_bytes: 10_000, ..Joined::of(wanted) };
            let mut told = 0;
            let status = v1::GetJobResponse { status: Some(status(known)), ..Default::default() };
            let pages = pages.into_iter().map(|count| {
                told += count;
                v1::GetJobResponse { values: values(told - count, count, 50), ..Default::default() }
            });
            let text =
                (text > 0).then(|| v1::GetJobResponse { certificate: Some("x".repeat(text)), ..Default::default() });
            let got = std::iter::once(status).chain(pages).chain(text).try_for_each(|message| joined.add(message));
            let got = got.and_then(|()| Ok(joined.job()?)).map(|(status, _)| status.values().len());
            match (got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{what}"),
                (Err(error), Err(words)) => {
                    let error = error.to_string();
                    assert!(error.contains(words) && error.contains("ask for fewer"), "{what}: {error}");
                }
                (got, _) => panic!("{what}: {got:?}, expected {expected:?}"),
            }
        }
        let early = v1::GetJobResponse { values: values(0, 1, 1), ..Default::default() };
        let error = Joined::of(all).add(early).unwrap_err().to_string();
        assert!(error.contains("at most 0 values, got 1"), "{error}");
    }

    /// A watcher that is sent values without end keeps the newest, and says how many it left out.
    #[test]
    fn a_watcher_keeps_the_newest_values() {
        let mut watched = Watched::default();
        let (pages, each, digits) = (100_u32, 10, 100_000);
        for page in 0..pages {
            let values = values(page * each, each, digits);
            assert!(watched.add(v1::WatchJobResponse { status: None, values }).unwrap().is_none());
            let kept: usize = watched.values.iter().map(weight).sum();
            assert!(kept <= MOST_NEWS_BYTES && kept == watched.bytes, "{kept} of {}", watched.bytes);
        }
        let message = v1::WatchJobResponse { status: Some(status(pages * each)), values: Vec::new() };
        let told = watched.add(message.clone()).unwrap().unwrap();
        let kept: Vec<u32> = told.values().iter().map(|value| value.index).collect();
        assert_eq!(kept.len(), MOST_NEWS_BYTES / (digits + size_of::<SeriesEntry>()));
        assert_eq!(watched.left_out() + kept.len(), 1000);
        assert!(kept.iter().copied().eq(watched.left_out() as u32..1000), "{kept:?}");
        let again = watched.add(message).unwrap().unwrap();
        assert_eq!((again.values().len(), watched.left_out()), (0, 0));
    }
}
