//! `keima count`: in the memory of this process ([`InMemory`]) where that fits, else a coordinator and a worker in it, on
//! the same code path as a cluster.
//!
//! The state of a run on disk is kept in a folder named after the job, so that the same command typed again after a kill
//! goes on from the last durable boundary.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keima_blocks::process::task_memory_bytes;
use keima_cluster::OpenProblems;
use keima_coordinator::{JobId, JobSpec, JobStatus, State};
use keima_count::{InMemory, LocalCluster, LocalConfig};
use keima_model::{AnyProblem, ProblemInfo, ProblemRequest, Registry};
use keima_problems::Problems;

use crate::args::{CountArgs, Executor};
use crate::client::request;
use crate::exit::{self, Failed};
use crate::output::say;
use crate::progress::Progress;
use crate::result::{Extra, Finished, Wanted, lacks_series, print_finished};
use crate::service::{asked_to_stop, cores};
use crate::units::show_bytes;

/// Cap on the scratch folder where none is given.
pub(crate) const DISK_BYTES: u64 = 50 << 30;
/// Memory of a count with runs on disk where none is given.
pub(crate) const MEMORY_BYTES: u64 = 2 << 30;
/// How often the job is looked at: often enough for small boards to end at once.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn default_data(name: &str) -> Result<PathBuf, Failed> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let state = state.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")));
    let Some(state) = state else {
        return Err(Failed::usage(
            "neither XDG_STATE_HOME nor HOME is set; say where to keep the run's state with --data DIR",
        ));
    };
    Ok(state.join("keima").join(name))
}

/// A problem, its size and its options in one word.
fn problem_name(request: &ProblemRequest, size: &str) -> String {
    let mut name = format!("{}-{size}", request.name);
    for (option, value) in &request.options {
        name += &format!("-{option}{value}");
    }
    name
}

/// The same with nothing in it that a folder's name should not have.
fn folder_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(120).collect()
}

/// Folders of a count's state and of its runs: `(state, scratch)`.
fn folders(args: &CountArgs, data: &Path) -> (PathBuf, PathBuf) {
    (data.join("state"), args.scratch.clone().unwrap_or_else(|| data.join("scratch")))
}

/// Deletes what earlier runs of this count left; refuses if one of them is still at work.
fn forget(args: &CountArgs, name: &str) -> Result<(), Failed> {
    let data = match &args.data {
        Some(data) => data.clone(),
        // Where there is no folder, nothing was left.
        None => match default_data(name) {
            Ok(data) => data,
            Err(_) => return Ok(()),
        },
    };
    let (state, scratch) = folders(args, &data);
    LocalCluster::forget(&state, &scratch)?;
    LocalCluster::forget(&state, &data.join("scratch"))?;
    if args.data.is_none() {
        InMemory::forget(&data, name);
    }
    Ok(())
}

pub(crate) async fn count(args: CountArgs) -> Result<(), Failed> {
    count_from(args, Arc::new(Problems)).await
}

/// Counts a problem of `registry`, which is opened once.
async fn count_from(args: CountArgs, registry: Arc<dyn Registry>) -> Result<(), Failed> {
    let registry = Arc::new(OpenProblems::new(registry));
    let request = request(&args.problem);
    let problem = registry.open(&request)?;
    let wanted = Wanted::new(&args.output.result, args.output.json);
    wanted.check(problem.info())?;
    let name = folder_name(&problem_name(&request, &problem.info().size()));
    let slots = args.threads.unwrap_or_else(cores);
    if args.fresh {
        forget(&args, &name)?;
    }
    if let Some(in_memory) = in_memory(&args, &problem, slots, &name)? {
        return count_in_memory(&args, &wanted, &request, in_memory, &name).await;
    }
    let own_folder = args.data.is_none();
    let data = args.data.clone().map_or_else(|| default_data(&name), Ok)?;
    let (state, scratch) = folders(&args, &data);
    let memory_bytes = args.memory.unwrap_or(MEMORY_BYTES);
    let disk_bytes = args.disk.unwrap_or(DISK_BYTES);
    let config = LocalConfig {
        data: state.clone(),
        scratch: scratch.clone(),
        memory_bytes,
        disk_bytes,
        slots,
        durable_interval_millis: args.checkpoint_seconds.saturating_mul(1000),
    };
    let cluster = LocalCluster::start(registry, config)?;
    let task_memory = task_memory_bytes(memory_bytes, slots);
    let ended = run(&args, problem.info(), &cluster, &name, task_memory, disk_bytes).await;
    let peak = cluster.disk_peak_bytes();
    let refused = ended.is_err() && cluster.coordinator().jobs().await.is_ok_and(|jobs| jobs.is_empty());
    cluster.stop().await?;
    let mut extra = Extra::default();
    extra.0.insert("scratch_peak_bytes", peak.into());
    if let Some(bytes) = peak_memory_bytes() {
        extra.0.insert("peak_memory_bytes", bytes.into());
    }
    // The number first: what cannot be printed stays where it is.
    let printed = ended.and_then(|status| {
        let count = Finished::of_job(&status);
        print_finished(&count, Some(problem.info()), &wanted, args.output.quiet, &extra)
    });
    // A finished run has nothing to resume, nor has one that was refused; the folder was ours to make.
    if own_folder && (printed.is_ok() || refused) {
        let tidied = if refused { leave(&args, &data) } else { forget(&args, &name) };
        if let Err(error) = tidied {
            say(format_args!("keima: {} is left behind: {}", data.display(), error.text));
        }
        let _ = std::fs::remove_dir(&data);
    }
    printed
}

/// Deletes what a run has left that was refused. In a scratch folder that was named there may be runs of others.
fn leave(args: &CountArgs, data: &Path) -> Result<(), Failed> {
    let (state, scratch) = folders(args, data);
    if args.scratch.is_some() {
        LocalCluster::leave(&scratch)?;
    }
    Ok(LocalCluster::forget(&state, &data.join("scratch"))?)
}

/// The count by the block executor in memory, where that is what nobody forbade: for blocks that fit, and of which no
/// run was begun out of core.
fn in_memory(args: &CountArgs, problem: &AnyProblem, slots: u32, name: &str) -> Result<Option<InMemory>, Failed> {
    // Words about runs on disk.
    let out_of_core = args.scratch.is_some()
        || args.disk.is_some()
        || args.data.is_some()
        || args.plan.window.is_some()
        || args.plan.residues_per_sweep.is_some();
    let kept = || default_data(name).map_or(0, |data| InMemory::kept_in(&data, name));
    let begun = || default_data(name).is_ok_and(|data| data.join("state").exists());
    let allowed = args.memory.unwrap_or_else(|| available_memory_bytes().map_or(MEMORY_BYTES, |bytes| bytes / 4 * 3));
    let forbidden = args.plan.executor == Executor::Stream || out_of_core || begun();
    if forbidden || InMemory::fit(problem, slots, allowed).is_none() {
        // Hours of work may be in them.
        return match if args.data.is_none() { kept() } else { 0 } {
            0 => Ok(None),
            found => Err(Failed::usage(format!(
                "{found} residues of {name} are kept of a count in memory that was interrupted, and this one would be on \
                 disk, from the beginning: type the same command as before, with as much memory (here {} are allowed; \
                 --memory says how much), or begin anew with --fresh or in a folder of its own (--data DIR)",
                show_bytes(allowed)
            ))),
        };
    }
    InMemory::new(problem.clone(), slots, allowed, args.output.result.series)
        .map(Some)
        .map_err(|e| Failed::usage(e.to_string()))
}

/// Memory that the system could give to a new process without swapping, where it tells; a container's limit counts.
pub(crate) fn available_memory_bytes() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limits = limits.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok());
    Some(limits.fold(available, u64::min))
}

async fn count_in_memory(
    args: &CountArgs,
    wanted: &Wanted,
    request: &ProblemRequest,
    in_memory: InMemory,
    name: &str,
) -> Result<(), Failed> {
    let in_memory = Arc::new(in_memory);
    let data = default_data(name).ok();
    let kept = data.as_deref().and_then(|data| in_memory.keep_in(data, name));
    if let Some((found @ 1.., residues)) = kept.filter(|_| !args.output.quiet) {
        say(format_args!("going on with {name}: {found} of {residues} residues were kept"));
    }
    let mut progress = Progress::new(args.output.quiet);
    let counting = Arc::clone(&in_memory);
    let mut counting = tokio::task::spawn_blocking(move || counting.count());
    let stop = asked_to_stop();
    tokio::pin!(stop);
    let mut look = tokio::time::interval(LOOK);
    let ended = loop {
        tokio::select! {
            ended = &mut counting => break ended,
            _ = look.tick() => progress.show_in_memory(&in_memory.progress()),
            () = &mut stop => {
                in_memory.stop();
                progress.finish();
                let what = match kept {
                    None => "was counted in memory and begins anew (with --data DIR it is kept on disk and can be resumed)",
                    Some(_) => "goes on after the last of its sweeps that was done, if the same command is typed again",
                };
                return Err(Failed::new(exit::INTERRUPTED, format!("interrupted; {name} {what}")));
            }
        }
    };
    progress.finish();
    let result = ended
        .map_err(|panic| Failed::other(format!("the count failed: {panic}; please report it")))?
        .map_err(|error| Failed::other(error.to_string()))?;
    let mut extra = Extra::default();
    if let Some(bytes) = peak_memory_bytes() {
        extra.0.insert("peak_memory_bytes", bytes.into());
    }
    let count = Finished::in_memory(request, &result);
    print_finished(&count, Some(in_memory.info()), wanted, args.output.quiet, &extra)?;
    if let Some(data) = &data {
        // Of a count that went on in another way, with more memory, too.
        InMemory::forget(data, name);
    }
    Ok(())
}

/// Most memory that this process has had resident, where the system tells.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

async fn run(
    args: &CountArgs,
    info: &dyn ProblemInfo,
    cluster: &LocalCluster,
    name: &str,
    task_memory_bytes: u64,
    disk_bytes: u64,
) -> Result<JobStatus, Failed> {
    let coordinator = cluster.coordinator();
    let id = take_up(args, info, cluster, task_memory_bytes, disk_bytes).await?;
    let mut progress = Progress::new(args.output.quiet);
    let stop = asked_to_stop();
    tokio::pin!(stop);
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = &mut stop => {
                progress.finish();
                return Err(Failed::new(exit::INTERRUPTED, format!(
                    "interrupted; type the same command again to go on with {name} from the last durable boundary"
                )));
            }
        }
        let status = coordinator.status(id).await?;
        if status.state.is_over() {
            progress.finish();
            return Ok(status);
        }
        if status.state == State::Paused {
            progress.finish();
            // The status's own advice is for people with a coordinator to talk to.
            let why = coordinator.stuck(id).await?.map_or_else(|| status.reason.clone(), |stuck| stuck.to_string());
            return Err(Failed::new(
                exit::INTERRUPTED,
                format!(
                    "{name} is paused: {why}, then type the same command again to go on (with a larger --disk if that was it)"
                ),
            ));
        }
        if let Some(worker) = status.workers.iter().find(|w| !w.note.is_empty() && w.running == 0) {
            progress.finish();
            return Err(Failed::new(
                exit::INTERRUPTED,
                format!(
                    "{name} cannot go on here: {}; put that right (a full disk: free space, or a larger --disk), then type \
                 the same command again to go on",
                    worker.note
                ),
            ));
        }
        if !cluster.is_working() {
            // Stopping tells why.
            progress.finish();
            return Ok(status);
        }
        progress.show(&status);
    }
}

/// The job of this run: one that was interrupted, or a new one.
async fn take_up(
    args: &CountArgs,
    info: &dyn ProblemInfo,
    cluster: &LocalCluster,
    task_memory_bytes: u64,
    disk_bytes: u64,
) -> Result<JobId, Failed> {
    let coordinator = cluster.coordinator();
    let say = |text: String| {
        if !args.output.quiet {
            crate::output::say(text);
        }
    };
    let jobs = coordinator.jobs().await?;
    let wanted = request(&args.problem);
    // As the problem says it: 20x18 may be 18x20 to it.
    let size = info.size();
    let same = |s: &&JobStatus| s.problem == wanted.name && s.size == size && s.options == wanted.options;
    let unfinished = |s: &&JobStatus| matches!(s.state, State::Queued | State::Running | State::Paused);
    if let Some(other) = jobs.iter().filter(|s| !same(s)).find(unfinished) {
        return Err(Failed::usage(format!(
            "an interrupted count of {} {} lies in this folder and would go on before this one: finish it with its own \
             command, delete it with --fresh, or take another folder (--data DIR)",
            other.problem, other.size
        )));
    }
    if let Some(old) = jobs.iter().rev().find(same) {
        // Such a count reads off only those shorter boards that its forward vector passes.
        let lacking = args.output.result.series && old.plan.as_ref().is_some_and(lacks_series);
        match old.state {
            State::Done if lacking => say(format!(
                "{} {} was counted here before, but without the boards that --series prints: it is counted anew",
                old.problem, old.size
            )),
            State::Queued | State::Running | State::Paused if lacking => {
                return Err(Failed::usage(
                    "the interrupted run was begun without --series, and does not read off all shorter boards; leave out \
                     --series to go on with it, or start anew with --fresh",
                ));
            }
            State::Done => {
                say(format!("{} {} was counted here before; --fresh counts it anew", old.problem, old.size));
                return Ok(old.id);
            }
            State::Queued | State::Running | State::Paused => {
                let wants = old.plan.as_ref().map_or(0, |p| p.task_memory_bytes);
                if wants > task_memory_bytes {
                    return Err(Failed::usage(format!(
                        "the interrupted run was begun with tasks of {}, but --memory and --threads leave {} for each; \
                         give it as much as before, or start anew with --fresh",
                        show_bytes(wants),
                        show_bytes(task_memory_bytes)
                    )));
                }
                let begun = old.plan.as_ref().map_or("", |plan| &plan.executor);
                let asked = match args.plan.executor {
                    Executor::Auto => begun,
                    Executor::Stream => "stream",
                    Executor::Block => "block",
                };
                if asked != begun {
                    return Err(Failed::usage(format!(
                        "the interrupted run was begun by the {begun} executor; leave out --executor to go on with it, or \
                         start anew with --fresh"
                    )));
                }
                if old.state == State::Paused {
                    coordinator.resume(old.id).await?;
                }
                let how = old.plan.as_ref().map_or(String::new(), |plan| {
                    let windows = plan.windows.iter().map(|window| window.len).max().unwrap_or(0);
                    let residues = plan.sweeps.first().map_or(0, |&(first, end)| end - first);
                    format!(", as it was begun: {begun} executor, windows of up to {windows} cells, {residues} residues a sweep")
                });
                let after = crate::units::show_seconds(old.seconds);
                say(format!("going on with {} {} after {after}{how}", old.problem, old.size));
                return Ok(old.id);
            }
            State::CheckFailed | State::Cancelled => {}
        }
    }
    let spec = JobSpec {
        problem: request(&args.problem),
        priority: 0,
        task_memory_bytes,
        disk_bytes: Some(disk_bytes),
        residues_per_sweep: args.plan.residues_per_sweep,
        window: args.plan.window,
        slots: args.threads.unwrap_or_else(cores),
        worker_slots: args.threads.unwrap_or_else(cores),
        executor: args.plan.executor.into(),
        series: args.output.result.series,
    };
    Ok(coordinator.submit(spec).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use clap::Parser;
    use keima_model::ProblemError;

    use super::*;
    use crate::args::{Cli, Verb};

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Registry for Counting {
        fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Problems.open(request)
        }
    }

    /// In memory, with runs on disk by either executor, and where the result was there already.
    #[tokio::test(flavor = "multi_thread")]
    async fn one_count_opens_its_problem_once() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().display();
        for words in [
            "go 5x4 --threads 1".to_owned(),
            format!("go 5x4 --threads 1 --data {data}/block"),
            format!("go 5x4 --threads 1 --data {data}/block"),
            format!("go 5x4 --threads 1 --executor stream --data {data}/stream"),
            format!("knight 4x4 --threads 1 --data {data}/knight"),
        ] {
            let line = format!("keima count {words} --quiet --memory 256MiB");
            let Verb::Count(args) = Cli::parse_from(line.split(' ')).verb else { panic!("{line}") };
            let counting = Arc::new(Counting::default());
            count_from(args, Arc::clone(&counting) as Arc<dyn Registry>).await.unwrap();
            assert_eq!(counting.0.load(Ordering::Relaxed), 1, "{line}");
        }
    }
}
