//! `keima sample`: estimates a count by sampling, without counting.

use std::collections::BTreeMap;
use std::fmt::Display;

use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;
use keima_problems::go::wide;
use keima_sample::{Estimate, Huge, Plan, answer, bound, estimate};
use serde_json::{Value, json};

use crate::args::{RandomArgs, SampleArgs};
use crate::cluster::client::request;
use crate::count::sizes::one_size;
use crate::exit::Failed;
use crate::machine::{Needed, cores};
use crate::terminal::output::{print, say};

/// Time between two lines of progress, in seconds.
const PROGRESS_SECONDS: u64 = 5;

/// The runs that were asked for, on all cores by default.
pub(crate) fn plan(runs: u64, random: &RandomArgs) -> Result<Plan, Failed> {
    let threads = random.threads.unwrap_or_else(cores);
    Needed { always: 0, each: 1 }.check(threads)?;
    Ok(Plan { runs, kept: random.per_stratum, seed: random.seed, threads: threads as usize })
}

/// A function that tells now and then how many runs are done, unless that is not wanted.
pub(crate) fn progress(runs: u64, random: &RandomArgs) -> impl Fn(u64) + Sync {
    let quiet = random.quiet;
    let start = std::time::Instant::now();
    let told = std::sync::atomic::AtomicU64::new(0);
    move |done| {
        let due = start.elapsed().as_secs() / PROGRESS_SECONDS;
        if !quiet && done < runs && told.fetch_max(due, std::sync::atomic::Ordering::Relaxed) < due {
            say(format_args!("{done} of {runs} runs"));
        }
    }
}

/// Says what is being done, unless that is not wanted.
pub(crate) fn tell(random: &RandomArgs, text: impl Display) {
    if !random.quiet {
        say(text);
    }
}

pub(crate) fn sample(args: &SampleArgs) -> Result<(), Failed> {
    one_size(&args.problem.size, "sample")?;
    let request = request(&args.problem);
    let plan = plan(args.runs, &args.random)?;
    let (estimate, bound) = sampled(&request, plan, &args.random)?;
    print(&if args.json {
        let mut json = to_json(&estimate, plan);
        json["problem"] = request.name.as_str().into();
        json["size"] = request.size.as_str().into();
        if !request.options.is_empty() {
            let options: BTreeMap<_, _> = request.options.iter().cloned().collect();
            json["options"] = options.into_iter().collect();
        }
        json["bound_log10"] = bound.log10().into();
        json["fraction_of_bound"] = format!("{:.4}", estimate.mean.divided_by(bound)).into();
        json.to_string()
    } else {
        to_text(&request, &estimate, bound, plan)
    })
}

/// By the problem's keys, or for Go on large boards without them; and the answer's bound.
fn sampled(request: &ProblemRequest, plan: Plan, random: &RandomArgs) -> Result<(Estimate, Huge), Failed> {
    let progress = progress(plan.runs, random);
    match Problems.open(request) {
        Ok(problem) => Ok((answer(&problem, plan, progress), bound(&problem))),
        Err(error) => match wide::open(request) {
            Some(Ok(tree)) => {
                let bound = Huge::power(3.0, tree.board().passes().into());
                Ok((estimate(&tree, plan, progress), bound))
            }
            Some(Err(error)) => Err(error.into()),
            None => Err(error.into()),
        },
    }
}

fn to_text(request: &ProblemRequest, estimate: &Estimate, bound: Huge, plan: Plan) -> String {
    let mean = estimate.mean;
    let mut lines = vec![
        format!("{}: {mean} +- {}", request.words(), standard_error(estimate)),
        format!("  relative error     {}", relative_error(estimate, 2, plan)),
        format!("  part of the bound  {:.4} of {bound}", mean.divided_by(bound)),
        format!("  size               {} bits", bits(mean)),
    ];
    if mean.is_zero() {
        lines.truncate(2);
        lines.push("  no run came to an object that counts: more --runs may, if there is one".to_owned());
    }
    lines.join("\n")
}

/// The mean's standard error, where the runs tell it.
pub(crate) fn standard_error(estimate: &Estimate) -> String {
    estimate.error.map_or_else(|| "unknown".to_owned(), |error| format!("{error:.1}"))
}

/// The relative error in percent with so many decimals, and what it rests on.
pub(crate) fn relative_error(estimate: &Estimate, decimals: usize, plan: Plan) -> String {
    let (runs, seed) = (estimate.runs, plan.seed);
    match estimate.relative_error() {
        Some(error) => {
            format!("{:.decimals$} %, one standard error of {runs} runs, seed {seed}", 100.0 * error)
        }
        None if runs == 1 => format!("unknown, since one run does not tell it; seed {seed}"),
        None => format!("unknown, since all {runs} runs gave 0; seed {seed}"),
    }
}

/// The number of bits of a count of this size.
pub(crate) fn bits(mean: Huge) -> u64 {
    mean.log2().floor().max(0.0) as u64 + 1
}

/// The fields that all estimates have.
pub(crate) fn to_json(estimate: &Estimate, plan: Plan) -> Value {
    json!({
        "mean": format!("{:.6}", estimate.mean),
        "standard_error": estimate.error.map(|error| format!("{error:.3}")),
        "relative_error": estimate.relative_error(),
        "mean_log10": if estimate.mean.is_zero() { Value::Null } else { estimate.mean.log10().into() },
        "runs": estimate.runs,
        "per_stratum": plan.kept,
        "seed": plan.seed,
    })
}
