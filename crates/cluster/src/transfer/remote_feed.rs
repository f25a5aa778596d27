//! Reads another worker's run: takes gRPC chunks and returns the run's raw blocks.
//!
//! The engine's threads block; the stream is asynchronous. The feed blocks on the runtime for one message at a time, so
//! HTTP/2 does the back-pressure. Each open run has at most one message (1 MiB) and one stream window (128 KiB) in
//! memory, however slowly the engine merges. Every wait has a deadline. The connection's window is practically unlimited
//! on purpose: a merge reads its runs in its own order. Runs that must wait could fill a small shared window and hold up
//! the run that is needed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keima_coordinator::Holder;
use keima_runs::{BlockFeed, RunError, RunManifest, RunPart};
use keima_wire::v1;
use keima_wire::v1::run_service_client::RunServiceClient;
use tokio::runtime::Handle;
use tonic::transport::Endpoint;
use tonic::{Code, Status, Streaming};

use crate::PROTOCOL_VERSION;
use crate::access::AccessError;
use crate::access::pass::{GuardedChannel, Pass};
use crate::access::secret::Secret;
use crate::access::trust::Trust;
use crate::transfer::frames::{FrameError, Frames};
use crate::transfer::run_server::CHUNK_BYTES;
use crate::transport::convert::Wire;
use crate::world;

/// Longest wait for a holder to accept a connection, and to answer a request.
pub(crate) const OPEN_DEADLINE: Duration = Duration::from_secs(10);
/// Longest wait for the next chunk.
pub(crate) const CHUNK_DEADLINE: Duration = Duration::from_secs(30);

/// One connection from a task to each holder of its inputs.
pub(crate) struct Peers {
    /// The own scratch folder.
    from: PathBuf,
    /// Shown to holders, in a cluster with TLS. There no holder without TLS is asked.
    token: Option<Secret>,
    /// By address and fingerprint.
    channels: Mutex<HashMap<(String, String), GuardedChannel>>,
}

impl Peers {
    pub(crate) fn new(from: &Path) -> Self {
        Self { from: from.to_owned(), token: None, channels: Mutex::default() }
    }

    /// Shows this token to holders.
    pub(crate) fn with_token(self, token: Option<Secret>) -> Self {
        Self { token, ..self }
    }

    /// The connection to `holder`, which connects on its first request. Call it within the runtime.
    fn channel(&self, holder: &Holder) -> Result<GuardedChannel, Status> {
        let (address, fingerprint) = (&holder.address, &holder.fingerprint);
        let key = (address.clone(), fingerprint.clone());
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&key) {
            return Ok(channel.clone());
        }
        let wrong = |error: AccessError| Status::invalid_argument(error.to_string());
        let pass = match &self.token {
            None => Pass::none(),
            Some(token) => {
                let expected = fingerprint.parse().map_err(wrong)?;
                Pass::new(Trust::fingerprint(expected).map_err(wrong)?, token.clone())
            }
        };
        let endpoint = Endpoint::from_shared(address.clone())
            .map_err(|e| Status::invalid_argument(format!("{address:?} is no URL of a worker: {e}")))?
            .connect_timeout(OPEN_DEADLINE)
            .initial_stream_window_size(128 * 1024)
            .initial_connection_window_size(1 << 30)
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_timeout(Duration::from_secs(10))
            .tcp_nodelay(true);
        let channel = pass.channel(&endpoint, &self.from, address).ok_or_else(|| {
            let (here, there) =
                if self.token.is_some() { ("only over", "without it") } else { ("without", "only over it") };
            Status::unavailable(format!("this worker reads runs {here} TLS, and {address} serves them {there}"))
        })?;
        channels.insert(key, channel.clone());
        Ok(channel)
    }

    /// Asks `holder` for the blocks of `part` of a run, or for the whole file if there is no part. The answer has begun when
    /// this returns.
    pub(crate) async fn request(
        &self,
        holder: &Holder,
        run: &RunManifest,
        part: Option<&RunPart>,
    ) -> Result<Streaming<v1::ReadRunResponse>, Status> {
        if holder.address.is_empty() {
            return Err(Status::unavailable("this worker serves no runs to others"));
        }
        let mut client = RunServiceClient::new(self.channel(holder)?).max_decoding_message_size(2 * CHUNK_BYTES);
        let request = v1::ReadRunRequest {
            protocol_version: PROTOCOL_VERSION,
            run: run.id.0.clone(),
            checksum: run.checksum,
            mode: if part.is_some() { v1::ReadMode::Blocks } else { v1::ReadMode::File }.into(),
            low: part.map(|part| part.low.to_wire()),
            high: part.and_then(|part| part.high.as_ref()).map(Wire::to_wire),
            first_lane: part.map_or(0, |part| part.lanes.start as u32),
            lanes: part.map_or(0, |part| part.lanes.len() as u32),
        };
        match tokio::time::timeout(OPEN_DEADLINE, client.read_run(request)).await {
            Ok(answer) => Ok(answer?.into_inner()),
            Err(_) => Err(Status::deadline_exceeded(format!("no answer within {} s", OPEN_DEADLINE.as_secs()))),
        }
    }
}

/// Why a holder's copy of a run could not be read.
pub(super) struct Unread {
    pub(super) error: RunError,
    /// Whether the holder has the run, but damaged.
    pub(super) damaged: bool,
}

impl From<RunError> for Unread {
    fn from(error: RunError) -> Self {
        let damaged = error.is_damage();
        Self { error, damaged }
    }
}

impl Unread {
    /// The holder answered with `status`.
    pub(super) fn remote(holder: &Holder, status: &Status) -> Self {
        Self { error: remote_error(holder, status), damaged: status.code() == Code::DataLoss }
    }
}

/// A holder's error as text.
fn remote_error(holder: &Holder, status: &Status) -> RunError {
    let mut why = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        // The innermost reason: "connection refused" instead of "transport error".
        why = error.to_string();
        source = error.source();
    }
    let text = format!("worker {} at {}: {why} ({:?})", holder.worker, holder.address, status.code());
    RunError::Remote { text }
}

/// The next chunk.
pub(crate) async fn next_chunk(stream: &mut Streaming<v1::ReadRunResponse>) -> Result<v1::ReadRunResponse, Status> {
    match tokio::time::timeout(CHUNK_DEADLINE, stream.message()).await {
        Ok(message) => checked(message?),
        Err(_) => Err(Status::deadline_exceeded(format!("no chunk within {} s", CHUNK_DEADLINE.as_secs()))),
    }
}

/// A chunk as it came. A stream that ends before the chunk marked as the last is an error, and so is an empty chunk before it:
/// else a holder could keep a reader for ever.
#[allow(clippy::result_large_err)]
pub(crate) fn checked(message: Option<v1::ReadRunResponse>) -> Result<v1::ReadRunResponse, Status> {
    match message {
        Some(chunk) if chunk.data.is_empty() && !chunk.end => {
            Err(Status::aborted("an empty chunk came before the run's end"))
        }
        Some(chunk) => Ok(chunk),
        None => Err(Status::aborted("the stream ended before the run's end")),
    }
}

/// Blocks of a run that another worker streams. Read it on a thread that may block.
pub(crate) struct RemoteFeed {
    runtime: Handle,
    holder: Holder,
    /// Away only while it is read.
    stream: Option<Streaming<v1::ReadRunResponse>>,
    frames: Frames,
    ended: bool,
}

impl RemoteFeed {
    pub(crate) fn new(runtime: Handle, holder: Holder, stream: Streaming<v1::ReadRunResponse>) -> Self {
        Self { runtime, holder, stream: Some(stream), frames: Frames::default(), ended: false }
    }

    /// The next chunk; `None` at the end.
    fn fetch(&mut self) -> Result<Option<Bytes>, RunError> {
        if self.ended {
            return Ok(None);
        }
        let Some(mut stream) = self.stream.take() else { return Err(self.malformed("nothing more")) };
        let read = async move { (next_chunk(&mut stream).await, stream) };
        let (chunk, stream) = world::wait_for(&self.runtime, read);
        self.stream = Some(stream);
        let chunk = chunk.map_err(|status| remote_error(&self.holder, &status))?;
        self.ended = chunk.end;
        Ok(Some(chunk.data))
    }

    fn malformed(&self, what: &str) -> RunError {
        let text =
            format!("worker {} at {} sent {what}; it may be of another build", self.holder.worker, self.holder.address);
        RunError::Remote { text }
    }
}

impl BlockFeed for RemoteFeed {
    fn next_block(&mut self, raw: &mut Vec<u8>) -> Result<bool, RunError> {
        let mut frames = std::mem::take(&mut self.frames);
        let block = frames.next_block(raw, || self.fetch());
        self.frames = frames;
        block.map_err(|error| match error {
            FrameError::Malformed(what) => self.malformed(&what),
            FrameError::Unread(error) => error,
        })
    }
}
