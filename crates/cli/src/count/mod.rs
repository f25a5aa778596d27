//! `keima count`: in the memory of this process if that suffices, else with runs on disk.
//!
//! ```text
//!   in_memory  a count in memory ([`InMemory`])
//!   on_disk    a coordinator and a worker in this process, on the same code path as a cluster
//!   take_up    the job of a count on disk: an interrupted one, or a new one
//!   folders    where a count keeps its state and its runs
//! ```

mod folders;
mod in_memory;
mod on_disk;
mod take_up;

use std::sync::Arc;
use std::time::Duration;

use keima_cluster::OpenProblems;
use keima_count::InMemory;
use keima_model::{AnyProblem, ProblemRequest, Registry};
use keima_problems::Problems;

use crate::args::{CountArgs, Executor};
use crate::cluster::client::request;
use crate::exit::Failed;
use crate::machine::{available_memory_bytes, cores, peak_memory_bytes};
use crate::result::{Extra, Wanted};
use crate::terminal::output::say;
use crate::terminal::units::show_bytes;
use folders::Folders;

/// Default size limit of the scratch folder.
pub(crate) const DISK_BYTES: u64 = 50 << 30;
/// Default memory of a count with runs on disk.
pub(crate) const MEMORY_BYTES: u64 = 2 << 30;
/// Time between two looks at a count. Short, so that small boards end at once.
const LOOK: Duration = Duration::from_millis(20);

/// A count that was asked for.
struct Counting<'a> {
    args: &'a CountArgs,
    request: &'a ProblemRequest,
    problem: &'a AnyProblem,
    wanted: &'a Wanted,
    /// Problem, size and options as the name of a folder: `go-9x9`.
    name: &'a str,
    threads: u32,
}

impl Counting<'_> {
    fn say(&self, text: &str) {
        if !self.args.output.quiet {
            say(text);
        }
    }

    /// Memory for a count in memory.
    fn allowed_bytes(&self) -> u64 {
        let available = || available_memory_bytes().map_or(MEMORY_BYTES, |bytes| bytes / 4 * 3);
        self.args.memory.unwrap_or_else(available)
    }

    /// Plans a count in memory. `None` if an option rules it out, if an unfinished count on disk does, or if the problem
    /// does not fit. Refuses to leave residues behind that an earlier count in memory has kept.
    fn in_memory(&self) -> Result<Option<InMemory>, Failed> {
        let begun_on_disk = || Folders::default_data(self.name).is_ok_and(|data| data.join("state").exists());
        let ruled_out = self.args.plan.executor == Executor::Stream || self.args.asks_for_disk() || begun_on_disk();
        let allowed_bytes = self.allowed_bytes();
        if !ruled_out && InMemory::fit(self.problem, self.threads, allowed_bytes).is_some() {
            return InMemory::new(self.problem.clone(), self.threads, allowed_bytes, self.args.output.result.series)
                .map(Some)
                .map_err(|error| Failed::usage(error.to_string()));
        }
        let kept = || Folders::default_data(self.name).map_or(0, |data| InMemory::kept_in(&data, self.name));
        // These residues may have taken hours.
        match if self.args.data.is_none() { kept() } else { 0 } {
            0 => Ok(None),
            found => Err(Failed::usage(format!(
                "{found} residues of {} are kept from an interrupted count in memory, but this command would count on \
                 disk from the beginning. Repeat the earlier command with as much memory as then (now {} are allowed; \
                 see --memory), start over with --fresh, or use another folder with --data DIR",
                self.name,
                show_bytes(allowed_bytes)
            ))),
        }
    }
}

/// Fields of the JSON object that only this process knows.
fn extra(scratch_peak_bytes: Option<u64>) -> Extra {
    let mut extra = Extra::default();
    for (name, bytes) in [("scratch_peak_bytes", scratch_peak_bytes), ("peak_memory_bytes", peak_memory_bytes())] {
        if let Some(bytes) = bytes {
            extra.0.insert(name, bytes.into());
        }
    }
    extra
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
    let counting = Counting {
        args: &args,
        request: &request,
        problem: &problem,
        wanted: &wanted,
        name: &folders::name(&request, &problem.info().size()),
        threads: args.threads.unwrap_or_else(cores),
    };
    if args.fresh {
        folders::forget(&args, counting.name)?;
    }
    match counting.in_memory()? {
        Some(in_memory) => in_memory::count(&counting, in_memory).await,
        None => on_disk::count(&counting, registry).await,
    }
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
            format!("knight 4x4 --closed --threads 1 --data {data}/knight"),
        ] {
            let line = format!("keima count {words} --quiet --memory 256MiB");
            let Verb::Count(args) = Cli::parse_from(line.split(' ')).verb else { panic!("{line}") };
            let counting = Arc::new(Counting::default());
            count_from(args, Arc::clone(&counting) as Arc<dyn Registry>).await.unwrap();
            assert_eq!(counting.0.load(Ordering::Relaxed), 1, "{line}");
        }
    }
}
