//! `keima count`: in the memory of this process if that suffices, else with runs on disk.
//!
//! ```text
//!   counting   what is counted, and how
//!   one_size   in memory or on disk
//!   in_memory  a count in memory (`InMemory`)
//!   on_disk    a coordinator and a worker in this process, on the same code path as a cluster
//!   take_up    the job of a count on disk: an interrupted one, or a new one
//!   double_check   a second count in another way, and the comparison
//!   folders    where a count keeps its state and its runs
//!   table      a count of many sizes: sizes (ranges written out), kept_sizes (what is counted already)
//!   kept_result    the result of a count in memory that nobody got
//! ```

mod counting;
mod double_check;
mod folders;
mod in_memory;
pub(crate) mod kept_result;
pub(crate) mod kept_sizes;
mod on_disk;
mod one_size;
pub(crate) mod sizes;
mod table;
mod take_up;

use std::sync::Arc;

use keima_cluster::OpenProblems;
use keima_model::Registry;
use keima_problems::Problems;

use crate::args::CountArgs;
use crate::cluster::client::request;
use crate::exit::Failed;
use crate::machine::{MachineMemory, cores};
use crate::result::{Extra, Finished, Wanted, print_finished};
use crate::terminal::output::say;
use counting::{Counting, Tell};
pub(crate) use counting::{DISK_BYTES, MEMORY_BYTES};
use kept_result::KeptFile;
use one_size::count_one;

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
    let place = KeptFile::new(&args, &request, &problem, &name);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use clap::Parser;
    use keima_model::{AnyProblem, ProblemError, ProblemRequest};

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
