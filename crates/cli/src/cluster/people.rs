//! What people say of jobs, on the command line: terms, names for jobs, the list of jobs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keima::{Client, job_id};
use keima_coordinator::{JobFilter, JobId, JobPage, JobStatus, Terms, TermsChange, is_job_number};
use keima_http::json as shape;
use rustix::process::getuid;
use serde_json::json;

use super::client::{changed, connect};
use super::status;
use crate::args::{ChangeArgs, JobsArgs, TermsArgs};
use crate::exit::Failed;
use crate::terminal::output::{print, say};

/// Jobs of one name that are looked at.
const NAMESAKES: usize = 1000;
/// Jobs of one name that are listed.
const SHOWN: usize = 5;

/// The terms of a submission. Without `owner` the job is the local user's. Containers and services often do not name that one;
/// then the number stands for it, or all such users would share as one.
pub(super) fn terms(args: &TermsArgs, owner: Option<&str>) -> Terms {
    let user = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|name| !name.is_empty()));
    Terms {
        name: args.name.clone().unwrap_or_default(),
        note: args.note.clone().unwrap_or_default(),
        owner: owner.map(str::to_owned).or_else(user).unwrap_or_else(|| format!("uid-{}", getuid().as_raw())),
        max_workers: args.max_workers,
        max_disk_bytes: args.max_disk,
    }
}

/// The job that is meant by `j1`, by `1`, or by a name that one job has. Of several jobs of a name it is the one that is not
/// over.
pub(super) async fn find_job(client: &Client, text: &str) -> Result<JobId, Failed> {
    if is_job_number(text) {
        return Ok(job_id(text)?);
    }
    // What cannot be a name needs no coordinator.
    let named = Terms { name: text.to_owned(), ..Terms::default() };
    if text.is_empty() || named.check().is_err() {
        return Err(unknown(text));
    }
    let filter = JobFilter { name: Some(text.to_owned()), limit: NAMESAKES, ..JobFilter::default() };
    let named = client.list(&filter).await?.jobs;
    if !named.is_empty() {
        return one_of(text, &named);
    }
    one_of(text, &client.list(&JobFilter { archived: true, ..filter }).await?.jobs)
}

/// The job among those of a name.
fn one_of(name: &str, jobs: &[JobStatus]) -> Result<JobId, Failed> {
    let live: Vec<&JobStatus> = jobs.iter().filter(|job| !job.state.is_over()).collect();
    match (jobs, live.as_slice()) {
        ([], _) => Err(unknown(name)),
        ([only], _) => Ok(only.id),
        (_, [only]) => Ok(only.id),
        _ => {
            let several: Vec<&JobStatus> = if live.is_empty() { jobs.iter().collect() } else { live };
            let shown = several.iter().take(SHOWN).map(|job| format!("{} ({})", job.id, job.state));
            let shown = shown.collect::<Vec<_>>().join(", ");
            Err(Failed::usage(format!(
                "{} jobs are called {name:?}: {shown}; say which by its number, `keima jobs --name {name}` lists them",
                several.len()
            )))
        }
    }
}

fn unknown(text: &str) -> Failed {
    keima::Error::JobName(text.to_owned()).into()
}

pub(crate) async fn change_terms(args: ChangeArgs) -> Result<(), Failed> {
    let TermsArgs { name, note, max_workers, max_disk } = args.terms;
    let change =
        TermsChange { priority: args.priority, name, note, owner: args.owner, max_workers, max_disk_bytes: max_disk };
    if change == TermsChange::default() {
        return Err(Failed::usage(
            "nothing to change: give --priority, --name, --note, --owner, --max-workers or --max-disk",
        ));
    }
    let client = connect(&args.client)?;
    let id = find_job(&client, &args.job).await?;
    client.change(id, &change).await?;
    changed(&client, id, args.client.json).await
}

pub(crate) async fn jobs(args: JobsArgs) -> Result<(), Failed> {
    let client = connect(&args.client)?;
    let after = match &args.after {
        Some(text) => Some(find_job(&client, text).await?),
        None => None,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_millis() as u64;
    let filter = JobFilter {
        states: args.state.iter().map(|&state| state.into()).collect(),
        owner: args.owner,
        name: args.name,
        since: args.since.map(|age| now.saturating_sub(age)),
        after,
        limit: args.limit,
        archived: args.archived,
    };
    let any = JobFilter { limit: args.limit, ..JobFilter::default() } == filter;
    let JobPage { jobs, next } = client.list(&filter).await?;
    if args.client.json {
        let next = next.map(|job| job.to_string());
        return print(&json!({ "jobs": jobs.iter().map(shape::listed).collect::<Vec<_>>(), "next": next }).to_string());
    }
    if jobs.is_empty() {
        say(if any { "no jobs yet; `keima submit go 9x9` submits one" } else { "no such jobs" });
        return Ok(());
    }
    print(&status::jobs_text(&jobs))?;
    if let Some(next) = next {
        say(format_args!("there are older jobs: --after {next}"));
    }
    Ok(())
}
