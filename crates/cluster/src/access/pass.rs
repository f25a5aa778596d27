//! What a caller brings: whom it trusts, and the token that it shows.

use std::path::Path;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;
use tonic::{Request, Status};

use super::connect::Connect;
use super::secret::Secret;
use super::trust::Trust;
use crate::world::Channel;

/// What a caller brings: nothing, for plain text, or trust and a token, for TLS.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    with: Option<(Trust, Secret)>,
}

/// A channel that shows the caller's token with every call.
pub(crate) type GuardedChannel = InterceptedService<Channel, Bearer>;

impl Pass {
    /// Plain text and no token.
    pub fn none() -> Self {
        Self::default()
    }

    /// TLS and a token.
    pub fn new(trust: Trust, token: Secret) -> Self {
        Self { with: Some((trust, token)) }
    }

    /// A channel to `endpoint` that connects with its first call. `None` where the URL does not fit: a token travels over TLS
    /// only, and TLS needs somebody to trust. `from` and `address` are for a simulated network, see [`Channel::lazy`].
    pub(crate) fn channel(&self, endpoint: &Endpoint, from: &Path, address: &str) -> Option<GuardedChannel> {
        let is_tls = endpoint.uri().scheme_str() == Some("https");
        match &self.with {
            None if !is_tls => Some(InterceptedService::new(Channel::lazy(endpoint, from, address), Bearer(None))),
            Some((trust, token)) if is_tls => {
                // A token was checked when it was read: it is visible ASCII.
                let mut value: MetadataValue<Ascii> = format!("Bearer {}", token.expose()).parse().ok()?;
                value.set_sensitive(true);
                let channel = Channel::Real(endpoint.connect_with_connector_lazy(Connect::new(trust.clone())));
                Some(InterceptedService::new(channel, Bearer(Some(value))))
            }
            _ => None,
        }
    }
}

/// Shows a token with every call.
#[derive(Clone)]
pub(crate) struct Bearer(pub(super) Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}
