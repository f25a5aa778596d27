//! The caller's TLS connections, and what went wrong with one.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, Error};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use super::trust::{OtherCertificate, Trust};

/// Longest handshake, beside the time-out for the connection as a whole.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
/// Port of a URL that names none.
const HTTPS_PORT: u16 = 443;

/// Why a connection cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// It is another server than the one that is trusted, or somebody in between.
    #[error(
        "the server there is not the one that is trusted: {0}. Either it has another certificate now, or somebody stands in \
         between. If the coordinator was set up anew, take the fingerprint that it prints (--fingerprint), or its ca.pem \
         (--tls-ca)"
    )]
    Untrusted(String),
    /// It speaks something else.
    #[error("the server there does not speak TLS; if it was started without TLS, write http:// instead of https://")]
    NotTls,
    /// The URL has no usable host.
    #[error("{0} names no host that TLS can check")]
    Host(String),
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Opens TLS connections.
#[derive(Clone)]
pub(super) struct Connect {
    trust: Trust,
}

impl Connect {
    pub(super) const fn new(trust: Trust) -> Self {
        Self { trust }
    }

    async fn connect(self, uri: Uri) -> Result<TlsStream<TcpStream>, ConnectError> {
        let no_host = || ConnectError::Host(uri.to_string());
        let host = uri.host().ok_or_else(no_host)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        // A certificate that is known by its fingerprint may be shown under any name.
        let name = if self.trust.by_name { host.clone() } else { "keima".to_owned() };
        let name = ServerName::try_from(name).map_err(|_| no_host())?;
        let stream = TcpStream::connect((host.as_str(), uri.port_u16().unwrap_or(HTTPS_PORT))).await?;
        stream.set_nodelay(true)?;
        let greeting = TlsConnector::from(self.trust.config.clone()).connect(name, stream);
        match tokio::time::timeout(HANDSHAKE_WAIT, greeting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(told(error)),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no TLS greeting in time").into()),
        }
    }
}

/// What an error of a handshake means.
fn told(error: io::Error) -> ConnectError {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match tls {
        Some(Error::InvalidCertificate(CertificateError::Other(other))) => {
            match other.0.downcast_ref::<OtherCertificate>() {
                Some(other) => ConnectError::Untrusted(other.to_string()),
                None => ConnectError::Untrusted(other.to_string()),
            }
        }
        Some(Error::InvalidCertificate(why)) => ConnectError::Untrusted(why.to_string()),
        Some(Error::InvalidMessage(_)) => ConnectError::NotTls,
        _ => ConnectError::Io(error),
    }
}

impl Service<Uri> for Connect {
    type Response = TokioIo<TlsStream<TcpStream>>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connect = self.clone();
        Box::pin(async move { connect.connect(uri).await.map(TokioIo::new) })
    }
}
