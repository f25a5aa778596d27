//! Doors for fuzzing: what reads the bytes of browsers and monitors, without a socket; the page of a job that was read from a file.

use std::future::pending;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use http::StatusCode;
use keima_cluster::{Door, Overview};
use keima_coordinator::{FleetSums, JobView};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::task::yield_now;

use crate::guard::{Guard, judge, refused};
use crate::json;
use crate::page::html;
use crate::serve::talk;

/// Most bytes of answers that wait for their reader, and most that are read.
const ROOM_BYTES: usize = 64 << 10;

/// So often everybody else may go on before the connection is closed. It takes fewer from a request to its answer.
const QUIET_TURNS: usize = 40;

/// Routes behind an open door on loopback. Every request is shown to the other door too, which only looks at it: nobody
/// without a token may pass there.
pub fn guarded(routes: Router, other: Door) -> Router {
    let other = Arc::new(Guard { door: other, local: false });
    let look = from_fn(move |request: Request, next: Next| {
        let refusal = refused(&other, &request).map(|answer| answer.status());
        let asks_for_health = ["/healthz", "/readyz"].contains(&request.uri().path());
        assert!(refusal.is_some() || asks_for_health, "a stranger came in");
        next.run(request)
    });
    routes.layer(look).layer(from_fn_with_state(Arc::new(Guard { door: Door::open(), local: true }), judge))
}

/// Sends bytes over a connection, closes it when nothing more comes, and returns what came back.
pub async fn answers(routes: Router, bytes: &[u8]) -> Vec<u8> {
    let (mut browser, server) = duplex(ROOM_BYTES);
    let mut told = Vec::new();
    let asked = async {
        // A server that closes early is no error.
        let _ = browser.write_all(bytes).await;
        // A stream of events has no end, and a connection waits for the next request.
        while told.len() < ROOM_BYTES {
            tokio::select! {
                biased;
                Ok(1..) = browser.read_buf(&mut told) => {}
                () = quiet() => break,
                else => break,
            }
        }
    };
    let served = async {
        talk(server, routes).await;
        pending::<()>().await;
    };
    tokio::select! {
        () = asked => {}
        () = served => {}
    }
    told
}

async fn quiet() {
    for _ in 0..QUIET_TURNS {
        yield_now().await;
    }
}

/// Whether an answer says that all is well.
pub fn is_fine(answer: &[u8]) -> bool {
    answer.starts_with(format!("HTTP/1.1 {}", StatusCode::OK.as_u16()).as_bytes())
}

/// The page of a job, with all that the API tells of it.
pub fn page(view: &JobView) -> String {
    let now = Overview {
        now: 1,
        jobs: vec![view.status.clone()],
        states: vec![(view.status.state, 1)],
        workers: Vec::new(),
        events: Vec::new(),
        sums: FleetSums::default(),
        durable: Vec::new(),
        leases: 0,
    };
    html(&now, Some(view), "probe") + &json::view(view).to_string()
}
