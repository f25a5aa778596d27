//! Checks a result by its certificate, in seconds and without counting anything.
//!
//! ```text
//!   form      what a certificate must hold, read with the place of whatever is missing; its canonical form
//!   checks    hash and chain; primes, residues and numbers; stages and passes; the result beside the certificate
//!   known     published values, and the formula for Go
//! ```
//!
//! Architecture invariant: this crate sees `keima-residue` alone. It shares no code with those that count, plan or write
//! certificates. So a mistake there does not hide itself here. `docs/reference/certificate.md` is what both go by.
//! Nothing that is read is trusted: no text, however odd, makes it panic, hang or take more memory than the text justifies.

#![forbid(unsafe_code)]

mod checks;
mod form;
mod known;
mod verdict;

use serde_json::Value;

pub use checks::agreement::compare;
pub use checks::findings::Check;
pub use form::canonical::{canonical, hash_of};
pub use form::read::FormError;
pub use verdict::{NotVerifiable, Verified};

use form::certificate::Certificate;
use form::read::At;
use form::result::Results;

/// Checks all results of a text: objects one after the other, as `keima count --json` prints them, or a list of them.
pub fn verify(text: &str) -> Result<Vec<Verified>, NotVerifiable> {
    let mut results = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.map_err(|error| NotVerifiable::Json(error.to_string()))? {
            Value::Array(values) => results.extend(values),
            value => results.push(value),
        }
    }
    if results.is_empty() {
        return Err(NotVerifiable::Empty);
    }
    let mut verified = Vec::new();
    for result in &results {
        verified.extend(verify_value(result)?);
    }
    Ok(verified)
}

/// Checks one result, or a certificate alone. A second certificate of the same number is checked too.
pub fn verify_value(value: &Value) -> Result<Vec<Verified>, NotVerifiable> {
    if value.get("format").is_some() {
        return Ok(vec![checks::certificate(&Certificate::read("certificate", value)?, None)]);
    }
    let results = Results::read(value)?;
    let Some(own) = value.get("certificate").filter(|own| !own.is_null()) else {
        return Ok(vec![checks::older(&results)]);
    };
    let certificate = Certificate::read("certificate", own)?;
    let mut verified = vec![checks::certificate(&certificate, Some(&results))];
    if let Some(double) = At::new("result", value).maybe("double_check")? {
        let second = Certificate::read("double_check.certificate", double.field("certificate")?.value)?;
        verified[0].checks.push(checks::result::second(&certificate, &second, &double)?);
        let mut second = checks::certificate(&second, None);
        second.subject.push_str(", counted again");
        let agree = compare(&[&verified[0], &second]);
        verified.push(second);
        verified[0].checks.extend(agree);
    }
    Ok(verified)
}
