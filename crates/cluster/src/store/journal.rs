//! Group commit: writes the changes of many callers together, in the order in which they were decided.
//!
//! ```text
//!   callers   post(changes) -> ticket      (under the state machine's lock, so in the order of decision)
//!                 |   queue
//!   thread    take all waiting posts: one write to the log, or one transaction if one of them must be durable
//!                 |
//!   callers   stored(ticket).await         (no answer leaves the coordinator before this)
//! ```
//!
//! Grants and commits of single tasks may be lost with the machine: after a power cut a job resumes from a durable
//! boundary in any case. Their callers wait until the changes survive the process; the changes are durable a quarter of a
//! second later. So a task never waits for an fsync. Callers of all other changes wait until these are durable.
//!
//! After a failed write, or a change that could not be encoded, the journal takes nothing more: the state machine is then
//! ahead of the disk, and no answer may leave any more.
//!
//! Cost: four fsyncs a second while there are changes, and one for each group that must be durable.

use std::pin::pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use keima_coordinator::{Changes, EncodeError};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::failpoint;
use crate::store::{Edits, Store, StoreError};
use crate::world;

/// How long changes may stay in the log without an fsync.
const LONGEST_UNSYNCED: Duration = Duration::from_millis(250);

/// Why the journal takes nothing more.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The coordinator could not encode a change.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The writing thread is gone.
    #[error("the thread that writes the coordinator's records has ended; start the coordinator again")]
    Thread,
}

impl JournalError {
    /// Whether room on the disk is all that is missing.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_full())
    }
}

/// How far the journal is.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// All tickets up to this one are written.
    stored: u64,
    /// Why there will be no more.
    failed: Option<Arc<JournalError>>,
}

/// The progress, for all who wait for it. They go on in the order in which they came; a `watch` channel shuffles them, and
/// a simulated cluster could not be replayed.
#[derive(Default)]
struct Told {
    now: Mutex<Progress>,
    news: Notify,
}

impl Told {
    fn now(&self) -> MutexGuard<'_, Progress> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.now());
        self.news.notify_waiters();
    }

    /// Waits until `reached` gives something.
    async fn wait_for<T>(&self, reached: impl Fn(&Progress) -> Option<T>) -> T {
        loop {
            // Listen before looking, so that no signal in between is missed.
            let mut news = pin!(self.news.notified());
            news.as_mut().enable();
            if let Some(reached) = reached(&self.now()) {
                return reached;
            }
            news.await;
        }
    }
}

/// Number of a post, in the order of decision.
pub(crate) type Ticket = u64;

struct Post {
    edits: Edits,
    must_be_durable: bool,
    ticket: Ticket,
}

/// The writing end of the store.
pub(crate) struct Journal {
    queue: Option<Sender<Result<Post, EncodeError>>>,
    progress: Arc<Told>,
    thread: Option<JoinHandle<()>>,
    /// Wakes the task that writes where there is no thread.
    posted: Option<Arc<Notify>>,
}

impl Journal {
    /// Starts the writing thread, which owns `store` until the journal is dropped.
    pub(crate) fn start(store: Store) -> Self {
        let (queue, posts) = channel();
        let progress = Arc::new(Told::default());
        let writer = Writer { store, posts, progress: Arc::clone(&progress), sync_at: None };
        if world::simulated().is_some() {
            let posted = Arc::new(Notify::new());
            tokio::spawn(write_in_turn(writer, Arc::clone(&posted)));
            return Self { queue: Some(queue), progress, thread: None, posted: Some(posted) };
        }
        let thread =
            std::thread::Builder::new().name("keima-journal".to_owned()).spawn(move || write_posts(writer)).ok();
        Self { queue: Some(queue), progress, thread, posted: None }
    }

    /// Queues `changes`. `last` is the newest ticket; it grows if there is anything to store. Changes that could not be
    /// encoded end the journal: their ticket is never stored.
    pub(crate) fn post(&self, changes: Result<Changes, EncodeError>, last: &mut Ticket) {
        if changes.as_ref().is_ok_and(Changes::is_empty) {
            return;
        }
        *last += 1;
        let post = changes.map(|changes| {
            let deletes = changes.deletes.into_iter().map(|key| (key, None));
            let edits = deletes.chain(changes.puts.into_iter().map(|(key, value)| (key, Some(value)))).collect();
            Post { edits, must_be_durable: changes.must_be_durable, ticket: *last }
        });
        if let Some(queue) = &self.queue {
            // A thread that is gone has left its reason in `progress`, where `stored` finds it.
            let _ = queue.send(post);
        }
        if let Some(posted) = &self.posted {
            posted.notify_one();
        }
    }

    /// Returns when all posts up to `ticket` are stored as they must be. An error says why they never will be.
    pub(crate) async fn stored(&self, ticket: Ticket) -> Result<(), Arc<JournalError>> {
        let reached = |now: &Progress| match &now.failed {
            Some(why) => Some(Err(Arc::clone(why))),
            None => (now.stored >= ticket).then_some(Ok(())),
        };
        self.progress.wait_for(reached).await
    }

    /// The newest ticket up to which all posts are stored as they must be.
    pub(crate) fn newest_stored(&self) -> Ticket {
        self.progress.now().stored
    }

    /// The reason if the journal has failed.
    pub(crate) fn why_failed(&self) -> Option<Arc<JournalError>> {
        self.progress.now().failed.clone()
    }

    /// Returns the reason when the journal has failed. Does not return otherwise.
    pub(crate) async fn failure(&self) -> Arc<JournalError> {
        self.progress.wait_for(|now| now.failed.clone()).await
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(posted) = &self.posted {
            posted.notify_one();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The end of the queue at which posts are written.
struct Writer {
    store: Store,
    posts: Receiver<Result<Post, EncodeError>>,
    progress: Arc<Told>,
    /// When the log is to be synced.
    sync_at: Option<Instant>,
}

impl Drop for Writer {
    /// Nobody waits for ever, even if the thread panicked.
    fn drop(&mut self) {
        self.progress.change(|p| {
            p.failed.get_or_insert_with(|| Arc::new(JournalError::Thread));
        });
    }
}

impl Writer {
    /// Syncs the log if it is time.
    fn sync_if_due(&mut self) -> Result<(), JournalError> {
        if self.sync_at.is_some_and(|at| at <= Instant::now()) {
            self.store.sync()?;
            self.sync_at = None;
        }
        Ok(())
    }

    /// Writes `post` with all that wait behind it.
    fn write(&mut self, post: Result<Post, EncodeError>) -> Result<(), JournalError> {
        let (ticket, ended) = write_group(&mut self.store, post?, &self.posts)?;
        self.progress.change(|p| p.stored = ticket);
        ended?;
        let soon = || Instant::now() + LONGEST_UNSYNCED;
        self.sync_at = self.store.is_to_be_synced().then(|| self.sync_at.unwrap_or_else(soon));
        Ok(())
    }
}

fn write_posts(mut writer: Writer) {
    if let Err(error) = write_all(&mut writer) {
        writer.progress.change(|p| p.failed = Some(Arc::new(error)));
    }
}

/// Writes until nobody can post any more.
fn write_all(writer: &mut Writer) -> Result<(), JournalError> {
    loop {
        writer.sync_if_due()?;
        let next = match writer.sync_at {
            Some(at) => writer.posts.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => writer.posts.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(post) => writer.write(post)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(writer.store.sync()?),
        }
    }
}

/// Does the same as a task, which waits in the time of a simulated world. Each step runs where it may block.
async fn write_in_turn(mut writer: Writer, posted: Arc<Notify>) {
    loop {
        let step = move || {
            let done = match writer.posts.try_recv() {
                Ok(post) => writer.sync_if_due().and_then(|()| writer.write(post)).map(|()| Some(true)),
                Err(TryRecvError::Empty) => writer.sync_if_due().map(|()| Some(false)),
                Err(TryRecvError::Disconnected) => writer.store.sync().map(|()| None).map_err(Into::into),
            };
            if let Err(error) = done {
                writer.progress.change(|p| p.failed = Some(Arc::new(error)));
                return None;
            }
            done.ok().flatten().map(|wrote| (writer, wrote))
        };
        let Ok(Some((back, wrote))) = world::blocking(step).await else { return };
        writer = back;
        match writer.sync_at {
            _ if wrote => {}
            Some(at) => drop(tokio::time::timeout_at(at, posted.notified()).await),
            None => posted.notified().await,
        }
    }
}

/// Writes `first` with all posts that wait behind it. Returns the last ticket that is written, and the error of a post that
/// could not be encoded: posts behind it are not written.
fn write_group(
    store: &mut Store,
    first: Post,
    posts: &Receiver<Result<Post, EncodeError>>,
) -> Result<(Ticket, Result<(), EncodeError>), StoreError> {
    let Post { mut edits, mut must_be_durable, mut ticket } = first;
    let mut ended = Ok(());
    for post in posts.try_iter() {
        match post {
            Ok(post) => {
                edits.extend(post.edits);
                must_be_durable |= post.must_be_durable;
                ticket = post.ticket;
            }
            Err(error) => {
                ended = Err(error);
                break;
            }
        }
    }
    failpoint::hit("coordinator.before_commit");
    store.write(edits, must_be_durable)?;
    failpoint::hit("coordinator.after_commit");
    Ok((ticket, ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(key: &str, value: u8, must_be_durable: bool) -> Changes {
        Changes { puts: vec![(key.to_owned(), vec![value])], deletes: Vec::new(), must_be_durable }
    }

    #[tokio::test]
    async fn the_last_of_many_stands() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::start(Store::open(dir.path()).unwrap());
        let mut last = 0;
        for i in 0..100 {
            journal.post(Ok(change("k", i, i % 3 == 0)), &mut last);
            journal.post(Ok(Changes::default()), &mut last);
        }
        assert_eq!(last, 100);
        journal.stored(last).await.unwrap();
        journal.post(Ok(change("late", 7, false)), &mut last);
        drop(journal);
        let records = Store::open(dir.path()).unwrap().load().unwrap();
        assert_eq!(records, [("k".to_owned(), vec![99]), ("late".to_owned(), vec![7])]);
    }

    /// What was decided before the failure is stored, nothing after it is, and the reason is told.
    #[tokio::test]
    async fn changes_that_cannot_be_encoded_end_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::start(Store::open(dir.path()).unwrap());
        let error = || EncodeError { key: "job/1".to_owned(), why: "no shape".to_owned() };
        let mut last = 0;
        journal.post(Ok(change("before", 1, false)), &mut last);
        journal.post(Err(error()), &mut last);
        journal.post(Ok(change("after", 2, true)), &mut last);
        assert_eq!(last, 3);
        for ticket in [2, 3] {
            let told = journal.stored(ticket).await.unwrap_err();
            assert!(matches!(&*told, JournalError::Encode(why) if *why == error()), "{told}");
        }
        assert!(journal.failure().await.to_string().contains("record job/1"));
        drop(journal);
        assert_eq!(Store::open(dir.path()).unwrap().load().unwrap(), [("before".to_owned(), vec![1])]);
    }
}
