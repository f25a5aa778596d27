//! `keima count --double-check`: the same number a second time, in another way, and the comparison.
//!
//! ```text
//!   other primes       always
//!   other cuts         shorter windows; for small boards the other executor, where there are two
//!   turned board       where sides differ, the count is the same, and it costs at most ten times as much
//! ```
//!
//! The first count keeps its state until both are done and printed, so an interruption loses at most the second one. A count in
//! memory keeps its result.

use std::cell::RefCell;
use std::sync::Arc;

use keima_cluster::{OpenProblems, failpoint};
use keima_coordinator::{Check, Outcome, certificate_hash};
use keima_model::{AnyProblem, ProblemInfo, ProblemRequest, Registry};
use keima_problems::{Problems, Turned};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::counting::{Counting, Tell};
use super::folders;
use super::kept_result::{DOUBLE_CHECK, KeptFile};
use super::one_size::count_one;
use crate::args::{CountArgs, Executor};
use crate::exit::{CHECK_FAILED, Failed};
use crate::machine::{MachineMemory, cores};
use crate::result::{Extra, Finished};
use crate::terminal::output::say;

/// Most states of a turned board, as a multiple of the board's own.
const MOST_TIMES: u128 = 10;
/// Most states, over all passes, of a board of blocks that is counted by streams the second time.
const MOST_STREAM_STATES: u128 = 20_000_000;

/// What the second count came to.
struct Second {
    outcome: Outcome,
    certificate: Option<Value>,
    board: String,
    windows: String,
    executor: String,
}

/// Counts again, compares, and tells the first count with one more check.
pub(super) fn count_again(
    args: &CountArgs,
    place: &KeptFile<'_>,
    first: &Finished<'_>,
    extra: &Extra,
    tell: Tell<'_>,
) -> Result<(), Failed> {
    let Some(outcome) = first.outcome.filter(|outcome| outcome.ok) else { return tell(first, extra) };
    let (request, problem) = (place.request, place.problem);
    let kept = place.keep(first, extra);
    // The caller waits in an async task for its count to be printed.
    let second = tokio::task::block_in_place(|| Handle::current().block_on(second(args, request, problem, first)));
    let second = second.map_err(|failed| match kept {
        Some(Ok(_)) => Failed { text: format!("{}; the first count is kept", failed.text), ..failed },
        _ => failed,
    })?;
    let check = compare(outcome, &second);
    let mut checked = outcome.clone();
    checked.add_check(check.clone());
    let mut extra = extra.clone();
    extra.0.insert(
        DOUBLE_CHECK,
        json!({
            "count": second.outcome.count,
            "hash": second.certificate.as_ref().and_then(certificate_hash),
            "first_hash": first.certificate.and_then(certificate_hash),
            "certificate": second.certificate,
        }),
    );
    if !check.ok {
        place.remove();
        let text = format!("{} {}: the number is withheld: {}", request.name, request.size, check.detail);
        let advice = "Count again, if possible on another machine; if it stays so, please report it.";
        return Err(Failed::new(CHECK_FAILED, format!("{text}\n{advice}")));
    }
    tell(&Finished { outcome: Some(&checked), ..*first }, &extra)
}

/// The second count. An error of its own ends the command: the first count stays where it is kept.
async fn second(
    args: &CountArgs,
    request: &ProblemRequest,
    problem: &AnyProblem,
    first: &Finished<'_>,
) -> Result<Second, Failed> {
    let turned = Turned::problem(request).filter(|turned| is_affordable(problem.info(), turned.info()));
    let registry: Arc<dyn Registry> = if turned.is_some() { Arc::new(Turned) } else { Arc::new(Problems) };
    let registry = Arc::new(OpenProblems::new(registry));
    let problem = registry.open(request)?;
    let args = other_way(args, problem.info(), first);
    let name = format!("{}-again", folders::name(request, &problem.info().size()));
    let found: RefCell<Option<Second>> = RefCell::new(None);
    let tell = |finished: &Finished<'_>, _: &Extra| {
        *found.borrow_mut() = finished.outcome.map(|outcome| Second {
            outcome: outcome.clone(),
            certificate: finished.certificate.cloned(),
            board: problem.info().board().to_string(),
            windows: finished.plan.map(crate::result::windows).unwrap_or_default(),
            executor: finished.plan.map(|plan| plan.execution.name().to_owned()).unwrap_or_default(),
        });
        Ok(())
    };
    if !args.output.quiet {
        say(format_args!("counting {} {} a second time, in another way", request.name, request.size));
    }
    failpoint::hit("count.before_second");
    let counting = Counting {
        args: &args,
        request,
        problem: &problem,
        tell: &tell,
        other_way: true,
        name: &name,
        threads: args.threads.unwrap_or_else(cores),
        memory_bytes: args.memory,
        machine: MachineMemory::now(),
    };
    let counted = Box::pin(count_one(&counting, Arc::clone(&registry) as Arc<dyn Registry>)).await;
    counted.map_err(|failed| Failed::new(failed.code, format!("the second count: {}", failed.text)))?;
    found.take().ok_or_else(|| Failed::other("the second count ended without a result; please report it"))
}

/// States of all passes together; `None` where that is unknown.
fn states(info: &dyn ProblemInfo) -> Option<u128> {
    Some(info.forecast()?.states.iter().fold(0, |sum: u128, &states| sum.saturating_add(states)))
}

fn is_affordable(info: &dyn ProblemInfo, turned: &dyn ProblemInfo) -> bool {
    match (states(info), states(turned)) {
        (Some(own), Some(other)) => other <= own.saturating_mul(MOST_TIMES),
        // Boards of a third more rows take some ten times as many states at most.
        _ => turned.board().height <= info.board().height + 2,
    }
}

/// The command line of the second count.
fn other_way(args: &CountArgs, info: &dyn ProblemInfo, first: &Finished<'_>) -> CountArgs {
    let mut args = args.clone();
    args.double_check = false;
    for folder in [&mut args.data, &mut args.scratch].into_iter().flatten() {
        folder.push("again");
    }
    let small = states(info).is_some_and(|states| states <= MOST_STREAM_STATES);
    let by_blocks = first.plan.is_some_and(|plan| plan.execution.name() == "block");
    if by_blocks && small {
        args.plan.executor = Executor::Stream;
    } else if !by_blocks && info.blocks().is_some() {
        args.plan.executor = Executor::Block;
    }
    let longest = first.plan.and_then(|plan| plan.windows.iter().map(|window| window.len).max());
    let on_disk = first.plan.is_some_and(|plan| plan.execution != keima_coordinator::Execution::InMemory);
    if let Some(longest) = longest.filter(|_| on_disk) {
        args.plan.window = Some(if longest > 1 { longest - 1 } else { 2.min(info.board().height) });
    }
    args
}

fn compare(first: &Outcome, second: &Second) -> Check {
    let again = &second.outcome;
    let Second { board, windows, executor, .. } = second;
    let way = format!("board {board}, {executor} executor, windows of {windows} cells");
    let primes = |outcome: &Outcome| outcome.residues.iter().map(|residue| residue.modulus).collect::<Vec<_>>();
    let (own, other) = (primes(first), primes(again));
    if !again.ok {
        let failed: Vec<&str> = again.checks.iter().filter(|c| !c.ok).map(|c| c.name.as_str()).collect();
        return Check::new(
            DOUBLE_CHECK,
            false,
            format!("the second count ({way}) fails its checks: {}", failed.join(", ")),
        );
    }
    if (&first.count, &first.counts) != (&again.count, &again.counts) {
        let text = format!("the second count ({way}): expected {}, got {}", first.count, again.count);
        return Check::new(DOUBLE_CHECK, false, text);
    }
    let shared = other.iter().filter(|prime| own.contains(prime)).count();
    let primes = match shared {
        0 => format!("{} other primes", other.len()),
        shared => format!("{} primes, {shared} of them the same", other.len()),
    };
    Check::new(DOUBLE_CHECK, true, format!("a second count has the same number: {primes}, {way}"))
}
