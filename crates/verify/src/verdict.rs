//! What becomes of a text that is to be verified: a result with its checks, or why it is none.

use crate::checks::agreement::Number;
use crate::checks::findings::Check;
use crate::form::read::FormError;

/// A result that was read, with its checks.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Problem and size, for people: `"go 9x9"`.
    pub subject: String,
    /// All checks, in order.
    pub checks: Vec<Check>,
    /// What others are compared with.
    pub(crate) number: Number,
}

impl Verified {
    /// Whether all checks hold.
    pub fn ok(&self) -> bool {
        self.checks.iter().all(|check| check.ok)
    }
}

/// Why a text is no result with a certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotVerifiable {
    /// It is no JSON.
    #[error("expected a result of `keima count --json`, got no JSON: {0}")]
    Json(String),
    /// It is another kind of JSON.
    #[error(transparent)]
    Form(#[from] FormError),
    /// It holds no result at all.
    #[error("expected at least one result of `keima count --json`, got an empty text")]
    Empty,
    /// The result says that there is no number.
    #[error("expected a result with a number, got one without: {0}")]
    NoNumber(String),
}
