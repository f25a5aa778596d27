//! `keima count`: in the memory of this process if that suffices, else with runs on disk.
//!
//! ```text
//!   in_memory  a count in memory ([`InMemory`])
//!   on_disk    a coordinator and a worker in this process, on the same code path as a cluster
//!   take_up    the job of a count on disk: an interrupted one, or a new one
//!   double_check   a second count in another way, and the comparison
//!   folders    where a count keeps its state and its runs
//!   table      a count of many sizes: sizes (ranges written out), kept_sizes (what is counted already)
//!   kept_result    the result of a count in memory that nobody got
//! ```

mod double_check;
mod folders;
mod in_memory;
pub(crate) mod kept_result;
pub(crate) mod kept_sizes;
mod on_disk;
pub(crate) mod sizes;
mod table;
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
use crate::machine::{MachineMemory, cores, peak_memory_bytes};
use crate::result::{Extra, Finished, Wanted, print_finished};
use crate::terminal::output::say;
use crate::terminal::progress::Shown;
use crate::terminal::units::show_bytes;
use folders::Folders;
use kept_result::Place;

/// Default size limit of the scratch folder.
pub(crate) const DISK_BYTES: u64 = 50 << 30;
/// Default memory of a count with runs on disk, if the machine has so much.
pub(crate) const MEMORY_BYTES: u64 = 2 << 30;
/// Time between two looks at a count. Short, so that small boards end at once.
const LOOK: Duration = Duration::from_millis(20);

/// Prints a result. An error means that nobody may have got it.
type Tell<'a> = &'a dyn Fn(&Finished<'_>, &Extra) -> Result<(), Failed>;

/// A count that was asked for.
struct Counting<'a> {
    args: &'a CountArgs,
    request: &'a ProblemRequest,
    problem: &'a AnyProblem,
    /// Prints the result. The count keeps its state unless this succeeds.
    tell: Tell<'a>,
    /// Problem, size and options as the name of a folder: `go-9x9`.
    name: &'a str,
    threads: u32,
    machine: MachineMemory,
    /// Whether with other primes and cuts than usual: the second count of `--double-check`.
    other_way: bool,
    /// The memory that was asked for, within what the machine can give.
    memory_bytes: Option<u64>,
}

impl Counting<'_> {
    fn say(&self, text: &str) {
        if !self.args.output.quiet {
            say(text);
        }
    }

    /// How much of the progress is shown.
    fn shown(&self) -> Shown {
        self.args.output.shown()
    }

    /// Memory for a count in memory.
    fn allowed_bytes(&self) -> u64 {
        self.memory_bytes.unwrap_or_else(|| self.machine.default_bytes(MEMORY_BYTES))
    }

    /// Memory for a count with runs on disk.
    fn on_disk_bytes(&self) -> u64 {
        self.memory_bytes.unwrap_or_else(|| self.machine.default_of(MEMORY_BYTES))
    }

    /// Plans a count in memory. `None` if an option rules it out, if an unfinished count on disk does, or if the problem
    /// does not fit. Refuses to leave residues behind that an earlier count in memory has kept.
    fn in_memory(&self) -> Result<Option<InMemory>, Failed> {
        let data = if self.args.data.is_none() { Folders::default_data(self.name).ok() } else { None };
        let kept = data.map_or(Ok(0), |data| InMemory::kept_in(&data, self.name))?;
        let begun_on_disk = || Folders::default_data(self.name).is_ok_and(|data| data.join("state").exists());
        let ruled_out = self.args.plan.executor == Executor::Stream || self.args.asks_for_disk() || begun_on_disk();
        let allowed_bytes = self.allowed_bytes();
        if !ruled_out && InMemory::fit(self.problem, self.threads, allowed_bytes).is_some() {
            let planned =
                InMemory::new(self.problem.clone(), self.threads, allowed_bytes, self.args.output.result.series);
            let planned = planned.map_err(|error| Failed::usage(error.to_string()))?;
            let planned = planned.with_options(&self.request.options);
            return Ok(Some(if self.other_way { planned.other_way() } else { planned }));
        }
        // These residues may have taken hours.
        match kept {
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

/// Counts a problem of `registry`, which is opened once for each size.
async fn count_from(args: CountArgs, registry: Arc<dyn Registry>) -> Result<(), Failed> {
    if sizes::is_range(&args.problem.size) {
        return table::count(args, registry).await;
    }
    let registry = Arc::new(OpenProblems::new(registry));
    let request = request(&args.problem);
    let problem = registry.open(&request)?;
    let wanted = Wanted::new(&args.output.result, args.output.json)?;
    wanted.check(problem.info())?;
    let name = folders::name(&request, &problem.info().size());
    let place = Place::new(&args, &request, &problem, &name);
    let tell = |finished: &Finished<'_>, extra: &Extra| {
        let told = print_finished(finished, Some(problem.info()), &wanted, args.output.quiet, extra);
        place.settle(finished, extra, told)
    };
    let checked =
        |finished: &Finished<'_>, extra: &Extra| double_check::count_again(&args, &place, finished, extra, &tell);
    if let Some(kept) = if args.fresh { None } else { place.find()? } {
        let tell: Tell<'_> = if args.double_check && !kept.is_double_checked() { &checked } else { &tell };
        return place.tell(&kept, args.output.quiet, tell);
    }
    let machine = MachineMemory::now();
    let memory_bytes = machine.granted(args.memory, |lowered| say(format_args!("keima: {lowered}")));
    let counting = Counting {
        args: &args,
        request: &request,
        problem: &problem,
        tell: if args.double_check { &checked } else { &tell },
        other_way: false,
        name: &name,
        threads: args.threads.unwrap_or_else(cores),
        memory_bytes,
        machine,
    };
    count_one(&counting, registry).await
}

/// Counts one size, in memory or on disk.
async fn count_one(counting: &Counting<'_>, registry: Arc<dyn Registry>) -> Result<(), Failed> {
    if counting.args.fresh {
        folders::forget(counting.args, counting.name)?;
        if let (None, Ok(data)) = (&counting.args.data, Folders::default_data(counting.name)) {
            kept_result::forget(&data);
        }
    }
    match counting.in_memory()? {
        Some(in_memory) => in_memory::count(counting, in_memory).await,
        None => on_disk::count(counting, registry).await,
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
