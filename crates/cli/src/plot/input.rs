//! Results of `keima count --json` out of files: one object, or one a line as a count of many sizes prints them.
//!
//! Nothing that is read is trusted. Objects without a number, such as a size that could not be counted, are passed over.

use std::path::PathBuf;

use keima_model::ProblemRequest;
use serde_json::Value;

use crate::exit::Failed;
use crate::terminal::input::{self, NamedText};

/// Largest file that is read.
const MOST_BYTES: u64 = 256 << 20;
/// Most results of one picture.
const MOST_RESULTS: usize = 1000;

/// A result.
pub(super) struct Counted {
    pub(super) request: ProblemRequest,
    /// In decimal.
    pub(super) count: String,
    pub(super) value: Value,
}

impl Counted {
    /// Problem and size, for people.
    pub(super) fn subject(&self) -> String {
        format!("{} {}", self.request.name, self.request.size)
    }
}

/// All results of the files, at least one.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Counted>, Failed> {
    let mut results = Vec::new();
    for path in paths {
        let NamedText { name, text } = input::read(path, MOST_BYTES, ": it is no result of keima count")?;
        let before = results.len();
        results.extend(results_of(&name, &text)?);
        if results.len() == before {
            return Err(Failed::usage(format!("{name}: expected results of `keima count --json`, got no number")));
        }
        if results.len() > MOST_RESULTS {
            return Err(Failed::usage(format!("{name}: more than {MOST_RESULTS} results; plot fewer")));
        }
    }
    Ok(results)
}

/// The results in a text that messages call `name`.
pub(super) fn results_of(name: &str, text: &str) -> Result<Vec<Counted>, Failed> {
    let mut results = Vec::new();
    for (number, value) in (1..).zip(serde_json::Deserializer::from_str(text).into_iter::<Value>()) {
        let value = value.map_err(|error| {
            Failed::usage(format!("{name}: expected results of `keima count --json`, got no JSON: {error}"))
        })?;
        results.extend(counted(value).map_err(|missing| {
            Failed::usage(format!(
                "{name}: object {number}: expected a result of `keima count --json`, got one without {missing}"
            ))
        })?);
    }
    Ok(results)
}

/// The result in an object; `None` where it says that there is none. The error names what is missing.
fn counted(value: Value) -> Result<Option<Counted>, &'static str> {
    let text = |name: &'static str| value.get(name).and_then(Value::as_str).map(str::to_owned).ok_or(name);
    let (name, size) = (text("problem")?, text("size")?);
    if value.get("count").is_some_and(Value::is_null) {
        return Ok(None);
    }
    let count = text("count")?;
    let options = value.get("options").and_then(Value::as_object).into_iter().flatten();
    let options = options.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    Ok(Some(Counted { request: ProblemRequest { name, size, options }, count, value }))
}
