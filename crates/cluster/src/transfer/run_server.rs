//! A worker's run service: streams the runs in its scratch folder to other workers.
//!
//! ```text
//!   request -> check version, run id and checksum -> open the file
//!           -> [ take a reader's permit, read one chunk on a blocking thread, return the permit, send ] until the end
//! ```
//!
//! A stream holds its permit while it reads the disk, but not while it waits for the peer. A merge opens many runs at once
//! and reads them in its own order: a stream that kept its permit could block others for ever. For the same reason, streams
//! beyond [`MAX_STREAMS`] are refused, not queued. Memory: at most two chunks per stream.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use keima_runs::{BlockFeed, RunError, RunPart};
use keima_wire::v1;
use keima_wire::v1::run_service_server::RunService;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::failpoint;
use crate::scratch::run_store::RunStore;
use crate::transport::convert::{Wire, run_id};
use crate::transport::grpc::{check_version, invalid};
use crate::world;

/// Largest chunk.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;
/// A chunk of blocks is sent once it is this long: a reader of many runs holds one chunk of each.
const BLOCK_CHUNK_BYTES: usize = 64 << 10;
/// Chunks that are read from disk at the same time.
const READERS: usize = 8;
/// Most open streams.
const MAX_STREAMS: usize = 4096;

/// The service.
pub(crate) struct RunServer {
    store: Arc<RunStore>,
    streams: Arc<Semaphore>,
    readers: Arc<Semaphore>,
}

impl RunServer {
    pub(crate) fn new(store: Arc<RunStore>) -> Self {
        let (streams, readers) = (Semaphore::new(MAX_STREAMS), Semaphore::new(READERS));
        Self { store, streams: Arc::new(streams), readers: Arc::new(readers) }
    }
}

/// What the peer wants of a run.
pub(crate) enum Mode {
    File,
    Blocks(RunPart),
}

/// A source of chunks, read on a blocking thread.
trait Source: Send + 'static {
    /// The next chunk, at most [`CHUNK_BYTES`] long, and whether it is the last.
    fn chunk(&mut self) -> Result<(Vec<u8>, bool), RunError>;
}

/// The bytes of a file.
struct FileBytes {
    file: File,
    at: u64,
    bytes: u64,
    path: std::path::PathBuf,
}

impl Source for FileBytes {
    fn chunk(&mut self) -> Result<(Vec<u8>, bool), RunError> {
        let mut data = vec![0; (self.bytes - self.at).min(CHUNK_BYTES as u64) as usize];
        let read = self.file.read_exact_at(&mut data, self.at);
        read.map_err(|source| RunError::Io { path: self.path.clone(), action: "read", source })?;
        self.at += data.len() as u64;
        Ok((data, self.at == self.bytes))
    }
}

/// Blocks, each preceded by its length.
struct Blocks {
    feed: Box<dyn BlockFeed>,
    /// Encoded bytes that are not sent yet.
    ready: Vec<u8>,
    block: Vec<u8>,
    ended: bool,
}

impl Source for Blocks {
    fn chunk(&mut self) -> Result<(Vec<u8>, bool), RunError> {
        while !self.ended && self.ready.len() < BLOCK_CHUNK_BYTES {
            if self.feed.next_block(&mut self.block)? {
                let bytes = u32::try_from(self.block.len())
                    .map_err(|_| RunError::Remote { text: "a block is longer than 4 GiB".to_owned() })?;
                self.ready.extend_from_slice(&bytes.to_le_bytes());
                self.ready.append(&mut self.block);
            } else {
                self.ended = true;
            }
        }
        let rest = self.ready.split_off(self.ready.len().min(CHUNK_BYTES));
        let data = std::mem::replace(&mut self.ready, rest);
        Ok((data, self.ended && self.ready.is_empty()))
    }
}

fn status(error: &RunError) -> Status {
    if error.is_damage() { Status::data_loss(error.to_string()) } else { Status::unavailable(error.to_string()) }
}

/// Opens the requested run. Blocks on the disk.
fn open(store: &RunStore, request: &v1::ReadRunRequest, mode: Mode) -> Result<Box<dyn Source>, Status> {
    let id = run_id("ReadRunRequest.run", request.run.clone()).map_err(|e| invalid(&e))?;
    let gone = || Status::not_found(format!("run {id} is not (or no longer) here"));
    let (path, manifest) = store.file(&id).ok_or_else(gone)?;
    if manifest.checksum != request.checksum {
        let (got, expected) = (manifest.checksum, request.checksum);
        return Err(Status::data_loss(format!(
            "run {id} has checksum {got:08x} here; the request expects {expected:08x}"
        )));
    }
    match mode {
        Mode::File => {
            let io = |source| status(&RunError::Io { path: path.clone(), action: "open", source });
            let file = File::open(&path).map_err(io)?;
            let bytes = file.metadata().map_err(io)?.len();
            if bytes != manifest.bytes {
                return Err(Status::data_loss(format!("run {id} has {bytes} bytes here, not {}", manifest.bytes)));
            }
            Ok(Box::new(FileBytes { file, at: 0, bytes, path }))
        }
        Mode::Blocks(part) => {
            let run = store.open_run(&id).ok_or_else(gone)?.map_err(|e| status(&e))?;
            let lanes = run.header().lanes();
            if !has_lanes(&part, lanes) {
                let wanted = part.lanes;
                return Err(Status::invalid_argument(format!(
                    "ReadRunRequest.lanes: run {id} has {lanes} lanes, the request wants {wanted:?}"
                )));
            }
            let feed = Box::new(run.feed(part));
            Ok(Box::new(Blocks { feed, ready: Vec::new(), block: Vec::new(), ended: false }))
        }
    }
}

/// Whether a run of so many lanes has those of `part`, and at least one is wanted.
pub(crate) fn has_lanes(part: &RunPart, lanes: usize) -> bool {
    !part.lanes.is_empty() && part.lanes.end <= lanes
}

pub(crate) fn mode(request: &v1::ReadRunRequest) -> Result<Mode, Status> {
    let wrong = || Status::invalid_argument(format!("ReadRunRequest.mode: {} is not a read mode", request.mode));
    match v1::ReadMode::try_from(request.mode).map_err(|_| wrong())? {
        v1::ReadMode::Unspecified => Err(wrong()),
        v1::ReadMode::File => Ok(Mode::File),
        v1::ReadMode::Blocks => {
            let key = |key: Option<v1::Key>| key.map(u128::from_wire).transpose().map_err(|e| invalid(&e));
            let first = request.first_lane as usize;
            let lanes = first..first + request.lanes as usize;
            Ok(Mode::Blocks(RunPart { low: key(request.low)?.unwrap_or(0), high: key(request.high)?, lanes }))
        }
    }
}

#[tonic::async_trait]
impl RunService for RunServer {
    type ReadRunStream = ReceiverStream<Result<v1::ReadRunResponse, Status>>;

    async fn read_run(&self, request: Request<v1::ReadRunRequest>) -> Result<Response<Self::ReadRunStream>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let mode = mode(&request)?;
        let stream_permit = Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!("{MAX_STREAMS} runs are being streamed already; ask again later"))
        })?;
        let store = Arc::clone(&self.store);
        let opened = world::blocking(move || open(&store, &request, mode)).await;
        let mut source = opened.map_err(|e| Status::internal(format!("opening failed: {e}")))??;

        let (sender, receiver) = mpsc::channel(1);
        let readers = Arc::clone(&self.readers);
        tokio::spawn(async move {
            let _stream_permit = stream_permit;
            loop {
                // The semaphore is never closed.
                let Ok(permit) = Arc::clone(&readers).acquire_owned().await else { return };
                let read = world::blocking(move || {
                    failpoint::hit("run_server.mid_stream");
                    let chunk = source.chunk();
                    drop(permit);
                    (chunk, source)
                });
                let message = match read.await {
                    Err(e) => Err(Status::internal(format!("reading failed: {e}"))),
                    Ok((Err(error), _)) => Err(status(&error)),
                    Ok((Ok((data, end)), back)) => {
                        source = back;
                        let message = Ok(v1::ReadRunResponse { data: Bytes::from(data), end });
                        // The peer is gone, or this was the last chunk.
                        if sender.send(message).await.is_err() || end {
                            return;
                        }
                        continue;
                    }
                };
                let _ = sender.send(message).await;
                return;
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}
