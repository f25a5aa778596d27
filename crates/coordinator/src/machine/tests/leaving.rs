//! Jobs that leave the store, and those that stay.

use super::world::sim::{Sim, config, spec, worker};
use crate::{Config, EndedJob, Execution, JobFilter, JobId, JobView, State, TermsChange};

/// A job that is done, or cancelled.
fn ended(sim: &mut Sim, counted: bool) -> JobId {
    let id = sim.submit(&spec("3x3", 9));
    if counted {
        assert_eq!(sim.run_to_end(id).state, State::Done);
    } else {
        sim.coordinator.cancel(sim.now, id).unwrap();
    }
    sim.tick(1_000);
    id
}

/// Everything that is to leave leaves.
fn leave(sim: &mut Sim) -> Vec<EndedJob> {
    let mut left = Vec::new();
    while let Some(job) = sim.coordinator.leaver(sim.now) {
        sim.coordinator.left(sim.now, &job);
        sim.save();
        left.push(job);
    }
    left
}

fn ids(jobs: &[EndedJob]) -> Vec<u64> {
    jobs.iter().map(|job| job.id().0).collect()
}

/// Numbers of the jobs of which the store has records.
fn stored(sim: &Sim) -> Vec<u64> {
    let numbers = sim.store.keys().filter(|key| !key.starts_with("meta/"));
    let mut numbers: Vec<u64> = numbers.map(|key| key.split('/').nth(1).unwrap().parse().unwrap()).collect();
    numbers.dedup();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[test]
fn the_first_to_end_leave_where_there_are_too_many() {
    for (keep, expected) in
        [(None, &[][..]), (Some(4), &[]), (Some(3), &[2]), (Some(1), &[2, 1, 4]), (Some(0), &[2, 1, 4, 5])]
    {
        let mut sim = Sim::new(101, 1, Config { keep_jobs: keep, ..config() });
        sim.hello(&worker(0));
        let first = sim.submit(&spec("3x3", 9));
        ended(&mut sim, false);
        assert_eq!(sim.run_to_end(first).state, State::Done);
        sim.tick(1_000);
        // It waits, and stays however few may be kept.
        let waiting = sim.submit(&spec("4x4", 9));
        sim.coordinator.pause(sim.now, waiting).unwrap();
        ended(&mut sim, true);
        ended(&mut sim, false);
        assert_eq!(ids(&leave(&mut sim)), expected, "keep {keep:?}");
        let left: Vec<u64> = (1..=5).filter(|id| !expected.contains(id)).collect();
        assert_eq!(stored(&sim), left, "keep {keep:?}");
        let listed: Vec<u64> =
            sim.coordinator.list(&JobFilter::default()).jobs.iter().rev().map(|job| job.id.0).collect();
        assert_eq!(listed, left, "keep {keep:?}");
        let states: usize = sim.coordinator.by_state().iter().map(|(_, number)| number).sum();
        assert_eq!(states, left.len());
        // Nothing of them comes back, and no number is given twice.
        sim.restart(false);
        assert_eq!((stored(&sim), sim.submit(&spec("3x3", 9))), (left, JobId(6)), "keep {keep:?}");
    }
}

#[test]
fn a_job_leaves_some_time_after_its_end() {
    let mut sim = Sim::new(102, 1, Config { keep_millis: Some(3_600_000), ..config() });
    sim.hello(&worker(0));
    ended(&mut sim, false);
    sim.tick(1_800_000);
    ended(&mut sim, false);
    assert!(!sim.coordinator.has_leaver());
    sim.tick(1_800_000);
    assert!(sim.coordinator.has_leaver());
    assert_eq!(ids(&leave(&mut sim)), [1]);
    // The time goes on over a restart.
    sim.restart(false);
    assert!(!sim.coordinator.has_leaver());
    sim.tick(1_800_000);
    assert_eq!(ids(&leave(&mut sim)), [2]);
}

#[test]
fn what_leaves_is_whole_and_comes_back_from_its_file() {
    let mut sim = Sim::new(103, 1, Config { keep_jobs: Some(0), ..config() });
    sim.hello(&worker(0));
    let id = sim.submit(&spec("4x4", 1));
    let named =
        TermsChange { name: Some("nightly".into()), note: Some("\"a\"\u{2028}b".into()), ..TermsChange::default() };
    sim.coordinator.change(sim.now, id, &named).unwrap();
    let done = sim.run_to_end(id);
    let certificate = sim.coordinator.certificate(id).unwrap();
    assert!(certificate.is_some());
    let job = leave(&mut sim).remove(0);
    assert_eq!((job.view.status.values(), &job.certificate), (done.values(), &certificate));
    let bytes = job.encode().unwrap();
    assert_eq!(EndedJob::decode(&bytes).unwrap(), job);
    let name = job.file_name();
    assert_eq!((name.as_str(), EndedJob::job_of(&name)), ("j1-colourings-4x4.json", Some(id)));
    // A list reads the first line.
    let text = String::from_utf8(bytes).unwrap();
    let listed = EndedJob::decode_first_line(text.lines().next().unwrap()).unwrap();
    assert_eq!((listed.id, &listed.account.terms, listed.values.known), (id, &done.account.terms, 4));
    assert!(listed.values().is_empty() && text.lines().count() == 4);
    // The file says what a result says.
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["count"], done.outcome.unwrap().count.as_str());
    assert_eq!(value["certificate"].to_string(), certificate.unwrap());
    // A cancelled job has no number, and what it knew.
    let cancelled = ended(&mut sim, false);
    let job = leave(&mut sim).remove(0);
    assert_eq!((job.id(), job.view.status.state, &job.certificate), (cancelled, State::Cancelled, &None));
    assert_eq!(EndedJob::decode(&job.encode().unwrap()).unwrap(), job);
}

#[test]
fn a_job_that_is_changed_while_it_leaves_leaves_anew() {
    let mut sim = Sim::new(104, 1, Config { keep_jobs: Some(0), ..config() });
    let id = ended(&mut sim, false);
    let before = sim.coordinator.leaver(sim.now).unwrap();
    let note = TermsChange { note: Some("late".into()), ..TermsChange::default() };
    sim.coordinator.change(sim.now, id, &note).unwrap();
    sim.coordinator.left(sim.now, &before);
    sim.save();
    assert_eq!(stored(&sim), [1]);
    // A crash between the file and the end of the records: both are there, and it leaves once more.
    sim.coordinator.leaver(sim.now).unwrap();
    sim.restart(true);
    let left = leave(&mut sim);
    assert_eq!((ids(&left), left[0].view.status.account.terms.note.as_str()), (vec![1], "late"));
    assert!(stored(&sim).is_empty());
    // Told once more, nothing happens.
    sim.coordinator.left(sim.now, &left[0]);
}

#[test]
fn files_that_are_no_record_are_refused() {
    let mut sim = Sim::new(105, 1, Config { keep_jobs: Some(0), ..config() });
    ended(&mut sim, false);
    let text = String::from_utf8(sim.coordinator.leaver(sim.now).unwrap().encode().unwrap()).unwrap();
    for (from, to, words) in [
        ("\"version\":1", "\"version\":2", "got version 2"),
        ("\"version\":1,", "", "missing field `version`"),
        ("\"series\":", "\"serious\":", "missing field `series`"),
        ("{", "", "expected the record of a job"),
        ("}\n", "", "expected the record of a job"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        let error = EndedJob::decode(changed.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    for (name, expected) in [
        ("j12-go-3x3.json", Some(12)),
        ("j12-.json", Some(12)),
        (".j12-go-3x3.json", None),
        ("j012-go-3x3.json", None),
        ("j+12-go-3x3.json", None),
        ("j12.json", None),
        ("j12-go-3x3.json.old", None),
    ] {
        assert_eq!(EndedJob::job_of(name), expected.map(JobId), "{name}");
    }
}

/// First lines of files, but for the first fields. Each figure stands once.
const FIRST_LINES: [&str; 2] = [
    concat!(
        r#""status":{"id":7,"problem":"go","size":"9x5","options":[["max-fences","20"],["all",""]],"state":"Done","#,
        r#""reason":"ended","priority":-1,"level":3,"terms":{"name":"nightly","note":"for the table","owner":"ada","#,
        r#""max_workers":2,"max_disk_bytes":1099511627776},"submitted_at":30,"ended_at":31,"task_seconds":32.5,"#,
        r#""waits_for":"a worker","plan":{"executor":"block","board":{"height":9,"length":5},"windows":[{"first":0,"#,
        r#""len":5},{"first":5,"len":4}],"key_bytes":8,"coefficients":1,"moduli":[18446744073709551557,11],"#,
        r#""sweeps":[[0,2]],"task_memory_bytes":101,"task_records":102,"min_task_records":103,"slots":104,"#,
        r#""states":[1,3,18446744073709551615],"peak_states":105,"disk_bytes":106,"record_bytes":41.5,"block":{"#,
        r#""group_records":107,"lanes":[2,4,4,8],"room_states":108,"parted":true,"middle":3},"why":"asked for"},"#,
        r#""sweep":33,"stage":34,"#,
        r#""pass":35,"passes":45,"column":36,"states":37,"states_done":38,"states_stage":39,"states_per_second":8.5,"#,
        r#""peak_states":18446744073709551614,"tasks":40,"tasks_done":41,"tasks_running":42,"disk_bytes":43,"#,
        r#""disk_peak_bytes":44,"seconds":15.25,"eta_seconds":16.75,"values_known":46,"series":[],"copied_passes":17,"#,
        r#""at_risk":{"worker":"w9","passes_left":47},"resumed_from":"boundary 10","outcome":{"problem":"go","#,
        r#""size":"9x5","count":"12","counts":[],"residues":[{"modulus":"11","residue":"1"}],"series":[],"checks":[{"#,
        r#""name":"spare_prime","ok":true,"detail":"it fits"}],"ok":true,"identity":"go 9x5","builds":["b"]},"notes":["#,
        r#""one","two"],"bytes_read":48,"bytes_written":49,"bytes_spilled":50,"times":{"read_nanos":20,"#,
        r#""map_nanos":21,"write_nanos":22},"workers":[{"worker":"w","running":51,"note":"slow"}]},"#,
    ),
    concat!(
        r#""status":{"id":8,"problem":"go","size":"2x2","options":[],"state":"Cancelled","reason":"","priority":0,"#,
        r#""level":0,"terms":{"name":"","note":"","owner":"","max_workers":null,"max_disk_bytes":null},"#,
        r#""submitted_at":0,"ended_at":0,"task_seconds":0.0,"waits_for":"","plan":null,"sweep":0,"stage":0,"pass":0,"#,
        r#""passes":4,"column":0,"states":0,"states_done":0,"states_stage":1,"states_per_second":0.0,"peak_states":0,"#,
        r#""tasks":0,"tasks_done":0,"tasks_running":0,"disk_bytes":0,"disk_peak_bytes":0,"seconds":0.0,"#,
        r#""eta_seconds":null,"values_known":0,"series":[],"copied_passes":null,"at_risk":null,"resumed_from":null,"#,
        r#""outcome":null,"notes":[],"bytes_read":0,"bytes_written":0,"bytes_spilled":0,"times":{"read_nanos":0,"#,
        r#""map_nanos":0,"write_nanos":0},"workers":[]},"#,
    ),
];

/// Files of ended jobs stay for years: they are read and written with the same fields in the same order.
#[test]
fn the_first_line_of_a_file_keeps_its_form() {
    for rest in FIRST_LINES {
        let line = format!(r#"{{"about":"a job of keima that is over","version":1,{rest}"#);
        let view = JobView {
            status: EndedJob::decode_first_line(&line).unwrap(),
            pass_states: Vec::new(),
            running: Vec::new(),
            median_millis: None,
            checks: Vec::new(),
            durable: None,
            tasks_finished: 0,
            failed_attempts: 0,
            fall_backs: 0,
        };
        // Older programs did not write it.
        let mut older = view.status.clone();
        if let Some(Execution::Blocks(block)) = older.plan.as_mut().map(|plan| &mut plan.execution) {
            block.room_states = 0;
        }
        let read = EndedJob::decode_first_line(&line.replace(r#""room_states":108,"#, ""));
        assert_eq!(read.unwrap(), older);
        let job = EndedJob { view, certificate: None };
        let text = String::from_utf8(job.encode().unwrap()).unwrap();
        assert_eq!(text.lines().next(), Some(line.as_str()));
        assert_eq!(EndedJob::decode(text.as_bytes()).unwrap(), job);
    }
}
