//! Spans of stages and tasks to a collector of OpenTelemetry traces, by OTLP over gRPC. Off unless an address is given.
//!
//! `cluster` makes the spans, with numbers that coordinator and workers agree on. This layer takes those of its target alone,
//! and gives each to the SDK's batches when it ends. What cannot be sent is dropped: traces decide nothing.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use keima_cluster::SPANS;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor as _};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::args::VERSION;
use crate::exit::Failed;

/// How long the last spans may take when the process ends.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The batches of this process, for its end.
static BATCHES: OnceLock<Arc<BatchSpanProcessor>> = OnceLock::new();

/// Sends spans to a collector.
pub(crate) struct Traces(Arc<BatchSpanProcessor>);

impl Traces {
    /// For the collector at `endpoint`, such as `http://127.0.0.1:4317`; `None` without one. Call it within the runtime.
    pub(crate) fn to(endpoint: Option<&str>, service: &'static str) -> Result<Option<Self>, Failed> {
        let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.trim().is_empty()) else { return Ok(None) };
        let refused = |why: &dyn fmt::Display| {
            Failed::usage(format!(
                "--trace-endpoint {endpoint}: {why}; expected the OTLP/gRPC port of a collector in plain text, such as \
                 http://127.0.0.1:4317, on this machine or in a network that you trust"
            ))
        };
        if !endpoint.starts_with("http://") {
            return Err(refused(&"it does not begin with http://"));
        }
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build();
        let mut batches = BatchSpanProcessor::builder(exporter.map_err(|error| refused(&error))?).build();
        let version = KeyValue::new("service.version", VERSION);
        batches.set_resource(&Resource::builder().with_service_name(service).with_attribute(version).build());
        let batches = Arc::new(batches);
        // A process has one log.
        let _ = BATCHES.set(Arc::clone(&batches));
        Ok(Some(Self(batches)))
    }

    /// The spans that it wants.
    pub(crate) fn filter() -> Targets {
        Targets::new().with_target(SPANS, Level::TRACE)
    }
}

/// Sends what is left, for some seconds at most. Call it before the runtime ends.
pub(crate) fn flush() {
    if let Some(batches) = BATCHES.get() {
        let _ = batches.shutdown_with_timeout(LAST_WAIT);
    }
}

/// A span under way.
struct Open {
    name: &'static str,
    start: SystemTime,
    trace: u64,
    span: u64,
    parent: u64,
    status: Status,
    attributes: Vec<KeyValue>,
}

impl Visit for Open {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "error" => self.status = Status::error(value.to_owned()),
            name => self.attributes.push(KeyValue::new(name, value.to_owned())),
        }
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "trace" => self.trace = value,
            "span" => self.span = value,
            "parent" => self.parent = value,
            name => self.attributes.push(KeyValue::new(name, value as i64)),
        }
    }
}

impl Open {
    fn ended(self) -> SpanData {
        // A trace has 128 bits, of which the job's tag is one half.
        let trace = TraceId::from(u128::from(self.trace) << 64 | 1);
        let context = SpanContext::new(trace, SpanId::from(self.span), TraceFlags::SAMPLED, false, TraceState::NONE);
        SpanData {
            span_context: context,
            parent_span_id: SpanId::from(self.parent),
            parent_span_is_remote: self.parent != 0,
            span_kind: SpanKind::Internal,
            name: self.name.into(),
            start_time: self.start,
            end_time: SystemTime::now(),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self.status,
            instrumentation_scope: InstrumentationScope::builder("keima").build(),
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Traces {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut open = Open {
            name: attributes.metadata().name(),
            start: SystemTime::now(),
            trace: 0,
            span: 0,
            parent: 0,
            status: Status::Unset,
            attributes: Vec::new(),
        };
        attributes.record(&mut open);
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(open);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let open = context.span(&id).and_then(|span| span.extensions_mut().remove::<Open>());
        if let Some(open) = open {
            self.0.on_end(open.ended());
        }
    }
}
