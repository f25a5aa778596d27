//! Lines of the log as JSON, one object a line.
//!
//! ```text
//!   {"time":"2026-05-04T12:00:00.1Z","level":"WARN","message":"the task failed","attempt":"j1/s0/g12/t5/a0",
//!    "job":"j1","stage":"j1/s0/g12","task":"j1/s0/g12/t5","worker":"0011223344556677"}
//! ```
//!
//! A line has the fields of the spans that it is in. A line about an attempt or a run also has its job, stage and task as fields of
//! their own, so that a collector can pick lines without taking names apart; a run that an attempt reads is not the attempt's.
//! Lines of a worker have its name. A panic is a line, too. A line of the log is one write, as in text.

use std::fmt;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::{LookupSpan, Scope};

/// This process's worker, once it has a name.
static WORKER: OnceLock<String> = OnceLock::new();

/// Names the worker for all later lines.
pub(crate) fn set_worker(name: &str) {
    // A process has one worker.
    let _ = WORKER.set(name.to_owned());
}

/// Writes lines as JSON. The fields of spans are those that [`SpanFields`] keeps.
pub(crate) struct JsonLines;

/// Keeps the fields of spans for the lines inside them.
pub(crate) struct SpanFields;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanFields {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields(Map::new());
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }
}

/// Writes a panic as a line. It is in the span of its thread.
pub(crate) fn panicked(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(tracing::field::display);
    let thread = std::thread::current();
    tracing::error!(place, thread = thread.name(), "a panic: {}", panic.payload_as_str().unwrap_or("without a text"));
}

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(Map::new());
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            if let Some(Fields(of_span)) = span.extensions().get() {
                fields.0.extend(of_span.clone());
            }
        }
        fields.0.insert("time".to_owned(), time.into());
        fields.0.insert("level".to_owned(), event.metadata().level().as_str().into());
        event.record(&mut fields);
        writeln!(writer, "{}", Value::Object(fields.complete(WORKER.get())))
    }
}

/// The fields of a line.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Fields {
    /// Adds job, stage and task of an attempt or a run, and the worker.
    fn complete(mut self, worker: Option<&String>) -> Map<String, Value> {
        let name = ["attempt", "run"].iter().find_map(|name| self.0.get(*name)?.as_str().map(str::to_owned));
        if let Some(name) = name {
            // "j3/s0/g12/t5/a0", and "/r1" behind it for a run.
            let ends: Vec<usize> = name.match_indices('/').map(|(at, _)| at).chain([name.len()]).collect();
            for (field, parts) in [("job", 1), ("stage", 3), ("task", 4), ("attempt", 5)] {
                if let Some(part) = ends.get(parts - 1).and_then(|&end| name.get(..end)) {
                    self.0.entry(field.to_owned()).or_insert_with(|| part.into());
                }
            }
        }
        if let Some(worker) = worker {
            self.0.entry("worker".to_owned()).or_insert_with(|| worker.as_str().into());
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_about_attempts_and_runs_have_all_fields() {
        let check = |given: Value, worker: Option<&str>, expected: Value| {
            let Value::Object(given) = given else { panic!("no object") };
            let worker = worker.map(str::to_owned);
            assert_eq!(Value::Object(Fields(given).complete(worker.as_ref())), expected);
        };
        let names = json!({ "job": "j3", "stage": "j3/s0/g12", "task": "j3/s0/g12/t5", "attempt": "j3/s0/g12/t5/a0" });
        check(json!({ "attempt": "j3/s0/g12/t5/a0" }), None, names.clone());
        let with = |name: &str, value: &str| {
            let mut object = names.clone();
            object[name] = value.into();
            object
        };
        check(json!({ "run": "j3/s0/g12/t5/a0/r1" }), None, with("run", "j3/s0/g12/t5/a0/r1"));
        check(json!({ "attempt": "j3/s0/g12/t5/a0" }), Some("w"), with("worker", "w"));
        check(json!({ "message": "x" }), Some("w"), json!({ "message": "x", "worker": "w" }));
        check(json!({ "worker": "v" }), Some("w"), json!({ "worker": "v" }));
        check(json!({ "message": "x" }), None, json!({ "message": "x" }));
    }
}
