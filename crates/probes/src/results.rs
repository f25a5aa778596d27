//! Results and what is made of them: certificates, cycles, series and pictures.

use keima_analyse::input;
use keima_games::cycle;
use serde_json::Value;

/// What `keima verify` reads: results with their certificates, or a Hamiltonian cycle.
pub(crate) fn certificate(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    if let Some(value) = serde_json::from_str::<Value>(&text).ok().filter(cycle::is_cycle) {
        return cycle::check(&value).is_ok();
    }
    let Ok(results) = keima_verify::verify(&text) else { return false };
    let together = keima_verify::compare(&results.iter().collect::<Vec<_>>());
    results.iter().flat_map(|result| &result.checks).chain(&together).all(|check| !check.detail.is_empty())
}

/// What `keima analyse` reads: a b-file, or a result with a series.
pub(crate) fn series(bytes: &[u8]) -> bool {
    let Ok(series) = input::read(&String::from_utf8_lossy(bytes)) else { return false };
    assert_eq!(series.terms.len(), series.places.len());
    assert_eq!(series.check(series.first, series.terms.iter().cloned()), Ok(()), "a series differs from itself");
    true
}
