//! Whom a caller trusts: the server with one certificate, or those that a CA vouches for. Never the CAs of the system.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme, version,
};

use super::AccessError;
use super::identity::{ALPN, Fingerprint, certificates, provider};
use super::secret::read_public;

/// How a caller knows its server.
#[derive(Clone)]
pub struct Trust {
    pub(super) config: Arc<ClientConfig>,
    /// Whether the server's name matters. A fingerprint names one certificate already.
    pub(super) by_name: bool,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trust(by_name: {})", self.by_name)
    }
}

impl Trust {
    /// The server with exactly this certificate, whatever its name and dates.
    pub fn fingerprint(expected: Fingerprint) -> Result<Self, AccessError> {
        let provider = provider();
        let algorithms = provider.signature_verification_algorithms;
        Self::new(Arc::new(Pinned { expected, algorithms }), false)
    }

    /// A server whose certificate a CA in this file vouches for.
    pub fn authority(path: &Path) -> Result<Self, AccessError> {
        Self::of_text(path, &read_public(path)?)
    }

    /// The same of the file's text.
    pub(crate) fn of_text(path: &Path, text: &str) -> Result<Self, AccessError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path, text)? {
            roots.add(certificate).map_err(|error| AccessError::Tls(format!("{}: {error}", path.display())))?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
        Self::new(verifier.map_err(|error| AccessError::Tls(error.to_string()))?, true)
    }

    fn new(verifier: Arc<dyn ServerCertVerifier>, by_name: bool) -> Result<Self, AccessError> {
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| AccessError::Tls(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        config.enable_sni = by_name;
        Ok(Self { config: Arc::new(config), by_name })
    }
}

/// The server shows another certificate.
#[derive(Debug, thiserror::Error)]
#[error("its certificate has fingerprint {got}, not {expected}")]
pub(super) struct OtherCertificate {
    expected: Fingerprint,
    got: Fingerprint,
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    expected: Fingerprint,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let (expected, got) = (self.expected, Fingerprint::of(certificate));
        if got == expected {
            return Ok(ServerCertVerified::assertion());
        }
        let other = OtherError(Arc::new(OtherCertificate { expected, got }));
        Err(CertificateError::Other(other).into())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("only TLS 1.3 is spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
