//! A server's end: whether it speaks TLS, and the tokens that it knows.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;

use super::AccessError;
use super::calls::Role;
use super::files::token_file;
use super::identity::Identity;
use super::secret::{KnownToken, Secret};

/// The tokens that a server knows, each with the role that it proves.
#[derive(Clone, Default)]
pub struct Tokens {
    known: Vec<(Role, KnownToken)>,
}

impl Tokens {
    /// Reads the token files of all roles in a folder.
    pub fn read(folder: &Path) -> Result<Self, AccessError> {
        Role::ALL
            .into_iter()
            .try_fold(Self::default(), |tokens, role| tokens.with(role, &Secret::read(&token_file(folder, role))?))
    }

    /// One token more.
    pub fn with(mut self, role: Role, secret: &Secret) -> Result<Self, AccessError> {
        let token = KnownToken::of(secret);
        if let Some((other, _)) = self.known.iter().find(|(_, known)| known.is_same(&token)) {
            return Err(AccessError::SameToken(other.name(), role.name()));
        }
        self.known.push((role, token));
        Ok(self)
    }

    /// The role that a token proves. All tokens are compared, whichever it is.
    pub(super) fn role_of(&self, presented: &[u8]) -> Option<Role> {
        self.known.iter().fold(None, |found, (role, known)| if known.is(presented) { Some(*role) } else { found })
    }
}

/// Who may come in at a service, and how.
#[derive(Clone, Default)]
pub struct Door {
    pub(crate) tls: Option<TlsAcceptor>,
    /// The same identity for the pages that browsers read.
    web: Option<TlsAcceptor>,
    /// `None`: everybody may do everything.
    pub(super) tokens: Option<Arc<Tokens>>,
}

/// What a caller's token proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visitor {
    /// Nothing, and nothing is asked for: the door is open.
    Anybody,
    /// A role.
    Known(Role),
    /// Nothing that is known here.
    Stranger,
}

impl Door {
    /// Plain text, and everybody may do everything: for loopback, or where somebody asked for it in so many words.
    pub fn open() -> Self {
        Self::default()
    }

    /// TLS with this identity, and these tokens.
    pub fn guarded(identity: &Identity, tokens: Tokens) -> Result<Self, AccessError> {
        let (tls, web) = (TlsAcceptor::from(identity.server()?), TlsAcceptor::from(identity.web_server()?));
        Ok(Self { tls: Some(tls), web: Some(web), tokens: Some(Arc::new(tokens)) })
    }

    /// TLS for HTTP/1.1; `None` where the door is open.
    pub const fn web(&self) -> Option<&TlsAcceptor> {
        self.web.as_ref()
    }

    /// Who shows this token, or none.
    pub fn visitor(&self, token: Option<&[u8]>) -> Visitor {
        match (&self.tokens, token) {
            (None, _) => Visitor::Anybody,
            (Some(tokens), Some(token)) => tokens.role_of(token).map_or(Visitor::Stranger, Visitor::Known),
            (Some(_), None) => Visitor::Stranger,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_proves_one_role() {
        let secrets = [(); 3].map(|()| Secret::random().unwrap());
        let tokens = Role::ALL.into_iter().zip(&secrets).try_fold(Tokens::default(), |t, (role, s)| t.with(role, s));
        let tokens = tokens.unwrap();
        for (role, secret) in Role::ALL.into_iter().zip(&secrets) {
            assert_eq!(tokens.role_of(secret.expose().as_bytes()), Some(role));
        }
        for wrong in ["", "x", &secrets[0].expose()[1..], &format!("{} ", secrets[1].expose())] {
            assert_eq!(tokens.role_of(wrong.as_bytes()), None);
        }
        let again = tokens.with(Role::Worker, &secrets[0]);
        assert!(again.is_err_and(|error| error.to_string().contains("reader and worker have the same token")));
    }
}
