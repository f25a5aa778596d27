//! Standard error as JSON, one object a line: `--progress json`.
//!
//! ```text
//!   {"event":"progress","unix_seconds":1767225600.5,"problem":"go","size":"13x13","part":0.42,"eta_seconds":12.5, ...}
//!   {"event":"value","name":"L(13,2)","index":2,"count":"1840058693", ...}
//!   {"event":"note","text":"..."}         what is a line of text else
//!   {"event":"done", ...}  {"event":"error","exit_code":4,"text":"..."}       the last line of a count
//! ```
//!
//! It is a matter of the whole process: a line of text among them would break whoever reads them. `docs/reference/json.md` has the fields.
//! Big integers are strings. Each line is one write.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// From now on every line on standard error is an event.
pub(crate) fn turn_on() {
    IS_ON.store(true, Ordering::Relaxed);
}

pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Writes an event, if they are on. `fields` is an object.
pub(crate) fn tell(event: &str, fields: Value) {
    if is_on() {
        // The reader of standard error may be gone.
        let _ = std::io::stderr().lock().write_all(line(event, fields, unix_seconds()).as_bytes());
    }
}

fn line(event: &str, mut fields: Value, unix_seconds: f64) -> String {
    if let Value::Object(map) = &mut fields {
        map.insert("event".to_owned(), event.into());
        map.insert("unix_seconds".to_owned(), unix_seconds.into());
    }
    format!("{fields}\n")
}

/// To a millisecond.
fn unix_seconds() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_of_json() {
        let text = line("note", json!({ "text": "two\nlines" }), 1.5);
        assert!(text.ends_with('\n') && text.matches('\n').count() == 1, "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, json!({ "event": "note", "text": "two\nlines", "unix_seconds": 1.5 }));
    }
}
