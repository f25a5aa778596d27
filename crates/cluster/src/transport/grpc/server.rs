//! The gRPC servers: the coordinator's, for workers and users, and a worker's run service. Both offer health checks and
//! reflection.
//!
//! The caller binds the listener, so it knows the port before the server starts. On shutdown, long polls and watches end
//! and open calls get their answers. Calls that are still open after [`DRAIN`] are cut off.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use keima_coordinator::{AttemptId, Hello, JobId, JobSpec, Report, Running, Terms, Used, Wanted, WorkerId};
use keima_wire::v1;
use keima_wire::v1::coordinator_service_server::{CoordinatorService, CoordinatorServiceServer};
use keima_wire::v1::job_service_server::{JobService, JobServiceServer};
use keima_wire::v1::run_service_server::RunServiceServer;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tonic::{Request, Response, Status, Streaming};
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};
use tower_layer::{Identity, Stack};

use super::accept::{Limits, incoming};
use super::pieces::{Pieces, send_job, watch_job};
use super::{ANSWER_BYTES, check_version, invalid, to_status};
use crate::access::calls::{MESSAGE_BYTES, REQUEST_BYTES};
use crate::access::door::Door;
use crate::access::guard::Guard;
use crate::driver::CoordinatorHandle;
use crate::scratch::run_store::RunStore;
use crate::store::journal::JournalError;
use crate::transfer::run_server::RunServer;
use crate::transport::convert::pages::{Joining, Paged};
use crate::transport::convert::{
    ConvertError, TEXT_BYTES, Wire, bounded, job_filter, list_from, list_to, replan_from, required, run_ids,
    terms_change, worker_id,
};
use crate::transport::link::{CoordinatorLink, LinkError};

/// Longest wait for open calls after a shutdown.
const DRAIN: Duration = Duration::from_secs(3);
/// Share of a coordinator's file descriptors for connections.
const COORDINATOR_PERCENT: usize = 75;
/// The same of a worker's, which keeps runs open too.
const WORKER_PERCENT: usize = 40;

/// Why serving ended before the shutdown.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The transport failed.
    #[error("serving failed: {0}; is the port still free, and is there memory and are there file descriptors left?")]
    Transport(#[from] tonic::transport::Error),
    /// The reflection service cannot start: the program was built wrongly.
    #[error("the description of the services is damaged: {0}; build keima again")]
    Reflection(String),
    /// The coordinator can store nothing more.
    #[error("the jobs' state cannot be stored any more: {0}")]
    Records(Arc<JournalError>),
}

/// Serves a coordinator until `shutdown`, or until it cannot store its records any more.
pub async fn serve_coordinator(
    listener: TcpListener,
    handle: CoordinatorHandle,
    door: &Door,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<CoordinatorServiceServer<Coordination>>().await;
    reporter.set_serving::<JobServiceServer<Jobs>>().await;
    let routes = coordinator_routes(handle.clone()).add_service(health).add_service(reflection()?);
    let router = builder(Guard::new(door).limited()).add_routes(routes);
    let mut failed = None;
    let stop = async {
        tokio::select! {
            () = shutdown => {}
            why = handle.failure() => {
                tracing::error!(%why, "the coordinator stops");
                failed = Some(why);
            }
        }
        reporter.set_not_serving::<CoordinatorServiceServer<Coordination>>().await;
        handle.close();
    };
    serve(listener, door, Limits::of_files(COORDINATOR_PERCENT), router, stop).await?;
    failed.map_or(Ok(()), |why| Err(ServeError::Records(why)))
}

/// What stands before all services.
type Guarding = Stack<Guard, Identity>;

/// What a coordinator does for workers and users.
pub fn coordinator_routes(handle: CoordinatorHandle) -> Routes {
    let coordination = CoordinatorServiceServer::new(Coordination { handle: handle.clone() })
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(ANSWER_BYTES);
    let jobs = JobServiceServer::new(Jobs { handle })
        .max_decoding_message_size(REQUEST_BYTES)
        .max_encoding_message_size(ANSWER_BYTES);
    Routes::new(coordination).add_service(jobs)
}

/// What a worker with the runs in `store` does for other workers.
pub fn worker_routes(store: Arc<RunStore>) -> Routes {
    Routes::new(RunServiceServer::new(RunServer::new(store)).max_decoding_message_size(REQUEST_BYTES))
}

/// Serves the runs in `store` to other workers until `shutdown`.
pub async fn serve_worker_runs(
    listener: TcpListener,
    store: Arc<RunStore>,
    door: &Door,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<RunServiceServer<RunServer>>().await;
    let router =
        builder(Guard::new(door)).add_routes(worker_routes(store).add_service(health).add_service(reflection()?));
    serve(listener, door, Limits::of_files(WORKER_PERCENT), router, shutdown).await
}

fn builder(guard: Guard) -> Server<Guarding> {
    // A merge opens many runs at once and needs them all: see `run_server`.
    Server::builder()
        .max_concurrent_streams(Some(1 << 16))
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .layer(guard)
}

fn reflection() -> Result<ServerReflectionServer<impl ServerReflection>, ServeError> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::DESCRIPTORS)
        .build_v1()
        .map_err(|e| ServeError::Reflection(e.to_string()))
}

async fn serve(
    listener: TcpListener,
    door: &Door,
    limits: Limits,
    router: Router<Guarding>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let incoming = incoming(listener, door.tls.clone(), limits);
    let (stopping, mut stopped) = watch::channel(false);
    let signal = async move {
        stop.await;
        stopping.send_replace(true);
        // Keep the sender until the server ends: dropping it would look like a shutdown.
        stopping.closed().await;
    };
    let mut begun = stopped.clone();
    let serving = router.serve_with_incoming_shutdown(incoming, async move {
        let _ = begun.wait_for(|&stopping| stopping).await;
    });
    let cut_off = async move {
        let _ = stopped.wait_for(|&stopping| stopping).await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        ended = serving => Ok(ended?),
        () = cut_off => Ok(()),
        () = signal => Ok(()),
    }
}

#[allow(clippy::result_large_err)]
fn fine<T>(converted: Result<T, ConvertError>) -> Result<T, Status> {
    converted.map_err(|e| invalid(&e))
}

#[allow(clippy::result_large_err)]
fn answer<T>(result: Result<T, LinkError>) -> Result<T, Status> {
    result.map_err(|e| to_status(&e))
}

/// The messages of a call as one, after a look at the first.
async fn joined<P: Paged + Default>(
    mut pages: Streaming<P>,
    look: impl FnOnce(&P) -> Result<(), Status> + Send,
) -> Result<P, Status> {
    let first = pages.message().await?.unwrap_or_default();
    look(&first)?;
    let mut joining = Joining::new(first);
    while let Some(page) = pages.message().await? {
        fine(joining.add(page))?;
    }
    Ok(joining.whole())
}

/// The coordinator's service for workers.
struct Coordination {
    handle: CoordinatorHandle,
}

#[tonic::async_trait]
impl CoordinatorService for Coordination {
    async fn say_hello(
        &self,
        request: Request<Streaming<v1::SayHelloRequest>>,
    ) -> Result<Response<v1::SayHelloResponse>, Status> {
        let request = joined(request.into_inner(), |first| check_version(first.protocol_version)).await?;
        let hello = fine(Hello::from_wire(request))?;
        let welcome = answer(self.handle.hello(hello).await)?;
        Ok(Response::new(welcome.to_wire()))
    }

    async fn heartbeat(
        &self,
        request: Request<Streaming<v1::HeartbeatRequest>>,
    ) -> Result<Response<v1::HeartbeatResponse>, Status> {
        let request = joined(request.into_inner(), |_| Ok(())).await?;
        let worker = fine(worker_id("HeartbeatRequest.worker", request.worker))?;
        let running: Vec<Running> = fine(list_from(request.running))?;
        let held = fine(run_ids("HeartbeatRequest.held", request.held))?;
        let used = Used { disk_bytes: request.disk_used_bytes, memory_bytes: request.memory_used_bytes };
        let housekeeping = answer(self.handle.heartbeat(&worker, request.epoch, running, held, used).await)?;
        Ok(Response::new(v1::HeartbeatResponse { housekeeping: Some(housekeeping.to_wire()) }))
    }

    async fn pull_task(&self, request: Request<v1::PullTaskRequest>) -> Result<Response<v1::PullTaskResponse>, Status> {
        let request = request.into_inner();
        let worker = fine(worker_id("PullTaskRequest.worker", request.worker))?;
        let wanted = if request.copy { Wanted::Copy } else { Wanted::Task };
        let grant = answer(self.handle.pull(&worker, request.epoch, wanted).await)?;
        Ok(Response::new(v1::PullTaskResponse { grant: grant.as_ref().map(Wire::to_wire) }))
    }

    async fn report_task(
        &self,
        request: Request<Streaming<v1::ReportTaskRequest>>,
    ) -> Result<Response<v1::ReportTaskResponse>, Status> {
        let request = joined(request.into_inner(), |_| Ok(())).await?;
        let worker: WorkerId = fine(worker_id("ReportTaskRequest.worker", request.worker))?;
        let attempt = fine(required("ReportTaskRequest.attempt", request.attempt).and_then(AttemptId::from_wire))?;
        let report = fine(required("ReportTaskRequest.report", request.report).and_then(Report::from_wire))?;
        let taken = self.handle.report(&worker, request.epoch, attempt, request.nonce, report).await;
        Ok(Response::new(answer(taken)?.to_wire()))
    }

    async fn say_goodbye(
        &self,
        request: Request<v1::SayGoodbyeRequest>,
    ) -> Result<Response<v1::SayGoodbyeResponse>, Status> {
        let request = request.into_inner();
        let worker = fine(worker_id("SayGoodbyeRequest.worker", request.worker))?;
        answer(self.handle.goodbye(&worker, request.epoch).await)?;
        Ok(Response::new(v1::SayGoodbyeResponse {}))
    }
}

/// The coordinator's service for users.
struct Jobs {
    handle: CoordinatorHandle,
}

#[tonic::async_trait]
impl JobService for Jobs {
    type GetJobStream = ReceiverStream<Result<v1::GetJobResponse, Status>>;
    type WatchJobStream = ReceiverStream<Result<v1::WatchJobResponse, Status>>;

    async fn submit_job(
        &self,
        request: Request<v1::SubmitJobRequest>,
    ) -> Result<Response<v1::SubmitJobResponse>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let terms = fine(request.terms.map(Terms::from_wire).transpose())?.unwrap_or_default();
        if !request.resume_from.is_empty() {
            let from = fine(bounded("SubmitJobRequest.resume_from", request.resume_from, TEXT_BYTES))?;
            let replan = request.replan.map(replan_from);
            let job = answer(self.handle.resume_from(&from, terms, replan).await)?;
            return Ok(Response::new(v1::SubmitJobResponse { job: job.0 }));
        }
        let spec = fine(required("SubmitJobRequest.spec", request.spec).and_then(JobSpec::from_wire))?;
        let job = answer(self.handle.submit_as(spec, terms).await)?;
        Ok(Response::new(v1::SubmitJobResponse { job: job.0 }))
    }

    async fn list_jobs(&self, request: Request<v1::ListJobsRequest>) -> Result<Response<v1::ListJobsResponse>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let page = answer(self.handle.list(&fine(job_filter(request))?).await)?;
        Ok(Response::new(v1::ListJobsResponse { jobs: list_to(&page.jobs), next: page.next.map(|job| job.0) }))
    }

    async fn get_job(&self, request: Request<v1::GetJobRequest>) -> Result<Response<Self::GetJobStream>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let mut reading = self.handle.reading(JobId(request.job));
        let status = answer(reading.brief().await)?;
        let wanted = Pieces { newest_values: request.newest_values, certificate: request.certificate };
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(send_job(reading, status, wanted, sender));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn watch_job(&self, request: Request<v1::WatchJobRequest>) -> Result<Response<Self::WatchJobStream>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let job = JobId(request.job);
        let first = answer(self.handle.brief(job).await)?;
        let known = request.values_known as usize;
        let millis = if request.interval_millis == 0 { 1000 } else { request.interval_millis.clamp(100, 60_000) };
        let (sender, receiver) = mpsc::channel(1);
        let interval = Duration::from_millis(millis.into());
        tokio::spawn(watch_job(self.handle.clone(), job, first, known, interval, sender));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn pause_job(&self, request: Request<v1::PauseJobRequest>) -> Result<Response<v1::PauseJobResponse>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        answer(self.handle.pause(JobId(request.job)).await)?;
        Ok(Response::new(v1::PauseJobResponse {}))
    }

    async fn resume_job(
        &self,
        request: Request<v1::ResumeJobRequest>,
    ) -> Result<Response<v1::ResumeJobResponse>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        answer(self.handle.resume(JobId(request.job)).await)?;
        Ok(Response::new(v1::ResumeJobResponse {}))
    }

    async fn cancel_job(
        &self,
        request: Request<v1::CancelJobRequest>,
    ) -> Result<Response<v1::CancelJobResponse>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        answer(self.handle.cancel(JobId(request.job)).await)?;
        Ok(Response::new(v1::CancelJobResponse {}))
    }

    async fn change_job(
        &self,
        request: Request<v1::ChangeJobRequest>,
    ) -> Result<Response<v1::ChangeJobResponse>, Status> {
        let request = request.into_inner();
        check_version(request.protocol_version)?;
        let job = JobId(request.job);
        answer(self.handle.change(job, &terms_change(request)).await)?;
        Ok(Response::new(v1::ChangeJobResponse {}))
    }

    async fn list_workers(
        &self,
        request: Request<v1::ListWorkersRequest>,
    ) -> Result<Response<v1::ListWorkersResponse>, Status> {
        check_version(request.into_inner().protocol_version)?;
        let workers = answer(self.handle.workers().await)?;
        Ok(Response::new(v1::ListWorkersResponse { workers: list_to(&workers) }))
    }
}
