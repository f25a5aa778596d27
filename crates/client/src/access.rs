//! What a caller brings to a coordinator: whom it trusts, and the token that it shows.
//!
//! TLS needs somebody to trust and a token. Plain text takes neither, so that no secret ever travels openly and nobody
//! believes to be safe who is not. The CAs of the system are never used.

use std::fmt;
use std::path::PathBuf;

use keima_cluster::{AccessError, Pass, Secret, Trust};

/// Credentials for a coordinator behind `https://`; all absent for plain text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Fingerprint of the coordinator's certificate, `sha256:` and 64 hex digits, as the coordinator prints it.
    pub fingerprint: Option<String>,
    /// Instead: a CA (PEM) that vouches for the certificate.
    pub tls_ca: Option<PathBuf>,
    /// File with the token of the caller's role, of mode 0600.
    pub token_file: Option<PathBuf>,
}

/// One of the settings of [`Access`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// [`Access::fingerprint`].
    Fingerprint,
    /// [`Access::tls_ca`].
    TlsCa,
    /// [`Access::token_file`].
    TokenFile,
}

impl Setting {
    /// Its name here.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fingerprint => "fingerprint",
            Self::TlsCa => "tls_ca",
            Self::TokenFile => "token_file",
        }
    }
    /// Its environment variable.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Fingerprint => "KEIMA_FINGERPRINT",
            Self::TlsCa => "KEIMA_TLS_CA",
            Self::TokenFile => "KEIMA_TOKEN_FILE",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Credentials that do not fit the URL, or each other. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum AccessMismatch {
    /// Credentials for a coordinator without TLS.
    #[error(
        "{setting} is for TLS, and {url} is plain text: write https:// if the coordinator speaks TLS, or leave {setting} away"
    )]
    PlainText {
        /// What was given.
        setting: Setting,
        /// The coordinator.
        url: String,
    },
    /// Two ways to know the coordinator.
    #[error("fingerprint and tls_ca exclude each other: give one of them")]
    TwoTrusts,
    /// No way to know the coordinator.
    #[error(
        "{url}: TLS needs to know the coordinator: give its fingerprint, which it prints at its start, or tls_ca, the CA of \
         its certificate"
    )]
    NoTrust {
        /// The coordinator.
        url: String,
    },
    /// No token.
    #[error(
        "{url}: give token_file with the token of your role: reader.token or client.token of the coordinator's folder tls"
    )]
    NoToken {
        /// The coordinator.
        url: String,
    },
    /// A file or a fingerprint that cannot be used.
    #[error(transparent)]
    Unusable(#[from] AccessError),
}

impl Access {
    /// The settings of the environment: `KEIMA_FINGERPRINT`, `KEIMA_TLS_CA`, `KEIMA_TOKEN_FILE`. Empty ones count as absent.
    pub fn from_env() -> Self {
        let read = |setting: Setting| std::env::var(setting.variable()).ok().filter(|text| !text.trim().is_empty());
        Self {
            fingerprint: read(Setting::Fingerprint),
            tls_ca: read(Setting::TlsCa).map(PathBuf::from),
            token_file: read(Setting::TokenFile).map(PathBuf::from),
        }
    }

    /// What is brought to a coordinator at `url`, which begins with `http://` or `https://`. Reads the files.
    pub fn pass(&self, url: &str) -> Result<Pass, AccessMismatch> {
        // An empty fingerprint is none, as in a compose file.
        let fingerprint = self.fingerprint.as_deref().filter(|text| !text.trim().is_empty());
        let url = url.to_owned();
        if !url.starts_with("https://") {
            let given = [
                (Setting::Fingerprint, fingerprint.is_some()),
                (Setting::TlsCa, self.tls_ca.is_some()),
                (Setting::TokenFile, self.token_file.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                None => Ok(Pass::none()),
                Some((setting, _)) => Err(AccessMismatch::PlainText { setting, url }),
            };
        }
        let trust = match (fingerprint, &self.tls_ca) {
            (Some(text), None) => Trust::fingerprint(text.parse()?)?,
            (None, Some(file)) => Trust::authority(file)?,
            (Some(_), Some(_)) => return Err(AccessMismatch::TwoTrusts),
            (None, None) => return Err(AccessMismatch::NoTrust { url }),
        };
        let token = self.token_file.as_ref().ok_or(AccessMismatch::NoToken { url })?;
        Ok(Pass::new(trust, Secret::read(token)?))
    }
}
