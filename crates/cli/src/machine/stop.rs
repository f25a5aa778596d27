//! Signals that ask the process to stop.
//!
//! ```text
//!   SIGINT, SIGTERM, SIGHUP     the first one: stop in order
//!   SIGINT, SIGTERM again       leave at once, as after kill -9, with the code of an interruption
//!   SIGHUP under nohup          nothing
//! ```
//!
//! Some senders send twice: `timeout` signals its command and then the whole group. So what comes within [`ONE_REQUEST`] is
//! one request. A terminal that closes may hang up several times: SIGHUP never counts as the second one.

use std::process;
use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::exit::INTERRUPTED;
use crate::terminal::output::say;

/// Signals within this time are one request.
const ONE_REQUEST: Duration = Duration::from_millis(250);

/// The signals that this process listens to. `None` where the system refuses: then the signal ends the process by itself.
struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    fn new() -> Self {
        let listen = |kind| signal(kind).ok();
        Self {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
            // A process that was started to outlive its terminal ignores this one.
            hang_up: if ignores_hangups() { None } else { listen(SignalKind::hangup()) },
        }
    }

    async fn first(&mut self) {
        tokio::select! {
            () = next(&mut self.interrupt) => {}
            () = next(&mut self.terminate) => {}
            () = next(&mut self.hang_up) => {}
        }
    }

    /// The next one that counts as a second request.
    async fn second(&mut self) {
        let first = Instant::now();
        loop {
            tokio::select! {
                () = next(&mut self.interrupt) => {}
                () = next(&mut self.terminate) => {}
            }
            if first.elapsed() > ONE_REQUEST {
                return;
            }
        }
    }
}

async fn next(signals: &mut Option<Signal>) {
    match signals {
        Some(signals) => drop(signals.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether the process was asked to stop. The first reader starts the thread that listens.
///
/// A thread of its own: the runtime may be ending, and wait for threads that count. Without that thread a signal ends the
/// process by itself.
static ASKED: LazyLock<watch::Receiver<bool>> = LazyLock::new(|| {
    let (tell, asked) = watch::channel(false);
    let (listening, listens) = mpsc::channel();
    let thread = std::thread::Builder::new().name("stop".to_owned()).spawn(move || listen(&tell, &listening));
    // An error here: the thread ended, since the system refused what it needs.
    if thread.is_err() || listens.recv().is_err() {
        tracing::debug!("no thread for signals: the first one ends the process");
    }
    asked
});

/// Tells the first request, and ends the process at the second one.
fn listen(tell: &watch::Sender<bool>, listening: &mpsc::Sender<()>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let mut signals = Signals::new();
        let _ = listening.send(());
        signals.first().await;
        tell.send_replace(true);
        signals.second().await;
    });
    say("keima: asked to stop twice: leaving at once; started again, it goes on from what is on disk");
    process::exit(i32::from(INTERRUPTED));
}

/// Resolves when the process is asked to stop, or was so before. The process listens from the first call on: from then on
/// no signal is lost, whoever awaits.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> {
    let mut asked = ASKED.clone();
    async move {
        if asked.wait_for(|&asked| asked).await.is_err() {
            // Nobody listens.
            std::future::pending::<()>().await;
        }
    }
}

/// Whether the process was asked to stop; listens from the first call on, as [`asked_to_stop`] does.
pub(crate) fn is_stopping() -> bool {
    *ASKED.borrow()
}

/// Whether the process ignores SIGHUP, as its parent wanted.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first bit is that of signal 1, SIGHUP.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
