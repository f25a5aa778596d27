//! Connections: with TLS where there are credentials, at most so many, none for ever.
//!
//! A reader that stops reading holds one of [`MOST_CONNECTIONS`] places and at most one answer, and no longer than
//! [`LIFE`]. A browser that lost its connection comes again by itself.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use keima_cluster::Door;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::guard::{Guard, judge};

/// Connections at a time.
const MOST_CONNECTIONS: usize = 96;
/// Longest life of a connection.
const LIFE: Duration = Duration::from_mins(10);
/// Longest time for a handshake, and for the head of a request; also between two requests.
const HEAD_WAIT: Duration = Duration::from_secs(10);
/// Most bytes of what is kept of a request's head.
const HEAD_BYTES: usize = 16 << 10;
/// Wait after a failed accept: mostly there is no file descriptor left.
const ACCEPT_WAIT: Duration = Duration::from_millis(100);

/// Routes and who may come in.
pub struct Site {
    /// What is served.
    pub routes: Router,
    /// Who may read it, and with which certificate.
    pub door: Door,
}

/// Serves a site until `shutdown`; then connections end at once, for nothing is lost with them.
pub async fn serve(listener: TcpListener, site: Site, shutdown: impl Future<Output = ()> + Send) {
    let Site { routes, door } = site;
    let on_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let local = on_loopback && door.web().is_none();
    let guard = Arc::new(Guard { door: door.clone(), local });
    let routes = routes.layer(from_fn_with_state(guard, judge));
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            while connections.try_join_next().is_some() {}
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_WAIT).await;
                continue;
            };
            let (door, routes) = (door.clone(), routes.clone());
            connections.spawn(async move {
                let _ = tokio::time::timeout(LIFE, enter(stream, &door, routes)).await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = shutdown => {}
    }
    connections.abort_all();
}

async fn enter(stream: TcpStream, door: &Door, routes: Router) {
    let _ = stream.set_nodelay(true);
    match door.web() {
        None => talk(stream, routes).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_WAIT, tls.accept(stream)).await {
                talk(stream, routes).await;
            }
        }
    }
}

pub(crate) async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin + Send, routes: Router) {
    let service = TowerToHyperService::new(routes);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // A reader that goes away, or speaks something else, is no error.
    let _ = connection.await;
}
