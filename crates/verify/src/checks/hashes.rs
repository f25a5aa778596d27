//! Hashes: over the whole certificate, and from stage to stage.

use super::findings::{Check, Findings};
use crate::form::canonical::{hash_of, hash_without};
use crate::form::certificate::Certificate;

/// The hash over all that the certificate says.
pub(super) fn whole(certificate: &Certificate<'_>) -> Check {
    let mut findings = Findings::new("hash");
    findings.equal("BLAKE3 of the canonical form", &hash_without(certificate.value, "hash"), &certificate.hash);
    findings.check(format!("BLAKE3 {}", certificate.hash))
}

/// Each stage covers the one before it, the first one the head, and the result the last one.
pub(super) fn chain(certificate: &Certificate<'_>) -> Check {
    let mut findings = Findings::new("chain");
    let mut before = certificate.value.get("head").map(hash_of).unwrap_or_default();
    let mut links = 0;
    for stage in certificate.sweeps.iter().flat_map(|sweep| &sweep.stages) {
        findings.equal(&format!("{}, hash of the one before", stage.place), &before, &stage.before);
        findings.equal(&format!("{}, own hash", stage.place), &hash_without(stage.value, "hash"), &stage.hash);
        before.clone_from(&stage.hash);
        links += 1;
    }
    findings.equal("the result, hash of the last stage", &before, &certificate.result.before);
    findings.check(format!("{links} stages, each bound to the one before"))
}
