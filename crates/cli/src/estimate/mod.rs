//! `keima estimate`: forecasts a count without running it.

mod json;
mod printed;
mod text;

use std::path::PathBuf;
use std::sync::Arc;

use keima_cluster::OpenProblems;
use keima_coordinator::Executor;
use keima_count::estimate::{MeasureError, Offer, Outline, Times, Way, measure, measure_disk};
use keima_model::{AnyProblem, ProblemInfo, ProblemRequest, Registry};
use keima_problems::Problems;
use keima_sample::{EXACT_STATES, Estimate as Sampled, Plan, Sampling, answer};

use crate::args::EstimateArgs;
use crate::cluster::client::request;
use crate::count::sizes::one_size;
use crate::count::{DISK_BYTES, MEMORY_BYTES};
use crate::exit::{Failed, INTERRUPTED};
use crate::machine::{MachineMemory, Needed, asked_to_stop, cores, state_folder};
use crate::terminal::output::print;
use crate::terminal::units::show_bytes;
use printed::Estimate;

/// A size that has a block form if any size of its problem does.
const SMALL: &str = "6x6";
/// Runs of a sample of the answer, and nodes that each keeps a stratum: seconds for a board of a hundred cells.
const ANSWER_RUNS: u64 = 32;
const ANSWER_KEPT: usize = 16;
/// Seed of these runs.
const ANSWER_SEED: u64 = 1;

pub(crate) async fn estimate(args: EstimateArgs) -> Result<(), Failed> {
    one_size(&args.problem.size, "estimate")?;
    let request = request(&args.problem);
    let registry: Arc<dyn Registry> = Arc::new(OpenProblems::new(Arc::new(Sampling(Problems))));
    let problem = registry.open(&request)?;
    let machine = MachineMemory::now();
    let mut offer = offer(&args, &machine);
    let mut outline = outline(&args, &request, &problem, &mut offer, &machine)?;
    let answer = sampled_answer(&request)?;
    if answer.is_some() {
        outline.notes.push(format!(
            "{} does not know its numbers of states: beyond {EXACT_STATES} they are estimates from samples, right within a factor of \
             two as a rule",
            request.name
        ));
    }
    let known = !outline.stages.is_empty();
    let disk_measured = outline.way != Way::InMemory && offer.disk_bytes_per_second.is_none() && known;
    if args.workers == 1 && disk_measured && args.cache.is_none() {
        offer.cache_bytes = machine.bytes().unwrap_or(0).saturating_sub(offer.memory_bytes);
    }
    let mut measured = None;
    if known {
        Needed::TASKS.check(offer.threads.min(cores()))?;
        let folder = (outline.way != Way::InMemory).then(|| Scratch::new(args.scratch)).transpose()?;
        let place = folder.as_ref().map_or(PathBuf::new(), |folder| folder.path.clone());
        let measuring = async {
            let speeds =
                measure(Arc::clone(&registry), &request, &outline, &offer, machine.default_bytes(MEMORY_BYTES), &place)
                    .await?;
            let disk = tokio::task::spawn_blocking(move || disk_measured.then(|| measure_disk(&place)).transpose());
            let disk = disk.await.unwrap_or_else(|panic| Err(std::io::Error::other(panic).into()))?;
            Ok::<_, MeasureError>((speeds, disk))
        };
        let (speeds, disk) = tokio::select! {
            measured = measuring => measured.map_err(|error| Failed::other(error.to_string()))?,
            () = asked_to_stop() => return Err(Failed::new(INTERRUPTED, "interrupted; nothing is kept")),
        };
        offer.disk_bytes_per_second = disk.or(offer.disk_bytes_per_second);
        let times = Times::new(&outline, &speeds, &offer);
        outline.notes.extend(speeds.note.clone());
        measured = Some((speeds, times));
    }
    let info = problem.info();
    let estimate =
        Estimate { problem: info.name(), size: info.size(), offer, outline, answer, measured, disk_measured };
    print(&if args.json { json::object(&estimate).to_string() } else { text::text(&estimate) })
}

/// A sample of the answer of a problem that does not know its states, and how it was made.
fn sampled_answer(request: &ProblemRequest) -> Result<Option<(Sampled, Plan)>, Failed> {
    let problem = Problems.open(request)?;
    if problem.info().forecast().is_some() {
        return Ok(None);
    }
    let threads = cores();
    Needed::TASKS.check(threads)?;
    let plan = Plan { runs: ANSWER_RUNS, kept: ANSWER_KEPT, seed: ANSWER_SEED, threads: threads as usize };
    Ok(Some((answer(&problem, plan, |_| {}), plan)))
}

/// What the options offer to a count, with three quarters of the available memory unless one says otherwise.
fn offer(args: &EstimateArgs, machine: &MachineMemory) -> Offer {
    Offer {
        workers: args.workers,
        threads: args.threads.unwrap_or_else(cores),
        memory_bytes: args.memory.unwrap_or_else(|| machine.default_bytes(MEMORY_BYTES)),
        // The spare memory of other machines is unknown.
        cache_bytes: args.cache.unwrap_or(0),
        disk_bytes: args.disk,
        disk_bytes_per_second: args.disk_bandwidth.map(|bytes| bytes as f64),
        executor: args.plan.executor.into(),
        out_of_core: args.scratch.is_some(),
        series: args.series,
        residues_per_sweep: args.plan.residues_per_sweep,
        window: args.plan.window,
    }
}

/// The plan of the count, with notes. A count on disk takes less memory by default than one in memory: then `offer`
/// changes.
fn outline(
    args: &EstimateArgs,
    request: &ProblemRequest,
    problem: &AnyProblem,
    offer: &mut Offer,
    machine: &MachineMemory,
) -> Result<Outline, Failed> {
    let mut outline = if let Some(outline) = Outline::in_memory(problem, offer) {
        outline
    } else {
        if args.workers == 1 && args.memory.is_none() {
            offer.memory_bytes = machine.default_of(MEMORY_BYTES);
        }
        // A plan of thousands of columns takes seconds: it is made once.
        Outline::with_runs(problem, offer).map_err(|error| Failed::usage(error.to_string()))?
    };
    outline.notes.extend(without_blocks(request, problem, &outline, offer));
    if outline.way == Way::OneProcess && args.disk.is_none() && outline.plan.disk_bytes > DISK_BYTES {
        let (needed, default) = (show_bytes(outline.plan.disk_bytes), show_bytes(DISK_BYTES));
        outline.notes.push(format!("keima count stops at {default} of disk; allow {needed} with --disk"));
    }
    Ok(outline)
}

/// A note on boards that the block executor does not take, where it takes others of the problem, many times faster.
fn without_blocks(request: &ProblemRequest, problem: &AnyProblem, outline: &Outline, offer: &Offer) -> Option<String> {
    let chosen = outline.way == Way::InMemory || outline.plan.block().is_some() || offer.executor == Executor::Stream;
    let other = Problems.open(&ProblemRequest { size: SMALL.to_owned(), ..request.clone() }).ok()?;
    (!chosen && other.info().blocks().is_some()).then(|| {
        let why = why_not(problem.info());
        format!("this is the time of the stream executor; the block executor is ten to thirty times faster, but {why}")
    })
}

/// Why the block executor does not take a board. What a task would need stands in the plan.
fn why_not(info: &dyn ProblemInfo) -> String {
    match info.blocks() {
        None => format!("takes no board of this size: {}", info.why_no_blocks()),
        Some(_) => "needs more memory for this board than a task has".to_owned(),
    }
}

/// A folder for measurements. It is deleted with this value.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(parent: Option<PathBuf>) -> Result<Self, Failed> {
        let name = format!("estimate-{}", std::process::id());
        let parent = parent.or_else(state_folder).ok_or_else(|| {
            Failed::usage("neither XDG_STATE_HOME nor HOME is set; name a folder to measure in with --scratch DIR")
        })?;
        let path = parent.join(name);
        std::fs::create_dir_all(&path).map_err(|error| {
            Failed::other(format!("cannot create {}: {error}; choose another folder with --scratch", path.display()))
        })?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be deleted is small, and its name tells what it was.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_reason_against_blocks_is_told() {
        for (words, expected) in [
            ("go 1x9", "takes no board of this size: go has a block form for boards whose smaller side is 2 to 21"),
            ("go 2x9", "needs more memory"),
            ("go 21x21", "needs more memory"),
        ] {
            let problem = ProblemRequest::from_words(words).and_then(|request| Problems.open(&request).ok()).unwrap();
            let why = why_not(problem.info());
            assert!(why.starts_with(expected), "{words}: {why}");
        }
    }
}
