//! `keima selftest` and `keima doctor`: whether a machine and its folders are sound.

pub(crate) mod doctor;
pub(crate) mod selftest;

use serde_json::{Value, json};

use crate::exit::{CHECK_FAILED, Failed};
use crate::terminal::output::print;

/// What was looked at, and what was found.
struct Finding {
    ok: bool,
    name: String,
    detail: String,
}

impl Finding {
    fn new(ok: bool, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { ok, name: name.into(), detail: detail.into() }
    }

    /// From a result: its text, whether it went well or not.
    fn of(name: &str, found: Result<String, String>) -> Self {
        let ok = found.is_ok();
        Self::new(ok, name, found.unwrap_or_else(|error| error))
    }

    fn line(&self) -> String {
        let mark = if self.ok { "ok  " } else { "FAIL" };
        format!("{mark}  {}: {}", self.name, self.detail)
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "ok": self.ok, "detail": self.detail })
    }
}

/// Prints findings, and fails if one is bad.
fn conclude(findings: &[Finding], json: bool, advice: &str) -> Result<(), Failed> {
    let ok = findings.iter().all(|finding| finding.ok);
    if json {
        let all: Vec<Value> = findings.iter().map(Finding::json).collect();
        print(&json!({ "ok": ok, "findings": all }).to_string())?;
    } else {
        findings.iter().try_for_each(|finding| print(&finding.line()))?;
    }
    if ok { Ok(()) } else { Err(Failed::new(CHECK_FAILED, advice)) }
}
