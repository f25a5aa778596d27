//! A server's certificate with its key, and the fingerprint by which callers know it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, version};

use super::AccessError;
use super::secret::{hex, read_public, read_secret, sha256};

/// The protocol inside: gRPC over HTTP/2.
pub(super) const ALPN: &[u8] = b"h2";
/// The protocol inside: pages over HTTP/1.1.
const WEB_ALPN: &[u8] = b"http/1.1";

/// SHA-256 of a certificate, written as `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(sha256(certificate.as_ref()))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        let wrong = || AccessError::Fingerprint(text.chars().take(100).collect());
        let digits = text.trim().strip_prefix("sha256:").ok_or_else(wrong)?;
        // Some programs write a colon after each byte.
        let digits: Vec<u8> = digits.bytes().filter(|b| *b != b':').collect();
        let digits = <[u8; 64]>::try_from(digits).map_err(|_| wrong())?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| pair.get(at).and_then(|d| char::from(*d).to_digit(16));
            *byte = (digit(0).zip(digit(1)).map(|(high, low)| high * 16 + low).ok_or_else(wrong)?) as u8;
        }
        Ok(Self(bytes))
    }
}

/// The text of a file in PEM, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct PemFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

/// A certificate, those that vouch for it, and its key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    fingerprint: Fingerprint,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

impl Identity {
    fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Self, AccessError> {
        let first = chain.first().ok_or_else(|| AccessError::Tls("there is no certificate".to_owned()))?;
        let fingerprint = Fingerprint::of(first);
        Ok(Self { chain, key, fingerprint })
    }

    /// Reads a certificate (its own first, then those that vouch for it) and its key, both in PEM.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, AccessError> {
        let (public, secret) = (read_public(certificate)?, read_secret(key)?);
        Self::of_texts(PemFile { path: certificate, text: &public }, PemFile { path: key, text: &secret })
    }

    /// The same of files that were read.
    pub(crate) fn of_texts(certificate: PemFile<'_>, key: PemFile<'_>) -> Result<Self, AccessError> {
        let chain = certificates(certificate.path, certificate.text)?;
        let parsed = PrivateKeyDer::from_pem_slice(key.text.as_bytes());
        let parsed = parsed.map_err(|_| AccessError::Wrong {
            path: key.path.to_owned(),
            expected: "a private key in PEM",
            got: format!("{} other bytes", key.text.len()),
        })?;
        Self::new(chain, parsed)
    }

    /// A new identity that nobody vouches for: callers know it by its fingerprint.
    pub fn self_signed() -> Result<Self, AccessError> {
        let failed = |error: rcgen::Error| AccessError::Tls(error.to_string());
        let made = rcgen::generate_simple_self_signed(vec!["keima".to_owned()]).map_err(failed)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Self::new(vec![made.cert.der().clone()], key.into())
    }

    /// By which callers know it.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What a server needs to speak TLS 1.3 with it.
    pub(crate) fn server(&self) -> Result<Arc<ServerConfig>, AccessError> {
        self.server_of(ALPN)
    }

    /// The same for the pages that browsers read.
    pub(super) fn web_server(&self) -> Result<Arc<ServerConfig>, AccessError> {
        self.server_of(WEB_ALPN)
    }

    fn server_of(&self, protocol: &[u8]) -> Result<Arc<ServerConfig>, AccessError> {
        let failed = |error: rustls::Error| AccessError::Tls(error.to_string());
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(failed)?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(failed)?;
        config.alpn_protocols = vec![protocol.to_vec()];
        // Connections live long: tickets for short handshakes would only be state to keep.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

/// The algorithms, named explicitly: nothing depends on what a process has installed.
pub(super) fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates in the text of a PEM file, at least one.
pub(super) fn certificates(path: &Path, text: &str) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let wrong = || AccessError::Wrong {
        path: path.to_owned(),
        expected: "certificates in PEM",
        got: format!("{} other bytes", text.len()),
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        let print = Identity::self_signed().unwrap().fingerprint();
        let text = print.to_string();
        let with_colons: Vec<&str> = (0..32).map(|at| &text[7 + 2 * at..9 + 2 * at]).collect();
        for good in [text.clone(), format!(" {text}\n"), format!("sha256:{}", with_colons.join(":").to_uppercase())] {
            assert_eq!(good.parse::<Fingerprint>().unwrap(), print, "{good}");
        }
        for bad in ["", "sha256:", &text[7..], &text[..70], &format!("{text}0"), &text.replace("sha256", "sha1"), "é"]
        {
            assert!(bad.parse::<Fingerprint>().unwrap_err().to_string().contains("64 hex digits"), "{bad}");
        }
        assert!(format!("sha256:{}", "g".repeat(64)).parse::<Fingerprint>().is_err());
    }
}
