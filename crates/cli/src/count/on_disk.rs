//! A count with runs on disk: a coordinator and a worker in this process, on the same code path as a cluster.

use std::sync::Arc;

use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_blocks::process::{process_memory_bytes, task_memory_bytes};
use keima_cluster::WorkerError;
use keima_coordinator::{JobStatus, Kept, State, read_certificate};
use keima_count::{LocalCluster, LocalConfig, LocalError};
use keima_model::Registry;

use super::counting::{Counting, DISK_BYTES, LOOK, extra};
use super::folders::Folders;
use super::take_up::{Limits, take_up};
use crate::exit::{Failed, INTERRUPTED};
use crate::machine::{Needed, asked_to_stop};
use crate::result::Finished;
use crate::terminal::output::is_thrown_away;
use crate::terminal::progress::Progress;

/// Counts and prints the result.
pub(super) async fn count(counting: &Counting<'_>, registry: Arc<dyn Registry>) -> Result<(), Failed> {
    Needed::TASKS.check(counting.threads)?;
    let (args, name) = (counting.args, counting.name);
    let folders = Folders::new(args, name)?;
    let memory_bytes = counting.on_disk_bytes();
    let disk_bytes = args.disk.unwrap_or(DISK_BYTES);
    let config = LocalConfig {
        data: folders.state.clone(),
        scratch: folders.scratch.clone(),
        memory_bytes,
        disk_bytes,
        slots: counting.threads,
        durable_interval_millis: args.checkpoint_seconds.saturating_mul(1000),
    };
    let cluster = LocalCluster::start(registry, config).map_err(|error| match error {
        LocalError::Worker(WorkerError::Memory { .. }) => {
            let least_bytes = process_memory_bytes(LEAST_TASK_BYTES, counting.threads);
            Failed::usage(format!("{error}{}", counting.machine.remark(least_bytes)))
        }
        error => error.into(),
    })?;
    let limits = Limits { task_memory_bytes: task_memory_bytes(memory_bytes, counting.threads), disk_bytes };
    let ended = match follow(counting, &cluster, limits).await {
        Ok(Followed::Over(status)) => Ok(*status),
        Ok(Followed::Interrupted) => Err(interrupted(counting, &cluster).await),
        Err(failed) => Err(failed),
    };
    let peak_bytes = cluster.disk_peak_bytes();
    let certificate = match &ended {
        Ok(status) => cluster.coordinator().certificate(status.id).await.ok().flatten(),
        Err(_) => None,
    };
    let certificate = certificate.as_deref().and_then(read_certificate);
    let refused = ended.is_err() && cluster.coordinator().jobs().await.is_ok_and(|jobs| jobs.is_empty());
    cluster.stop().await?;
    // The number is printed before anything is deleted: a number that cannot be printed must not be lost.
    let printed = ended
        .and_then(|status| (counting.tell)(&Finished::of_job(&status, certificate.as_ref()), &extra(Some(peak_bytes))));
    // A printed or refused count has nothing to resume.
    if args.data.is_none() && (printed.is_ok() && !is_thrown_away() || refused) {
        folders.tidy(args, name, refused);
    }
    printed
}

/// How a count that was followed ended.
enum Followed {
    /// It is over, or its worker has ended.
    Over(Box<JobStatus>),
    /// The process was asked to stop.
    Interrupted,
}

/// Follows the job until it is over, or until the process is asked to stop.
async fn follow(counting: &Counting<'_>, cluster: &LocalCluster, limits: Limits) -> Result<Followed, Failed> {
    let coordinator = cluster.coordinator();
    let id = take_up(counting, cluster, limits).await?;
    let mut progress = Progress::new(counting.shown());
    let stop = asked_to_stop();
    tokio::pin!(stop);
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = &mut stop => {
                progress.finish();
                return Ok(Followed::Interrupted);
            }
        }
        let status = coordinator.news(id, progress.values()).await?;
        // When the worker has ended, stopping the cluster tells why.
        if status.state.is_over() || !(stands_still(&status) || cluster.is_working()) {
            progress.finish();
            return Ok(Followed::Over(Box::new(coordinator.status(id).await?)));
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

/// Keeps what the count has reached, and says how much that is.
async fn interrupted(counting: &Counting<'_>, cluster: &LocalCluster) -> Failed {
    let kept = cluster.settle().await.unwrap_or_default();
    let text = match kept.iter().max_by_key(|kept| kept.job) {
        Some(kept) => kept_text(kept, counting.name),
        None => format!("the same command continues {} from its last durable boundary", counting.name),
    };
    Failed::new(INTERRUPTED, format!("interrupted; {text}"))
}

/// How much is kept of the count `name`, and what continues it.
fn kept_text(kept: &Kept, name: &str) -> String {
    let Kept { sweep, sweeps, pass, passes, tasks_done, tasks, .. } = *kept;
    let mut parts = Vec::new();
    if sweep > 0 {
        parts.push(format!("{sweep} of {sweeps} sweeps"));
    }
    if pass > 0 {
        parts.push(format!("{pass} of {passes} passes"));
    }
    if tasks_done > 0 {
        parts.push(format!("{tasks_done} of {tasks} tasks of the next stage"));
    }
    match parts.pop() {
        None => format!("nothing was complete yet, and the same command counts {name} from the beginning"),
        Some(last) if parts.is_empty() => format!("kept {last}, and the same command continues {name}"),
        Some(last) => format!("kept {} and {last}; the same command continues {name}", parts.join(", ")),
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

#[cfg(test)]
mod tests {
    use keima_coordinator::JobId;

    use super::*;

    #[test]
    fn an_interruption_says_how_much_is_kept() {
        let check = |(sweep, pass, tasks_done): (u32, u32, u32), expected: &str| {
            let kept = Kept { job: JobId(1), sweep, sweeps: 3, pass, passes: 81, tasks_done, tasks: 8 };
            assert_eq!(kept_text(&kept, "go-9x9"), expected);
        };
        check((0, 0, 0), "nothing was complete yet, and the same command counts go-9x9 from the beginning");
        check((0, 27, 0), "kept 27 of 81 passes, and the same command continues go-9x9");
        check((0, 0, 2), "kept 2 of 8 tasks of the next stage, and the same command continues go-9x9");
        check(
            (1, 27, 2),
            "kept 1 of 3 sweeps, 27 of 81 passes and 2 of 8 tasks of the next stage; the same command continues go-9x9",
        );
    }
}
