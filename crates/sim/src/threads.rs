//! Threads that may block, of which one runs at a time.
//!
//! ```text
//!   main thread    work ──>|  waits  |<── wait(future) |  awaits the future  |── go ──>|  waits  |<── done
//!   other thread           |  works  |                 |        waits        |         |  works  |
//! ```
//!
//! The main thread stands still while the other one works, and works on when that one waits. So the order of all events is
//! fixed, whatever the system's scheduler does. Work that is given up (its machine dies) is unwound where it waits.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use keima_cluster::world::{Waiting, Work};

enum To {
    Work(Work),
    GoOn,
    GiveUp,
}

enum From {
    Wait(Waiting<()>),
    Done(Result<(), String>),
}

/// What is thrown through work that is given up.
struct GivenUp;

/// The ends of the channels on the other thread.
struct Ends {
    from: Sender<From>,
    to: Receiver<To>,
}

thread_local! {
    static ENDS: RefCell<Option<Ends>> = const { RefCell::new(None) };
    static GIVEN_UP: Cell<bool> = const { Cell::new(false) };
}

/// One thread, seen from the main thread.
struct Thread {
    to: Sender<To>,
    from: Receiver<From>,
}

/// Called on each new thread, around all that it does.
pub(crate) type Prepare = Arc<dyn Fn(&mut dyn FnMut()) + Send + Sync>;

/// The threads of one simulation.
pub(crate) struct Threads {
    idle: Mutex<Vec<Thread>>,
}

impl Threads {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { idle: Mutex::default() })
    }

    /// Ends idle threads.
    pub(crate) fn end(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn take(&self, prepare: &Prepare) -> Thread {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| start(Arc::clone(prepare)))
    }

    /// Does `work` on another thread; an error says that it panicked.
    pub(crate) fn run(self: &Arc<Self>, prepare: &Prepare, work: Work) -> Waiting<Result<(), String>> {
        let (threads, prepare) = (Arc::clone(self), Arc::clone(prepare));
        Box::pin(async move {
            let mut stint = Stint { thread: Some(threads.take(&prepare)), threads };
            stint.send(To::Work(work));
            loop {
                match stint.next() {
                    From::Wait(future) => {
                        future.await;
                        stint.send(To::GoOn);
                    }
                    From::Done(result) => {
                        stint.finish();
                        return result;
                    }
                }
            }
        })
    }
}

/// A thread at work.
struct Stint {
    thread: Option<Thread>,
    threads: Arc<Threads>,
}

impl Stint {
    fn send(&self, what: To) {
        if let Some(thread) = &self.thread {
            let _ = thread.to.send(what);
        }
    }

    fn next(&self) -> From {
        let told = self.thread.as_ref().and_then(|thread| thread.from.recv().ok());
        told.unwrap_or_else(|| From::Done(Err("the thread has ended".to_owned())))
    }

    fn finish(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.threads.idle.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
    }
}

impl Drop for Stint {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.send(To::GiveUp);
            while let From::Wait(_) = self.next() {}
            self.finish();
        }
    }
}

fn start(prepare: Prepare) -> Thread {
    let (to, orders) = channel();
    let (tell, from) = channel();
    let mut ends = Some(Ends { from: tell, to: orders });
    let mut work_off = move || {
        ENDS.set(ends.take());
        let receive = |ends: &Ends| ends.to.recv().ok();
        let mut next = ENDS.with_borrow(|ends| ends.as_ref().and_then(receive));
        while let Some(To::Work(work)) = next {
            GIVEN_UP.set(false);
            let result = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| text(&*panic));
            next = ENDS.with_borrow(|ends| {
                let ends = ends.as_ref()?;
                ends.from.send(From::Done(result)).ok()?;
                receive(ends)
            });
        }
    };
    std::thread::spawn(move || prepare(&mut work_off));
    Thread { to, from }
}

fn text(panic: &(dyn Any + Send)) -> String {
    if panic.is::<GivenUp>() {
        return "its machine died".to_owned();
    }
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_else(|| "a panic".to_owned())
}

/// Whether this is such a thread, and may wait.
pub(crate) fn may_wait() -> bool {
    !GIVEN_UP.get() && !std::thread::panicking() && ENDS.with_borrow(Option::is_some)
}

/// Waits on such a thread until `future` ends. Does nothing on the main thread, and while work is unwound.
pub(crate) fn wait(future: Waiting<()>) {
    if !may_wait() {
        return;
    }
    let told = ENDS.with_borrow(|ends| {
        let ends = ends.as_ref()?;
        let _ = ends.from.send(From::Wait(future));
        Some(ends.to.recv().unwrap_or(To::GiveUp))
    });
    if matches!(told, Some(To::GiveUp)) {
        GIVEN_UP.set(true);
        resume_unwind(Box::new(GivenUp));
    }
}
