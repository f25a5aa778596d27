//! A job's statuses, also over restarts of the coordinator.
//!
//! ```text
//!   connected -- status, status, ... --> over
//!       ^  \-- the connection ends, or nobody answers --> away, for at most the patience --> error
//!       '------------------------------------------------/
//! ```

use std::time::{Duration, Instant};

use keima_cluster::{Backoff, JobClient, JobWatch, LinkError};
use keima_coordinator::{JobId, JobStatus};

use crate::Error;

/// How long a coordinator that does not answer is waited for.
const PATIENCE: Duration = Duration::from_mins(10);
/// Time between two looks for a change.
const INTERVAL: Duration = Duration::from_millis(500);
/// Longest wait between two attempts to connect.
const MOST_BACKOFF: Duration = Duration::from_secs(2);

/// What [`Watch::news`] tells.
#[derive(Debug)]
pub enum News {
    /// The job as it is now.
    Status(Box<JobStatus>),
    /// The coordinator does not answer. This is told once, and the watch goes on for [`Watch::patience`].
    Away(LinkError),
}

/// A job's status now and after each change, until it is over. A paused job is not over.
pub struct Watch {
    client: JobClient,
    job: JobId,
    patience: Duration,
    interval: Duration,
    stream: Option<JobWatch>,
    backoff: Backoff,
    away: Option<Instant>,
    must_wait: bool,
    is_over: bool,
    /// Values that were told.
    known: usize,
}

impl Watch {
    pub(crate) fn new(client: JobClient, job: JobId) -> Self {
        Self {
            client,
            job,
            patience: PATIENCE,
            interval: INTERVAL,
            stream: None,
            backoff: Backoff::new(MOST_BACKOFF),
            away: None,
            must_wait: false,
            is_over: false,
            known: 0,
        }
    }

    /// How long a coordinator that does not answer is waited for: ten minutes, unless told otherwise.
    pub const fn patience(&self) -> Duration {
        self.patience
    }

    /// The same watch with another patience.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same watch with another time between two looks; half a second, unless told otherwise.
    #[must_use]
    pub const fn with_interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// The next status, with the values that became known since the one before: the newest of them, where they take more than 64
    /// MiB (the job itself has all); `None` after that of a job that is over. May be dropped half-way, as in `tokio::select!`.
    pub async fn next(&mut self) -> Result<Option<JobStatus>, Error> {
        loop {
            match self.news().await? {
                Some(News::Status(status)) => return Ok(Some(*status)),
                Some(News::Away(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// The next status, or that the coordinator does not answer; `None` after the status of a job that is over.
    pub async fn news(&mut self) -> Result<Option<News>, Error> {
        while !self.is_over {
            if std::mem::take(&mut self.must_wait) {
                tokio::time::sleep(self.backoff.step()).await;
            }
            match self.step().await {
                Ok(Some(status)) => {
                    self.away = None;
                    self.backoff.reset();
                    self.is_over = status.state.is_over();
                    // After a fall back there are fewer.
                    let left_out = self.stream.as_ref().map_or(0, JobWatch::left_out);
                    self.known = self.known.min(status.values.known as usize) + left_out + status.values().len();
                    return Ok(Some(News::Status(Box::new(status))));
                }
                Ok(None) => self.lost(),
                Err(error) => {
                    self.lost();
                    let is_first = self.away.is_none();
                    let since = *self.away.get_or_insert_with(Instant::now);
                    if !error.may_pass() || since.elapsed() > self.patience {
                        return Err(error.into());
                    }
                    if is_first {
                        return Ok(Some(News::Away(error)));
                    }
                }
            }
        }
        Ok(None)
    }

    fn lost(&mut self) {
        self.stream = None;
        self.must_wait = true;
    }

    /// The next status; `None` if the connection ends first.
    async fn step(&mut self) -> Result<Option<JobStatus>, LinkError> {
        if self.stream.is_none() {
            self.stream = Some(self.client.watch(self.job, self.interval, self.known).await?);
        }
        match &mut self.stream {
            Some(stream) => stream.next().await,
            None => Ok(None),
        }
    }
}
