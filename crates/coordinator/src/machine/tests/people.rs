//! Several jobs of several people: who is asked first, caps, what a job waits for, lists, stores of before.

use std::collections::BTreeSet;

use super::archive::{go_on, lost_cluster};
use super::world::sim::{Sim, config, spec, worker};
use super::world::toy::Toys;
use crate::machine::jobs::MOST_LIVE_JOBS;
use crate::machine::sharing::LEVEL_MILLIS;
use crate::{CallError, JobFilter, JobId, JobSpec, MOST_PAGE_JOBS, State, TermsChange, WorkerId};

/// A job of an owner with a priority.
fn owned(sim: &mut Sim, owner: &str, priority: i32) -> JobId {
    let id = sim.submit(&spec("4x4", 9));
    change(sim, id, &TermsChange { owner: Some(owner.into()), priority: Some(priority), ..TermsChange::default() });
    id
}

fn change(sim: &mut Sim, id: JobId, change: &TermsChange) {
    sim.coordinator.change(sim.now, id, change).unwrap();
    sim.save();
}

/// Every worker reports what it has, pulls and works once.
fn round(sim: &mut Sim) {
    let workers: Vec<WorkerId> = sim.workers.keys().cloned().collect();
    for id in workers {
        sim.heartbeat(&id);
        sim.pull(&id);
        sim.work(&id, 0);
    }
    sim.tick(20);
    sim.check();
}

#[test]
fn the_next_task_is_of_the_job_that_the_law_names() {
    let mut sim = Sim::new(91, 1, config());
    let (first, second, third) = (owned(&mut sim, "ada", 0), owned(&mut sim, "ada", 0), owned(&mut sim, "bob", 0));
    let asked = |sim: &Sim| sim.coordinator.in_order();
    assert_eq!(asked(&sim), [first, second, third]);
    sim.hello(&worker(0));
    assert!(sim.pull(&worker(0)));
    assert_eq!(sim.coordinator.fleet.tasks_at_work(first), 1);
    assert_eq!(asked(&sim), [third, first, second], "bob has no task yet");
    // With one task each time decides, and ada has used some.
    sim.now += 1_000;
    sim.work(&worker(0), 0);
    sim.tick(1);
    assert_eq!(asked(&sim), [third, first, second], "bob's tasks have taken no time yet");
    assert!(sim.status(first).account.task_seconds >= 1.0);
    change(&mut sim, second, &TermsChange { priority: Some(1), ..TermsChange::default() });
    assert_eq!(asked(&sim), [second, third, first]);
    // Over another life the order stays, but for the memory of use.
    sim.restart(false);
    assert_eq!(asked(&sim), [second, first, third]);
    for id in [first, second, third] {
        assert_eq!(sim.run_to_end(id).state, State::Done);
    }
}

/// A job is passed by for ever only if nothing lifts it.
#[test]
fn a_job_that_later_ones_pass_by_rises() {
    let mut sim = Sim::new(92, 1, config());
    let (old, new) = (owned(&mut sim, "ada", 0), owned(&mut sim, "bob", 2));
    sim.hello(&worker(0));
    assert!(sim.pull(&worker(0)));
    assert_eq!((sim.coordinator.fleet.tasks_at_work(old), sim.coordinator.fleet.tasks_at_work(new)), (0, 1));
    for (hours, level) in [(20, 0), (30, 1), (49, 2), (74, 3)] {
        while sim.coordinator.jobs[&old].account.waited_millis < hours * LEVEL_MILLIS / 24 {
            sim.tick(config().lease_millis / 2);
            let waited = &mut sim.coordinator.jobs.get_mut(&old).unwrap().account.waited_millis;
            // The rest of an hour passes at once.
            *waited += LEVEL_MILLIS / 48;
            sim.heartbeat(&worker(0));
        }
        assert_eq!(sim.status(old).account.level, level, "after {hours} hours");
    }
    assert_eq!(sim.coordinator.in_order(), [old, new]);
    assert_eq!(sim.status(new).account.level, 2, "a job at work does not rise");
}

#[test]
fn a_cap_on_workers_holds_and_the_job_ends() {
    // Four workers have tasks where nothing caps them.
    for (cap, most) in [(1, 1), (2, 2), (0, 4)] {
        let mut sim = Sim::new(93, 4, config());
        let id = owned(&mut sim, "ada", 0);
        change(&mut sim, id, &TermsChange { max_workers: Some(cap), ..TermsChange::default() });
        let mut most_seen = 0;
        for _ in 0..4_000 {
            if sim.status(id).state.is_over() {
                break;
            }
            let all: Vec<WorkerId> = (0..4).map(worker).collect();
            for each in &all {
                sim.heartbeat(each);
                sim.pull(each);
            }
            let at_work: BTreeSet<WorkerId> =
                sim.coordinator.fleet.tasks_of_job(id).map(|lease| lease.worker.clone()).collect();
            most_seen = most_seen.max(at_work.len());
            for each in &all {
                sim.work(each, 0);
            }
            sim.tick(20);
            sim.check();
        }
        assert_eq!((sim.status(id).state, most_seen), (State::Done, most), "cap {cap}");
    }
}

#[test]
fn a_job_over_its_cap_on_bytes_pauses_and_goes_on_when_it_is_raised() {
    let mut sim = Sim::new(94, 1, config());
    let id = owned(&mut sim, "ada", 0);
    change(&mut sim, id, &TermsChange { max_disk_bytes: Some(1), ..TermsChange::default() });
    for _ in 0..500 {
        if sim.status(id).state == State::Paused {
            break;
        }
        round(&mut sim);
    }
    let status = sim.status(id);
    assert_eq!(status.state, State::Paused);
    assert!(status.reason.contains("keima change j1 --max-disk"), "{}", status.reason);
    assert!(status.waits_for.contains("--max-disk"), "{}", status.waits_for);
    sim.restart(false);
    sim.tick(20);
    assert_eq!(sim.status(id).state, State::Paused);
    change(&mut sim, id, &TermsChange { max_disk_bytes: Some(0), ..TermsChange::default() });
    assert_eq!(sim.status(id).state, State::Running);
    assert_eq!(sim.run_to_end(id).state, State::Done);
    let refused = sim.coordinator.change(sim.now, id, &TermsChange { priority: Some(1), ..TermsChange::default() });
    assert!(refused.unwrap_err().to_string().contains("only its name"));
}

#[test]
fn a_job_says_what_it_waits_for() {
    let mut sim = Sim::new(95, 1, config());
    // Its second sweep knows the states of its first, and so the time left.
    let first = sim.submit(&JobSpec { priority: 5, ..spec("4x4", 1) });
    let second = owned(&mut sim, "bob", 0);
    let waits = |sim: &mut Sim, id: JobId| sim.status(id).waits_for;
    assert_eq!(waits(&mut sim, first), "a worker");
    sim.task_memory_bytes = 1;
    sim.hello(&worker(0));
    assert_eq!(waits(&mut sim, first), "a worker with 64 MiB for a task");
    sim.task_memory_bytes = 1 << 30;
    sim.hello(&worker(0));
    assert!(sim.pull(&worker(0)));
    assert_eq!((waits(&mut sim, first), waits(&mut sim, second)), (String::new(), "job j1 (priority 5)".to_owned()));
    sim.coordinator.pause(sim.now, second).unwrap();
    assert_eq!(waits(&mut sim, second), "a person: keima resume j2");
    // Its rate is known, but nobody works on it any more: then no time left is told.
    while sim.status(first).usage.eta_seconds.is_none() {
        assert!(!sim.status(first).state.is_over(), "it ended before its rate was known");
        sim.tick(500);
        sim.heartbeat(&worker(0));
        sim.work(&worker(0), 0);
        sim.pull(&worker(0));
    }
    sim.kill(&worker(0), |_| true);
    sim.tick(config().lease_millis * 2);
    let status = sim.status(first);
    assert_eq!((status.waits_for.as_str(), status.usage.eta_seconds), ("a worker", None));
    assert_eq!(sim.run_to_end(first).waits_for, "");
}

#[test]
fn lists_are_filtered_and_come_in_pages() {
    let mut sim = Sim::new(96, 1, config());
    let jobs: Vec<JobId> = (0..5).map(|n| owned(&mut sim, if n % 2 == 0 { "ada" } else { "bob" }, n)).collect();
    change(&mut sim, jobs[1], &TermsChange { name: Some("nightly".into()), ..TermsChange::default() });
    sim.coordinator.cancel(sim.now, jobs[4]).unwrap();
    let check = |filter: JobFilter, expected: &[u64], next: Option<u64>| {
        let page = sim.coordinator.list(&filter);
        let got: Vec<u64> = page.jobs.iter().map(|job| job.id.0).collect();
        assert_eq!((got.as_slice(), page.next), (expected, next.map(JobId)), "{filter:?}");
    };
    let all = JobFilter::default;
    check(all(), &[5, 4, 3, 2, 1], None);
    check(JobFilter { limit: 2, ..all() }, &[5, 4], Some(4));
    check(JobFilter { limit: 2, after: Some(JobId(4)), ..all() }, &[3, 2], Some(2));
    check(JobFilter { limit: 2, after: Some(JobId(2)), ..all() }, &[1], None);
    check(JobFilter { after: Some(JobId(0)), ..all() }, &[], None);
    check(JobFilter { states: vec![State::Cancelled, State::Done], ..all() }, &[5], None);
    check(JobFilter { owner: Some("bob".into()), ..all() }, &[4, 2], None);
    check(JobFilter { owner: Some("ada".into()), limit: 2, ..all() }, &[5, 3], Some(3));
    check(JobFilter { owner: Some("bob".into()), limit: 2, ..all() }, &[4, 2], None);
    check(JobFilter { name: Some("nightly".into()), ..all() }, &[2], None);
    check(JobFilter { since: Some(sim.now + 1), ..all() }, &[], None);
    check(JobFilter { since: Some(sim.now), ..all() }, &[5, 4, 3, 2, 1], None);
}

/// Submits a job. Returns its number, and how many records it wrote.
fn submit(sim: &mut Sim) -> Result<(JobId, usize), CallError> {
    let planned = sim.coordinator.consider(&spec("2x2", 9)).plan(&Toys)?;
    let id = sim.coordinator.admit(sim.now, planned)?;
    let changes = sim.coordinator.take_changes().unwrap();
    let written = changes.puts.len();
    sim.store.extend(changes.puts);
    Ok((id, written))
}

/// Jobs that are not over are bounded. Those that are over cost a call nothing: none goes through them, and no list has all.
#[test]
fn ten_thousand_jobs_are_taken_and_no_more() {
    let mut sim = Sim::new(98, 0, config());
    let (first, written) = submit(&mut sim).unwrap();
    for _ in 1..MOST_LIVE_JOBS {
        submit(&mut sim).unwrap();
    }
    sim.archive = std::mem::take(&mut lost_cluster(1, 1).archive);
    let too_many = CallError::TooManyJobs { live: MOST_LIVE_JOBS, most: MOST_LIVE_JOBS };
    assert_eq!((submit(&mut sim).unwrap_err(), go_on(&mut sim).unwrap_err()), (too_many.clone(), too_many.clone()));
    assert!(too_many.to_string().contains("cancel some with `keima cancel`"), "{too_many}");
    sim.coordinator.cancel(sim.now, first).unwrap();
    let last = submit(&mut sim).unwrap().0;
    for job in first.0 + 1..=last.0 {
        sim.coordinator.cancel(sim.now, JobId(job)).unwrap();
    }
    sim.save();
    for life in 0..2 {
        let (waiting, now_written) = submit(&mut sim).unwrap();
        assert_eq!((now_written, sim.coordinator.jobs.live().count()), (written, 1), "life {life}");
        let all = JobFilter::default;
        let cancelled = || JobFilter { states: vec![State::Cancelled], ..all() };
        for (filter, most, first) in [
            (all(), MOST_PAGE_JOBS, waiting.0),
            (JobFilter { limit: 20, ..all() }, 20, waiting.0),
            (JobFilter { limit: usize::MAX, ..cancelled() }, MOST_PAGE_JOBS, waiting.0 - 1),
            (JobFilter { after: Some(JobId(11)), ..all() }, 10, 10),
            (JobFilter { states: vec![State::Queued], ..all() }, 1, waiting.0),
        ] {
            let page = sim.coordinator.list(&filter);
            assert_eq!((page.jobs.len(), page.jobs[0].id.0), (most, first), "life {life}: {filter:?}");
        }
        assert_eq!(sim.coordinator.newest(50).len(), 51, "life {life}");
        sim.coordinator.cancel(sim.now, waiting).unwrap();
        sim.save();
        sim.restart(false);
    }
}

/// A job whose account is gone has no terms, and goes on.
#[test]
fn a_job_without_an_account_goes_on() {
    let mut sim = Sim::new(97, 1, config());
    let id = owned(&mut sim, "ada", 3);
    assert!(sim.store.contains_key("account/1"));
    sim.restart(true);
    assert_eq!(sim.status(id).account.terms.owner, "ada");
    sim.store.retain(|key, _| !key.starts_with("account/"));
    sim.restart(false);
    let status = sim.status(id);
    assert_eq!(
        (status.account.terms, status.account.priority, status.account.submitted_at),
        (crate::Terms::default(), 3, 0)
    );
    assert_eq!(sim.run_to_end(id).state, State::Done);
}
