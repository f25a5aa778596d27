//! Traces: a collector of OTLP in the test gets the spans of stages and tasks, the tasks below their stages, and which task
//! failed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use tonic::{Request, Response, Status};

use crate::harness::cluster::{Cluster, Setup};
use crate::numbers::golden::legal;

type Requests = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

struct Collector(Requests);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// Starts a collector; its URL and what it got.
fn collector(runtime: &tokio::runtime::Runtime) -> (String, Requests) {
    let got = Requests::default();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let service = TraceServiceServer::new(Collector(Arc::clone(&got)));
    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
    runtime.spawn(tonic::transport::Server::builder().add_service(service).serve(address));
    (url, got)
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<&str, &str> {
    fn text(pair: &KeyValue) -> Option<(&str, &str)> {
        match &pair.value {
            Some(AnyValue { value: Some(Value::StringValue(text)) }) => Some((&pair.key, text)),
            _ => None,
        }
    }
    attributes.iter().filter_map(text).collect()
}

#[test]
fn spans_of_stages_and_tasks_reach_a_collector() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (url, got) = collector(&runtime);
    let mut cluster = Cluster::start(Setup {
        environment: vec![("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), url)],
        ..Setup::default()
    });
    // The thread of one task fails; the task is done again.
    let mut worker = cluster.worker("a", "worker.mid_task=panic@5");
    let job = cluster.submit("6x6");
    assert_eq!(cluster.client(&["watch", &job]).ok(), legal("6x6"));
    assert!(worker.stderr().contains("failpoint worker.mid_task hit"));
    // What is left is sent at the end.
    worker.signal("TERM");
    assert_eq!(worker.ended().code(), Some(0));
    cluster.coordinator.signal("TERM");
    assert_eq!(cluster.coordinator.ended().code(), Some(0));
    let got = got.lock().unwrap();
    let (mut stages, mut tasks, mut failed) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut traces = BTreeSet::new();
    for resource in got.iter().flat_map(|request| &request.resource_spans) {
        let about = texts(&resource.resource.as_ref().unwrap().attributes);
        for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            assert!(span.end_time_unix_nano >= span.start_time_unix_nano && span.start_time_unix_nano > 0);
            traces.insert(span.trace_id.clone());
            let attributes = texts(&span.attributes);
            assert_eq!(attributes["keima.job"], job);
            let status = span.status.clone().unwrap_or_default();
            if status.code() != StatusCode::Unset {
                failed.push((status.code(), span.name.clone(), status.message));
            }
            match span.name.as_str() {
                "stage" => {
                    assert_eq!(about["service.name"], "keima-coordinator");
                    assert!(span.parent_span_id.is_empty());
                    let again = stages.insert(span.span_id.clone(), attributes["keima.stage"].to_owned());
                    assert_eq!(again, None, "a stage twice");
                }
                "task" => {
                    assert_eq!(about["service.name"], "keima-worker");
                    let of = |name: &str| attributes[name].to_owned();
                    assert_eq!(of("keima.worker").len(), 16, "{attributes:?}");
                    assert!(of("keima.attempt").starts_with(&of("keima.task")), "{attributes:?}");
                    assert!(of("keima.task").starts_with(&of("keima.stage")), "{attributes:?}");
                    tasks.push((span.parent_span_id.clone(), of("keima.stage")));
                }
                other => panic!("a span {other}"),
            }
        }
    }
    assert_eq!(traces.len(), 1, "one job, one trace");
    let [(StatusCode::Error, name, reason)] = &failed[..] else { panic!("expected one failed task: {failed:?}") };
    assert!(name == "task" && reason.contains("panic"), "{failed:?}");
    assert!(stages.len() > 5 && tasks.len() >= stages.len(), "{} stages, {} tasks", stages.len(), tasks.len());
    for (parent, stage) in &tasks {
        assert_eq!(stages.get(parent), Some(stage), "the task stands below another stage");
    }
    let with_tasks: BTreeSet<_> = tasks.iter().map(|(parent, _)| parent).collect();
    assert_eq!(with_tasks.len(), stages.len(), "a stage without a task");
}
