//! Server-sent events: what happens, and a word whenever a page should be read again.
//!
//! ```text
//!   id: 17                                   id: of an event; a browser that lost its connection shows it and goes on from there
//!   event: happened
//!   data: {"number":17,"kind":"worker-lost",...}
//!
//!   event: changed                           at most once a second
//!   data: {}
//! ```

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use crate::json;
use crate::snapshot::Snapshots;

/// Streams at a time.
pub(crate) const MOST_STREAMS: usize = 48;
/// Time between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Looks without news after which a comment keeps the connection alive.
const QUIET_LOOKS: u32 = 15;
/// Looks after which a stream ends; the reader comes again.
const MOST_LOOKS: u32 = 500;
/// Time after which a browser comes again.
const RETRY: &str = "retry: 2000\n\n";

/// A stream of events after `after`; of those to come only, without a number.
pub(crate) fn stream(snapshots: Arc<Snapshots>, places: &Arc<Semaphore>, after: Option<u64>) -> Response {
    let Ok(place) = Arc::clone(places).try_acquire_owned() else {
        let text =
            format!("{MOST_STREAMS} streams of events are open; try again later, or read the API now and then\n");
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "10")], text).into_response();
    };
    let (sender, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(2);
    tokio::spawn(tell(snapshots, sender, after, place));
    let body = Body::from_stream(ReceiverStream::new(receiver));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn tell(
    snapshots: Arc<Snapshots>,
    reader: mpsc::Sender<Result<Bytes, Infallible>>,
    mut after: Option<u64>,
    _place: OwnedSemaphorePermit,
) {
    let (mut digest, mut quiet) = (None, 0);
    let mut text = RETRY.to_owned();
    for _ in 0..MOST_LOOKS {
        let Ok(now) = snapshots.now().await else { return };
        let newest = now.overview.events.last().map_or(0, |event| event.number);
        // A coordinator that was started again counts from 1.
        let told = after.map_or(newest, |told| if told > newest { 0 } else { told });
        for event in now.overview.events.iter().filter(|event| event.number > told) {
            text += &format!("id: {}\nevent: happened\ndata: {}\n\n", event.number, json::event(event));
        }
        after = Some(newest);
        if digest.replace(now.digest) != Some(now.digest) {
            text += "event: changed\ndata: {}\n\n";
        }
        quiet = if text.is_empty() { quiet + 1 } else { 0 };
        if quiet >= QUIET_LOOKS {
            (text, quiet) = (": still here\n\n".to_owned(), 0);
        }
        if !text.is_empty() && reader.send(Ok(Bytes::from(std::mem::take(&mut text)))).await.is_err() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = reader.closed() => return,
        }
    }
}
