//! A count with runs on disk: a coordinator and a worker in this process, on the same code path as a cluster.

use std::sync::Arc;

use keima_blocks::process::task_memory_bytes;
use keima_coordinator::{JobStatus, State};
use keima_count::{LocalCluster, LocalConfig};
use keima_model::Registry;

use super::folders::Folders;
use super::take_up::{Limits, take_up};
use super::{Counting, DISK_BYTES, LOOK, MEMORY_BYTES, extra};
use crate::exit::{Failed, INTERRUPTED};
use crate::machine::asked_to_stop;
use crate::result::{Finished, print_finished};
use crate::terminal::progress::Progress;

/// Counts and prints the result.
pub(super) async fn count(counting: &Counting<'_>, registry: Arc<dyn Registry>) -> Result<(), Failed> {
    let (args, name) = (counting.args, counting.name);
    let folders = Folders::new(args, name)?;
    let memory_bytes = args.memory.unwrap_or(MEMORY_BYTES);
    let disk_bytes = args.disk.unwrap_or(DISK_BYTES);
    let config = LocalConfig {
        data: folders.state.clone(),
        scratch: folders.scratch.clone(),
        memory_bytes,
        disk_bytes,
        slots: counting.threads,
        durable_interval_millis: args.checkpoint_seconds.saturating_mul(1000),
    };
    let cluster = LocalCluster::start(registry, config)?;
    let limits = Limits { task_memory_bytes: task_memory_bytes(memory_bytes, counting.threads), disk_bytes };
    let ended = follow(counting, &cluster, limits).await;
    let peak_bytes = cluster.disk_peak_bytes();
    let refused = ended.is_err() && cluster.coordinator().jobs().await.is_ok_and(|jobs| jobs.is_empty());
    cluster.stop().await?;
    // The number is printed before anything is deleted: a number that cannot be printed must not be lost.
    let printed = ended.and_then(|status| {
        let count = Finished::of_job(&status);
        let info = Some(counting.problem.info());
        print_finished(&count, info, counting.wanted, args.output.quiet, &extra(Some(peak_bytes)))
    });
    // A printed or refused count has nothing to resume.
    if args.data.is_none() && (printed.is_ok() || refused) {
        folders.tidy(args, name, refused);
    }
    printed
}

/// Follows the job until it is over.
async fn follow(counting: &Counting<'_>, cluster: &LocalCluster, limits: Limits) -> Result<JobStatus, Failed> {
    let coordinator = cluster.coordinator();
    let id = take_up(counting, cluster, limits).await?;
    let mut progress = Progress::new(counting.args.output.quiet);
    let stop = asked_to_stop();
    tokio::pin!(stop);
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = &mut stop => {
                progress.finish();
                let next = format!("the same command continues {} from its last durable boundary", counting.name);
                return Err(Failed::new(INTERRUPTED, format!("interrupted; {next}")));
            }
        }
        let status = coordinator.status(id).await?;
        // When the worker has ended, stopping the cluster tells why.
        if status.state.is_over() || !(stands_still(&status) || cluster.is_working()) {
            progress.finish();
            return Ok(status);
        }
        if stands_still(&status) {
            progress.finish();
            // The reason in the status has advice for users of a coordinator.
            let why = coordinator.stuck(id).await?.map(|stuck| stuck.to_string());
            return Err(stuck(counting.name, &status, why));
        }
        progress.show(&status);
    }
}

/// Whether nothing happens any more without a person: the job is paused, or its worker is idle and tells why.
fn stands_still(status: &JobStatus) -> bool {
    status.state == State::Paused || status.workers.iter().any(|worker| !worker.note.is_empty() && worker.running == 0)
}

/// The error of a count that stands still. `why` is the coordinator's reason where it has one.
fn stuck(name: &str, status: &JobStatus, why: Option<String>) -> Failed {
    let text = if status.state == State::Paused {
        let why = why.unwrap_or_else(|| status.reason.clone());
        format!("{name} is paused: {why}. Then run the same command again to continue")
    } else {
        let notes: Vec<&str> = status.workers.iter().map(|worker| worker.note.as_str()).collect();
        format!(
            "{name} cannot continue: {}. Fix that (a full disk: free space, or allow more with --disk), then run the \
             same command again to continue",
            notes.join("; ")
        )
    };
    Failed::new(INTERRUPTED, text)
}
