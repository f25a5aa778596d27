//! Accepting connections: at most so many, and none that stays a stranger.
//!
//! ```text
//!   accepted --> greets (TLS, or HTTP/2 in plain text) --> open --> a call is admitted --> stays, until it closes
//!                  |  \                                      \--- none within ADMISSION_WAIT --> closed
//!                  |   \--- no greeting within GREETING_WAIT --> closed
//!                  \------- too many strangers --> the oldest of them is closed
//!   too many in all -----> closed, after a short wait for one to go
//! ```
//!
//! A process has few file descriptors and needs some for its files. Without these limits a few hundred connections that
//! never make a call shut everybody out. Real peers greet and call at once. A connection with an admitted call that falls
//! silent ends with the keep-alive of HTTP/2. Cost: one small task for each connection until its first admitted call.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

use crate::access::caller::Caller;

/// How long a new connection may take to greet, the handshake of TLS included.
const GREETING_WAIT: Duration = Duration::from_secs(5);
/// How long a connection that has greeted may take to make a call that is admitted.
const ADMISSION_WAIT: Duration = Duration::from_secs(10);
/// First byte of a greeting in TLS.
const TLS_GREETING: u8 = 0x16;
/// What a port that speaks TLS answers to HTTP/2 in plain text: settings, and a farewell with the reason "inadequate security" and
/// the words "TLS only".
const SPEAKS_TLS: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x10\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0cTLS only";
/// Bytes of the greeting, the connection preface of HTTP/2.
const GREETING_BYTES: usize = 24;
const PREFACE: &[u8; GREETING_BYTES] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes before the body of a frame: three of length, the kind, flags, the stream.
const FRAME_HEAD_BYTES: usize = 9;
/// Kind of a frame that opens a request, "HEADERS".
const REQUEST_FRAME: u8 = 1;
/// Wait for the rest of a greeting that came in part.
const REST_WAIT: Duration = Duration::from_millis(20);
/// Wait after a failed accept: mostly there is no file descriptor left.
const ACCEPT_WAIT: Duration = Duration::from_millis(100);
/// Time between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);
/// The limit on open files where the system does not tell it.
const USUAL_FILES: usize = 1024;

/// How many connections a service keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// In all.
    most: usize,
    /// Of these, strangers.
    strangers: usize,
}

impl Limits {
    /// For a process that needs `percent` of its file descriptors for connections.
    pub(super) fn of_files(percent: usize) -> Self {
        Self::of(open_files(&std::fs::read_to_string("/proc/self/limits").unwrap_or_default()), percent)
    }

    fn of(files: usize, percent: usize) -> Self {
        let most = (files.min(1 << 20) * percent / 100).max(8);
        Self { most, strangers: most.div_ceil(4) }
    }
}

/// The soft limit on open files, from the text of `/proc/self/limits`.
pub(crate) fn open_files(limits: &str) -> usize {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.map_or(USUAL_FILES, |soft| soft.parse().unwrap_or(usize::MAX))
}

/// A connection that counts as open until it is dropped.
pub(super) struct Connection {
    stream: Stream,
    caller: Caller,
    /// Gets a word when the connection must close; `None` once that cannot come any more.
    shut: Option<oneshot::Receiver<()>>,
    _open: OwnedSemaphorePermit,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.caller.left();
    }
}

/// The connections of a listener that have greeted, with TLS if there is an acceptor.
pub(super) fn incoming(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    limits: Limits,
) -> ReceiverStream<io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(accept(listener, tls, limits, sender));
    ReceiverStream::new(receiver)
}

/// Accepts until the server is gone.
async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    server: mpsc::Sender<io::Result<Connection>>,
) {
    let room = Arc::new(Semaphore::new(limits.most));
    let mut strangers: VecDeque<AbortHandle> = VecDeque::new();
    let mut warned: Option<Instant> = None;
    let mut warn = |text: String| {
        if warned.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
            tracing::warn!("{text}");
            warned = Some(Instant::now());
        }
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = server.closed() => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn(format!("cannot accept a connection: {error}; allow more open files (ulimit -n)"));
                tokio::time::sleep(ACCEPT_WAIT).await;
                continue;
            }
        };
        strangers.retain(|waiting| !waiting.is_finished());
        if strangers.len() >= limits.strangers
            && let Some(oldest) = strangers.pop_front()
        {
            oldest.abort();
        }
        // A stranger that was just closed gives its room back in a moment.
        let room = tokio::time::timeout(ACCEPT_WAIT, Arc::clone(&room).acquire_owned()).await;
        let Ok(Ok(open)) = room else {
            let most = limits.most;
            warn(format!(
                "{most} connections are open, and one from {peer} was closed; allow more open files (ulimit -n)"
            ));
            continue;
        };
        let (server, tls) = (server.clone(), tls.clone());
        let entering = tokio::spawn(async move {
            let Ok(Ok(stream)) = tokio::time::timeout(GREETING_WAIT, greeted(stream, tls)).await else { return };
            let (caller, shut) = Caller::new(Some(peer.ip()));
            let connection = Connection { stream, caller: caller.clone(), shut: Some(shut), _open: open };
            // Also if this task is aborted.
            let stranger = ShutAtEnd(caller);
            let _ = server.send(Ok(connection)).await;
            let _ = tokio::time::timeout(ADMISSION_WAIT, stranger.0.settled()).await;
        });
        strangers.push_back(entering.abort_handle());
    }
}

/// Closes a stranger's connection when it is dropped.
struct ShutAtEnd(Caller);

impl Drop for ShutAtEnd {
    fn drop(&mut self) {
        self.0.shut();
    }
}

/// Waits until a greeting has come.
async fn greeted(stream: TcpStream, tls: Option<TlsAcceptor>) -> io::Result<Stream> {
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else {
        wait_for(&stream, GREETING_BYTES).await?;
        return Ok(Stream::Plain(stream));
    };
    if wait_for(&stream, 1).await? == TLS_GREETING {
        return Ok(Stream::Tls(Box::new(tls.accept(stream).await?)));
    }
    tell_tls(stream).await?;
    Err(io::ErrorKind::InvalidData.into())
}

/// Waits for the first bytes of a greeting, and returns the very first. Reads nothing: the server judges it. Of a greeting in
/// TLS one byte is enough.
async fn wait_for(stream: &TcpStream, bytes: usize) -> io::Result<u8> {
    let mut greeting = [0; GREETING_BYTES];
    loop {
        let came = stream.peek(&mut greeting).await?;
        let [first, ..] = greeting;
        match came {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if came >= bytes || first == TLS_GREETING => return Ok(first),
            _ => tokio::time::sleep(REST_WAIT).await,
        }
    }
}

/// Tells a caller in plain text that this port speaks TLS. The answer waits for the first request: a client of HTTP/2 that is
/// told farewell before it has sent one knows only that the connection closed. What comes later is read, or the answer could
/// be lost.
async fn tell_tls(mut stream: TcpStream) -> io::Result<()> {
    // A caller that closes or speaks something else is answered all the same.
    let _ = until_request(&mut stream).await;
    stream.write_all(SPEAKS_TLS).await?;
    stream.shutdown().await?;
    let mut thrown_away = [0; 1024];
    while stream.read(&mut thrown_away).await? > 0 {}
    Ok(())
}

/// Reads frames of HTTP/2 (RFC 9113, section 4.1) until one opens a request.
async fn until_request(stream: &mut TcpStream) -> io::Result<()> {
    let mut greeting = [0; GREETING_BYTES];
    stream.read_exact(&mut greeting).await?;
    if greeting != *PREFACE {
        return Ok(());
    }
    loop {
        let mut head = [0; FRAME_HEAD_BYTES];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, ..] = head;
        let body = u32::from_be_bytes([0, a, b, c]);
        tokio::io::copy(&mut (&mut *stream).take(body.into()), &mut tokio::io::sink()).await?;
        if kind == REQUEST_FRAME {
            return Ok(());
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller.clone()
    }
}

impl Connection {
    /// An error once the connection must close. The task that polls is woken then.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Some(shut) = &mut self.shut {
            match Pin::new(shut).poll(cx) {
                Poll::Ready(Ok(())) => return Err(io::ErrorKind::ConnectionAborted.into()),
                Poll::Ready(Err(_)) => self.shut = None,
                Poll::Pending => {}
            }
        }
        Ok(())
    }
}

/// Calls a function of the stream, whichever kind it is.
macro_rules! on_stream {
    ($self:ident, $stream:ident => $call:expr) => {
        match &mut $self.stream {
            Stream::Plain(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
            Stream::Tls(stream) => {
                let $stream = Pin::new(&mut **stream);
                $call
            }
        }
    };
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        on_stream!(self, stream => stream.poll_read(cx, buf))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        on_stream!(self, stream => stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        on_stream!(self, stream => stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        on_stream!(self, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => stream.poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests;
