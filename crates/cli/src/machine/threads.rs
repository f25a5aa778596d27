//! Whether the system gives this process the threads that it is about to need.
//!
//! A runtime that gets no thread panics, or waits for one for ever. So the threads are tried first: all are started, and
//! end at once. Cost: some 20 microseconds a thread. A limit on the address space is asked before: a thread that is started
//! at its edge finds no memory for its own beginning, and takes the process with it.

use std::sync::RwLock;
use std::thread::Builder;

use super::memory;
use crate::exit::Failed;

/// What a thread takes of the address space: its stack, the stack for its signals and the pages that guard both.
const THREAD_BYTES: u64 = (2 << 20) + (64 << 10);

/// How to allow more threads.
const ADVICE: &str = "allow more (ulimit -u, pids.max of the control group, TasksMax in systemd; each thread also takes \
                      2 MiB of the ulimit -v)";

/// Threads that a verb needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed {
    /// With any `--threads`.
    pub(crate) always: u32,
    /// More for each of `--threads`.
    pub(crate) each: u32,
}

impl Needed {
    /// The runtime of a verb, what it starts besides counting threads, and the one that listens for signals.
    pub(crate) const RUNTIME: Self = Self { always: 5, each: 0 };
    /// A count in memory, and the thread that listens for signals.
    pub(crate) const IN_MEMORY: Self = Self { always: 3, each: 1 };
    /// Tasks with runs on disk: one thread runs a task, and one waits for it. Some read, write and sync files, and one listens
    /// for signals.
    pub(crate) const TASKS: Self = Self { always: 7, each: 2 };

    /// Refuses if the system does not give the threads for `--threads`.
    pub(crate) fn check(self, threads: u32) -> Result<(), Failed> {
        self.check_with(threads, startable)
    }

    fn check_with(self, threads: u32, startable: impl FnOnce(u32) -> u32) -> Result<(), Failed> {
        let needed = self.each.saturating_mul(threads).saturating_add(self.always);
        let got = startable(needed);
        if got >= needed {
            return Ok(());
        }
        let fewer = got.saturating_sub(self.always).checked_div(self.each).unwrap_or(0);
        let fewer = if fewer > 0 { format!("use --threads {fewer}, or ") } else { String::new() };
        Err(Failed::usage(format!(
            "this needs {needed} threads, but the system gives keima {got} more; {fewer}{ADVICE}"
        )))
    }
}

/// How many threads `limit_bytes` of address space hold; any number without a limit.
fn fitting(limit_bytes: Option<u64>) -> u32 {
    limit_bytes.map_or(u32::MAX, |bytes| u32::try_from(bytes / THREAD_BYTES).unwrap_or(u32::MAX))
}

/// How many of `wanted` threads the system gives at a time.
fn startable(wanted: u32) -> u32 {
    let wanted = wanted.min(fitting(memory::process_limit_bytes()));
    let gate = RwLock::new(());
    std::thread::scope(|scope| {
        // Nobody ends before all have begun.
        let closed = gate.write();
        let wait = || drop(gate.read());
        let started = (0..wanted).map_while(|_| Builder::new().spawn_scoped(scope, wait).ok()).count();
        drop(closed);
        started as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_threads_are_an_error_with_advice() {
        let check = |needed: Needed, threads, given: u32, words: &[&str]| {
            let told = needed.check_with(threads, |wanted| given.min(wanted)).map_err(|failed| failed.text);
            let text = told.clone().err().unwrap_or_default();
            assert_eq!(told.is_ok(), words.is_empty(), "{needed:?} {threads} {given}: {text}");
            assert!(words.iter().all(|word| text.contains(word)), "{needed:?} {threads} {given}: {text}");
        };
        check(Needed::TASKS, 8, 23, &[]);
        check(Needed::TASKS, 8, 22, &["needs 23 threads", "gives keima 22 more", "use --threads 7, or allow more"]);
        check(Needed::TASKS, 8, 7, &["7 more; allow more", "ulimit -u"]);
        check(Needed::IN_MEMORY, 8, 10, &["needs 11 threads", "use --threads 7"]);
        check(Needed::RUNTIME, 0, 4, &["needs 5 threads", "4 more; allow more"]);
        check(Needed::RUNTIME, 0, 5, &[]);
    }

    #[test]
    fn a_limit_on_the_address_space_is_kept_to() {
        for (limit_bytes, threads) in [
            (None, u32::MAX),
            (Some(0), 0),
            (Some(THREAD_BYTES - 1), 0),
            (Some(7 * THREAD_BYTES), 7),
            (Some(u64::MAX), u32::MAX),
        ] {
            assert_eq!(fitting(limit_bytes), threads, "{limit_bytes:?}");
        }
    }

    #[test]
    fn threads_are_there_at_the_same_time_and_end() {
        assert_eq!(startable(0), 0);
        assert_eq!(startable(9), 9);
    }
}
