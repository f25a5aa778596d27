//! The verbs that talk to a coordinator.

use keima::{Client, Job, News, Replan, Watch};
use keima_coordinator::{JobId, read_certificate};
use keima_http::json as shape;
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;
use serde_json::json;

use super::address::url;
use super::people::{find_job, terms};
use super::{status, workers};
use crate::args::{ClientArgs, JobArgs, ProblemArgs, ResultArgs, SubmitArgs, WatchArgs};
use crate::count::sizes::one_size;
use crate::exit::{Failed, INTERRUPTED};
use crate::machine::asked_to_stop;
use crate::result::{Wanted, print_job};
use crate::terminal::output::{hand_over, print, prints_again, say};
use crate::terminal::progress::{Progress, Shown};

/// The problem that was typed, with all its options.
pub(crate) fn request(args: &ProblemArgs) -> ProblemRequest {
    let named = args.options.iter().map(|option| ProblemRequest::option(option));
    let fences = args.max_fences.map(|k| ("max-fences".to_owned(), k.to_string()));
    let switches = [("all", args.all), ("open", args.open), ("closed", args.closed)];
    let switches = switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| (name.to_owned(), String::new()));
    let squares = [("from", &args.from), ("to", &args.to)];
    let squares = squares.into_iter().filter_map(|(name, square)| Some((name.to_owned(), square.clone()?)));
    let mut options: Vec<_> = named.chain(fences).chain(switches).chain(squares).collect();
    // The order of options does not matter.
    options.sort();
    ProblemRequest { name: args.problem.clone(), size: args.size.clone(), options }
}

pub(super) fn connect(args: &ClientArgs) -> Result<Client, Failed> {
    let url = url("--coordinator", &args.coordinator)?;
    Ok(Client::with(&url, &args.pass.access())?)
}

pub(crate) async fn submit(args: SubmitArgs) -> Result<(), Failed> {
    let wanted = Wanted::new(&args.result, args.client.json)?;
    if !args.wait && wanted.is_of_a_result() && !wanted.is_series() {
        return Err(Failed::usage(
            "a submitted job has no numbers to print yet: add --wait, or use `keima result` later",
        ));
    }
    let terms = terms(&args.terms, args.owner.as_deref());
    terms.check().map_err(|error| Failed::usage(error.to_string()))?;
    let Some(problem) = &args.problem else {
        let from = args.resume_from.as_deref().unwrap_or_default();
        if !args.replan && (args.task_memory.is_some() || args.disk.is_some()) {
            let text =
                "a job that goes on keeps its plan, with its --task-memory and --disk; add --replan for another one";
            return Err(Failed::usage(text));
        }
        let client = connect(&args.client)?;
        let replan = Replan { task_memory_bytes: args.task_memory, disk_bytes: args.disk };
        let job = client.resume_from(from, &terms, args.replan.then_some(replan)).await?;
        return submitted(&client, job, args.wait, &wanted, args.progress.shown()).await;
    };
    // clap does not ask for what excludes a problem.
    if args.replan {
        return Err(Failed::usage(
            "--replan is about a job that goes on: it goes with --resume-from, not with a problem",
        ));
    }
    one_size(&problem.size, "submit")?;
    let request = request(problem);
    // This finds typing errors without the coordinator.
    wanted.check(Problems.open(&request)?.info())?;
    let client = connect(&args.client)?;
    let job = client
        .submit(&Job {
            priority: args.priority,
            task_memory_bytes: args.task_memory,
            disk_bytes: args.disk,
            residues_per_sweep: args.plan.residues_per_sweep,
            window: args.plan.window,
            executor: args.plan.executor.into(),
            series: args.result.series,
            terms,
            ..Job::of(request)
        })
        .await?;
    // The job is there, whatever comes of this.
    if client.workers().await.is_ok_and(|workers| workers.iter().all(|worker| !worker.here)) {
        say("no worker is connected yet; the job waits for one: keima worker --coordinator URL --scratch DIR");
    }
    submitted(&client, job, args.wait, &wanted, args.progress.shown()).await
}

/// Tells a job's name, or waits for its number.
async fn submitted(client: &Client, job: JobId, wait: bool, wanted: &Wanted, shown: Shown) -> Result<(), Failed> {
    if wait {
        prints_again(format!("keima result {job}"));
        return follow(client, job, wanted, shown).await;
    }
    let name = if wanted.is_json() { json!({ "job": job.to_string() }).to_string() } else { job.to_string() };
    // The job is there: the same command again would submit another one.
    prints_again(format!("keima status {job}"));
    hand_over(&name)
        .map_err(|error| Failed::other(format!("{job} was submitted, but its name was not printed: {}", error.text)))
}

pub(crate) async fn workers(args: ClientArgs) -> Result<(), Failed> {
    let workers = connect(&args)?.workers().await?;
    if args.json {
        print(&shape::workers(&workers).to_string())?;
    } else if workers.is_empty() {
        say("no workers yet; `keima worker --coordinator URL --scratch DIR` starts one");
    } else {
        print(&workers::workers_text(&workers))?;
    }
    Ok(())
}

pub(crate) async fn status(args: JobArgs) -> Result<(), Failed> {
    let client = connect(&args.client)?;
    let id = find_job(&client, &args.job).await?;
    if args.client.json {
        print(&shape::status(&client.status(id).await?).to_string())?;
    } else {
        print(&status::status_text(&client.newest(id, 1).await?))?;
    }
    Ok(())
}

pub(crate) async fn watch(args: WatchArgs) -> Result<(), Failed> {
    let WatchArgs { result: args, progress } = args;
    let client = connect(&args.client)?;
    let wanted = Wanted::new(&args.result, args.client.json)?;
    let id = find_job(&client, &args.job).await?;
    // If the coordinator does not answer now, `follow` waits for it and checks at the end.
    if let Ok(status) = client.newest(id, 0).await {
        wanted.check_for(&status)?;
    }
    follow(&client, id, &wanted, progress.shown()).await
}

/// Follows a job until it is over, then prints its number.
async fn follow(client: &Client, id: JobId, wanted: &Wanted, shown: Shown) -> Result<(), Failed> {
    let mut progress = Progress::new(shown);
    let over = tokio::select! {
        over = over(client.watch(id), &mut progress) => over.map_err(Failed::from),
        () = asked_to_stop() => {
            let text = format!("stopped watching {id}, which goes on as before; `keima watch {id}` follows it again");
            Err(Failed::new(INTERRUPTED, text))
        }
    };
    progress.finish();
    over?;
    // Now with all its values.
    let (status, certificate) =
        if wanted.is_json() { client.with_certificate(id).await? } else { (client.status(id).await?, None) };
    print_job(&status, certificate.as_deref().and_then(read_certificate).as_ref(), wanted)
}

/// Waits until a job is over.
async fn over(mut watch: Watch, progress: &mut Progress) -> Result<(), keima::Error> {
    while let Some(news) = watch.news().await? {
        match news {
            News::Status(status) => progress.show(&status),
            News::Away(error) => {
                let minutes = watch.patience().as_secs() / 60;
                progress.say(&format!("{error}; trying again for up to {minutes} minutes"));
            }
        }
    }
    Ok(())
}

/// A change of a job that its user asks for.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Pause,
    Resume,
    Cancel,
}

pub(crate) async fn change(args: JobArgs, change: Change) -> Result<(), Failed> {
    let client = connect(&args.client)?;
    let id = find_job(&client, &args.job).await?;
    match change {
        Change::Pause => client.pause(id).await?,
        Change::Resume => client.resume(id).await?,
        Change::Cancel => client.cancel(id).await?,
    }
    changed(&client, id, args.client.json).await
}

/// Prints a job after a change.
pub(super) async fn changed(client: &Client, id: JobId, json: bool) -> Result<(), Failed> {
    if json {
        print(&shape::status(&client.status(id).await?).to_string())
    } else {
        print(&format!("{id} {}", client.newest(id, 0).await?.state))
    }
}

pub(crate) async fn result(args: ResultArgs) -> Result<(), Failed> {
    let wanted = Wanted::new(&args.result, args.client.json)?;
    let client = connect(&args.client)?;
    let id = find_job(&client, &args.job).await?;
    let (status, certificate) =
        if wanted.is_json() { client.with_certificate(id).await? } else { (client.status(id).await?, None) };
    wanted.check_for(&status)?;
    print_job(&status, certificate.as_deref().and_then(read_certificate).as_ref(), &wanted)
}
