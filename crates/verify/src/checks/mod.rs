//! The checks of a certificate, each with what was expected and what came.
//!
//! ```text
//!   hashes    the hash over all, and the chain from stage to stage
//!   numbers   primes, residues, spare, bound, count, tables, published values, formula
//!   stages    the order of stages; each reads what the one before wrote; sweeps agree; functionals
//!   passes    mass balance of each pass and stage, and Go's own law
//!   result    the result beside the certificate; results without one
//!   agreement several results of one number
//!   findings  what a check finds
//! ```

pub(crate) mod agreement;
pub(crate) mod findings;
mod hashes;
mod numbers;
mod passes;
pub(crate) mod result;
mod stages;

use crate::form::certificate::Certificate;
use crate::form::result::Results;
use crate::verdict::Verified;
use agreement::Number;

/// All checks of a certificate, and of the result around it.
pub(crate) fn certificate(certificate: &Certificate<'_>, results: Option<&Results>) -> Verified {
    let mut checks = vec![hashes::whole(certificate), hashes::chain(certificate), numbers::primes(certificate)];
    checks.push(stages::order(certificate));
    checks.push(stages::boundaries(certificate));
    checks.push(passes::balance(certificate));
    checks.extend(passes::law(certificate));
    checks.extend(stages::state_counts(certificate));
    checks.extend(stages::readings(certificate));
    checks.extend(stages::cuts(certificate));
    let values = numbers::values(certificate);
    checks.extend(values.checks(certificate));
    checks.extend(results.map(|results| result::beside(certificate, results)));
    let head = &certificate.head;
    Verified { subject: format!("{} {}", head.problem, head.size), checks, number: Number::of(certificate) }
}

/// The checks of a result without a certificate: an older keima printed it.
pub(crate) fn older(results: &Results) -> Verified {
    Verified {
        subject: format!("{} {}", results.problem, results.size),
        checks: result::alone(results),
        number: Number::of_result(results),
    }
}
