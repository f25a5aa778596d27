//! What calls cost the coordinator: processor time, memory, records to store, bytes of messages.
//!
//! A call's time begins when the bytes of its message are there and ends when the bytes of its answer are, and the changes
//! for the store. All of it is one thread's work. While other programs want the core, the thread waits for it, and the
//! system says how long in all: that share is taken off.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::time::{Duration, Instant};

use keima_cluster::CallKind;
use keima_coordinator::Changes;

/// What was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Hello,
    PullGranted,
    PullInVain,
    Heartbeat,
    Report,
    Tick,
}

impl What {
    pub(super) const fn of(kind: CallKind, granted: bool) -> Self {
        match kind {
            CallKind::Hello => Self::Hello,
            CallKind::Pull if granted => Self::PullGranted,
            CallKind::Pull => Self::PullInVain,
            CallKind::Heartbeat => Self::Heartbeat,
            CallKind::Report => Self::Report,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::PullGranted => "pull, granted",
            Self::PullInVain => "pull in vain",
            Self::Heartbeat => "heartbeat",
            Self::Report => "report",
            Self::Tick => "tick",
        }
    }
}

/// Calls of one sort.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calls {
    pub(super) number: u64,
    /// In the state machine, changes taken.
    pub(super) machine: Duration,
    /// In messages from bytes and to bytes.
    pub(super) messages: Duration,
    pub(super) longest: Duration,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}

/// Sums since the measurement began.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) calls: BTreeMap<What, Calls>,
    pub(super) records_put: u64,
    pub(super) records_deleted: u64,
    pub(super) bytes_put: u64,
    pub(super) durable: u64,
    started: Option<OnCore>,
}

/// What the coordinator holds, from its start on.
#[derive(Default)]
pub(super) struct Held {
    /// Bytes of its heap, and the most after any call; `None` where the allocator does not count.
    pub(super) heap: i64,
    pub(super) heap_peak: i64,
    /// Length of each record in the store.
    records: BTreeMap<String, u64>,
    pub(super) store_bytes: u64,
    pub(super) store_peak: u64,
}

impl Meter {
    /// Begins anew.
    pub(super) fn begin() -> Self {
        Self { started: OnCore::now(), ..Self::default() }
    }

    pub(super) fn add(&mut self, what: What, machine: Duration, messages: Duration, bytes_in: u64, bytes_out: u64) {
        let calls = self.calls.entry(what).or_default();
        calls.number += 1;
        calls.machine += machine;
        calls.messages += messages;
        calls.longest = calls.longest.max(machine + messages);
        calls.bytes_in += bytes_in;
        calls.bytes_out += bytes_out;
    }

    pub(super) fn add_changes(&mut self, changes: &Changes) {
        self.records_put += changes.puts.len() as u64;
        self.records_deleted += changes.deletes.len() as u64;
        self.bytes_put += changes.puts.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum::<u64>();
        self.durable += u64::from(changes.must_be_durable);
    }

    /// Time of all calls.
    pub(super) fn total(&self) -> Duration {
        self.calls.values().map(|calls| calls.machine + calls.messages).sum()
    }

    /// The part of the time in which the thread had a core; 1 where the system does not say.
    pub(super) fn on_core(&self) -> f64 {
        let part = |(before, now): (&OnCore, OnCore)| {
            let (ran, waited) = (now.ran - before.ran, now.waited - before.waited);
            (ran + waited > 0.0).then(|| ran / (ran + waited))
        };
        self.started.as_ref().zip(OnCore::now()).and_then(part).unwrap_or(1.0)
    }
}

impl Held {
    /// Growth of the heap in a call.
    pub(super) fn grow(&mut self, bytes: i64) {
        self.heap += bytes;
        self.heap_peak = self.heap_peak.max(self.heap);
    }

    pub(super) fn store(&mut self, changes: Changes) {
        for (key, value) in changes.puts {
            let bytes = (key.len() + value.len()) as u64;
            self.store_bytes += bytes;
            self.store_bytes -= self.records.insert(key, bytes).unwrap_or(0);
        }
        for key in changes.deletes {
            self.store_bytes -= self.records.remove(&key).unwrap_or(0);
        }
        self.store_peak = self.store_peak.max(self.store_bytes);
    }
}

/// Nanoseconds that the main thread ran, and that it waited for a core.
struct OnCore {
    ran: f64,
    waited: f64,
}

impl OnCore {
    fn now() -> Option<Self> {
        let text = read_to_string("/proc/thread-self/schedstat").ok()?;
        let mut figures = text.split_whitespace().map_while(|figure| figure.parse::<f64>().ok());
        Some(Self { ran: figures.next()?, waited: figures.next()? })
    }
}

/// Times a piece of work.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let done = work();
    (done, started.elapsed())
}

/// Bytes that this thread has allocated and not freed; `None` where the allocator does not count.
#[cfg(target_arch = "x86_64")]
pub(super) fn heap_bytes() -> Option<i64> {
    use tikv_jemalloc_ctl::thread::{allocatedp, deallocatedp};
    let (allocated, freed) = (allocatedp::read().ok()?.get(), deallocatedp::read().ok()?.get());
    Some(allocated.wrapping_sub(freed) as i64)
}

/// Bytes that this thread has allocated and not freed; `None` where the allocator does not count.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn heap_bytes() -> Option<i64> {
    None
}
