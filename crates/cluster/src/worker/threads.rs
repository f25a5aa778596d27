//! The threads of tasks: as many as tasks have ever run at the same time. Each task takes the thread that was idle last.
//!
//! glibc's allocator keeps freed memory for the thread that freed it, so few threads that are used again keep less. That
//! matters where the program has no allocator of its own: on machines other than x86-64.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::world;

/// Does a task's work and returns a closure that sends the result. The thread calls it once it is idle again.
type Work = Box<dyn FnOnce() -> Tell + Send>;
type Tell = Box<dyn FnOnce() + Send>;

/// A message to a thread: the work, and the thread's own sender, which it adds to the idle ones afterwards. The thread ends
/// when all its senders are gone.
struct Order {
    work: Work,
    own: Sender<Order>,
}

/// A pool of threads. When it is dropped, idle threads end at once, and busy ones after their task.
#[derive(Default)]
pub(super) struct TaskThreads(Arc<Mutex<Vec<Sender<Order>>>>);

impl TaskThreads {
    /// Runs `work` on a thread of the pool, in the caller's span, and waits for it. Passes a panic on. Blocks.
    pub(super) fn run<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> std::io::Result<R> {
        // A simulated world has threads of its own.
        if world::simulated().is_some() {
            return Ok(work());
        }
        let (tell, told) = channel();
        let span = tracing::Span::current();
        let work: Work = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(|| span.in_scope(work)));
            Box::new(move || drop(tell.send(result)))
        });
        let idle = lock(&self.0).pop();
        let thread = idle.map_or_else(|| self.start(), Ok)?;
        let ended = || std::io::Error::other("the thread has ended");
        thread.send(Order { work, own: thread.clone() }).map_err(|_| ended())?;
        drop(thread);
        Ok(told.recv().map_err(|_| ended())?.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    fn start(&self) -> std::io::Result<Sender<Order>> {
        let (sender, receiver) = channel::<Order>();
        let idle = Arc::downgrade(&self.0);
        let work_off = move || {
            for Order { work, own } in receiver {
                let tell = work();
                // Become idle first: the receiver of the result may have the next task.
                if let Some(idle) = idle.upgrade() {
                    lock(&idle).push(own);
                }
                tell();
            }
        };
        std::thread::Builder::new().name("task".to_owned()).spawn(work_off)?;
        Ok(sender)
    }
}

fn lock(idle: &Mutex<Vec<Sender<Order>>>) -> MutexGuard<'_, Vec<Sender<Order>>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::sync::Barrier;

    fn id() -> std::thread::ThreadId {
        std::thread::current().id()
    }

    #[test]
    fn threads_are_used_again_and_outlive_panics() {
        let threads = TaskThreads::default();
        let first = threads.run(id).unwrap();
        for _ in 0..20 {
            assert_eq!(threads.run(id).unwrap(), first, "one task at a time, one thread");
        }
        let panic = catch_unwind(AssertUnwindSafe(|| threads.run::<()>(|| panic!("of a task")))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"of a task"));
        assert_eq!(threads.run(id).unwrap(), first);
        // Two that wait for each other.
        let barrier = Arc::new(Barrier::new(2));
        let meet = || {
            let barrier = Arc::clone(&barrier);
            threads.run(move || {
                barrier.wait();
                id()
            })
        };
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(meet);
            (meet().unwrap(), other.join().unwrap().unwrap())
        });
        assert_ne!(one, other);
        assert_eq!(lock(&threads.0).len(), 2);
    }

    #[test]
    fn idle_threads_end_with_their_owner() {
        struct Gone(Sender<()>);
        impl Drop for Gone {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        thread_local!(static LEFT: RefCell<Option<Gone>> = const { RefCell::new(None) });
        let (tell, told) = channel();
        let threads = TaskThreads::default();
        threads.run(move || LEFT.set(Some(Gone(tell)))).unwrap();
        assert!(told.try_recv().is_err(), "the thread is there");
        drop(threads);
        told.recv().expect("the thread has ended");
    }
}
