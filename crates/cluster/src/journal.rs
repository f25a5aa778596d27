//! Group commit: events of many callers become durable together, in the order in which they were decided.
//!
//! ```text
//!   callers   post(changes) -> ticket      (in the order of decision: under the state machine's lock)
//!                 |   queue
//!   thread    take all that waits, one transaction, one fsync
//!                 |
//!   callers   stored(ticket).await         (nothing leaves the coordinator before this)
//! ```
//!
//! Changes that may be lost with the machine must still survive the process, and the store has no level in between: so
//! all are written durably, and all are waited for. Cost: one fsync per group; while one is on its way the next group
//! gathers, so the rate of events is not bounded by the rate of fsyncs. After a failed commit the journal takes nothing
//! more: what is in memory is then ahead of the disk, and no answer may go out any more.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use keima_coordinator::Changes;
use tokio::sync::watch;

use crate::failpoint;
use crate::store::{Edits, Store};

/// How far the journal is.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// All tickets up to this one are on disk.
    stored: u64,
    /// Why there will be no more.
    failed: Option<String>,
}

/// Where the caller of `post` stands in line.
pub(crate) type Ticket = u64;

struct Post {
    edits: Edits,
    ticket: Ticket,
}

/// The writing end of the store.
pub(crate) struct Journal {
    queue: Option<Sender<Post>>,
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
            .spawn(move || write_posts(&store, &posts, &sender))
            .ok();
        Self { queue: Some(queue), progress, thread }
    }

    /// Queues `changes`. `last` is the newest ticket given out, and grows where there is anything to store.
    pub(crate) fn post(&self, changes: Changes, last: &mut Ticket) {
        if changes.is_empty() {
            return;
        }
        let deletes = changes.deletes.into_iter().map(|key| (key, None));
        let edits = deletes.chain(changes.puts.into_iter().map(|(key, value)| (key, Some(value)))).collect();
        *last += 1;
        if let Some(queue) = &self.queue {
            // A thread that is gone has left its reason in `progress`, where `stored` finds it.
            let _ = queue.send(Post { edits, ticket: *last });
        }
    }

    /// Returns when everything up to `ticket` is on disk; `Err` says why it never will be.
    pub(crate) async fn stored(&self, ticket: Ticket) -> Result<(), String> {
        let mut progress = self.progress.clone();
        let gone = || "the thread that writes the coordinator's records has ended".to_owned();
        let now = progress.wait_for(|p| p.stored >= ticket || p.failed.is_some()).await.map_err(|_| gone())?;
        match &now.failed {
            Some(why) => Err(why.clone()),
            None => Ok(()),
        }
    }

    /// Returns when the journal has failed, with the reason; never otherwise.
    pub(crate) async fn failure(&self) -> String {
        let mut progress = self.progress.clone();
        match progress.wait_for(|p| p.failed.is_some()).await {
            Ok(now) => now.failed.clone().unwrap_or_default(),
            Err(_) => "the thread that writes the coordinator's records has ended".to_owned(),
        }
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

fn write_posts(store: &Store, posts: &Receiver<Post>, progress: &watch::Sender<Progress>) {
    while let Ok(Post { mut edits, mut ticket }) = posts.recv() {
        for post in posts.try_iter() {
            edits.extend(post.edits);
            ticket = post.ticket;
        }
        failpoint::hit("coordinator.before_commit");
        if let Err(error) = store.apply(&edits) {
            progress.send_modify(|p| p.failed = Some(error.to_string()));
            return;
        }
        failpoint::hit("coordinator.after_commit");
        progress.send_modify(|p| p.stored = ticket);
    }
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
            journal.post(change("k", i, i % 3 == 0), &mut last);
            journal.post(Changes::default(), &mut last);
        }
        assert_eq!(last, 100);
        journal.stored(last).await.unwrap();
        journal.post(change("late", 7, false), &mut last);
        drop(journal);
        let records = Store::open(dir.path()).unwrap().load().unwrap();
        assert_eq!(records, [("k".to_owned(), vec![99]), ("late".to_owned(), vec![7])]);
    }
}
