//! What a server knows of one connection: whether a call of it was admitted, and how to close it.
//!
//! ```text
//!   stranger -- a call is admitted --> admitted, until it closes
//!        \---- too slow, too many strangers, or too many refusals --> shut
//! ```

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

/// Refused calls after which a connection is closed.
const MOST_REFUSALS: u32 = 4;

/// A connection's caller. All clones are the same one.
#[derive(Clone)]
pub(crate) struct Caller(Arc<State>);

struct State {
    /// Where it comes from, if that is known.
    address: Option<IpAddr>,
    settled: AtomicBool,
    news: Notify,
    refusals: AtomicU32,
    shut: Mutex<Option<oneshot::Sender<()>>>,
}

impl Caller {
    /// A stranger from an address. The receiver gets a word when the connection must close.
    pub(crate) fn new(address: Option<IpAddr>) -> (Self, oneshot::Receiver<()>) {
        let (shut, told) = oneshot::channel();
        let (settled, refusals) = (AtomicBool::new(false), AtomicU32::new(0));
        (Self(Arc::new(State { address, settled, news: Notify::new(), refusals, shut: Mutex::new(Some(shut)) })), told)
    }

    /// Where it comes from.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.0.address
    }

    /// A call is admitted: the connection stays.
    pub(crate) fn admit(&self) {
        if !self.0.settled.swap(true, Ordering::AcqRel) {
            // Nobody closes it any more.
            drop(self.take());
            self.0.news.notify_one();
        }
    }

    /// A call had no credentials that are known here.
    pub(crate) fn refused(&self) {
        if self.0.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_REFUSALS {
            self.shut();
        }
    }

    /// Closes the connection, unless a call of it was admitted.
    pub(crate) fn shut(&self) {
        if let Some(shut) = self.take() {
            let _ = shut.send(());
        }
    }

    /// The connection is closed.
    pub(crate) fn left(&self) {
        self.0.settled.store(true, Ordering::Release);
        self.0.news.notify_one();
    }

    /// Returns once a call was admitted or the connection is closed.
    pub(crate) async fn settled(&self) {
        while !self.0.settled.load(Ordering::Acquire) {
            self.0.news.notified().await;
        }
    }

    fn take(&self) -> Option<oneshot::Sender<()>> {
        self.0.shut.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_is_shut_by_refusals_only_until_it_is_admitted() {
        let (stranger, told) = Caller::new(None);
        for _ in 1..MOST_REFUSALS {
            stranger.refused();
        }
        stranger.refused();
        assert_eq!(told.await, Ok(()));
        let (known, mut told) = Caller::new(None);
        known.admit();
        known.settled().await;
        for _ in 0..2 * MOST_REFUSALS {
            known.refused();
        }
        known.shut();
        assert!(told.try_recv().is_err());
    }
}
