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

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keima_coordinator::{Changes, EncodeError};
use tokio::sync::watch;

use crate::failpoint;
use crate::store::{Edits, Store, StoreError};

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

/// How far the journal is.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// All tickets up to this one are written.
    stored: u64,
    /// Why there will be no more.
    failed: Option<Arc<JournalError>>,
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
    progress: watch::Receiver<Progress>,
    thread: Option<JoinHandle<()>>,
}

impl Journal {
    /// Starts the writing thread, which owns `store` until the journal is dropped.
    pub(crate) fn start(store: Store) -> Self {
        let (queue, posts) = channel();
        let (sender, progress) = watch::channel(Progress::default());
        let thread = std::thread::Builder::new()
            .name("keima-journal".to_owned())
            .spawn(move || write_posts(store, &posts, &sender))
            .ok();
        Self { queue: Some(queue), progress, thread }
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
    }

    /// Returns when all posts up to `ticket` are stored as they must be. An error says why they never will be.
    pub(crate) async fn stored(&self, ticket: Ticket) -> Result<(), Arc<JournalError>> {
        let mut progress = self.progress.clone();
        let now = progress.wait_for(|p| p.stored >= ticket || p.failed.is_some()).await;
        match now.map_err(|_| JournalError::Thread)?.failed.clone() {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Returns the reason when the journal has failed. Does not return otherwise.
    pub(crate) async fn failure(&self) -> Arc<JournalError> {
        let mut progress = self.progress.clone();
        let failed = progress.wait_for(|p| p.failed.is_some()).await.ok().and_then(|now| now.failed.clone());
        failed.unwrap_or_else(|| Arc::new(JournalError::Thread))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_posts(mut store: Store, posts: &Receiver<Result<Post, EncodeError>>, progress: &watch::Sender<Progress>) {
    if let Err(error) = write_all(&mut store, posts, progress) {
        progress.send_modify(|p| p.failed = Some(Arc::new(error)));
    }
}

/// Writes until nobody can post any more.
fn write_all(
    store: &mut Store,
    posts: &Receiver<Result<Post, EncodeError>>,
    progress: &watch::Sender<Progress>,
) -> Result<(), JournalError> {
    let mut sync_at: Option<Instant> = None;
    loop {
        if sync_at.is_some_and(|at| at <= Instant::now()) {
            store.sync()?;
            sync_at = None;
        }
        let next = match sync_at {
            Some(at) => posts.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => posts.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(post) => {
                let (ticket, ended) = write_group(store, post?, posts)?;
                progress.send_modify(|p| p.stored = ticket);
                ended?;
                let soon = || Instant::now() + LONGEST_UNSYNCED;
                sync_at = store.is_to_be_synced().then(|| sync_at.unwrap_or_else(soon));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(store.sync()?),
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
