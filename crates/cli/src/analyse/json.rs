//! An analysis as one JSON object. Big integers and decimals are strings; what is not known is null.

use keima_analyse::growth::{Bounds, DIGITS, Decimal, Proof};
use serde_json::{Value, json};

use super::find::Analysis;
use super::input::Input;
use super::text::proof;
use crate::args::VERSION;

pub(super) fn json(input: &Input, analysis: &Analysis) -> Value {
    let found = &analysis.found;
    let lifted = analysis.lifted.as_ref().ok();
    let functions = lifted.map(keima_analyse::Lifted::generating_function);
    json!({
        "series": input.subject,
        "height": input.height,
        "first_index": input.first(),
        "terms_given": analysis.terms,
        "order": found.order,
        "recurrence": lifted.map(|l| l.coefficients().iter().map(ToString::to_string).collect::<Vec<_>>()),
        "holds_from": lifted.map(keima_analyse::Lifted::holds_from),
        "no_recurrence": analysis.lifted.as_ref().err(),
        "terms_used": found.terms_used,
        "terms_verified": found.terms_verified,
        "order_primes": found.primes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "proved_modulo": found.is_proved.then(|| found.primes.last().map(ToString::to_string)),
        "primes_used": lifted.map(|l| l.primes_used),
        "fresh_prime": lifted.map(|l| l.fresh_prime.to_string()),
        "generating_function": functions.map(|(p, q)| json!({ "numerator": p, "denominator": q })),
        "characteristic_polynomial": lifted.map(keima_analyse::Lifted::characteristic_polynomial),
        "states": input.graph.as_ref().map(keima_analyse::Graph::states),
        "transitions": input.graph.as_ref().map(keima_analyse::Graph::transitions),
        "growth": growth(input, analysis),
        "no_growth": analysis.growth.as_ref().err(),
        "program": format!("keima {VERSION}"),
    })
}

fn growth(input: &Input, analysis: &Analysis) -> Value {
    let Ok(growth) = &analysis.growth else { return Value::Null };
    let decimal = |bounds: &Bounds| bounds.decimal(DIGITS);
    let digits = |decimal: &Option<Decimal>| decimal.as_ref().map(|decimal| decimal.digits.clone());
    let error = |decimal: &Option<Decimal>| decimal.as_ref().map(|decimal| decimal.error.clone());
    let (a, lambda) = (decimal(&growth.a), decimal(&growth.lambda));
    let root = input.height.and_then(|height| decimal(&growth.lambda.root(height)));
    json!({
        "a": digits(&a),
        "a_error": error(&a),
        "lambda": digits(&lambda),
        "lambda_error": error(&lambda),
        "lambda_root": digits(&root),
        "lambda_root_error": error(&root),
        "second": digits(&growth.second),
        "second_is": "estimate",
        "is_proved": growth.proof != Proof::SomeRoot,
        "proof": proof(growth.proof),
    })
}
