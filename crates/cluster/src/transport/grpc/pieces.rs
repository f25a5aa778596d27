//! A job in pieces of about a megabyte: its status, its values, its certificate.
//!
//! ```text
//!   GetJob     status | values | values | ... | certificate | certificate | ...
//!   WatchJob   values | values | status | ... | values | status          a status counts the values that were sent before it
//! ```
//!
//! A job of ten thousand shorter boards has a hundred megabytes of values. They are read from the coordinator a page at a time, so
//! its lock is never held for all of them, and no message is long. A value is sent once to each watcher.

use std::time::Duration;

use keima_coordinator::{JobId, JobStatus, SeriesEntry};
use keima_wire::v1;
use tokio::sync::mpsc;
use tonic::Status;

use super::to_status;
use crate::driver::{CoordinatorHandle, Reading};
use crate::transport::convert::{ConvertError, Wire, list_from, list_to, required};
use crate::transport::link::LinkError;

/// Bytes of a certificate in one message.
const TEXT_PIECE_BYTES: usize = 1 << 20;

/// What a caller of `GetJob` wants beside the status.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pieces {
    /// So many of its values, the newest.
    pub(super) newest_values: u32,
    pub(super) certificate: bool,
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
    let first = status.values.known.saturating_sub(wanted.newest_values);
    let mut next = (wanted.newest_values > 0).then_some(first as usize);
    while let Some(from) = next {
        let (message, after) = match reading.values(from).await {
            Ok(page) => (Ok(v1::GetJobResponse { values: list_to(&page.values), ..Default::default() }), page.next),
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

/// Puts a job together again.
#[derive(Default)]
pub(crate) struct Joined {
    status: Option<v1::JobStatus>,
    values: Vec<SeriesEntry>,
    certificate: Option<String>,
}

impl Joined {
    /// Adds a message.
    pub(crate) fn add(&mut self, message: v1::GetJobResponse) -> Result<(), ConvertError> {
        if self.status.is_none() {
            self.status = message.status;
        }
        self.values.append(&mut list_from(message.values)?);
        if let Some(piece) = message.certificate {
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
