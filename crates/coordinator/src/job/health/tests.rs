//! Workers and copies that a job avoids, case by case.

use keima_orders::{Holder, WorkerId};
use keima_runs::{RunId, RunManifest};

use super::{Health, Unread};
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::fleet::config::Config;
use crate::fleet::life::Life;
use crate::store::records::Notes;

const START: Millis = 1_000_000;

fn worker(number: usize) -> WorkerId {
    WorkerId(format!("w{number}"))
}

/// Workers that are here; the first one holds a run.
fn fleet(workers: usize) -> (Fleet, RunId) {
    let mut fleet = Fleet::new(Config::default(), Life::new(1, 0, None));
    fleet.now = START;
    for number in 0..workers {
        let id = worker(number);
        let known = fleet.expect_worker(&id);
        known.holder =
            Holder { worker: id, address: String::new(), folder: "/scratch".to_owned(), fingerprint: String::new() };
        known.here = true;
    }
    fleet.update_presence();
    let id = RunId("j1/s0/g1/t0/a0/r0".to_owned());
    let run = RunManifest {
        id: id.clone(),
        bytes: 100,
        records: 1,
        first_key: 0,
        last_key: 0,
        sums: Vec::new(),
        checksum: 0,
    };
    fleet.hold(&worker(0), &run);
    (fleet, id)
}

/// Time passes, and all workers are heard of.
fn wait(fleet: &mut Fleet, millis: Millis) {
    fleet.now += millis;
    let now = fleet.now;
    fleet.workers.values_mut().for_each(|worker| worker.last_heard = now);
}

fn unread<'a>(run: &'a RunId, holder: &'a WorkerId, reader: &'a WorkerId) -> Unread<'a> {
    Unread { run, holder, reader, text: "no answer" }
}

/// Who is set aside when workers cannot read a copy for long, and whether the copy is still used.
#[test]
fn who_is_to_blame_for_an_unread_copy() {
    let check = |readers: &[usize], gap_millis: Millis, aside: &[usize], bad: bool| {
        let case = format!("readers {readers:?} every {gap_millis} ms");
        let (mut fleet, run) = fleet(3);
        let (mut health, mut notes) = (Health::default(), Notes::default());
        for &reader in readers {
            wait(&mut fleet, gap_millis);
            health.unread(&fleet, unread(&run, &worker(0), &worker(reader)), |_| true, &mut notes);
        }
        let got: Vec<usize> = (0..3).filter(|&number| health.is_aside(&worker(number))).collect();
        assert_eq!(got, aside, "{case}");
        assert_eq!(health.copies.is_bad(&run, &worker(0)), bad, "{case}");
    };
    let grace = Config::default().grace_millis;
    check(&[1, 1], grace, &[], false);
    check(&[1, 1, 1], 1_000, &[], false);
    check(&[1, 1, 1], grace, &[1], false);
    check(&[0, 0, 0], grace, &[], true);
    check(&[1, 0, 1], grace, &[], true);
    check(&[1, 2, 1], grace, &[0], true);
    // The one reader was set aside first, then the holder turned out to be at fault.
    check(&[1, 1, 1, 2], grace, &[0], true);
    // Failures that lie far apart do not add up.
    check(&[1, 1, 1, 1], 10 * grace, &[], false);
}

#[test]
fn a_holder_that_is_away_is_not_to_blame() {
    let (mut fleet, run) = fleet(2);
    let (mut health, mut notes) = (Health::default(), Notes::default());
    fleet.expect_worker(&worker(0)).here = false;
    for _ in 0..5 {
        wait(&mut fleet, Config::default().grace_millis);
        health.unread(&fleet, unread(&run, &worker(0), &worker(1)), |_| true, &mut notes);
    }
    assert!(!health.copies.has_strikes() && !health.is_aside(&worker(1)));
}

#[test]
fn a_full_disk_is_waited_for_shortly_then_long() {
    let (mut fleet, _) = fleet(1);
    let (mut health, mut notes) = (Health::default(), Notes::default());
    let (short, long) = (2 * fleet.config.heartbeat_millis, fleet.config.disk_wait_millis);
    for (wait_millis, is_short) in [(short, true), (long, false), (long, false)] {
        health.full_disk(&fleet, &worker(0), "no space", 3 << 20, &mut notes);
        if is_short {
            // Another task of the worker found the same disk full, and is no second failure.
            health.full_disk(&fleet, &worker(0), "no space", 3 << 20, &mut notes);
        }
        assert_eq!(health.aside(&worker(0)).map(|aside| aside.short), Some(is_short));
        wait(&mut fleet, wait_millis - 1);
        assert!(health.end_asides(&fleet).is_empty() && health.is_aside(&worker(0)));
        wait(&mut fleet, 1);
        assert!(!health.end_asides(&fleet).is_empty() && !health.is_aside(&worker(0)));
    }
    // A finished task proves that there is room again.
    health.finished_task(&worker(0));
    health.full_disk(&fleet, &worker(0), "no space", 3 << 20, &mut notes);
    assert_eq!(health.aside(&worker(0)).map(|aside| aside.short), Some(true));
    let told = |note: &String| note.contains("/scratch") && note.contains("about 3 MiB on all workers");
    assert!(notes.to_vec().iter().all(told), "{notes:?}");
}

#[test]
fn the_third_damaged_copy_sets_a_worker_aside_until_it_is_forgiven() {
    let (mut fleet, run) = fleet(2);
    let (mut health, mut notes) = (Health::default(), Notes::default());
    for damaged in 1..=3 {
        health.damaged(unread(&run, &worker(0), &worker(1)), &mut notes);
        assert_eq!(health.is_aside(&worker(0)), damaged == 3, "{damaged}");
    }
    wait(&mut fleet, 1 << 40);
    assert!(health.end_asides(&fleet).is_empty() && health.is_aside(&worker(0)), "time alone does not repair it");
    // Where nobody else can go on it is tried again, and set aside again by the next damage.
    health.try_again_later(&fleet);
    wait(&mut fleet, 1 << 40);
    assert_eq!(health.end_asides(&fleet), [worker(0)]);
    health.damaged(unread(&run, &worker(0), &worker(1)), &mut notes);
    assert!(health.is_aside(&worker(0)));
    health.forgive();
    assert!(!health.is_aside(&worker(0)));
    assert!(health.copies.is_bad(&run, &worker(0)), "a damaged copy stays damaged");
    health.forget_run(&run);
    assert!(!health.copies.is_bad(&run, &worker(0)));
}

#[test]
fn room_for_second_copies_comes_back_with_time_or_success() {
    let (mut fleet, _) = fleet(1);
    let (mut health, mut notes) = (Health::default(), Notes::default());
    let may = |health: &Health, fleet: &Fleet| health.may_have_room(&worker(0), fleet.now);
    assert!(may(&health, &fleet));
    health.no_room(&fleet, &worker(0), "full", &mut notes);
    assert!(!may(&health, &fleet) && !health.is_aside(&worker(0)));
    health.made_copy(&worker(0));
    assert!(may(&health, &fleet));
    health.no_room(&fleet, &worker(0), "full", &mut notes);
    wait(&mut fleet, Config::default().disk_wait_millis);
    assert!(may(&health, &fleet));
}

#[test]
fn a_run_is_lost_when_no_holder_is_here_or_awaited() {
    let (mut fleet, run) = fleet(2);
    let health = Health::default();
    assert_eq!(health.copies.lost(&run, &fleet), None);
    let holder = fleet.expect_worker(&worker(0));
    (holder.here, holder.away_since) = (false, START);
    assert_eq!(health.copies.lost(&run, &fleet), None, "it may come back");
    wait(&mut fleet, Config::default().grace_millis);
    assert!(health.copies.lost(&run, &fleet).is_some_and(|why| why.contains("away for 60 s")));
    fleet.expect_worker(&worker(1)).here = false;
    fleet.update_presence();
    assert_eq!(health.copies.lost(&run, &fleet), None, "nobody could count it again");
}
