//! What a certificate must hold, and its canonical form.

pub(crate) mod canonical;
pub(crate) mod certificate;
pub(crate) mod read;
pub(crate) mod result;
pub(crate) mod stage;
