//! `keima estimate`: what a count will take, before it is run.

mod json;
mod text;

use std::path::PathBuf;
use std::sync::Arc;

use keima_cluster::OpenProblems;
use keima_coordinator::Executor;
use keima_count::estimate::{MeasureError, Offer, Outline, Speeds, Times, Way, measure, measure_disk};
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

use crate::args::EstimateArgs;
use crate::client::request;
use crate::count::{DISK_BYTES, MEMORY_BYTES, available_memory_bytes, default_data};
use crate::exit::{self, Failed};
use crate::output::print;
use crate::service::{asked_to_stop, cores};
use crate::units::show_bytes;

/// A size that has blocks where any has.
const SMALL: &str = "6x6";

/// All that is to be shown.
struct Estimate {
    problem: &'static str,
    size: String,
    offer: Offer,
    outline: Outline,
    /// `None` where the numbers of states are unknown.
    measured: Option<(Speeds, Times)>,
    /// Whether the disk was measured here, not given.
    disk_measured: bool,
}

pub(crate) async fn estimate(args: EstimateArgs) -> Result<(), Failed> {
    let request = request(&args.problem);
    let registry: Arc<dyn Registry> = Arc::new(OpenProblems::new(Arc::new(Problems)));
    let problem = registry.open(&request)?;
    let available = available_memory_bytes();
    let memory_bytes = args.memory.unwrap_or_else(|| available.map_or(MEMORY_BYTES, |bytes| bytes / 4 * 3));
    let alone = args.workers == 1;
    let mut offer = Offer {
        workers: args.workers,
        threads: args.threads.unwrap_or_else(cores),
        memory_bytes,
        // Of other machines nobody knows what else they hold, if it is not said.
        cache_bytes: args.cache.unwrap_or(0),
        disk_bytes: args.disk,
        disk_bytes_per_second: args.disk_bandwidth.map(|bytes| bytes as f64),
        executor: args.plan.executor.into(),
        out_of_core: args.scratch.is_some(),
        series: args.series,
        residues_per_sweep: args.plan.residues_per_sweep,
        window: args.plan.window,
    };
    let mut outline = Outline::new(&problem, &offer).map_err(|error| Failed::usage(error.to_string()))?;
    if outline.way == Way::OneProcess && args.memory.is_none() {
        // What `keima count` takes where vectors do not fit in memory.
        offer.memory_bytes = MEMORY_BYTES;
        outline = Outline::new(&problem, &offer).map_err(|error| Failed::usage(error.to_string()))?;
    }
    if let Some(note) = without_blocks(&request, &outline, &offer) {
        outline.notes.push(note);
    }
    if outline.way == Way::OneProcess && args.disk.is_none() && outline.plan.disk_bytes > DISK_BYTES {
        let needed = show_bytes(outline.plan.disk_bytes);
        outline
            .notes
            .push(format!("keima count stops at {} of disk unless --disk allows {needed}", show_bytes(DISK_BYTES)));
    }
    let on_disk = outline.way != Way::InMemory;
    let disk_measured = on_disk && offer.disk_bytes_per_second.is_none() && !outline.stages.is_empty();
    if alone && disk_measured && args.cache.is_none() {
        offer.cache_bytes = available.unwrap_or(0).saturating_sub(offer.memory_bytes);
    }
    let mut measured = None;
    if !outline.stages.is_empty() {
        let folder = on_disk.then(|| Scratch::new(args.scratch)).transpose()?;
        let place = folder.as_ref().map_or(PathBuf::new(), |folder| folder.path.clone());
        let measuring = async {
            let speeds = measure(Arc::clone(&registry), &request, &outline, &offer, &place).await?;
            let disk = tokio::task::spawn_blocking(move || disk_measured.then(|| measure_disk(&place)).transpose());
            let disk = disk.await.unwrap_or_else(|panic| Err(std::io::Error::other(panic).into()))?;
            Ok::<_, MeasureError>((speeds, disk))
        };
        let (speeds, disk) = tokio::select! {
            measured = measuring => measured.map_err(|error| Failed::other(error.to_string()))?,
            () = asked_to_stop() => return Err(Failed::new(exit::INTERRUPTED, "interrupted".to_owned())),
        };
        offer.disk_bytes_per_second = disk.or(offer.disk_bytes_per_second);
        let times = Times::new(&outline, &speeds, &offer);
        measured = Some((speeds, times));
    }
    let info = problem.info();
    let estimate = Estimate { problem: info.name(), size: info.size(), offer, outline, measured, disk_measured };
    print(&if args.json { json::object(&estimate).to_string() } else { text::text(&estimate) })
}

/// Sizes that are too large for dense blocks are counted many times slower than smaller ones, which is no property of
/// the problem.
fn without_blocks(request: &ProblemRequest, outline: &Outline, offer: &Offer) -> Option<String> {
    let chosen = outline.way == Way::InMemory || outline.plan.block.is_some() || offer.executor == Executor::Stream;
    let smaller = Problems.open(&ProblemRequest { size: SMALL.to_owned(), ..request.clone() }).ok()?;
    (!chosen && smaller.info().blocks().is_some()).then(|| {
        format!(
            "the block executor, which counts smaller boards of {} ten to thirty times faster, does not take this one, so that \
             this is the stream executor's time",
            request.name
        )
    })
}

/// A folder for what is measured; it goes with this value.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(parent: Option<PathBuf>) -> Result<Self, Failed> {
        let name = format!("estimate-{}", std::process::id());
        let path = match parent {
            Some(parent) => parent.join(name),
            None => default_data(&name).map_err(|_| {
                Failed::usage("neither XDG_STATE_HOME nor HOME is set; say where to measure with --scratch DIR")
            })?,
        };
        std::fs::create_dir_all(&path).map_err(|error| {
            Failed::other(format!("cannot make {}: {error}; choose another folder with --scratch", path.display()))
        })?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be deleted is small, and its name says what it was.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
