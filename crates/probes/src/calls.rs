//! Requests of workers and users, one after the other, up to a coordinator that has two jobs.

use std::cell::RefCell;
use std::collections::BTreeMap;

use keima_cluster::probe::{Asked, asked};
use keima_cluster::{BUILD, CarriedCall};
use keima_coordinator::{AttemptId, Config, Coordinator, Executor, Follows, JobId, JobSpec, MOST_SET_ASIDE, Terms};
use keima_model::{AnyProblem, ProblemRequest, Registry as _};

use crate::archive::take;
use crate::store::{registry, restored};

type Records = Vec<(String, Vec<u8>)>;

/// Most passes of a submitted board: larger ones are planned for seconds.
const MOST_PASSES: u32 = 6;

/// When every input begins.
pub(crate) const BEGIN_MILLIS: u64 = 1_000_000;

thread_local! {
    /// The records with which every input begins.
    static BEGIN: RefCell<Option<Records>> = const { RefCell::new(None) };
}

/// What the sender knows who speaks with a coordinator in order: a fuzzer cannot guess it.
#[derive(Default)]
struct Known {
    epoch: u64,
    granted: Option<(AttemptId, u64)>,
}

/// Requests: of each a byte with its kind, two bytes with its length, and the message. Kinds from 128 on are the same with
/// the epoch, the attempt and the nonce that the coordinator has told last. After each request some time passes, as the kind says.
/// Whatever comes, the coordinator goes on, and what it stores can be restored.
pub(crate) fn calls(bytes: &[u8]) -> bool {
    let (mut requests, mut rest, mut now) = (Vec::new(), bytes, BEGIN_MILLIS);
    while let Some((&kind, more)) = rest.split_first() {
        let Some((length, more)) = more.split_first_chunk() else { break };
        let (message, more) = more.split_at(usize::from(u16::from_le_bytes(*length)).min(more.len()));
        rest = more;
        now += [0, 1, 300, 20_000][usize::from(kind >> 5) % 4];
        requests.push((now, kind, asked(kind % 32, message)));
    }
    // A coordinator that is asked nothing is none of an input's.
    if requests.iter().all(|(_, _, request)| request.is_none()) {
        return false;
    }
    let begin = BEGIN.with_borrow_mut(|begin| begin.get_or_insert_with(begin_records).clone());
    let mut coordinator = restored(config(), BEGIN_MILLIS, begin.clone()).expect("sound records");
    let (mut records, mut known, mut taken) = (begin.clone(), Known::default(), false);
    for (now, kind, request) in requests {
        if let Some(request) = request {
            taken |= answer(&mut coordinator, now, request, &mut known, kind);
        }
        coordinator.tick(now);
        take(&mut coordinator, &mut records);
    }
    // What it began with, but for the number of its lives, can be restored: it was.
    if of_jobs(&records) != of_jobs(&begin) {
        let again = restored(config(), now + 1, records);
        assert!(again.is_ok(), "what was stored cannot be restored: {:?}", again.err());
    }
    taken
}

fn of_jobs(records: &Records) -> BTreeMap<&str, &[u8]> {
    let texts = records.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
    texts.filter(|(key, _)| !key.starts_with("meta/")).collect()
}

/// Whether the coordinator takes a request.
fn answer(coordinator: &mut Coordinator, now: u64, request: Asked, known: &mut Known, kind: u8) -> bool {
    let is_told = kind >= 128;
    let epoch_of = |epoch: u64| if is_told { known.epoch } else { epoch };
    match request {
        Asked::Call(call) => match *call {
            CarriedCall::Hello(hello) => {
                let welcome = coordinator.hello(now, hello);
                known.epoch = welcome.as_ref().map_or(known.epoch, |welcome| welcome.epoch);
                welcome.is_ok()
            }
            CarriedCall::Pull { worker, epoch, wanted } => {
                let grant = coordinator.pull(now, &worker, epoch_of(epoch), wanted);
                if let Ok(Some(grant)) = &grant {
                    known.granted = Some((grant.attempt, grant.nonce));
                }
                grant.is_ok()
            }
            CarriedCall::Heartbeat { worker, epoch, mut running, held, used } => {
                if let (true, Some((attempt, nonce)), Some(first)) = (is_told, known.granted, running.first_mut()) {
                    (first.attempt, first.nonce) = (attempt, nonce);
                }
                coordinator.heartbeat(now, &worker, epoch_of(epoch), &running, &held, used).is_ok()
            }
            CarriedCall::Report { worker, epoch, attempt, nonce, report } => {
                let (attempt, nonce) = known.granted.filter(|_| is_told).unwrap_or((attempt, nonce));
                coordinator.report(now, &worker, epoch_of(epoch), attempt, nonce, report).is_ok()
            }
        },
        Asked::Goodbye(worker, epoch) => coordinator.goodbye(now, &worker, epoch_of(epoch)).is_ok(),
        Asked::Submit(spec, terms) => submit(coordinator, now, &spec, terms),
        // Archives have a probe of their own.
        Asked::ResumeFrom(_, terms, replan) => {
            let _ = replan.map(|wanted| coordinator.consider_rest(wanted));
            terms.check().is_ok()
        }
        Asked::List(filter) => {
            let page = coordinator.list(&filter);
            assert!(filter.limit == 0 || page.jobs.len() <= filter.limit, "a page is too long");
            true
        }
        Asked::Change(job, change) => coordinator.change(now, job, &change).is_ok(),
        Asked::Job(job) => {
            let seen = coordinator.status(now, job).is_ok();
            assert_eq!(seen, coordinator.view(now, job).is_ok());
            let _ = coordinator.certificate(job);
            seen
        }
        Asked::Pause(job) => coordinator.pause(now, job).is_ok(),
        Asked::Resume(job) => coordinator.resume(now, job).is_ok(),
        Asked::Cancel(job) => coordinator.cancel(now, job).is_ok(),
        Asked::Watch(job, known) => watch(coordinator, now, job, known),
        Asked::Workers => coordinator.workers(now).iter().all(|worker| worker.set_aside.len() <= MOST_SET_ASIDE),
    }
}

/// Reads the values that a watcher lacks, as a service does it.
fn watch(coordinator: &mut Coordinator, now: u64, job: JobId, known: usize) -> bool {
    let Ok(status) = coordinator.brief(now, job) else { return false };
    let (all, mut next) = (status.values.known as usize, Some(known));
    while let Some(from) = next.filter(|&from| from < all) {
        let page = coordinator.values(job, from).expect("a job that was there");
        assert!(!page.values.is_empty(), "no values from {from} of {all} on");
        assert!(page.next.is_none_or(|next| next > from), "a page goes back");
        next = page.next;
    }
    true
}

/// As a service does it, for small boards.
fn submit(coordinator: &mut Coordinator, now: u64, spec: &JobSpec, terms: Terms) -> bool {
    let registry = registry();
    let is_small = |problem: &AnyProblem| problem.info().board().passes() <= MOST_PASSES;
    if terms.check().is_err() || !registry.open(&spec.problem).is_ok_and(|problem| is_small(&problem)) {
        return false;
    }
    let spec = terms.limit(spec.clone());
    let Ok(planned) = coordinator.consider(&spec).plan(&*registry) else { return false };
    coordinator.admit_as(now, planned, terms).is_ok()
}

/// A store with two jobs that nobody has worked on.
pub(crate) fn begin_records() -> Records {
    let mut coordinator = Coordinator::new(config(), registry(), 7);
    for (name, size) in [("go", "2x2"), ("square-free", "2")] {
        let spec = small(name, size);
        assert!(submit(&mut coordinator, BEGIN_MILLIS, &spec, Terms::default()), "{name} {size} is refused");
    }
    let mut records = Records::new();
    take(&mut coordinator, &mut records);
    records
}

/// The coordinator's settings. It takes workers of this build.
pub(crate) fn config() -> Config {
    Config { build: BUILD.to_owned(), ..Config::default() }
}

/// A request as a step.
pub(crate) fn step(kind: u8, message: &[u8]) -> Vec<u8> {
    [&[kind], &(message.len() as u16).to_le_bytes()[..], message].concat()
}

/// A job on a small board.
pub(crate) fn small(name: &str, size: &str) -> JobSpec {
    JobSpec {
        problem: ProblemRequest { name: name.to_owned(), size: size.to_owned(), options: Vec::new() },
        priority: 0,
        task_memory_bytes: 16 << 20,
        disk_bytes: None,
        residues_per_sweep: None,
        window: Some(1),
        slots: 1,
        worker_slots: 1,
        executor: Executor::Stream,
        series: true,
        other_primes: false,
        follows: Follows::default(),
    }
}
