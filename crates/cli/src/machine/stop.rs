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
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
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

/// Resolves when the process is asked to stop. From then on a second request ends the process at once.
pub(crate) async fn asked_to_stop() {
    heard(Signals::new()).await;
}

/// The same, and listens from this call on, not from the first poll on: for a process that now says that it is ready.
pub(crate) fn asked_to_stop_from_now() -> impl Future<Output = ()> {
    heard(Signals::new())
}

async fn heard(mut signals: Signals) {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    signals.first().await;
    if !WATCHED.swap(true, Ordering::Relaxed) {
        // A thread of its own: the runtime may be ending, and wait for threads that count.
        let watching = std::thread::Builder::new().name("stop".to_owned()).spawn(leave_when_asked_again);
        if let Err(error) = watching {
            tracing::debug!(%error, "no thread for a second signal; kill -9 ends the process");
        }
    }
}

/// Waits for the second request, and ends the process.
fn leave_when_asked_again() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async { Signals::new().second().await });
    say("keima: asked to stop twice: leaving at once; started again, it goes on from what is on disk");
    process::exit(i32::from(INTERRUPTED));
}

/// Whether the process ignores SIGHUP, as its parent wanted.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The first bit is that of signal 1, SIGHUP.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
